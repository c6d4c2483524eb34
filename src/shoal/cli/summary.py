"""The first screen that a steward reads: verdict, attacks, what analysts keep, next steps.

It fits into 40 lines of 80 columns. Every further figure is behind `--details` and in the internal
report.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from shoal.cli.output import Mark, Output
from shoal.core.display import in_words, number

if TYPE_CHECKING:
    from shoal.core.guarantees import Guarantee
    from shoal.core.manifest import Manifest
    from shoal.workflow.gate import Judgement
    from shoal.workflow.publish import Publication

# The mark of each word, and its replacement on a terminal that lacks it.
_MARKS = {
    "passed": ("✓", "+"),
    "failed": ("✗", "x"),
    "not judged": ("·", "-"),
    "not run": ("○", "o"),
}
# An attack takes at most three lines, or two if there are more than five attacks.
_MOST_LINES, _FEWER_LINES, _MANY_ATTACKS = 3, 2, 5
_MOST_KEPT = 3


def show_publication(
    output: Output,
    published: Publication,
    *,
    details: bool = False,
    further: Mapping[str, object] | None = None,
) -> None:
    """Print one screen about a release, with every figure if asked for.

    `further` holds steps to take after the usual ones: a label, and a path or a command.
    """
    _show_outcome(output, published)
    _show_hiding(output, published.notes)
    if details:
        output.line()
        show_gate(output, published.judgements)
        for measured in published.measured:
            output.facts(measured.headline, title=f"What analysts keep: {measured.measure}")
        show_guarantees(output, published.manifest.guarantees)
    warnings = list(published.warnings)
    if published.accepted is not None:
        warnings.insert(0, f"A risk was accepted, and recorded: {published.accepted}.")
    if warnings:
        output.line()
    for warning in warnings:
        output.warn(warning)
    output.line()
    _show_places(
        output,
        "Next",
        {
            "who is at risk, and why": published.internal / "report.html",
            "what readers are told": published.folder / "report.html",
            "check the release": f"shoal verify {published.folder}",
            **(further or {}),
        },
    )


def _show_outcome(output: Output, published: Publication) -> None:
    """Print what was published, how it was attacked, what is kept, and where it is."""
    output.line(_verdict(published), style="bold")
    output.line()
    if published.judgements:
        show_attacks(output, published.judgements)
    kept = [line for measured in published.measured for line in measured.words]
    if kept:
        output.line("What analysts keep", style="bold")
        for line in kept[:_MOST_KEPT]:
            output.line(f"  {line}")
        output.line()
    folders = {"to ship": published.folder, "never ship": published.internal}
    _show_places(output, "Folders", folders)


def _show_places(output: Output, title: str, places: Mapping[str, object]) -> None:
    """Print paths and commands, each after its label; the labels have one width."""
    output.line(title, style="bold")
    width = max(map(len, places)) + 1
    for label, place in places.items():
        output.place(f"  {f'{label}:':<{width}}", place)


def show_refusal(output: Output, judgements: Sequence[Judgement]) -> None:
    """Print that nothing was published, and which attacks stopped it."""
    output.line(f"Not published: {_judged(judgements)}.", style="bold")
    output.line()
    show_attacks(output, judgements)


def show_attacks(output: Output, judgements: Sequence[Judgement]) -> None:
    """Print one line per attack: a mark, the attack, a word, and what the adversary achieves."""
    can_mark = _can_print(output, "".join(mark for mark, _ in _MARKS.values()))
    width = max((len(one.attack) for one in judgements), default=0)
    room = max(output.stdout.width - width - 18, 30)
    n_lines = _FEWER_LINES if len(judgements) > _MANY_ATTACKS else _MOST_LINES
    for one in judgements:
        word = _word(one)
        mark = _MARKS[word][0 if can_mark else 1]
        said = one.not_run or one.line or "nothing to report"
        first, *rest = textwrap.wrap(
            said,
            room,
            max_lines=n_lines,
            placeholder=" ...",
            break_long_words=False,
            break_on_hyphens=False,
        )
        style = {"passed": "green", "failed": "red"}.get(word, "")
        output.line(f"  {mark} {one.attack:<{width}}  {word:<10}  {first}", style=style)
        for line in rest:
            output.line(f"{'':<{width + 18}}{line}", style=style)
    for levels in dict.fromkeys(one.levels for one in judgements if one.levels):
        output.line(f"  Attacked: {levels}.")
    output.line()


def show_gate(output: Output, judgements: Sequence[Judgement]) -> None:
    """Print how every attack was judged; no value of the table is in it."""
    output.table(
        ("attack", "what the adversary knows", "what she finds", "strongest belief", "verdict"),
        [
            (
                judgement.attack,
                judgement.knows,
                judgement.line or None,
                in_words(judgement.worst) if judgement.worst and not judgement.not_run else None,
                _colored_verdict(judgement),
            )
            for judgement in judgements
        ],
        title="The gate",
    )
    for judgement in judgements:
        if judgement.figures:
            output.facts(judgement.figures, title=judgement.attack)
        for section in judgement.sections:
            output.section(section)


def _colored_verdict(judgement: Judgement) -> Mark | str:
    if judgement.max_people is None:
        return judgement.verdict
    return Mark(judgement.verdict, str(judgement.outcome) == "passed")


def _show_hiding(output: Output, notes: Mapping[str, object]) -> None:
    """Print figures that only the steward may know: how many suppressed cells are private."""
    hiding = notes.get("hiding")
    if isinstance(hiding, dict):
        output.line()
        output.line(
            f"{hiding['private']} cells are private, and {hiding['blanked']} more were blanked to "
            f"protect them. Of {hiding['rules']} rules found, {hiding['invalidated']} no longer "
            f"hold and {hiding['marginalized']} no longer fire."
        )


def show_guarantees(output: Output, guarantees: Sequence[Guarantee]) -> None:
    """Print what is promised, and what is not."""
    output.table(
        ("guarantee", "promises", "its limits"),
        [(entry.name, entry.statement, entry.limits) for entry in guarantees],
    )


def _word(judgement: Judgement) -> str:
    """Return passed, failed, not judged or not run."""
    outcome = str(judgement.outcome)
    if outcome.startswith("failed"):
        return "failed"
    return "not judged" if outcome.startswith("reported") else outcome


def _can_print(output: Output, text: str) -> bool:
    try:
        text.encode(output.stdout.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _verdict(published: Publication) -> str:
    """Return one sentence: what was published, and how it was judged."""
    judged = _judged(published.judgements) if published.judgements else "it was not attacked"
    if published.accepted is not None:
        judged += "; the risk was accepted"
    extent = re.sub(r"\d+", lambda found: number(int(found[0])), published.manifest.extent)
    return f"{_state(published.manifest)}: {extent}; {judged}."


def _state(manifest: Manifest) -> str:
    if manifest.is_test:
        return "Published as a test" if manifest.is_sealed else "Written as a test, not sealed"
    return "Published and sealed" if manifest.is_sealed else "Written, not sealed"


def _judged(judgements: Sequence[Judgement]) -> str:
    """Return how the gate judged, as a part of a sentence."""
    outcomes = [_word(one) for one in judgements]
    n_failed = outcomes.count("failed")
    n_judged = outcomes.count("passed") + n_failed
    if any(one.unresolved for one in judgements):
        return "the adversary's knowledge could not be resolved"
    if not n_judged:
        return "no attack has a limit, so none was judged"
    if n_failed:
        return f"{n_failed} of {n_judged} judged attacks failed"
    all_of_them = {1: "the one judged attack", 2: "both judged attacks"}
    return f"{all_of_them.get(n_judged, f'all {n_judged} judged attacks')} passed"
