"""Background knowledge: the values that remain possible for a person, given negative rules.

The adversary knows the quasi-identifiers of a person who is in the table, the release, and
negative rules: a man does not have ovarian cancer. She strikes the values of the person's bucket
that the rules exclude, and counts the rest. That is the simple count. But each row has exactly one
of the values: if the only woman of a bucket is the only person who can have its ovarian cancer, she
has it, and the others have fewer possible values than they seem to. The matching count takes that
into account.

References
----------
[Li08] T. Li, N. Li, Injector: mining background knowledge for data anonymization, 2008, Sections
II, V-A and VI-A.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import ClassVar

import numpy as np

from shoal.core.arrays import Counts, marks_of
from shoal.core.attack import Attack, Need, View
from shoal.core.cells import Cells
from shoal.core.declared import declared
from shoal.core.display import Section
from shoal.core.errors import ParameterError
from shoal.core.findings import Findings, Risk
from shoal.core.parameters import whole_number
from shoal.core.release import Published
from shoal.core.shapes import Model
from shoal.injector.attack_rows import Room, Targets
from shoal.injector.known import Knowledge, OptionalKnowledge, knowledge_parameter
from shoal.injector.matching import count_values
from shoal.injector.resolving import Setting, resolve

_N_WORST = 10
_N_RULES = 15
_MOST_RULES = 2_000
"""The largest number of rules that are examined for the section on rules."""


@declared
class Background(Attack):
    """Count the values that each person may still have, given negative rules.

    Notes
    -----
    The posterior is one over the number of possible values, as if they were equally likely;
    `shoal.attacks.Belief` weighs them. If the rules contradict a bucket, so that nobody in it can
    have any value, the adversary knows that a rule is wrong and learns nothing: such people are
    counted separately.

    Facts about single people are matched person by person, if it is known whose line is whose:
    while a release is published, with its internal folder, or for people given with their keys.
    Rules and facts that name an unknown column, node, value or key are listed as unresolved.

    On a generalized release, a rule holds for a line if it holds for all values that its labels
    stand for. Give people with their exact values for a stronger attack: if they are all the people
    who can be in a bucket, its values are matched by what each of them cannot have.

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

    rules: OptionalKnowledge = knowledge_parameter(
        "What the adversary knows. Default: the knowledge that the attack is given, or that the "
        "release was made against."
    )
    ell: int | None = whole_number(
        "How many values must be possible for everybody. Default: what the release promises, or 2.",
        default=None,
        least=1,
        is_limit=True,
    )

    risks: ClassVar[tuple[Risk, ...]] = (Risk.INFERENCE,)
    knows: ClassVar[str] = (
        "the quasi-identifiers of people who are in the table, the release, and which sensitive "
        "values people of some kind never have"
    )
    reads: ClassVar[frozenset[Model]] = frozenset({Model.CLASSES, Model.BUCKETS})
    needs: ClassVar[frozenset[Need]] = frozenset({Need.KNOWLEDGE})

    def fits(self, published: Published) -> bool:
        """Return whether the release has buckets of sensitive values."""
        return super().fits(published) and published.buckets is not None

    def run(self, view: View) -> Findings:
        """Attack the people with the release and the rules.

        Raises `ParameterError` if there are no rules, or if they are about another column.
        """
        published, people = view.published, view.people
        rules = self._rules(published, view.knowledge)
        ell = _claimed(published) if self.ell is None else self.ell
        attacked = Targets.of(published, people, rules)
        room = Room.of(published, attacked)
        possible = room.possible(attacked)
        n_simple, n_valid = count_values(possible.simple), count_values(possible.matching)
        contradicted = possible.is_found & (n_valid == 0)
        breached = (n_valid > 0) & (n_valid < ell)
        certain = n_valid == 1
        value = np.full(len(n_valid), -1, dtype=np.int64)
        marks = marks_of(possible.matching[certain], room.buckets.domain.size)
        value[certain] = marks.argmax(axis=1) if len(marks) else value[certain]
        counts = attacked.counts
        n_facts = len(rules.facts)
        facts = f", {n_facts} fact{'s' * (n_facts > 1)} about single people" if n_facts else ""
        left = n_valid[(n_valid > 0) & (counts > 0)]
        return Findings(
            attack="background",
            knows=f"{self.knows} ({len(rules)} rules{facts})",
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
                "fewest possible values": int(min(left, default=0)),
                "mean possible values": float(n_valid @ counts) / max(int(counts.sum()), 1),
                "people whose bucket contradicts the rules": int(counts[contradicted].sum()),
                "people not found": int(counts[~possible.is_found].sum()),
                "rules": len(rules),
                "facts": len(rules.facts),
            },
            sections=(
                _bucket_section(published, room, ell),
                _rule_section(published, room, rules, ell),
                _band_section(n_simple, n_valid, counts),
                _further_section(n_valid, possible.n_others, counts),
            ),
            apart=attacked.apart,
            unresolved=attacked.unresolved,
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
    """Return the number of values that the release promises to everybody; 2 if it does not."""
    claimed = [getattr(guarantee, "ell", None) for guarantee in published.manifest.guarantees]
    return max([2, *(int(ell) for ell in claimed if ell is not None)])


