"""Membership: how well a release reveals who is in the table.

That somebody is in a table of patients may be all that an adversary wants to know. She takes the
known values of a person and looks for the buckets that match: the more rows of the release are like
the person, the likelier one of them is theirs. Many combinations that match although nobody has
them, the *fake tuples* of a sliced release, are said to hide members. What counts, however, is
whether people who are not in the table match too. So a part of the table is published, and the rest
is held out.

References
----------
[Slicing] Shaik Mahammad Rafi, P. Venkata Ramanaiah: Protecting Attribute Disclosure for High
Dimensionality and Preserving Publishing of Microdata (a shortened variant of T. Li, N. Li,
J. Zhang, I. Molloy: Slicing: a new approach for privacy preserving data publishing, 2012);
Sections 5, 6 and 7.

[Nergiz07] M. E. Nergiz, M. Atzori, C. Clifton: Hiding the presence of individuals from shared
databases. SIGMOD 2007; Section 3 (the adversary with a list).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal.core.arrays import Counts, Flags, Floats
from shoal.core.attack import HELD_OUT_TEST, Attack, Need, Trial, TrialPlan, Trials, View
from shoal.core.cells import total_by
from shoal.core.declared import declared
from shoal.core.display import Section, number
from shoal.core.errors import InfeasibleError
from shoal.core.exact import as_text
from shoal.core.findings import Findings, Risk
from shoal.core.parameters import Exact, OptionalExact, exact_number, flag, whole_number
from shoal.core.release import People, Published
from shoal.core.sliced import Sliced
from shoal.locating.separation import Separation
from shoal.membership.fits import fit_people, tell_apart
from shoal.membership.pieces import plan_within
from shoal.slicing.fake_tuples import ValuesByBucket, count_fakes
from shoal.slicing.membership import (
    Telling,
    fit_sliced,
)

_BANDS = (0, 1, 2, 3, 5, 10, 100)
"""Where the bands of numbers of buckets begin."""
_CHANCE, _HARDLY, _PLAINLY = 0.5, 0.6, 0.7
"""Areas under the curve: of a guess, and up to which members are hardly, and from which they are
plainly, told from others."""


@declared
class Membership(Attack):
    """Tell the people in the table from others by how well they fit the release.

    Notes
    -----
    There are two adversaries. For the one who has the release alone, a person's score is the number
    of rows that are like them: the rows that show a line which admits all known values of the
    person, averaged over the lines that may be theirs and, if columns are not linked, over all
    linkings. The other adversary has a list of all people in the test, and divides the rows of a
    line or a bucket among the people whom it admits. A person who matches nothing scores 0. The
    larger area of the two is judged. If it is below 1/2, others fit better than members.

    The test needs the table and the method, so it is run when a release is made, and left out if
    only published files are available, or if the method refuses a part of the table. The part is
    drawn from the release's secret, with fewer rows if the attack may do little work. It is
    published with the same parameters; a frequency or a bucket size weighs more there, because it
    has fewer rows. The upper end of the area's interval is judged, because another half would have
    resulted in another area. The interval is that of DeLong on the logit scale
    (`shoal.locating.separation`); the better of two adversaries is chosen after the fact, which
    raises the area and therefore errs on the safe side.

    A person's posterior is the belief that they are in the table, for an adversary who considered
    it as likely as not, after she saw whether they match.

    Fake tuples are combinations of all attributes that match a bucket and are not in the table;
    they are counted exactly, without listing them. From the published files alone, only all
    matching combinations can be counted.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.census(rows=600, seed=1))
    >>> release = shoal.anonymize(table, shoal.Mondrian(k=5), seed=1)
    >>> found = shoal.attack(release, Membership(limit=0.9))["membership"]
    >>> found.n_breached, found.headline["published in the test"]
    (0, 300)
    """

    limit: OptionalExact = exact_number(
        "The largest area under the ROC curve (AUC) that is allowed, compared with the upper end "
        "of its 95 % interval; if that is larger, everybody counts as at risk. Default: none, and "
        "the area is reported, not judged.",
        default=None,
        at_least="1/2",
        at_most=1,
        hint="1/2 is the area if members fit no better than others.",
        is_limit=True,
    )
    split: Exact = exact_number(
        "The share of the rows that are published in the test.", default="1/2", above=0, below=1
    )
    max_rows: int = whole_number(
        "The most rows in the test; from a larger table, about this many are drawn.",
        default=100_000,
        least=2,
    )
    compare: bool = flag(
        "Whether the test is repeated with rows grouped by similarity, by dissimilarity and at "
        "random, if the release is sliced.",
        default=False,
    )
    max_steps: int = whole_number(
        "The number of steps after which the counting of fake tuples is given up; some millions "
        "take a second.",
        default=50_000_000,
        least=0,
    )

    needs: ClassVar[frozenset[Need]] = frozenset({Need.TRIAL})
    is_judged_by_limit: ClassVar[bool] = True
    risks: ClassVar[tuple[Risk, ...]] = (Risk.MEMBERSHIP,)
    knows: ClassVar[str] = (
        "what is known about people, and the release, but not which of them are in the table"
    )

    def has_limit(self, published: Published) -> bool:  # noqa: ARG002
        """Return whether an area is allowed; no guarantee gives one."""
        return self.limit is not None

    def run(self, view: View) -> Findings:
        """Attack the people, and report how well members were told from others in trials."""
        published, people = view.published, view.people
        wanted = TrialPlan(self.split, self.max_rows, self.compare, self.max_steps)
        plan = plan_within(view.work, wanted, published.lines.n_rows)
        trials = view.trials(plan)
        tests = [_Test.of(trial) for trial in trials.trials]
        first = tests[0].telling.worse if tests and tests[0].telling else None
        is_matching = _is_matching(published, people)
        is_too_much = bool(
            first is not None and self.limit is not None and first.high > float(self.limit)
        )
        fakes, by_buckets = _fakes(published, trials, plan.max_steps)
        return Findings(
            attack="membership",
            knows=self.knows,
            counts=people.counts,
            # The findings are about no value: one entry serves all.
            value=np.broadcast_to(np.int64(-1), people.quasi.n_cells),
            posterior=_beliefs(first, is_matching),
            breached=is_matching & is_too_much,
            limit=None if first is None or self.limit is None else as_text(self.limit),
            headline={
                "people who match": int(people.counts[is_matching].sum()),
                **(_left_out(trials, tests) if first is None else _figures(first)),
                **fakes,
            },
            sections=(
                *([_test_section(tests)] if tests else []),
                *([tests[0].section] if first is not None else []),
                *by_buckets,
            ),
            figure=(
                _figure(first, self.limit, published.lines.n_rows)
                if first
                else _not_tested(trials, tests)
            ),
            cut_short=_cut_short(wanted, plan, published, fakes),
            is_apart=not trials.are_done,
        )


def _fakes(
    published: Published, trials: Trials, max_steps: int
) -> tuple[dict[str, object], tuple[Section, ...]]:
    """Return figures and sections about fake tuples, if the release is sliced."""
    sliced = published.sliced
    if sliced is None:
        return {}, ()
    if trials.originals is not None and trials.fakes is not None:
        n_originals, n_fakes = sum(trials.originals.values()), sum(trials.fakes.values())
        figures: dict[str, object] = {"tuples of the table": n_originals}
        return figures | {"fake tuples": n_fakes}, (
            _matches_section(trials.originals, trials.fakes),
        )
    reason = trials.not_counted
    if reason is None and sliced.layout.is_overlapping:
        reason = "not counted: columns share attributes"
    if reason is not None:
        return {"fake tuples": reason}, ()
    try:
        matching = _count_matching(sliced, max_steps)
    except InfeasibleError as error:
        return {"fake tuples": f"not counted: {error.fact}"}, ()
    # The table has at most one tuple per row.
    return {
        "tuples that match a bucket": matching,
        "fake tuples at least": max(matching - sliced.n_rows, 0),
    }, ()


def _cut_short(
    wanted: TrialPlan, plan: TrialPlan, published: Published, fakes: Mapping[str, object]
) -> str:
    """Describe what the budget of work left out; empty if nothing was."""
    said = []
    if wanted.compare and not plan.compare:
        said.append("the test was not repeated with rows grouped otherwise")
    sliced = published.sliced
    is_counted = isinstance(fakes.get("fake tuples", 0), int)
    if plan.max_steps < wanted.max_steps and not is_counted and sliced is not None:
        said.append("fake tuples were not counted")
    return " and ".join(said)


def _is_matching(published: Published, people: People) -> Flags:
    """Return who matches the release; a person whose place in it is known does."""
    is_known = people.line is not None or people.bucket is not None
    if is_known or not people.quasi.columns:
        return np.ones(people.quasi.n_cells, dtype=bool)
    is_matching = fit_people(published, people).n_buckets > 0
    if published.sliced is not None and published.meanings:
        # People of the release are given by its labels, which stand for other values.
        is_matching |= fit_sliced(published.sliced, people.quasi).n_buckets > 0
    return np.asarray(is_matching)


def _beliefs(separation: Separation | None, is_matching: Flags) -> Floats:
    """Return the belief that each person is a member, from even odds; 0 if nothing is known."""
    if separation is None:
        return np.zeros(len(is_matching))
    members, others = separation.members.share, separation.others.share
    return np.where(is_matching, _even_odds(members, others), _even_odds(1 - members, 1 - others))


def _even_odds(member: float, other: float) -> float:
    return member / (member + other) if member + other > 0 else 0.5


# --- the held-out test ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Test:
    """How well members were told from others in a trial; None if it could not be published."""

    trial: Trial
    telling: Telling | None = None

    @classmethod
    def of(cls, trial: Trial) -> _Test:
        published = trial.published
        if published is None:
            return cls(trial)
        return cls(trial, tell_apart(published, trial.members, trial.others))

    @property
    def section(self) -> Section:
        """Return people by the number of buckets that they match."""
        assert self.trial.published is not None
        members, others = (
            _in_bands(fit_people(self.trial.published, people).n_buckets, people.counts)
            for people in (self.trial.members, self.trial.others)
        )
        rows = zip(_band_names(), members, others, strict=True)
        return Section(
            f"{HELD_OUT_TEST}: people by matching buckets",
            ("buckets", "members", "others"),
            tuple(row for row in rows if row[1] or row[2]),
            holds_values=False,
        )

    @property
    def row(self) -> tuple[object, ...]:
        """Return the row of the table of tests."""
        published = self.trial.published
        if self.telling is None or published is None:
            return (self.trial.name, *[None] * 7, self.trial.refusal)
        found = self.telling.worse
        return (
            self.trial.name,
            published.manifest.n_rows / max(published.n_buckets, 1),
            found.members.share,
            found.others.share,
            found.auc,
            found.low,
            found.high,
            self.telling.alone.auc,
            None,
        )


def _left_out(trials: Trials, tests: list[_Test]) -> dict[str, object]:
    return {HELD_OUT_TEST: f"left out: {_reason(trials, tests)}"}


def _reason(trials: Trials, tests: list[_Test]) -> str | None:
    return tests[0].trial.refusal if tests else trials.left_out


def _figure(separation: Separation, limit: Fraction | None, n_rows: int) -> str:
    """Return the area with its interval and its meaning, and how many people were tested."""
    said = f"AUC {separation.auc:.2f} ({separation.low:.2f} to {separation.high:.2f})"
    said += f": {_meaning(separation)}"
    n_tested = separation.members.n_people + separation.others.n_people
    if n_tested < n_rows:
        said += f", by a test with {number(n_tested)} of {number(n_rows)} people"
    return said if limit is not None else f"{said}; no limit is set"


def _meaning(separation: Separation) -> str:
    """Describe how well members are told from others, by the whole interval."""
    if separation.high <= _HARDLY:
        return "members can hardly be told from others"
    if separation.low <= _CHANCE:
        return "too few people to say whether members can be told from others"
    if separation.low >= _PLAINLY:
        return "members can be clearly told from others"
    return "members can be told from others to some degree"


def _not_tested(trials: Trials, tests: list[_Test]) -> str:
    return f"not tested: {_reason(trials, tests)}".rstrip(".")


def _figures(separation: Separation) -> dict[str, object]:
    return {
        "published in the test": separation.members.n_people,
        "held out": separation.others.n_people,
        "members who match": separation.members.share,
        "others who match": separation.others.share,
        "AUC": separation.auc,
        "AUC, 95 % from": separation.low,
        "AUC, 95 % to": separation.high,
    }


def _test_section(tests: list[_Test]) -> Section:
    return Section(
        HELD_OUT_TEST,
        (
            "rows grouped",
            "rows a bucket",
            "members who match",
            "others who match",
            "AUC",
            "95 % from",
            "to",
            "AUC by the release alone",
            "left out",
        ),
        tuple(test.row for test in tests),
        holds_values=False,
    )


# --- numbers of buckets ---------------------------------------------------------------------------


def _band_names() -> list[str]:
    ends = [after - 1 for after in _BANDS[1:]]
    names = [
        f"{first}" if first == last else f"{first}-{last}"
        for first, last in zip(_BANDS, ends, strict=False)
    ]
    return [*names, f"{_BANDS[-1]}+"]


def _in_bands(n_buckets: Counts, counts: Counts) -> list[int]:
    band = np.searchsorted(_BANDS, n_buckets, side="right") - 1
    total: list[int] = total_by(band, counts, len(_BANDS)).tolist()
    return total


def _matches_section(originals: Mapping[int, int], fakes: Mapping[int, int]) -> Section:
    rows = [[name, 0, 0] for name in _band_names()]
    for place, counted in enumerate((originals, fakes), start=1):
        for n_buckets, n_tuples in counted.items():
            # In Python's numbers: there may be more fakes than 64 bits hold.
            band = int(np.searchsorted(_BANDS, n_buckets, side="right")) - 1
            rows[band][place] += n_tuples  # type: ignore[operator]
    return Section(
        "tuples by matching buckets",
        ("buckets", "of the table", "fakes"),
        tuple(tuple(row) for row in rows if row[1] or row[2]),
        holds_values=False,
    )


def _count_matching(sliced: Sliced, max_steps: int) -> int:
    """Count the combinations of all attributes that match a bucket."""
    columns = [
        ValuesByBucket(column.bucket, column.value, sliced.n_buckets, column.values.n_cells)
        for column in sliced.columns
    ]
    nobody = np.empty((0, len(columns)), dtype=np.int64)
    return count_fakes(columns, nobody, max_steps=max_steps).n_fakes
