"""Background knowledge: what is left of a bucket for somebody who knows what people cannot have.

The adversary knows the quasi-identifiers of a person who is in the table, the release, and
negative rules: a man does not have ovarian cancer. Of the values of a person's bucket she strikes
those that the rules exclude. That is the simple count. But values and rows belong together one to
one: where the only woman of a bucket is the only one who can have its ovarian cancer, she has it,
and nobody else's values are as many as they seem. The matching count takes that into account.

References
----------
[Li08] T. Li, N. Li, Injector: mining background knowledge for data anonymization, 2008, Sections
II, V-A and VI-A.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.core.attack import Attack, Findings, Risk, Section
from shoal.core.cells import Buckets, Cells, Codes, Counts
from shoal.core.domain import ColumnType
from shoal.core.errors import ParameterError
from shoal.core.exact import whole
from shoal.core.forbidden import ForbiddenSets, Marks
from shoal.core.method import Shape
from shoal.core.release import People, Published
from shoal.knowledge.known import Knowledge
from shoal.knowledge.location import match_lines
from shoal.knowledge.matching import (
    Occupants,
    Words,
    count_values,
    marks_of,
    matching_values,
    simple_values,
    words_of,
)

__all__ = ["Background"]

_N_WORST = 10
_N_RULES = 15
_MOST_RULES = 2_000
"""How many rules are looked at to say which of them did it."""


@dataclass(frozen=True, kw_only=True)
class Background(Attack):
    """Count the values that each person may still have, given negative rules.

    Parameters
    ----------
    rules
        What she knows; by default what the attack is given, or what the release was made against.
    ell
        How many values must be possible for everybody; by default what the release promises, or
        2 where it promises nothing of the kind.

    Notes
    -----
    The posterior is one over the number of possible values, as if she took them for equally
    likely; `shoal.attacks.Belief` weighs them. Where the rules contradict a bucket, so that nobody
    in it can have any value, she knows that a rule is wrong and learns nothing: such people are
    counted apart.

    On a generalized release a rule holds for a line where it holds for all that its labels stand
    for. Give people with their exact values to attack them with more: where they are all who can be
    in a bucket, its values are matched by what each of them cannot have.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> release = shoal.anonymize(table, shoal.Mondrian(ell=2), seed=1)
    >>> man = shoal.knowledge.NegativeRule(antecedent={"sex": "M"}, value="Ovarian Cancer")
    >>> known = shoal.knowledge.Knowledge("disease", [man])
    >>> shoal.attack(release, shoal.attacks.Background(rules=known))
    AttackReport(background: 0 of 9 people at risk)
    """

    rules: Knowledge | None = field(default=None, repr=False)
    ell: int | None = None

    risks: ClassVar[tuple[Risk, ...]] = (Risk.INFERENCE,)
    knows: ClassVar[str] = (
        "the quasi-identifiers of people who are in the table, the release, and which sensitive "
        "values people of some kind never have"
    )
    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.GENERALIZED, Shape.BUCKETIZED})
    needs_knowledge: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.ell is not None:
            whole("ell", self.ell, least=1)
        if self.rules is not None and not isinstance(self.rules, Knowledge):
            raise ParameterError(
                f"rules must be knowledge, not a {type(self.rules).__name__}.",
                hint="for example shoal.knowledge.Knowledge.from_file('rules.toml').",
            )

    def fits(self, published: Published) -> bool:
        """Whether the release has buckets of sensitive values."""
        return super().fits(published) and published.buckets is not None

    def run(self, published: Published, people: People, knowledge: object = None) -> Findings:
        """Attack the people with the release and the rules.

        Raises
        ------
        ParameterError
            Where there are no rules, or they are about another column.
        """
        rules = self._rules(published, knowledge)
        ell = _claimed(published) if self.ell is None else self.ell
        room = _Room.of(published, rules)
        simple, matching, is_found = room.possible(people, rules)
        n_simple, n_valid = count_values(simple), count_values(matching)
        contradicted = is_found & (n_valid == 0)
        breached = (n_valid > 0) & (n_valid < ell)
        certain = n_valid == 1
        value = np.full(len(n_valid), -1, dtype=np.int64)
        marks = marks_of(matching[certain], room.buckets.domain.size)
        value[certain] = marks.argmax(axis=1) if len(marks) else value[certain]
        counts = people.counts
        return Findings(
            attack="background",
            knows=f"{self.knows} ({len(rules)} rules)",
            counts=counts,
            value=value,
            posterior=np.where(n_valid > 0, 1 / np.maximum(n_valid, 1), 0.0),
            breached=breached,
            limit=f"1/{ell}",
            headline={
                "people at risk": int(counts[breached].sum()),
                "people at risk by the simple count": int(
                    counts[(n_simple > 0) & (n_simple < ell)].sum()
                ),
                "people certain": int(counts[certain].sum()),
                "fewest possible values": int(min(n_valid[n_valid > 0], default=0)),
                "mean possible values": float(n_valid @ counts) / max(int(counts.sum()), 1),
                "people whose bucket contradicts the rules": int(counts[contradicted].sum()),
                "people not found": int(counts[~is_found].sum()),
                "rules": len(rules),
            },
            sections=(
                _bucket_section(published, room, ell),
                _rule_section(published, room, rules, ell),
                _band_section(n_simple, n_valid, counts),
            ),
        )

    def _rules(self, published: Published, knowledge: object) -> Knowledge:
        rules = self.rules if self.rules is not None else knowledge
        if not isinstance(rules, Knowledge):
            raise ParameterError(
                "The background attack needs negative rules.",
                hint="mine them with shoal.knowledge.mine_negative_rules(table) or `shoal mine`, "
                "and give them: rules=... or --knowledge FILE.",
            )
        assert published.buckets is not None
        column = published.buckets.domain.column
        if rules.sensitive != column:
            raise ParameterError(
                f"The rules are about column {rules.sensitive!r}; the release's sensitive column "
                f"is {column!r}."
            )
        return rules


def _claimed(published: Published) -> int:
    """Give the number of values that the release promises to everybody; 2 where it does not."""
    claimed = [getattr(guarantee, "ell", None) for guarantee in published.manifest.guarantees]
    return max([2, *(int(ell) for ell in claimed if ell is not None)])


def _whole_columns(published: Published) -> set[str]:
    return {c.name for c in published.manifest.columns if c.type is ColumnType.INTEGER}


@dataclass(frozen=True, eq=False)
class _Room:
    """What is possible for the lines of a release.

    Parameters
    ----------
    published, buckets
        The release, and its sensitive values.
    which, sets
        The set of forbidden values of each line.
    occupants, entry
        How many rows of each bucket have each set, and the entry of each line there.
    simple, matching
        The values possible for each entry, by either count.
    """

    published: Published
    buckets: Buckets
    which: Codes
    sets: Marks
    occupants: Occupants
    entry: Codes
    simple: Words
    matching: Words

    @classmethod
    def of(cls, published: Published, rules: Knowledge) -> _Room:
        buckets = published.buckets
        assert buckets is not None
        looks, look = published.looks
        found = rules.sets_of(
            looks, buckets.domain, meanings=published.meanings, whole=_whole_columns(published)
        )
        bucket, which = published.lines.codes[:, 0], found.which[look]
        occupants = Occupants.of_rows(
            bucket, which, published.n_buckets, len(found.sets), published.lines.counts
        )
        key = occupants.bucket * len(found.sets) + occupants.which
        entry = np.searchsorted(key, bucket * np.int64(len(found.sets)) + which)
        return cls(
            published,
            buckets,
            which,
            found.sets,
            occupants,
            entry.astype(np.int64),
            simple_values(occupants, found.sets, buckets),
            matching_values(occupants, found.sets, buckets),
        )

    def possible(self, people: People, rules: Knowledge) -> tuple[Words, Words, Marks]:
        """Give the values possible for each person, by either count, and who was found at all."""
        is_found = np.ones(people.quasi.n_cells, dtype=bool)
        if people.line is not None:
            entry = self.entry[people.line]
            return self.simple[entry], self.matching[entry], is_found
        lines = self.published.lines
        quasi = Cells(self.published.quasi, lines.codes[:, 1:], lines.counts)
        matches = match_lines(quasi, self.published.meanings, people.quasi)
        person, line = matches.person, matches.line
        if people.bucket is not None:
            is_there = lines.codes[line, 0] == people.bucket[person]
            person, line = person[is_there], line[is_there]
        own = rules.sets_of(people.quasi, self.buckets.domain)
        allowed = ~words_of(own.sets)[own.which]
        found = []
        for words in (self.simple, self.matching):
            united = np.zeros((people.quasi.n_cells, words.shape[1]), dtype=np.uint64)
            # Somebody who may be in several lines may have what is possible in any of them.
            np.bitwise_or.at(united, person, words[self.entry[line]])
            found.append(united & allowed)
        if self.published.manifest.shape is Shape.GENERALIZED:
            self._match_known(people, person, lines.codes[line, 0], own, found[1])
        is_found = np.bincount(person, minlength=people.quasi.n_cells) > 0
        return found[0], found[1], is_found

    def _match_known(
        self, people: People, person: Codes, bucket: Codes, own: ForbiddenSets, matching: Words
    ) -> None:
        """Match where all of a bucket are known: by their own sets, which exclude more.

        They are all of it where as many people as it has rows can be there and nowhere else.
        """
        sizes = self.buckets.sizes
        lowest = np.full(people.quasi.n_cells, len(sizes), dtype=np.int64)
        highest = np.full(people.quasi.n_cells, -1, dtype=np.int64)
        np.minimum.at(lowest, person, bucket)
        np.maximum.at(highest, person, bucket)
        sure = np.flatnonzero(lowest == highest)
        n_sure = np.zeros(len(sizes), dtype=np.int64)
        np.add.at(n_sure, lowest[sure], people.counts[sure])
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
        occupants = Occupants.of_rows(seat, which, n_known, n_sets, people.counts[sure])
        key = occupants.bucket * n_sets + occupants.which
        words = matching_values(occupants, own.sets, values)
        matching[sure] = words[np.searchsorted(key, seat * n_sets + which)]


# --- figures ---------------------------------------------------------------------------------


def _bucket_section(published: Published, room: _Room, ell: int) -> Section:
    """List the buckets that leave the fewest values."""
    buckets, occupants = room.buckets, room.occupants
    n_valid = count_values(room.matching)
    fewest = np.full(buckets.n_buckets, np.iinfo(np.int64).max)
    np.minimum.at(fewest, occupants.bucket, n_valid)
    below = np.zeros(buckets.n_buckets, dtype=np.int64)
    np.add.at(below, occupants.bucket, np.where(n_valid < ell, occupants.count, 0))
    n_values = np.diff(np.append(buckets.starts, len(buckets.bucket)))
    order = np.lexsort((-below, fewest))[:_N_WORST]
    is_numbered = published.manifest.shape is Shape.GENERALIZED
    return Section(
        "worst buckets",
        ("class" if is_numbered else "bucket", "size", "different values", "fewest possible",
         f"people with fewer than {ell}"),
        tuple(
            (
                bucket + 1 if is_numbered else published.lines.domains[0].text(bucket),
                int(buckets.sizes[bucket]),
                int(n_values[bucket]),
                int(fewest[bucket]),
                int(below[bucket]),
            )
            for bucket in order.tolist()
        ), holds_values=False)  # fmt: skip


def _rule_section(published: Published, room: _Room, rules: Knowledge, ell: int) -> Section:
    """List the rules that strike a value from the buckets of most people at risk."""
    n_valid = count_values(room.matching)[room.entry]
    lines = np.flatnonzero(n_valid < ell)
    general = rules.most_general().strongest(_MOST_RULES)
    struck: list[tuple[object, ...]] = []
    if len(lines):
        cells = Cells(
            published.quasi, published.lines.codes[lines, 1:], published.lines.counts[lines]
        )
        holds = general.holding(cells, published.meanings, _whole_columns(published))
        values = room.buckets.domain.codes_of([rule.value for rule in general])
        present = np.zeros((published.n_buckets, room.buckets.domain.size + 1), dtype=bool)
        present[room.buckets.bucket, room.buckets.value] = True
        in_bucket = present[published.lines.codes[lines, 0]]
        for number, rule in enumerate(general):
            hit = holds[number] & in_bucket[:, values[number]]
            n_people = int(cells.counts[hit].sum())
            if n_people:
                struck.append((n_people, general.explain(rule)))
    struck.sort(key=lambda row: (-row[0], row[1]))  # type: ignore[operator]
    return Section("rules that did it", ("people at risk", "rule"), tuple(struck[:_N_RULES]))


def _band_section(n_simple: Counts, n_valid: Counts, counts: Counts) -> Section:
    """Count people by the number of values that are possible for them."""
    most = int(max(n_simple.max(initial=0), n_valid.max(initial=0)))
    simple = np.bincount(n_simple, counts, most + 1).astype(np.int64)
    matching = np.bincount(n_valid, counts, most + 1).astype(np.int64)
    rows = [
        (number, int(simple[number]), int(matching[number]))
        for number in range(most + 1)
        if simple[number] or matching[number]
    ]
    return Section(
        "people by possible values",
        ("values", "by the simple count", "by matching"),
        tuple(rows),
        holds_values=False,
    )
