"""The values possible for the people of each bucket, given what they cannot have.

Rules are about all people of some kind, so rows that look alike have the same forbidden values.
Facts are about one person: a person named in a fact is taken out of their line and gets a set of
their own in the bucket. What that person cannot have then limits the others, by matching.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Words, marks_of, words_of
from shoal.core.cells import Buckets, Cells, total_by
from shoal.core.prior_knowledge import ForbiddenSets
from shoal.core.release import People, Published
from shoal.injector.known import Knowledge
from shoal.injector.matching import Occupants, matching_values, simple_values
from shoal.injector.resolving import Resolution, Setting, resolve, resolve_facts
from shoal.locating.location import match_lines


@dataclass(frozen=True, eq=False)
class Targets:
    """The people attacked: one entry per cell, then one per person named in a fact.

    `found` are the resolved rules. `apart` has the people named in facts, by the key of their row,
    and the cell of each; `excluded` marks the values that they do not have. `unresolved` lists the
    rules and facts that name something unknown.
    """

    people: People
    found: Resolution
    apart: Mapping[str, int]
    excluded: Flags
    unresolved: tuple[str, ...]

    @classmethod
    def of(cls, published: Published, people: People, rules: Knowledge) -> Targets:
        """Resolve rules and facts for the people attacked."""
        setting = Setting.of_published(published)
        found = resolve(rules, setting)
        facts, lines = resolve_facts(rules.facts, setting, rules.sensitive, people.cell_of_key)
        excluded = np.zeros((len(facts), setting.domain.size), dtype=bool)
        for place, codes in enumerate(facts.values()):
            excluded[place, codes] = True
        apart = {person: (people.cell_of_key or {})[person] for person in facts}
        return cls(people, found, apart, excluded, (*found.unresolved, *lines))

    @property
    def own_cell(self) -> Codes:
        """The cell of each person named in a fact."""
        return np.array(list(self.apart.values()), dtype=np.int64)

    @property
    def cell(self) -> Codes:
        """The cell of people of each entry."""
        return np.concatenate([np.arange(self.people.quasi.n_cells), self.own_cell])

    @property
    def counts(self) -> Counts:
        """The number of people of each entry."""
        counts = self.people.counts.copy()
        np.subtract.at(counts, self.own_cell, 1)
        return np.concatenate([counts, np.ones(len(self.apart), dtype=np.int64)])


@dataclass(frozen=True, eq=False)
class Possibilities:
    """The values that are possible for each entry of `Targets`, by simple count and by matching.

    `n_others` is an upper bound on the fewest facts about others of the bucket that would make the
    adversary certain; -1 if a person may be in several places. `is_found` marks the people who may
    be anywhere in the release.
    """

    simple: Words
    matching: Words
    n_others: Counts
    is_found: Flags


@dataclass(frozen=True, eq=False)
class Room:
    """The values possible for the lines of a release.

    `entry` is the entry of each line in `occupants`, and `own_entry` that of each person named in a
    fact (-1 if their line is unknown). Each entry has the values possible by simple count and by
    matching, and the upper bound on facts about others.
    """

    published: Published
    buckets: Buckets
    occupants: Occupants
    entry: Codes
    own_entry: Codes
    simple: Words
    matching: Words
    n_others: Counts

    @classmethod
    def of(cls, published: Published, targets: Targets) -> Room:
        """Place everybody in their buckets; people named in facts have sets of their own."""
        buckets = published.buckets
        assert buckets is not None
        lines, found = published.lines, targets.found.sets
        which = found.which[published.looks[1]]
        # Each person named in a fact is taken out of their line and becomes a row of their own.
        line_of = _own_lines(published, targets)
        placed = np.flatnonzero(line_of >= 0)
        own = found.sets[which[line_of[placed]]] | targets.excluded[placed]
        sets = ForbiddenSets.of_marks(np.concatenate([found.sets, own]))
        n_sets = len(found.sets)
        all_which = np.concatenate([sets.which[:n_sets][which], sets.which[n_sets:]])
        bucket = lines.codes[np.concatenate([np.arange(lines.n_cells), line_of[placed]]), 0]
        counts = lines.counts.copy()
        np.subtract.at(counts, line_of[placed], 1)
        counts = np.concatenate([counts, np.ones(len(placed), dtype=np.int64)])
        is_there = counts > 0
        occupants = Occupants.of_rows(
            bucket[is_there],
            all_which[is_there],
            published.n_buckets,
            len(sets.sets),
            counts[is_there],
        )
        key = occupants.bucket * np.int64(len(sets.sets)) + occupants.which
        wanted = bucket * np.int64(len(sets.sets)) + all_which
        entry = np.minimum(np.searchsorted(key, wanted), len(key) - 1).astype(np.int64)
        # A line whose rows are all taken out has no entry of its own, and is about nobody.
        own_entry = np.full(len(targets.apart), -1, dtype=np.int64)
        own_entry[placed] = entry[lines.n_cells :]
        matching = matching_values(occupants, sets.sets, buckets)
        return cls(
            published,
            buckets,
            occupants,
            entry[: lines.n_cells],
            own_entry,
            simple_values(occupants, sets.sets, buckets),
            matching,
            _facts_about_others(occupants, buckets, matching),
        )

    def possible(self, targets: Targets) -> Possibilities:
        """Return the values possible for everybody attacked."""
        people = targets.people
        if people.line is not None:
            entry = np.concatenate([self.entry[people.line], self.own_entry])
            found = np.ones(len(entry), dtype=bool)
            return Possibilities(
                self.simple[entry], self.matching[entry], self.n_others[entry], found
            )
        person, line = self._lines_of(people)
        person, line = _with_own(person, line, targets)
        n_cells, n_entries = people.quasi.n_cells, len(targets.cell)
        entry = self.entry[line]
        own = np.append(self.own_entry, -1)[np.maximum(person - n_cells, -1)]
        entry = np.where((person >= n_cells) & (own >= 0), own, entry)
        setting = Setting.of_people(self.published, people.quasi, self.buckets.domain)
        sets = resolve(targets.found.knowledge, setting).sets
        marks = sets.sets[sets.which][targets.cell]
        marks[n_cells:] |= targets.excluded
        allowed = ~words_of(marks)
        simple, matching = (
            _united(words[entry], person, n_entries) & allowed
            for words in (self.simple, self.matching)
        )
        if self.published.manifest.shape.generalizes:
            # Labels hide which rules apply to a row, but people's exact values may show it.
            bucket = self.published.lines.codes[line, 0]
            own_sets = ForbiddenSets.of_marks(marks)
            self._match_known(targets.counts, person, bucket, own_sets, matching)
        n_places = np.bincount(person, minlength=n_entries)
        n_others = np.full(n_entries, -1, dtype=np.int64)
        is_single = n_places[person] == 1
        n_others[person[is_single]] = self.n_others[entry[is_single]]
        return Possibilities(simple, matching, n_others, n_places > 0)

    def _lines_of(self, people: People) -> tuple[Codes, Codes]:
        """Return pairs of a cell of people and a line that they may be in."""
        lines = self.published.lines
        quasi = Cells(self.published.quasi, lines.codes[:, 1:], lines.counts)
        matches = match_lines(quasi, self.published.meanings, people.quasi)
        person, line = matches.person, matches.line
        if people.bucket is not None:
            is_there = lines.codes[line, 0] == people.bucket[person]
            person, line = person[is_there], line[is_there]
        return person, line

    def _match_known(
        self, counts: Counts, person: Codes, bucket: Codes, own: ForbiddenSets, matching: Words
    ) -> None:
        """Match the buckets whose people are all known, by their own sets, which exclude more.

        The people of a bucket are all known if as many people as it has rows can be there and
        nowhere else.
        """
        sizes, n_people = self.buckets.sizes, len(counts)
        lowest = np.full(n_people, len(sizes), dtype=np.int64)
        highest = np.full(n_people, -1, dtype=np.int64)
        np.minimum.at(lowest, person, bucket)
        np.maximum.at(highest, person, bucket)
        sure = np.flatnonzero((lowest == highest) & (counts > 0))
        n_sure = total_by(lowest[sure], counts[sure], len(sizes))
        is_known = n_sure == sizes
        number = np.cumsum(is_known) - 1
        sure = sure[is_known[lowest[sure]]]
        seat, which, n_sets = number[lowest[sure]], own.which[sure], len(own.sets)
        held = is_known[self.buckets.bucket]
        domain, n_known = self.buckets.domain, int(np.count_nonzero(is_known))
        values = Buckets.of_pairs(
            number[self.buckets.bucket[held]],
            self.buckets.value[held],
            domain,
            self.buckets.count[held],
        )
        occupants = Occupants.of_rows(seat, which, n_known, n_sets, counts[sure])
        key = occupants.bucket * n_sets + occupants.which
        words = matching_values(occupants, own.sets, values)
        matching[sure] = words[np.searchsorted(key, seat * n_sets + which)]


def _own_lines(published: Published, targets: Targets) -> Codes:
    """Return the line of each person named in a fact; -1 if they may be in several."""
    people, cells = targets.people, targets.own_cell
    if people.line is not None:
        return people.line[cells].astype(np.int64)
    if not len(cells):
        return cells
    lines = published.lines
    asked = Cells(people.quasi.domains, people.quasi.codes[cells], np.ones(len(cells), np.int64))
    quasi = Cells(published.quasi, lines.codes[:, 1:], lines.counts)
    matches = match_lines(quasi, published.meanings, asked)
    n_lines = np.diff(matches.start)
    line = np.full(len(cells), -1, dtype=np.int64)
    line[n_lines == 1] = matches.line[matches.start[:-1][n_lines == 1]]
    # More people than a line has rows cannot all be in it, so their lines are unknown.
    named = np.bincount(line[line >= 0], minlength=lines.n_cells)
    return np.where((line >= 0) & (named[line] <= lines.counts[line]), line, -1)


def _with_own(person: Codes, line: Codes, targets: Targets) -> tuple[Codes, Codes]:
    """Add the lines of people named in facts, who may be wherever others of their cell may be."""
    n_cells = targets.people.quasi.n_cells
    order = np.argsort(person, kind="stable")
    start = np.searchsorted(person[order], np.arange(n_cells + 1))
    persons, lines = [person], [line]
    for place, cell in enumerate(targets.own_cell.tolist()):
        here = order[start[cell] : start[cell + 1]]
        persons.append(np.full(len(here), n_cells + place, dtype=np.int64))
        lines.append(line[here])
    return np.concatenate(persons), np.concatenate(lines)


def _united(words: Words, person: Codes, n_people: int) -> Words:
    """Unite the values possible in any of the lines that a person may be in."""
    united = np.zeros((n_people, words.shape[1]), dtype=np.uint64)
    np.bitwise_or.at(united, person, words)
    return united


def _facts_about_others(occupants: Occupants, buckets: Buckets, matching: Words) -> Counts:
    """Bound how few facts about others of a bucket could make the adversary certain of a row.

    Suppose that the row has v, which c rows of the bucket have, and that v is valid for n rows.
    Of the other n - 1, c - 1 have v as well. The remaining n - c do not; once the adversary knows
    that of each of them, the row must have v. Fewer facts may be enough, so this is an upper bound.
    It is taken for the value that needs the fewest, and is 0 if the adversary is certain already.
    """
    n_values = buckets.domain.size
    valid = marks_of(matching, n_values)
    n_valid = np.zeros((buckets.n_buckets, n_values), dtype=np.int64)
    np.add.at(n_valid, occupants.bucket, valid * occupants.count[:, np.newaxis])
    n_held = np.zeros((buckets.n_buckets, n_values), dtype=np.int64)
    n_held[buckets.bucket, buckets.value] = buckets.count
    needed = (n_valid - n_held)[occupants.bucket]
    fewest = np.where(valid, needed, np.iinfo(np.int64).max).min(axis=1, initial=2**62)
    is_certain = valid.sum(axis=1) <= 1
    bound: Counts = np.where(is_certain, 0, fewest)
    return bound
