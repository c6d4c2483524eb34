"""Which buckets of a sliced release people match, and how many rows are like them.

A person matches a bucket that holds their value in every column. Values are compared as a reader
would: a label stands for the values that it covers. If a value may be behind several labels, as a
value that is too rare to be named, each label is equally likely. Columns that share attributes are
linked where these agree. People who would be published alike are processed once, and everything is
joined as arrays, without loops over people or buckets.

`shown_people` translates what is known of people into the release's own codes, with labels in place
of generalized values. `expose_sliced` prepares the foreground attack: in a bucket of a sliced
release the sensitive value is published beside the other attributes of its column. An adversary
who knows these of a person looks among the rows of the bucket that have them: they are a bucket of
their own, and the person's other attributes say how likely the value is theirs.

References
----------
[Slicing] (see `shoal.core.sliced`) Section 3; [Wong11] (see `shoal.foreground`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.core.arrays import Codes, Counts, Floats
from shoal.core.cells import Buckets, Cells, group
from shoal.core.domain import Domain
from shoal.core.errors import DataError, ParameterError
from shoal.core.meaning import Meaning
from shoal.core.release import People, Published
from shoal.core.sliced import Sliced, SlicedColumn
from shoal.locating.exposed import Exposed
from shoal.locating.location import Matches, labels_of_values, match_lines, spread
from shoal.slicing.beliefs import sliced_beliefs
from shoal.slicing.held import Held, matched_pairs

Labels = Mapping[str, Mapping[str, Meaning]]
Term = tuple[Codes, Codes, Floats]


@dataclass(frozen=True, eq=False)
class SlicedMatches:
    """The buckets that people match; people who match alike are of one kind.

    `kind` has one entry per cell of people. `terms` yields, in parts, the pairs of a kind and a
    bucket that it matches, with |B| f(t, B), the mean number of rows like it in the bucket over all
    linkings.
    """

    kind: Codes
    n_kinds: int
    terms: Callable[[], Iterator[Term]]

    def __repr__(self) -> str:
        return f"SlicedMatches({len(self.kind)} different people of {self.n_kinds} kinds)"


def match_sliced(sliced: Sliced, people: Cells, labels: Labels) -> SlicedMatches:
    """Find the buckets that people, given as values or as published labels, match.

    `labels` maps attribute and label to the values that the label stands for.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.sliced import Layout
    >>> sex, city = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("city", ["Bonn", "Rome"])
    >>> rows = Cells.of_rows([sex, city], np.array([[0, 0], [0, 1], [1, 1]]))
    >>> layout, bucket = Layout([["sex"], ["city"]]), np.array([0, 0, 1])
    >>> release = Sliced.of_pieces(rows, layout, np.arange(3), bucket, rows.counts)
    >>> found = match_sliced(release, rows, {})
    >>> kind, bucket, n_rows = next(found.terms())
    >>> kind.tolist(), bucket.tolist(), n_rows.tolist()
    ([0, 1, 2], [0, 0, 1], [1.0, 1.0, 1.0])
    """
    places = Counter(name for column in sliced.layout.columns for name in column)
    linking = [name for name, n in places.items() if n > 1 and name not in people.columns]
    if linking:
        return _match_joined(sliced, people, labels, linking[0])
    return _match_product(sliced, people, labels)


def _match_joined(sliced: Sliced, people: Cells, labels: Labels, linking: str) -> SlicedMatches:
    """Match people if an attribute that is not known of them links columns."""
    known = [name for name in sliced.layout.known if name in people.columns]
    domains = tuple(sliced.domain(name) for name in known)
    codes = [_published_code(sliced, people, labels, name) for name in known]
    # A value that is not published has a code of its own, one above those of all values.
    sizes = [domain.size + 1 for domain in domains]
    first, kind = group([code % size for code, size in zip(codes, sizes, strict=True)], sizes,
                        people.n_cells)  # fmt: skip
    looks = np.column_stack(codes)[first]
    place: Codes = np.flatnonzero((looks >= 0).all(axis=1)).astype(np.int64)
    tuples = Cells(domains, looks[place], np.ones(len(place), dtype=np.int64))
    tuple_, bucket, share = sliced_beliefs(sliced, tuples, linking).matches
    amount: Floats = share.astype(np.float64) * sliced.sizes[bucket]
    term = place[tuple_], bucket, amount
    return SlicedMatches(kind, len(first), lambda: iter([term]))


def _published_code(sliced: Sliced, people: Cells, labels: Labels, name: str) -> Codes:
    """Return the first label that admits each value; -1 if there is none."""
    values = people.domain(name)
    start, label = labels_of_values(sliced.domain(name), labels.get(name, {}), values)
    code = np.full(values.size, -1, dtype=np.int64)
    is_named = np.diff(start) > 0
    code[is_named] = label[start[:-1][is_named]]
    return code[people.column(name)]


def _match_product(sliced: Sliced, people: Cells, labels: Labels) -> SlicedMatches:
    """Match people whose values are known wherever columns share them.

    The rows of a bucket B like them number |B| times the product, over the columns, of the share of
    rows with their value: among all rows of B or, if the column is linked to earlier ones by shared
    attributes, among the rows that agree with them in these.
    """
    factors: list[_Factor] = []
    divisors: list[_Factor | None] = []
    for link in sliced.layout.links():
        column = sliced.columns[link.column]
        names = [name for name in column.attributes if name in people.columns]
        if names:
            factors.append(_Factor.of(sliced, column, names, people, labels))
            shared = link.separator
            divisors.append(_Factor.of(sliced, column, shared, people, labels) if shared else None)
    every = [factor for factor in (*factors, *divisors) if factor is not None]
    first, kind = group(
        [factor.kind for factor in every], [factor.held.n_kinds for factor in every], people.n_cells
    )
    product = _Product(
        sliced.sizes,
        [factor.of_people(first) for factor in factors],
        [None if divisor is None else divisor.of_people(first) for divisor in divisors],
        len(first),
    )
    return SlicedMatches(kind, len(first), product.terms)


@dataclass(frozen=True, eq=False)
class _Factor:
    """How many rows of each bucket have a person's values of some attributes.

    People are of one kind if they may be published as the same values. `count` has the number of
    rows for each entry of `held`.
    """

    kind: Codes
    held: Held
    count: Floats

    @classmethod
    def of(
        cls,
        sliced: Sliced,
        column: SlicedColumn,
        names: Sequence[str],
        people: Cells,
        labels: Labels,
    ) -> _Factor:
        looks, look = people.select_with_inverse(names)
        values, of_value = column.values.select_with_inverse(names)
        matches = match_lines(values, labels, looks)
        first_look, kind_of_look = _alike(matches, values.n_cells)
        n_values_of = np.diff(matches.start)[first_look]
        owner, place = spread(matches.start[first_look], n_values_of)
        matched = matches.line[place]
        value = of_value[column.value]
        by_value = np.argsort(value, kind="stable")
        first = np.searchsorted(value[by_value], np.arange(values.n_cells + 1))
        source, place = spread(first[matched], np.diff(first)[matched])
        entry = by_value[place]
        owner, bucket = owner[source], column.bucket[entry]
        n_kinds, n_buckets = len(first_look), sliced.n_buckets
        chosen, inverse = group([owner, bucket], [n_kinds, n_buckets], len(owner))
        # If several values of the column may be a person's, exactly one is.
        n_rows = column.count[entry] / n_values_of[owner]
        count: Floats = np.zeros(len(chosen))
        np.add.at(count, inverse, n_rows)
        start = np.searchsorted(owner[chosen], np.arange(n_kinds + 1)).astype(np.int64)
        return cls(kind_of_look[look], Held(start, bucket[chosen], n_buckets), count)

    def of_people(self, places: Codes) -> _Factor:
        """Return the factor of some of the people."""
        return replace(self, kind=self.kind[places])

    def count_of(self, person: Codes, bucket: Codes) -> Floats:
        """Count, for pairs of a person and a bucket, its rows with the person's values."""
        entry = self.held.find(self.kind[person], bucket)
        count = np.zeros(len(entry))
        is_held = entry >= 0
        count[is_held] = self.count[entry[is_held]]
        return count


