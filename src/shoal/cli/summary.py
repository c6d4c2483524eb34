"""The first screen that a steward reads: verdict, attacks, what analysts keep, next steps.

It fits into 40 lines of 80 columns. Every further figure is behind `--details` and in the internal
report.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.cli.output import Output

if TYPE_CHECKING:
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


def show_publication_summary(output: Output, published: Publication) -> None:
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
    output.line("Folders", style="bold")
    output.place("  to ship:   ", published.folder)
    output.place("  never ship:", published.internal)


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
    output.line()


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
    return f"{_state(published.manifest)}: {published.manifest.extent}; {judged}."


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
    return (
        "the one judged attack passed" if n_judged == 1 else f"all {n_judged} judged attacks passed"
    )
