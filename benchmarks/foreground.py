"""The foreground attack on Adult, and releases that withstand it.

No other package mines the distributions that a release implies for kinds of people. The paper
reports up to 12 minutes for its attribute sets, on a Pentium IV.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from context import Context
from report import Line, Sheet

_ELLS = (2, 4, 6, 8, 10)
_RS = (2, 4, 10)
_AIM_OF_SETS, _AIM_OF_SAFE = 2.0, 20.0


def run(context: Context) -> Iterator[Sheet]:
    """Measure mining, the whole attack and the defence."""
    adult = context.table.adult
    if adult is None:
        yield Sheet(
            title="Foreground knowledge",
            lines=(),
            remarks=("It is measured on Adult alone: name the file with --adult.",),
        )
        return
    asked = {
        f"all attribute sets, Anatomy l = {ell}": ("mine all sets", {"ell": ell}) for ell in _ELLS
    }
    asked |= {
        f"the whole attack, Anatomy l = {ell}": ("attack by foreground", {"ell": ell})
        for ell in (_ELLS[0], _ELLS[-1])
    }
    yield _sheet(
        context, "Foreground attack on Adult, eight quasi-identifiers", asked, _AIM_OF_SETS
    )
    asked = {f"ForegroundSafe, r = {r}": ("plan foreground safe", {"r": r}) for r in _RS}
    yield _sheet(context, "Foreground-safe buckets of Adult, plan from counts", asked, _AIM_OF_SAFE)


def _sheet(
    context: Context,
    title: str,
    asked: Mapping[str, tuple[str, Mapping[str, object]]],
    aim: float,
) -> Sheet:
    lines = []
    for what, (measure, options) in asked.items():
        outcome = context.shoal(measure, {"adult": context.table.adult, **options})
        answer = outcome.answer or {}
        found = ", ".join(f"{number:,} {name}" for name, number in answer.items())
        lines.append(Line(what=what, outcome=outcome, found=found))
    slowest = max(line.outcome.seconds or float("inf") for line in lines)
    reached = "reached" if slowest <= aim else "missed"
    remark = f"Aim: at most {aim:g} CPU seconds each; {reached} ({slowest:.3g})."
    return Sheet(title=title, lines=tuple(lines), remarks=(remark,))