def _alike(matches: Matches, n_values: int) -> tuple[Codes, Codes]:
    """Return one person of each kind, matching the same values, and the kind of each person."""
    n_matched = np.diff(matches.start)
    mark = np.full(len(n_matched), n_values, dtype=np.int64)
    is_one = n_matched == 1
    mark[is_one] = matches.line[matches.start[:-1][is_one]]
    seen: dict[bytes, int] = {}
    # Only values that are too rare to be named are behind several labels, so these are few.
    for place in np.flatnonzero(n_matched > 1).tolist():
        matched = matches.line[matches.start[place] : matches.start[place + 1]].tobytes()
        mark[place] = n_values + 1 + seen.setdefault(matched, len(seen))
    _, first, kind = np.unique(mark, return_index=True, return_inverse=True)
    return first, kind


@dataclass(frozen=True, eq=False)
class _Product:
    """The columns of a release as factors, each with the rows that it is a share of.

    There is one factor per column with a known attribute. Its divisor counts the rows that agree in
    the shared attributes; None stands for all rows of the bucket.
    """

    sizes: Counts
    factors: Sequence[_Factor]
    divisors: Sequence[_Factor | None]
    n_people: int

    def terms(self) -> Iterator[Term]:
        """Yield, in parts, the pairs of a person and a matching bucket, with the rows like them."""
        if not self.factors:
            # A person of whom nothing is known fits every row.
            person = np.repeat(np.arange(self.n_people), len(self.sizes))
            bucket = np.tile(np.arange(len(self.sizes)), self.n_people)
            yield person, bucket, self.sizes[bucket].astype(np.float64)
            return
        columns = [factor.held for factor in self.factors]
        for person, bucket in matched_pairs(columns, [factor.kind for factor in self.factors]):
            yield self._counted(person, bucket)

    def _counted(self, person: Codes, bucket: Codes) -> Term:
        """Return matching pairs with the number of rows like the person."""
        amount = self.sizes[bucket].astype(np.float64)
        for factor, divisor in zip(self.factors, self.divisors, strict=True):
            among = self.sizes[bucket] if divisor is None else divisor.count_of(person, bucket)
            amount *= factor.count_of(person, bucket)
            amount /= among
        return person, bucket, amount


