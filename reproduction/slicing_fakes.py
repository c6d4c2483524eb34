"""Membership in a sliced Adult: fake tuples, matching buckets, and people who are held out.

[Slicing] argues that members are hidden among fake tuples: combinations that match a bucket but are
in no row. Besides the paper's counts, we measure what it does not: half of the table is published,
and the other half are people who are not in it. How well can the two be distinguished?

References
----------
[Slicing] (see `shoal.core.sliced`) Sections 5, 6 and 7.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from reproduction.reproduced import Curve, Figure, Setting, Statement, claimed
from reproduction.slicing_adult import (
    TABLES,
    adult_rows,
    all_known,
    setting_words,
    two_columns,
)
from shoal.core.findings import Findings
from shoal.datasets.dataset import Dataset
from shoal.engines.sql.table import EngineTable
from shoal.membership.attack import Membership
from shoal.slicing.method import Slicing
from shoal.workflow.anonymize import anonymize
from shoal.workflow.attack import attack
from shoal.workflow.read import read

_SIZES = (10, 100)
_FIVE = 5
_BUCKETIZED, _TWO, _MANY = "bucketization", "slicing, c = 2", f"slicing, c = {_FIVE}"
_SLICED = (_TWO, _MANY)
_MOST_STEPS = 2_000_000_000
_MATCHES = "tuples by matching buckets"
_BANDS = ("1", "2", "3-4", "5-9", "10-99", "100+")
_FREQUENCY = 20
_CLOSE = 0.6
"""Two kinds are hard to distinguish if the area under the ROC curve is at most this."""
_EASY = 0.9
_N_QUICK = 300
"""Few rows, because counting fake tuples takes one step per combination."""
_ALMOST_ALL = 0.9


@dataclass(frozen=True)
class _Place:
    """A table and a size of buckets."""

    table: str
    size: int

    def __str__(self) -> str:
        return f"{self.table}, buckets of {self.size}"


@dataclass(frozen=True, eq=False)
class Found:
    """The findings of the attack on a release."""

    n_tuples: float  # The distinct rows of the table; NaN if not counted, as is `n_fakes`.
    n_fakes: float
    # The number that match each number of buckets, by `_BANDS`; so are `fakes`.
    originals: Sequence[int]
    fakes: Sequence[int]
    auc: float  # How well members are distinguished from people held out, with its 95 % interval.
    low: float
    high: float
    others: float  # The share of the people held out who match a bucket.

    @classmethod
    def of(cls, findings: Findings) -> Found:
        """Read the findings of the attack."""
        figures = findings.headline
        rows = next((one.rows for one in findings.sections if one.title == _MATCHES), ())
        by_band = {str(band): (int(str(a)), int(str(b))) for band, a, b in rows}
        counts = [by_band.get(band, (0, 0)) for band in _BANDS]
        return cls(
            _number(figures.get("tuples of the table")),
            _number(figures.get("fake tuples")),
            [own for own, _ in counts],
            [fake for _, fake in counts],
            _number(figures.get("AUC")),
            _number(figures.get("AUC, 95 % from")),
            _number(figures.get("AUC, 95 % to")),
            _number(figures.get("others who match")),
        )

    @property
    def auc_of_fakes(self) -> float:
        """How well the number of matching buckets separates originals from fakes, by bands."""
        n_pairs = sum(self.originals) * sum(self.fakes)
        if not n_pairs:
            return math.nan
        below, won = 0, 0.0
        for own, fake in zip(self.originals, self.fakes, strict=True):
            won += own * (below + fake / 2)
            below += fake
        return won / n_pairs


def _number(figure: object) -> float:
    return float(figure) if isinstance(figure, int | float) else math.nan


def run_membership(setting: Setting) -> Sequence[Figure]:
    """Count fake tuples, and distinguish members from people who are held out."""
    rows = {name: adult_rows(setting, name, _N_QUICK) for name in TABLES}
    tables = {name: read(all_known(one)) for name, one in rows.items()}
    places = [_Place(*one) for one in product(TABLES, _sizes(setting))]
    found = {
        (kind, place): _attacked(
            setting, tables[place.table], _columns(kind, rows[place.table]), place.size
        )
        for place in places
        for kind in (_BUCKETIZED, *_SLICED)
    }
    unique = {name: _share_alone(one) for name, one in rows.items()}
    return [
        _fakes(setting, places, found),
        *(_matching(setting, name, found) for name in TABLES),
        _held_out(setting, places, found, unique),
        _grouping(setting, tables["OCC-15"]),
    ]


def _sizes(setting: Setting) -> tuple[int, ...]:
    return _SIZES[:1] if setting.is_quick else _SIZES


def _columns(kind: str, rows: Dataset) -> list[list[str]] | int:
    """Return the columns of a kind; bucketization separates the sensitive attribute."""
    if kind == _MANY:
        return _FIVE
    attributes = list(rows.columns)
    return two_columns(attributes, None) if kind == _BUCKETIZED else two_columns(attributes)


def _attacked(
    setting: Setting, table: EngineTable, columns: list[list[str]] | int, size: int
) -> Found:
    method = Slicing(columns=columns, buckets="random", bucket_size=size)
    release = anonymize(table, method, seed=setting.seed)
    return Found.of(attack(release, Membership(max_steps=_MOST_STEPS))["membership"])


def _share_alone(rows: Dataset) -> float:
    """Return the share of people whose combination of quasi-identifiers is unique."""
    counts = read(rows).counts(rows.schema.quasi).counts
    return float((counts == 1).sum() / counts.sum())


_Findings = Mapping[tuple[str, _Place], Found]
_RANDOM = (
    "Random buckets; c = 2 has {sex, occupation} and all others, c = 5 is clustered by correlation."
)


def _words(setting: Setting, what: str, rest: str) -> str:
    return setting_words(setting, what, rest, _N_QUICK)


# --- fake tuples ----------------------------------------------------------------------------------


def _fakes(setting: Setting, places: Sequence[_Place], found: _Findings) -> Figure:
    return Figure(
        name="fake-tuples",
        title="Section 6.3: fake tuples",
        setting=_words(setting, "OCC-7 and OCC-15", f"{_RANDOM} Counted exactly, each tuple once."),
        x_name="table and buckets",
        x=tuple(map(str, places)),
        y_name="tuples",
        curves=(
            Curve("tuples of the table", tuple(found[_TWO, one].n_tuples for one in places)),
            *(
                Curve(f"fakes, {kind}", tuple(found[kind, one].n_fakes for one in places))
                for kind in _SLICED
            ),
        ),
        statements=tuple(
            _fake_statement(kind, one, found[kind, one]) for kind in _SLICED for one in places
        ),
        is_log=True,
    )


def _fake_statement(kind: str, place: _Place, found: Found) -> Statement:
    return claimed(
        f"fake tuples, {kind}, {place}",
        "very many, as compared to the original tuples",
        f"{found.n_fakes:,.0f}, {found.n_fakes / found.n_tuples:,.3g} times the "
        f"{found.n_tuples:,.0f} different tuples",
        holds=found.n_fakes > found.n_tuples,
        why="There are fewer fakes than tuples.",
    )


def _matching(setting: Setting, table: str, found: _Findings) -> Figure:
    size = _sizes(setting)[-1]
    place = _Place(table, size)
    curves = []
    for kind in _SLICED:
        one = found[kind, place]
        for what, counts in (("tuples of the table", one.originals), ("fakes", one.fakes)):
            total = max(sum(counts), 1)
            curves.append(Curve(f"{what}, {kind}", tuple(100 * n / total for n in counts)))
    return Figure(
        name=f"matching-buckets-{table.lower()}",
        title=f"Section 6.3: buckets that original and fake tuples match, {table}",
        setting=_words(setting, f"{table}, buckets of {size}", _RANDOM),
        x_name="matching buckets",
        x=_BANDS,
        y_name="share of the tuples (%)",
        curves=tuple(curves),
        statements=tuple(
            _closeness(kind, one, found[kind, one])
            for kind in _SLICED
            for one in (_Place(table, size) for size in _sizes(setting))
        ),
    )


def _closeness(kind: str, place: _Place, found: Found) -> Statement:
    """Judge whether the number of matching buckets distinguishes originals from fakes."""
    apart = found.auc_of_fakes
    is_close = max(apart, 1 - apart) <= _CLOSE
    shares = [100 * counts[0] / max(sum(counts), 1) for counts in (found.originals, found.fakes)]
    told = (
        f"{shares[0]:.0f} % of the original and {shares[1]:.0f} % of the fake tuples match one "
        f"bucket. Judged by an area of at most {_CLOSE}."
    )
    return Statement(
        f"matching buckets of original and fake tuples, {kind}, {place}",
        "close enough to make it difficult to tell them apart",
        f"an area of {apart:.3f} under the ROC curve",
        "reproduced" if is_close else "differs",
        told
        if is_close
        else f"{told} With few attributes many people are alike, so common combinations are in "
        "many buckets, and fake ones consist of rare values.",
    )


# --- people who are held out ----------------------------------------------------------------------


def _held_out(
    setting: Setting, places: Sequence[_Place], found: _Findings, unique: Mapping[str, float]
) -> Figure:
    kinds = (_BUCKETIZED, *_SLICED)
    return Figure(
        name="held-out-people",
        title="Sections 5 and 6.3: distinguishing members from people who are not in the table",
        setting=_words(
            setting,
            "OCC-7 and OCC-15",
            f"{_RANDOM} A random half is published, the other half is held out; all attributes of "
            "people are known. 0.5 is as good as a guess.",
        ),
        x_name="table and buckets",
        x=tuple(map(str, places)),
        y_name="AUC",
        curves=tuple(Curve(kind, tuple(found[kind, one].auc for one in places)) for kind in kinds),
        statements=(
            *(_alone_statement(name, share) for name, share in unique.items()),
            *_protection(places, found),
        ),
    )


def _alone_statement(table: str, share: float) -> Statement:
    is_so = share >= _ALMOST_ALL
    return Statement(
        f"tuples uniquely identifiable when bucketized, {table}",
        "almost every tuple",
        f"{100 * share:.1f} % of the rows",
        "reproduced" if is_so else "differs",
        f"Rows whose quasi-identifiers nobody shares; judged by {100 * _ALMOST_ALL:.0f} %."
        + ("" if is_so else " Six quasi-identifiers leave many people alike."),
    )


def _protection(places: Sequence[_Place], found: _Findings) -> Iterator[Statement]:
    for place in places:
        bare = found[_BUCKETIZED, place]
        for kind in _SLICED:
            one = found[kind, place]
            by_chance = math.hypot(one.high - one.low, bare.high - bare.low) / 2
            is_better = bare.auc - one.auc > by_chance
            yield Statement(
                f"protection against membership disclosure, {kind}, {place}",
                "better than bucketization",
                f"AUC {one.auc:.4f}, bucketized {bare.auc:.4f}",
                "reproduced" if is_better else "differs",
                f"A difference up to {by_chance:.2g} may be chance. Of the people held out "
                f"{100 * one.others:.1f} % match a bucket, among {one.n_fakes:.3g} fake tuples."
                + (
                    " Members are still distinguished from others almost always: most fakes are "
                    "people who do not exist."
                    if one.auc > _EASY
                    else ""
                ),
            )


# --- how rows are grouped -------------------------------------------------------------------------


def _grouping(setting: Setting, table: EngineTable) -> Figure:
    """Compare the ways to group rows, and the generalization of columns."""
    size = _sizes(setting)[-1]
    method = Slicing(columns=_FIVE, buckets="random", bucket_size=size)
    release = anonymize(table, method, seed=setting.seed)
    asked = Membership(compare=True, max_steps=0)
    tests = next(
        one for one in attack(release, asked)["membership"].sections if one.title == "held-out test"
    )
    place = {name: at for at, name in enumerate(tests.columns)}
    named = {str(row[0]): row for row in tests.rows[1:]}
    auc = {name: _number(row[place["AUC"]]) for name, row in named.items()}
    general = Slicing(columns=_FIVE, bucket_size=size, min_frequency=_FREQUENCY)
    coarse = attack(anonymize(table, general, seed=setting.seed), Membership(max_steps=0))
    auc["by similarity, generalized"] = Found.of(coarse["membership"]).auc
    return Figure(
        name="grouping",
        title="Section 7: how rows are grouped",
        setting=_words(
            setting,
            f"OCC-15, c = {_FIVE}, buckets of {size}",
            "A random half is published, the other half is held out. Generalized: every column "
            f"value occurs {_FREQUENCY} times at least.",
        ),
        x_name="rows grouped",
        x=tuple(auc),
        y_name="AUC",
        curves=(Curve("members told from others", tuple(auc.values())),),
        statements=tuple(_grouping_statements(auc)),
    )


def _grouping_statements(auc: Mapping[str, float]) -> Iterator[Statement]:
    found = auc["at random"]
    yield Statement(
        "random grouping against membership disclosure",
        "not very effective",
        f"AUC {found:.3f}",
        "reproduced" if found > _EASY else "differs",
        f"Judged by an area above {_EASY}.",
    )
    others = {name: value for name, value in auc.items() if name != "at random"}
    best = min(others, key=lambda name: others[name])
    yield Statement(
        "more effective ways",
        "",
        f"{best}: AUC {others[best]:.3f}",
        "not stated in the paper",
        "The paper plans to design them. "
        + "; ".join(f"{name} {value:.3f}" for name, value in others.items())
        + ".",
    )
