"""A release as a reader sees it, and the people and words that an adversary brings along.

`Published` holds what any reader can count in the published files: attacks and measures work on it
and on nothing else. `shoal.core.manifest` holds what the release states about itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

import numpy as np

from shoal.core.arrays import Codes, Counts, Integers
from shoal.core.cells import Buckets, Cells, smallest_type, total_by
from shoal.core.domain import Domain, NumberedDomain
from shoal.core.errors import SchemaError
from shoal.core.manifest import Manifest
from shoal.core.meaning import Meaning
from shoal.core.sliced import Sliced
from shoal.core.table import Rows, Table
from shoal.core.tree import Generalization, Tree


@dataclass(frozen=True, eq=False)
class Company:
    """How many lines of a release look like each of its lines, insensitive columns included.

    One entry per published line, in their order.
    """

    # By the quasi-identifiers and the insensitive columns that no confirmed combination names;
    # None if all of these are confirmed.
    known: Integers | None
    # By all columns except the sensitive one.
    whole: Integers


@dataclass(frozen=True, eq=False)
class People:
    """The people who are attacked, as the adversary knows them."""

    # Their quasi-identifiers, one cell for all people who look alike to her.
    quasi: Cells
    # The bucket that each cell is known to be in (the worst case); None if she has to match.
    bucket: Codes | None = None
    # The line of the release, as an entry of `Published.lines`, that each cell is known to be;
    # None if no line is known.
    line: Codes | None = None
    # All people of the release, each in their own bucket, if she knows that about people other
    # than those attacked.
    everybody: People | None = None
    # The cell of each person whom a fact names by the key of their row; -1 for a person of the
    # table who is not attacked. None if keys are not known.
    cell_of_key: Mapping[str, int] | None = field(default=None, repr=False)
    # The hierarchies of quasi-identifiers, by column, that count as common knowledge.
    trees: Mapping[str, Tree] = field(default_factory=dict, repr=False)
    # How many lines look like each line, if the people are all people of a release that has
    # insensitive columns; None otherwise.
    company: Company | None = field(default=None, repr=False)

    @property
    def n_people(self) -> int:
        """The number of people."""
        return self.quasi.n_rows

    @property
    def counts(self) -> Integers:
        """The number of people who look like each cell."""
        return self.quasi.counts

    def __repr__(self) -> str:
        return f"People({self.n_people} people, {self.quasi.n_cells} different ones)"


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The values and hierarchies of a table, in which knowledge about it may be expressed.

    A rule may name a value or a node of a hierarchy. A release shows neither in full: rare values
    are not named, and the hierarchies of a bucketized release are not published. The workflow
    passes the vocabulary of the table to the attacks, so that a rule is never taken to be about
    nobody merely because the release does not name its value.

    Examples
    --------
    >>> from shoal.hierarchies.hierarchy import Hierarchy
    >>> work = Domain.of_texts("work", ["Private"])
    >>> rows = [["Private", "Other"], ["State", "Government"]]
    >>> hierarchy = Hierarchy.from_rows(rows)
    >>> known = Vocabulary({"work": work}, {"work": hierarchy.over(work)}, {"work": hierarchy})
    >>> known.is_empty_node("work", "Government"), known.is_empty_node("work", "Goverment")
    (True, False)
    """

    domains: Mapping[str, Domain] = field(default_factory=dict, repr=False)
    # For a column without a domain here, the tree is applied to its published labels.
    trees: Mapping[str, Tree] = field(default_factory=dict, repr=False)
    # They may name values and nodes that nobody in the table has.
    hierarchies: Mapping[str, Generalization] = field(default_factory=dict, repr=False)

    @classmethod
    def of_table(cls, table: Table) -> Vocabulary:
        """Return the vocabulary of a table, whose sensitive columns may have levels."""
        return cls(table.domains, table.trees, table.schema.hierarchies)

    def is_empty_node(self, column: str, label: str | None) -> bool:
        """Return whether a hierarchy given as rows has a label that is not resolved otherwise.

        Callers ask only about labels above no value of the table: a rule about such a label is
        understood, and is about nobody.
        """
        hierarchy = self.hierarchies.get(column)
        if hierarchy is None or label is None:
            return False
        try:
            rows = hierarchy.rows
        except SchemaError:
            return False
        return any(label in row for row in rows)