# --- figures ---------------------------------------------------------------------------------


def _bucket_section(published: Published, room: Room, ell: int) -> Section:
    """List the buckets that leave the fewest values."""
    buckets, occupants = room.buckets, room.occupants
    n_valid = count_values(room.matching)
    fewest = np.full(buckets.n_buckets, np.iinfo(np.int64).max)
    np.minimum.at(fewest, occupants.bucket, n_valid)
    below = np.zeros(buckets.n_buckets, dtype=np.int64)
    is_below = (n_valid > 0) & (n_valid < ell)
    np.add.at(below, occupants.bucket, np.where(is_below, occupants.count, 0))
    n_values = np.diff(np.append(buckets.starts, len(buckets.bucket)))
    order = np.lexsort((-below, fewest))[:_N_WORST]
    return Section(
        "worst buckets",
        (published.manifest.shape.bucket_word, "size", "different values", "fewest possible",
         f"people with fewer than {ell}"),
        tuple(
            (
                published.bucket_name(bucket),
                int(buckets.sizes[bucket]),
                int(n_values[bucket]),
                int(fewest[bucket]),
                int(below[bucket]),
            )
            for bucket in order.tolist()
        ), holds_values=False)  # fmt: skip


def _rule_section(published: Published, room: Room, rules: Knowledge, ell: int) -> Section:
    """List the rules that strike a value from the buckets of most people at risk."""
    n_valid = count_values(room.matching)[room.entry]
    # People whose bucket contradicts the rules are reported apart.
    lines = np.flatnonzero((n_valid > 0) & (n_valid < ell))
    general = rules.most_general().strongest(_MOST_RULES)
    struck: list[tuple[object, ...]] = []
    if len(lines):
        cells = Cells(
            published.quasi, published.lines.codes[lines, 1:], published.lines.counts[lines]
        )
        found = resolve(general, Setting.of_published(published, cells))
        holds, values = found.holding(), found.values
        present = np.zeros((published.n_buckets, room.buckets.domain.size + 1), dtype=bool)
        present[room.buckets.bucket, room.buckets.value] = True
        in_bucket = present[published.lines.codes[lines, 0]]
        for number, rule in enumerate(general):
            hit = holds[number] & in_bucket[:, values[number]]
            n_people = int(cells.counts[hit].sum())
            if n_people:
                struck.append((n_people, general.explain(rule)))
    struck.sort(key=lambda row: (-row[0], row[1]))  # type: ignore[operator]
    return Section("rules behind the risk", ("people at risk", "rule"), tuple(struck[:_N_RULES]))


def _band_section(n_simple: Counts, n_valid: Counts, counts: Counts) -> Section:
    """Count people by the number of values that are possible for them."""
    columns = ("values", "by the simple count", "by matching")
    counted = (n_simple, counts), (n_valid, counts)
    return _two_columns("people by possible values", columns, *counted)


def _further_section(n_valid: Counts, n_others: Counts, counts: Counts) -> Section:
    """Count people by how many further facts would make the adversary certain of their value.

    [Li08, Section III-A] leaves adversary-specific knowledge open: nobody can list everything that
    an adversary may know about one person, but the number of facts needed can be counted. Each fact
    "does not have s" about the person excludes exactly one valid value, so all but one need a fact:
    that number is exact. For facts about others of the bucket it is an upper bound.
    """
    own = np.maximum(n_valid - 1, 0), np.where(n_valid > 0, counts, 0)
    is_counted = (n_valid > 0) & (n_others >= 0)
    others = np.where(is_counted, n_others, 0), np.where(is_counted, counts, 0)
    columns = ("facts", "people, by facts about them", "people, by facts about others, at most")
    return _two_columns("further facts that would make her certain", columns, own, others)


def _two_columns(title: str, columns: tuple[str, ...], *counted: tuple[Counts, Counts]) -> Section:
    """Count people by two numbers, each given with the number of people that have it."""
    sums = (np.bincount(number, n_people).tolist() for number, n_people in counted)
    pairs = enumerate(zip_longest(*sums, fillvalue=0))
    rows = tuple((number, int(one), int(other)) for number, (one, other) in pairs if one or other)
    return Section(title, columns, rows, holds_values=False)
