"""Mondrian and Anatomy on one table, compared with the nearest methods of the peers.

anonypyx has Mondrian with k-anonymity and distinct l-diversity. anjana generalizes whole columns by
hierarchies until k-anonymity and l-diversity hold. Neither has Anatomy; it is compared with what
the peers do for the same l.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from context import Context
from measure import Outcome
from report import Line, Sheet, describe_release

_MONDRIAN: Mapping[str, object] = {"k": 5, "ell": 3}
_ANATOMY: Mapping[str, object] = {"ell": 3}
_STEPS = {
    "plan": "plan from counts",
    "anonymize": "anonymize a table in memory",
    "publish": "from CSV file to release",
}
_PLAN_AIM = 0.1
_NO_ANATOMY = (
    "No peer has Anatomy. They generalize for k = 3 and distinct l = 3, which is weaker: Anatomy "
    "bounds the share of a value, not the number of values."
)


def run(context: Context) -> Iterator[Sheet]:
    """Measure both methods."""
    yield _mondrian(context)
    yield _anatomy(context)


def _mondrian(context: Context) -> Sheet:
    ours = {step: _ours(context, step, "Mondrian", _MONDRIAN) for step in _STEPS}
    plain = _ours(context, "plan", "Mondrian", _MONDRIAN, is_plain=True)
    lines = [
        *_our_lines("Shoal Mondrian", ours),
        _line("Shoal Mondrian, kernels as plain Python: plan", plain, ours["plan"]),
        *_peer_lines(context, ours, _MONDRIAN),
    ]
    return Sheet(
        title=f"Mondrian, k = 5, distinct l = 3, on {_name(context)}",
        lines=tuple(lines),
        remarks=(_judge_plan(ours["plan"]),),
    )


def _anatomy(context: Context) -> Sheet:
    ours = {step: _ours(context, step, "Anatomy", _ANATOMY) for step in _STEPS}
    ring = _ours(context, "plan", "Anatomy", {**_ANATOMY, "draw": "ring"})
    lines = [
        *_our_lines("Shoal Anatomy", ours),
        _line("Shoal Anatomy, ring: plan", ring, ours["plan"]),
        *_peer_lines(context, ours, {"k": 3, "ell": 3}),
    ]
    return Sheet(
        title=f"Anatomy, l = 3, on {_name(context)}",
        lines=tuple(lines),
        remarks=(_NO_ANATOMY,),
    )


def _name(context: Context) -> str:
    return f"{context.table.name} ({context.table.n_rows:,} rows)"


def _ours(
    context: Context,
    step: str,
    method: str,
    parameters: Mapping[str, object],
    *,
    is_plain: bool = False,
) -> Outcome:
    options = {"table": context.table.to_dict(), "method": method, "parameters": dict(parameters)}
    return context.shoal(step, {**options, "is_plain": True} if is_plain else options)


def _our_lines(name: str, ours: Mapping[str, Outcome]) -> Iterator[Line]:
    for step, outcome in ours.items():
        yield _line(f"{name}: {_STEPS[step]}", outcome, None)


def _peer_lines(
    context: Context, ours: Mapping[str, Outcome], parameters: Mapping[str, object]
) -> Iterator[Line]:
    options = {"table": context.table.to_dict(), **parameters}
    labels = {
        "plan": "partition a frame",
        "anonymize": "anonymize a frame in memory",
        "publish": "from CSV file to CSV file",
    }
    for peer, what, steps in (
        ("anonypyx", "Mondrian", ("plan", "anonymize", "publish")),
        ("anjana", "l_diversity", ("anonymize", "publish")),
    ):
        for step in steps:
            outcome = context.peer(peer, step, options)
            yield _line(f"{peer} {what}: {labels[step]}", outcome, ours[step])


def _line(what: str, outcome: Outcome, against: Outcome | None) -> Line:
    return Line(what=what, outcome=outcome, against=against, found=describe_release(outcome.answer))


def _judge_plan(plan: Outcome) -> str:
    if plan.seconds is None:
        return "Aim: the plan in less than 0.1 CPU seconds; it could not be measured."
    reached = "reached" if plan.seconds < _PLAN_AIM else "missed"
    return f"Aim: the plan in less than 0.1 CPU seconds; {reached}."
