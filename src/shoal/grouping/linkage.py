"""Linkage: how well a person's line can be found by their quasi-identifiers.

The adversary knows quasi-identifiers and looks for the published lines that fit. Rows with equal
published quasi-identifiers form an equivalence class. She cannot distinguish its rows, so she picks
the right one with probability one over its size. Three adversaries are common:

- the *prosecutor* knows that a certain person is in the table and looks for them;
- the *journalist* knows a population that the table was drawn from and is content with anyone: a
  class is as large as the part of the population that fits it;
- the *marketer* links everybody at once and counts how many links are right.

A release with unchanged quasi-identifiers is open to all three, however well its buckets hide the
sensitive values: buckets play no part here.

Insensitive columns are also published unchanged, so they are used to find people too, except those
that the steward confirmed (`meant`): nobody is assumed to know them. The additional risk from an
adversary who knows even these is reported, but not judged.

References
----------
K. El Emam, F. Dankar, Protecting privacy using k-anonymity, 2008 (the three adversaries).
L. Sweeney, k-anonymity: a model for protecting privacy, 2002 (k-map).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Codes, Counts, Flags, Floats, weighted_sum
from shoal.core.attack import Attack, Need, View
from shoal.core.cells import Cells, total_by
from shoal.core.declared import declared
from shoal.core.display import Section, number, of_all
from shoal.core.errors import ParameterError
from shoal.core.exact import as_text
from shoal.core.findings import Findings, Risk
from shoal.core.guarantees import AlphaK, Guarantee, KAnonymity
from shoal.core.parameters import OptionalExact, exact_number, from_file
from shoal.core.release import Company, People, Published
from shoal.core.shapes import Model, Shape
from shoal.grouping.column_shares import column_section
from shoal.locating.location import match_lines

_Entry = TypeVar("_Entry", bound=np.generic)

_BANDS = (1, 2, 3, 5, 10, 20)
"""The smallest class size of each band."""


@declared
class Linkage(Attack):
    """Link people to published lines by their quasi-identifiers.

    Notes
    -----
    The figures about records assume that every record's class is known. The risk of a person is
    that of the rows that may be theirs: their class if it is known, otherwise all rows that fit.
    If they may be in several classes, the journalist risk is that of the class with the smallest
    population. Nobody can be named in a class with no population: its journalist risk is 0.

    If cells are suppressed, a class is the rows that show the same values and are suppressed
    alike. Other rows may fit too, so the risk of a record is at most that. A person fits a row
    whatever is behind its suppressed cells.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.manifest import Manifest
    >>> bucket, sex = Domain.of_texts("bucket", ["4", "5"]), Domain.of_texts("sex", ["F", "M"])
    >>> lines = Cells((bucket, sex), np.array([[0, 0], [0, 1], [1, 1]]), np.array([1, 1, 2]))
    >>> manifest = Manifest(
    ...     shape=Shape.BUCKETIZED, method="anatomy", parameters={}, guarantees=(), columns=(),
    ...     n_rows=4, n_buckets=2,
    ... )
    >>> everybody = People(lines.select(["sex"]))
    >>> view = View(Published(manifest, lines, None), everybody)
    >>> findings = Linkage(limit="1/2").run(view)
    >>> findings
    Findings(linkage: 1 of 4 people at risk; at worst found 1 in 1, worst posterior 1)
    >>> findings.headline["marketer"]
    0.5
    """

    limit: OptionalExact = exact_number(
        "The largest risk that is allowed. Default: 1/k if the release claims k-anonymity; "
        "otherwise the risk is reported, not judged.",
        default=None,
        above=0,
        at_most=1,
        is_limit=True,
    )
    population: Cells | None = from_file(
        "The quasi-identifiers of a population that the table was drawn from, with the number of "
        "people who carry each combination; a person's risk is then the journalist's. Default: "
        "none.",
        (Cells,),
        default=None,
        file="a population",
        what="the counts of a population",
    )

    risks: ClassVar[tuple[Risk, ...]] = (Risk.SINGLING_OUT, Risk.LINKABILITY)
    knows: ClassVar[str] = "the quasi-identifiers of people, and that they are in the table"
    reads: ClassVar[frozenset[Model]] = frozenset({Model.CLASSES, Model.BUCKETS, Model.ROWS})
    needs: ClassVar[frozenset[Need]] = frozenset({Need.INSENSITIVE})

    def has_limit(self, published: Published) -> bool:
        """Return whether a risk is allowed, here or by the k of a guarantee."""
        return self.limit is not None or _claimed_limit(published) is not None

    def run(self, view: View) -> Findings:
        """Link the people to the release.

        Raises `ParameterError` if the release has a shape that the attack does not support.
        """
        published, people = view.published, view.people
        if not self.fits(published):
            raise ParameterError(
                "Linkage attacks generalized, bucketized and suppressed releases; this one is "
                f"{published.manifest.shape}."
            )
        classes, class_of_line = published.looks
        limit = _claimed_limit(published) if self.limit is None else self.limit
        company = people.company
        if company is not None and company.known is not None and self.population is None:
            return self._found_by_line(published, company, limit)
        fitting = _Fitting.of(published, classes, class_of_line, people)
        hidden_among = fitting.n_rows
        headline = _record_figures(classes.counts)
        knows = self.knows
        if self.population is not None:
            population = _population_of(published, classes, self.population)
            hidden_among = fitting.fewest(population)
            headline |= _population_figures(classes.counts, population)
            knows = "the quasi-identifiers of a population that the table was drawn from"
        breached = _is_too_small(hidden_among, limit)
        n_people = fitting.count(people.counts)
        figure = _figure(hidden_among, n_people, breached, limit, published.manifest.shape)
        return Findings(
            attack="linkage",
            knows=knows,
            counts=people.counts,
            # Linkage is not about a value; one entry serves all people.
            value=np.broadcast_to(np.int64(-1), people.quasi.n_cells),
            posterior=fitting.of_people(_risk(hidden_among)),
            breached=fitting.of_people(breached),
            limit=None if limit is None else as_text(limit),
            headline={
                **({} if limit is None else {"people at risk": int(n_people[breached].sum())}),
                **headline,
                "people not found": int(n_people[fitting.n_rows == 0].sum()),
                **_figures_of_all_columns(company),
            },
            sections=(column_section(classes), _band_section(hidden_among, n_people)),
            figure=figure + _words_of_all_columns(company, hidden_among),
        )

    def _found_by_line(
        self, published: Published, company: Company, limit: Fraction | None
    ) -> Findings:
        """Link everybody by insensitive columns too; lines of one class may differ in them."""
        hidden_among = company.known
        assert hidden_among is not None
        breached = _is_too_small(hidden_among, limit)
        everyone = np.ones(len(hidden_among), dtype=np.int64)
        n_breached = int(np.count_nonzero(breached))
        figure = _figure(hidden_among, everyone, breached, limit, published.manifest.shape)
        return Findings(
            attack="linkage",
            knows=f"{self.knows}, and what is in insensitive columns that nobody confirmed",
            counts=everyone,
            value=np.broadcast_to(np.int64(-1), len(hidden_among)),
            posterior=_risk(hidden_among),
            breached=breached,
            limit=None if limit is None else as_text(limit),
            headline={
                **({} if limit is None else {"people at risk": n_breached}),
                **_record_figures(_class_sizes(hidden_among)),
                "people not found": 0,
                **_figures_of_all_columns(company),
            },
            sections=(column_section(published.looks[0]), _band_section(hidden_among, everyone)),
            is_by_line=True,
            figure=figure + _words_of_all_columns(company, hidden_among),
        )


def _claimed_limit(published: Published) -> Fraction | None:
    """Return 1/k if the release claims that classes have k rows; None otherwise."""
    generalizes = published.manifest.shape.generalizes

    def k_of(guarantee: Guarantee) -> int:
        if isinstance(guarantee, KAnonymity):
            return guarantee.k
        # The buckets of (alpha, k)-anonymity are classes only if lines are generalized.
        return guarantee.k if isinstance(guarantee, AlphaK) and generalizes else 0

    k = max(map(k_of, published.manifest.guarantees), default=0)
    return Fraction(1, k) if k else None


# People and the classes that they fit


@dataclass(frozen=True, eq=False)
class _Fitting:
    """The classes that people may be in; people who may be in the same classes are of one kind.

    Entries are pairs of `kind` and `in_class`, sorted by kind. People of each kind may be any of
    `n_rows` rows. `kind_of` is the kind of each cell of people; None if each is its own kind.
    """

    kind: Codes
    in_class: Codes
    n_rows: Counts
    kind_of: Codes | None = None

    @classmethod
    def of(
        cls, published: Published, classes: Cells, class_of_line: Codes, people: People
    ) -> _Fitting:
        if people.line is not None:
            own = np.arange(classes.n_cells, dtype=np.int64)
            return cls(own, own, classes.counts, class_of_line[people.line])
        if people.bucket is not None and published.manifest.shape.generalizes:
            return cls._of_known(published, classes, class_of_line, people.bucket)
        matches = match_lines(classes, published.meanings, people.quasi)
        return cls(matches.person, matches.line, matches.rows_of(classes.counts))

    @classmethod
    def _of_known(
        cls, published: Published, classes: Cells, class_of_line: Codes, bucket: Codes
    ) -> _Fitting:
        class_of_bucket = np.zeros(published.n_buckets, dtype=np.int64)
        class_of_bucket[published.lines.codes[:, 0]] = class_of_line
        person = np.flatnonzero(bucket >= 0)
        in_class = class_of_bucket[bucket[person]]
        n_rows = np.zeros(len(bucket), dtype=np.int64)
        n_rows[person] = classes.counts[in_class]
        return cls(person, in_class, n_rows)

    def fewest(self, population: Counts) -> Counts:
        """Return for each kind the smallest population of a class that holds anybody, or 0."""
        sizes = population[self.in_class]
        is_held = sizes > 0
        none = np.iinfo(np.int64).max
        fewest = np.full(len(self.n_rows), none, dtype=np.int64)
        np.minimum.at(fewest, self.kind[is_held], sizes[is_held])
        return np.where(fewest == none, 0, fewest)

    def count(self, counts: Counts) -> Counts:
        """Count the people of each kind, given how many each cell of people stands for."""
        if self.kind_of is None:
            return counts
        return total_by(self.kind_of, counts, len(self.n_rows))

    def of_people(self, of_kind: npt.NDArray[_Entry]) -> npt.NDArray[_Entry]:
        """Return for each cell of people the number found for its kind."""
        return of_kind if self.kind_of is None else of_kind[self.kind_of]


def _population_of(published: Published, classes: Cells, population: Cells) -> Counts:
    """Count for every class the people of a population who fit it."""
    matches = match_lines(classes, published.meanings, population)
    return total_by(matches.line, population.counts[matches.person], classes.n_cells)


def _risk(hidden_among: Counts) -> Floats:
    """Return one over the number that a person hides among; 0 if there is nobody to find."""
    return np.where(hidden_among > 0, 1 / np.maximum(hidden_among, 1), 0.0)


def _is_too_small(hidden_among: Counts, limit: Fraction | None) -> Flags:
    """Return whether 1 / hidden_among > limit, compared in integers."""
    if limit is None:
        return np.zeros(len(hidden_among), dtype=bool)
    least = min(math.ceil(1 / limit), int(np.iinfo(np.int64).max))
    return (hidden_among > 0) & (hidden_among < least)


# Figures


def _class_sizes(alike: Counts) -> Counts:
    """Return the size of every class, given for each line how many look like it."""
    # Every class of size s has s lines, each of which looks like s.
    sizes, n_lines = np.unique(alike, return_counts=True)
    return np.repeat(sizes, n_lines // sizes)


def _figures_of_all_columns(company: Company | None) -> dict[str, object]:
    """Return the figures for an adversary who knows every column except the sensitive one."""
    if company is None or not len(company.whole):
        return {}
    return {
        "smallest class by all columns": int(company.whole.min()),
        "share of unique records by all columns": float(np.mean(company.whole == 1)),
    }


def _words_of_all_columns(company: Company | None, hidden_among: Counts) -> str:
    found = hidden_among[hidden_among > 0]
    if company is None or not len(company.whole) or not len(found):
        return ""
    if company.whole.min() >= found.min():
        return ""
    return f"; with the confirmed insensitive columns, 1 in {number(int(company.whole.min()))}"


def _figure(
    hidden_among: Counts,
    n_people: Counts,
    breached: Flags,
    limit: Fraction | None,
    shape: Shape,
) -> str:
    """Return the smallest group that a person hides in, and the people in groups too small."""
    found = hidden_among[(hidden_among > 0) & (n_people > 0)]
    if not len(found):
        return "nobody is found"
    total = int(n_people.sum())
    if limit is not None:
        counted = of_all(int(n_people[breached].sum()), total)
        return f"{counted} people at risk; at worst found 1 in {number(int(found.min()))}"
    said = f"at worst found 1 in {number(int(found.min()))}"
    if not shape.generalizes:
        said += "; values are published as they are, so anybody can see who is in the table"
    return f"{said}; no limit is set"


def _record_figures(sizes: Counts) -> dict[str, object]:
    """Return the figures about the records of the release that follow from class sizes."""
    n_records = max(int(sizes.sum()), 1)
    smallest = int(sizes.min()) if len(sizes) else 0
    largest_risk = 1 / smallest if smallest else 0.0
    mean_risk = len(sizes) / n_records
    return {
        "prosecutor maximum": largest_risk,
        "prosecutor mean": mean_risk,
        "records at the maximum": int(sizes[sizes == smallest].sum()),
        "share of unique records": int((sizes == 1).sum()) / n_records,
        "journalist maximum": largest_risk,
        "marketer": mean_risk,
        "classes": len(sizes),
        "smallest class": smallest,
        "average class": n_records / len(sizes) if len(sizes) else 0.0,
    }


def _population_figures(sizes: Counts, population: Counts) -> dict[str, object]:
    """Return the figures that a known population adds."""
    held = population[population > 0]
    k_map = int(held.min()) if len(held) else 0
    return {
        "journalist maximum": 1 / k_map if k_map else 0.0,
        "marketer": weighted_sum(_risk(population), sizes) / max(int(sizes.sum()), 1),
        "k-map": k_map,
        "classes with fewer in the population than records": int((population < sizes).sum()),
    }


def _band_section(hidden_among: Counts, counts: Counts) -> Section:
    """Count people by the number that they hide among."""
    band = np.searchsorted(_BANDS, hidden_among, side="right")
    people = np.bincount(band, counts, len(_BANDS) + 1).astype(np.int64)[1:]
    ends = [after - 1 for _, after in pairwise(_BANDS)]
    names = [
        f"{first}" if first == last else f"{first}-{last}"
        for first, last in zip(_BANDS, ends, strict=False)
    ]
    rows = zip(
        [*names, f"{_BANDS[-1]}+"], (1 / size for size in _BANDS), people.tolist(), strict=True
    )
    return Section(
        "largest risk by class size",
        ("class size", "largest risk", "people"),
        tuple(rows),
        holds_values=False,
    )
