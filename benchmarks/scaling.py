"""The growth of the time with ten times the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from context import Context
from measure import Limits, Outcome
from report import Line, Sheet, describe_release

_SIZES = (45_000, 450_000)
_LARGE = 4_500_000
_AIM = 12
_REPEAT = 3
_SECONDS = 1800.0
_METHODS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "Anatomy, published draw": ("Anatomy", {"ell": 3, "draw": "published"}),
    "Anatomy, ring": ("Anatomy", {"ell": 3, "draw": "ring"}),
    "Mondrian, strict": ("Mondrian", {"k": 5, "ell": 3, "cuts": "strict"}),
    "Mondrian, relaxed": ("Mondrian", {"k": 5, "ell": 3, "cuts": "relaxed"}),
}


def run(context: Context) -> Iterator[Sheet]:
    """Measure each method at each size."""
    yield _sheet(context, "Reading a generated census", {"read": "Anatomy, ring"}, "read")
    for step in ("plan", "anonymize"):
        named = {f"{name}: {step}": name for name in _METHODS}
        yield _sheet(context, f"Growing: {step}", named, step)


def _sheet(context: Context, title: str, named: Mapping[str, str], step: str) -> Sheet:
    lines: list[Line] = []
    remarks: list[str] = []
    sizes = (*_SIZES, _LARGE) if context.is_large else _SIZES
    for what, name in named.items():
        before: Outcome | None = None
        for n_rows in sizes:
            outcome = _measure(context, step, name, n_rows)
            label = f"{what}, {n_rows:,} rows"
            found = "" if step == "read" else describe_release(outcome.answer)
            lines.append(Line(what=label, outcome=outcome, against=before, found=found))
            before = outcome
            ratio = lines[-1].ratio
            if ratio is not None and ratio > _AIM:
                remarks.append(f"{label}: {ratio:.1f} times, more than {_AIM}.")
    remarks = remarks or [f"Aim: at most {_AIM} times the time for ten times the rows; reached."]
    return Sheet(
        title=title,
        lines=tuple(lines),
        ratio="ratio to a tenth of the rows",
        remarks=tuple(remarks),
    )


def _measure(context: Context, step: str, name: str, n_rows: int) -> Outcome:
    method, parameters = _METHODS[name]
    context.say(f"{name}, {n_rows:,} rows")
    return context.shoal(
        "grow",
        {"step": step, "n_rows": n_rows, "method": method, "parameters": parameters},
        Limits(repeat=min(_REPEAT, context.limits.repeat), seconds=_SECONDS),
    )