# --- people in the release's own codes ------------------------------------------------------------


def shown_people(published: Published, people: People) -> tuple[Cells, Codes]:
    """Return the known values of people in the release's own codes, and the owner of each entry.

    Entries are in the order of the people's cells; several may be equal. A value that is too rare
    to be named has one entry per label that may stand for it; a cell with a value that no label
    admits has no entry.
    """
    sliced = published.sliced
    assert sliced is not None
    lacking = [name for name in sliced.layout.known if name not in people.quasi.columns]
    if lacking:
        raise ParameterError(f"The people lack known attributes: {', '.join(lacking)}.")
    domains = tuple(sliced.domain(name) for name in sliced.layout.known)
    owner = np.arange(people.quasi.n_cells)
    codes = np.empty((len(owner), 0), dtype=np.int64)
    for domain in domains:
        start, label = _labels(published, domain, people.quasi.domain(domain.column))
        value = people.quasi.column(domain.column)[owner]
        source, place = spread(start[value], start[value + 1] - start[value])
        codes = np.column_stack([codes[source], label[place]])
        owner = owner[source]
    return Cells(domains, codes, people.counts[owner]), owner


def _labels(published: Published, domain: Domain, values: Domain) -> tuple[Codes, Codes]:
    if values is domain:
        # People of the release itself are already in its codes.
        return np.arange(domain.size + 1), np.arange(domain.size)
    return labels_of_values(domain, published.meanings.get(domain.column, {}), values)


_OTHERS = "The people are not those of the sliced release."


def expose_sliced(sliced: Sliced, people: People, sensitive: str) -> tuple[Exposed, Codes]:
    """Locate every person of a sliced release in it, for an attack on `sensitive`.

    `people` holds everybody in the release, with their known values and their buckets: the worst
    case. The sensitive attribute itself does not count as known. A bucket of the result is a bucket
    of the release together with the values of the known attributes in the sensitive column. The
    second result is the entry of each cell of people.
    """
    if people.bucket is None:
        raise ParameterError("The buckets of the people of a sliced release must be known.")
    column = next((one for one in sliced.columns if sensitive in one.attributes), None)
    if column is None:
        raise ParameterError(f"The sliced release has no attribute {sensitive!r}.")
    people = People(_without(people.quasi, sensitive), people.bucket)
    shared = [name for name in column.attributes if name in people.quasi.columns]
    published, own = _sub_buckets(column, people, shared)
    sizes = [int(max(*map(np.max, pair))) + 1 for pair in zip(published, own, strict=True)]
    both = [np.concatenate(pair) for pair in zip(published, own, strict=True)]
    first, number = group(both, sizes, len(both[0]))
    n_entries = len(column.bucket)
    # A sub-bucket with people but no published entry is not of this release.
    if len(np.unique(number[:n_entries])) < len(first):
        raise DataError(_OTHERS)
    domain = column.values.domain(sensitive)
    buckets = Buckets.of_pairs(number[:n_entries], column.codes(sensitive), domain, column.count)
    return Exposed.of_people(People(people.quasi, number[n_entries:]), buckets)


def _without(cells: Cells, column: str) -> Cells:
    """Drop a column, without merging cells that become equal."""
    kept = [place for place, name in enumerate(cells.columns) if name != column]
    return Cells(tuple(cells.domains[place] for place in kept), cells.codes[:, kept], cells.counts)


def _sub_buckets(
    column: SlicedColumn, people: People, shared: list[str]
) -> tuple[list[Codes], list[Codes]]:
    """Return the bucket and the known attributes of entries and of people, in the same codes."""
    assert people.bucket is not None
    published, own = [column.bucket], [people.bucket]
    for name in shared:
        domain = column.values.domain(name)
        code = domain.codes_of(people.quasi.domain(name).labels())
        if np.any(code[people.quasi.column(name)] < 0):
            raise DataError(_OTHERS)
        published.append(column.codes(name))
        own.append(code[people.quasi.column(name)])
    return published, own