@dataclass(frozen=True, eq=False)
class Published:
    """What any reader can count in the published files."""

    manifest: Manifest
    # The distinct published lines: column `bucket`, then the quasi-identifiers as published. In a
    # generalized release, a bucket is one combination of quasi-identifiers.
    lines: Cells
    # The sensitive values of each bucket; None if no column is sensitive.
    buckets: Buckets | None
    # The meanings of the labels of a recoded column, by column and label.
    meanings: Mapping[str, Mapping[str, Meaning]] = field(default_factory=dict, repr=False)
    # The lines one by one if the release is suppressed: quasi-identifiers, then sensitive columns.
    rows: Rows | None = None
    # The counts of column values if the release is sliced; `lines` then holds only the buckets.
    sliced: Sliced | None = None
    # The values and hierarchies of the table, if it is at hand: attacks use them only to read
    # knowledge.
    vocabulary: Vocabulary | None = field(default=None, repr=False)

    @property
    def quasi(self) -> tuple[Domain, ...]:
        """The published values of the quasi-identifiers."""
        return self.lines.domains[1:]

    @property
    def domains(self) -> tuple[Domain, ...]:
        """The published values of the quasi-identifying and sensitive columns."""
        counted = self.rows or self.sliced
        return (*self.quasi, *self.sensitive) if counted is None else counted.domains

    @property
    def sensitive(self) -> tuple[Domain, ...]:
        """The published values of the sensitive columns whose values are counted by bucket."""
        if self.sliced is not None:
            return tuple(map(self.sliced.domain, self.sliced.layout.sensitive))
        return () if self.buckets is None else (self.buckets.domain,)

    @property
    def sensitive_texts(self) -> list[str | None]:
        """The sensitive values in the order in which findings number them."""
        if self.sliced is not None:
            return self.sliced.sensitive_texts
        return [None] if self.buckets is None else self.buckets.domain.labels()

    def first_value(self, column: str) -> int:
        """Return the place of the first value of a sensitive column in `sensitive_texts`."""
        return 0 if self.sliced is None else self.sliced.first_sensitive(column)

    @property
    def known(self) -> tuple[str, ...]:
        """The columns that an adversary may know about people."""
        if self.sliced is not None:
            return self.sliced.layout.known
        return tuple(domain.column for domain in self.quasi)

    def columns(self) -> Iterator[tuple[Domain, Codes, Counts]]:
        """Yield each column's domain with codes and the number of rows that show each, in parts.

        Suppressed cells are left out.
        """
        counted = self.rows or self.sliced
        if counted is not None:
            yield from counted.shown()
            return
        for domain in self.quasi:
            yield domain, self.lines.column(domain.column), self.lines.counts
        if self.buckets is not None:
            yield self.buckets.domain, self.buckets.value, self.buckets.count

    @property
    def n_buckets(self) -> int:
        """The number of buckets."""
        return self.lines.domains[0].size

    def bucket_name(self, bucket: int) -> int | str | None:
        """Return the name of a bucket in findings; classes are numbered from 1."""
        numbers = self.lines.domains[0]
        return bucket + 1 if self.manifest.shape.generalizes else numbers.text(bucket)

    @property
    def bucket_sizes(self) -> Counts:
        """The number of rows in each bucket."""
        return total_by(self.lines.codes[:, 0], self.lines.counts, self.n_buckets)

    def only(self, place: Codes) -> Published:
        """Return the release as if it had no more than some of its buckets.

        `place` is the new number of each bucket, -1 if it is left out; the order stays the same.
        Values that nobody has any more keep their codes.
        """
        chosen = np.flatnonzero(place >= 0)
        numbers = self.lines.domains[0]
        assert isinstance(numbers, NumberedDomain)
        own = place[self.lines.codes[:, 0]]
        kept = np.flatnonzero(own >= 0)
        codes = self.lines.codes[kept]
        codes[:, 0] = own[kept]
        domains = (NumberedDomain(numbers.column, numbers.whole[chosen]), *self.quasi)
        buckets = self.buckets
        if buckets is not None:
            own = place[buckets.bucket]
            held = np.flatnonzero(own >= 0)
            pairs = own[held], buckets.value[held], buckets.count[held]
            buckets = Buckets(len(chosen), *pairs, buckets.domain)
        return replace(
            self,
            lines=Cells(domains, codes, self.lines.counts[kept]),
            buckets=buckets,
            sliced=None if self.sliced is None else self.sliced.only(chosen),
        )

    @cached_property
    def largest_shares(self) -> Mapping[str, float]:
        """By column, the share of the rows that show its most frequent value."""
        n_rows = max(self.lines.n_rows, 1)
        shares: dict[str, float] = {}
        for domain, codes, counts in self.columns():
            largest = float(np.bincount(codes, counts).max(initial=0.0)) / n_rows
            shares[domain.column] = max(largest, shares.get(domain.column, 0.0))
        return shares

    @cached_property
    def looks(self) -> tuple[Cells, Codes]:
        """The distinct combinations of quasi-identifiers, and which of them each line shows."""
        looks, look = self.lines.select_with_inverse([domain.column for domain in self.quasi])
        # With one entry per line, 32 bits take half the memory.
        return looks, cast("Codes", look.astype(smallest_type(looks.n_cells)))

    @property
    def fewest_alike(self) -> Counts:
        """For each bucket, how many rows of the release look like its rarest row.

        Rows look alike if they show the same quasi-identifiers, whatever their buckets.
        """
        looks, look = self.looks
        alike = looks.counts
        fewest = np.full(self.n_buckets, self.lines.n_rows, dtype=np.int64)
        np.minimum.at(fewest, self.lines.codes[:, 0], alike[look])
        return fewest
