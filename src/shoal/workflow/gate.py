"""The gate between attacking a release and writing it.

An attack with a limit in the configuration is judged by it; one without is reported, not judged. A
release that fails is not written, unless the steward accepts the risk and says why: the reason goes
to the internal record. Knowledge that could not be resolved always stops a release, because nobody
knows what an adversary with the right spelling would have found.

Judgements use the truth and stay internal. They contain no value of the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from shoal.core.attack import HELD_OUT_TEST, Attack, Need
from shoal.core.budget import DEFAULT_ATTACK_WORK
from shoal.core.display import Section, number
from shoal.core.errors import GuaranteeError, ParameterError
from shoal.core.findings import Findings
from shoal.core.manifest import Manifest
from shoal.core.progress import Progress
from shoal.core.registry import find, snake_case
from shoal.core.sampling import Sampled
from shoal.release.opened import Release
from shoal.release.witnesses import known_to_maker
from shoal.workflow.attack import AttackReport, attack, attacks_that_apply, check_chosen
from shoal.workflow.make import ConfiguredAttack


class Outcome(StrEnum):
    """The verdict of the gate on an attack."""

    PASSED = "passed"
    FAILED = "failed"
    MEANINGLESS = "failed: the limit means nothing"
    REPORTED = "reported, not judged"
    NOT_RUN = "not run"


_STOPPING = (Outcome.FAILED, Outcome.MEANINGLESS)
# By shape: attacks whose limit follows from the guarantees of the release.
_FIRST_JUDGED = ("homogeneity", "sliced_linkage", "rules")


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The findings of an attack, compared with the limit of the configuration."""

    attack: str
    # What its adversary knows.
    knows: str
    n_people: int = 0
    # None without a limit, because then nobody can be said to be at risk, or not to be.
    n_at_risk: int | None = None
    # The largest posterior.
    worst: float = 0.0
    # The posterior from which on a person is at risk.
    limit: str | None = None
    # How many people may be at risk; None if the attack is not judged.
    max_people: int | None = None
    # The finding in one line.
    line: str = ""
    # How beliefs compare with the truth, by the names of `Findings.scale`.
    scale: Mapping[str, object] = field(default_factory=dict)
    # Whether the limit alone judges the attack, because it does not count people.
    is_by_limit: bool = False
    # These four are as in `Findings`.
    cut_short: str = ""
    unresolved: tuple[str, ...] = ()
    meaningless: str = ""
    n_above_anyway: int = 0
    # What the people attacked say about all, if they are a sample; as in `Findings`.
    sampled: Sampled | None = None
    # As in `Findings`.
    levels: str = ""
    # Why the attack was left out; empty if it was run.
    not_run: str = ""
    # Figures that cannot be repeated from the published files: of attacks that were tried on a part
    # of the table or compared with the truth. Empty for others.
    figures: Mapping[str, object] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """The verdict of the gate."""
        if self.not_run:
            return Outcome.NOT_RUN
        if self.max_people is None or self.n_at_risk is None:
            return Outcome.REPORTED
        # If max_people allows the people whom every release exposes, the limit still judges.
        if self.meaningless and not 0 < self.n_above_anyway <= self.max_people:
            return Outcome.MEANINGLESS
        is_passed = self.n_at_risk <= self.max_people and not self.cut_short
        return Outcome.PASSED if is_passed else Outcome.FAILED

    @property
    def is_only_limited(self) -> bool:
        """Whether the attack fails only because it did not look at everything or at everybody."""
        found, allowed = self.n_at_risk or 0, self.max_people or 0
        if self.sampled is not None:
            found = int(self.sampled.at_risk.value)
        is_limited = bool(self.cut_short) or self.sampled is not None
        return is_limited and self.outcome is Outcome.FAILED and found <= allowed

    @property
    def verdict(self) -> str:
        """The outcome and what was allowed, in a few words."""
        if self.outcome is Outcome.NOT_RUN:
            return f"not run: {self.not_run}"
        if self.outcome is Outcome.REPORTED:
            return str(self.outcome)
        if self.is_by_limit:
            return f"{self.outcome} (at most {self.limit})"
        return f"{self.outcome} (at most {number(self.max_people or 0)})"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the steward should know beside the line, in sentences."""
        said = []
        if self.sampled is not None:
            said.append(
                f"{self.attack} attacked a sample of {number(self.sampled.n_people)} of "
                f"{number(self.sampled.n_all)} people, as more would exceed its work ([attacks] "
                "work, --attack-work)."
            )
        if self.cut_short:
            said.append(f"{self.attack} was cut short: {self.cut_short}.")
        if self.meaningless:
            said.append(
                f"The limit of {self.attack} means nothing here: {self.meaningless}. {_ASK}"
            )
        if self.unresolved:
            listed = "; ".join(self.unresolved)
            said.append(f"{self.attack} could not resolve what the adversary knows: {listed}.")
        return tuple(said)

    def to_dict(self) -> dict[str, object]:
        """Return the judgement as JSON holds it."""
        stated: dict[str, object] = {
            "attack": self.attack,
            "knows": self.knows,
            "people": self.n_people,
            "at_risk": self.n_at_risk,
            "sampled": None if self.sampled is None else self.sampled.to_dict(),
            "found": self.line,
            **self.scale,
            "worst_posterior": None if self.not_run else self.worst,
            "limit": self.limit,
            "max_people": self.max_people,
            "verdict": str(self.outcome),
            "cut_short": self.cut_short,
            "unresolved": list(self.unresolved),
            "meaningless": self.meaningless,
        }
        if self.levels:
            stated["attacked"] = self.levels
        if self.not_run:
            stated["reason"] = self.not_run
        if self.figures:
            stated["figures"] = dict(self.figures)
            stated["sections"] = [section.to_dict() for section in self.sections]
        return stated

    def __str__(self) -> str:
        """Return why the gate stops at this attack."""
        if self.outcome is Outcome.MEANINGLESS:
            return f"{self.attack}: its limit means nothing, because {self.meaningless}"
        if self.is_by_limit:
            return f"{self.attack}: {self.line}, at most {self.limit} allowed"
        if self.n_at_risk is not None and self.n_at_risk > (self.max_people or 0):
            if self.sampled is not None:
                return (
                    f"{self.attack}: {self.sampled.words}, {number(self.max_people or 0)} allowed"
                )
            what = "exposed" if self.scale.get("checked") else "at risk"
            at_risk, allowed = number(self.n_at_risk), number(self.max_people or 0)
            return f"{self.attack}: {at_risk} people {what}, {allowed} allowed"
        return f"{self.attack}: it was cut short, because {self.cut_short}"


_ASK = (
    "Name the values to protect (protect of the method, value of the foreground attack), or choose "
    "a larger limit."
)


class GateError(GuaranteeError):
    """An attack put more people at risk than the configuration allows; nothing was written.

    `judgements` holds the verdict of the gate on every attack.
    """

    def __init__(self, fact: str, *, hint: str, judgements: Sequence[Judgement]) -> None:
        self.judgements = tuple(judgements)
        self.details = {"gate": [judgement.to_dict() for judgement in judgements]}
        super().__init__(fact, hint=hint)


def judge(
    release: Release,
    configured: Sequence[ConfiguredAttack],
    not_run: Mapping[str, str],
    progress: Progress,
    work: int = DEFAULT_ATTACK_WORK,
) -> tuple[tuple[Judgement, ...], AttackReport]:
    """Run the named attacks and every other that fits, and judge those with a limit.

    `not_run` holds the attacks that the configuration leaves out, each with its reason, and `work`
    the units of work that each attack may do. Returns the judgements, and the report of the attacks
    that they judge.
    """
    published = release.levelled
    made = make_attacks(release, configured)
    has_knowledge = known_to_maker(release) is not None
    named = {entry.name for entry in configured} | set(not_run)
    for one in attacks_that_apply(published, has_knowledge=has_knowledge):
        name = snake_case(type(one).__name__)
        if name not in named:
            made.append((ConfiguredAttack(name=name), one))
    left_out = tuple(
        Judgement(attack=name, knows=find("shoal.attacks", name).knows, not_run=reason)
        for name, reason in not_run.items()
    )
    if not made:
        return left_out, AttackReport(())
    report = attack(release, *(one for _, one in made), work=work, progress=progress)
    judged = (
        _judgement(entry, one, found)
        for (entry, one), found in zip(made, report.findings, strict=True)
    )
    return (*judged, *left_out), report


def make_attacks(
    release: Release, configured: Sequence[ConfiguredAttack]
) -> list[tuple[ConfiguredAttack, Attack]]:
    """Make the named attacks, before any is run.

    Raises ParameterError if one does not apply to the release, or is judged and has no limit on it.
    """
    published = release.levelled
    table = None if release.making is None else release.making.table
    made = [(entry, entry.make(published, table)) for entry in configured]
    for entry, one in made:
        check_chosen(one, published, is_everybody=True, has_external=table is not None)
        if entry.max_people is not None and not one.has_limit(published):
            raise ParameterError(
                f"[attacks.{entry.name}] max_people counts the people above a limit, and neither "
                "the configuration nor the guarantees of this release give one.",
                hint=f"give [attacks.{entry.name}] a limit, or leave max_people out.",
            )
    return made


def _judgement(entry: ConfiguredAttack, one: Attack, found: Findings) -> Judgement:
    _refuse_untried(entry, one, found)
    figures, sections = _figures(one, found)
    return Judgement(
        attack=entry.name,
        knows=found.knows,
        n_people=found.n_all,
        n_at_risk=found.n_at_risk,
        worst=found.worst,
        limit=found.limit,
        max_people=entry.max_people,
        line=found.line,
        scale=found.scale(),
        is_by_limit=one.is_judged_by_limit,
        cut_short=found.cut_short,
        unresolved=found.unresolved,
        meaningless=found.meaningless,
        n_above_anyway=found.n_above_anyway,
        sampled=found.sampled,
        levels=found.levels,
        figures=figures,
        sections=sections,
    )


def _refuse_untried(entry: ConfiguredAttack, one: Attack, found: Findings) -> None:
    """Refuse to judge an attack that could not be tried on a part of the table."""
    if entry.max_people is None or HELD_OUT_TEST not in found.headline:
        return
    asked = "limit" if one.is_judged_by_limit and "limit" in entry.parameters else "max_people"
    raise ParameterError(
        f"[attacks.{entry.name}] {asked} cannot be judged: the {HELD_OUT_TEST} was "
        f"{found.headline[HELD_OUT_TEST]}",
        hint=f"leave {asked} out, or ask the method for what a part of the table can keep.",
    )


def _figures(one: Attack, found: Findings) -> tuple[Mapping[str, object], tuple[Section, ...]]:
    """Return what cannot be repeated from the published files, without values of the table."""
    is_checked = found.calibration is not None or "precision" in found.headline
    if not is_checked and Need.TRIAL not in one.needs:
        return {}, ()
    shown = tuple(section for section in found.sections if not section.holds_values)
    return found.headline, shown


def pass_gate(
    judgements: Sequence[Judgement], manifest: Manifest, accept_risk: str | None
) -> str | None:
    """Raise GateError for a release that fails; return the accepted risk, for the record.

    Knowledge that could not be resolved stops a release even if the risk is accepted.
    """
    _refuse_unresolved(judgements)
    failed = [judgement for judgement in judgements if judgement.outcome in _STOPPING]
    if failed and accept_risk is None:
        raise GateError(
            f"The release fails its gate: {'; '.join(map(str, failed))}. Nothing was written.",
            hint=_hint(failed),
            judgements=judgements,
        )
    risks = [str(judgement) for judgement in failed]
    risks += ["made from a seed"] if manifest.is_test else []
    if not risks or accept_risk is None:
        return None
    return f"{accept_risk} ({'; '.join(risks)})"


def _hint(failed: Sequence[Judgement]) -> str:
    if all(judgement.outcome is Outcome.MEANINGLESS for judgement in failed):
        return _ASK[0].lower() + _ASK[1:]
    if all(judgement.is_only_limited for judgement in failed):
        return (
            "allow more work (--attack-work, or [attacks] work), or accept the risk: "
            "--accept-risk 'why'."
        )
    return "ask the method for more, change the limit, or accept the risk: --accept-risk 'why'."


def _refuse_unresolved(judgements: Sequence[Judgement]) -> None:
    """Refuse a release if knowledge names what is not there; that risk cannot be accepted."""
    unresolved = {entry for judgement in judgements for entry in judgement.unresolved}
    if unresolved:
        raise GateError(
            f"The release fails its gate: {len(unresolved)} parts of the adversary's knowledge "
            "name a column, a node or a value that is not there. Nothing was written.",
            hint="correct them, or take them out of the knowledge; this risk cannot be accepted.",
            judgements=judgements,
        )


def gate_warnings(judgements: Sequence[Judgement]) -> tuple[str, ...]:
    """Return the warnings of the gate for the steward."""
    remarks = tuple(remark for judgement in judgements for remark in judgement.remarks)
    if any(judgement.max_people is not None for judgement in judgements):
        return remarks
    return (nothing_judged([one.attack for one in judgements if not one.not_run]), *remarks)


def nothing_judged(attacks: Sequence[str]) -> str:
    """Return the warning if no attack has a limit, with the one to begin with among those run."""
    first = next((name for name in _FIRST_JUDGED if name in attacks), None)
    advice = f" Add for example [attacks.{first}] with max_people = 0." if first else ""
    return (
        "No attack is judged: the configuration gives no limit, so the gate lets every release "
        f"pass.{advice}"
    )
