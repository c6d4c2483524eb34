"""How the values of a quasi-identifier resemble one another.

A model that gives every value an effect of its own learns little about rare values. People of 41
are much like people of 42, and a rare occupation like others of its group. A relation says so: an
order with distances, along which effects change gradually, or groups of values, each with an
effect that its members share.

An adversary knows the order of numbers and ordered values from the release, and groups from the
labels of a generalized release or from hierarchies that are common knowledge. Where there is
neither, values are unrelated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Cells, Codes
from shoal.core.domain import SUPPRESSED, ColumnType, Domain
from shoal.core.errors import ParameterError
from shoal.core.release import Meaning
from shoal.core.tree import Tree
from shoal.knowledge.nodes import number_of

__all__ = ["UNRELATED", "Relation", "relate"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Relation:
    """What is known about the values of one column.

    Parameters
    ----------
    position
        For each code where it lies along the column's order, not a number for a value that has no
        place there, such as the missing one; None where the column has no order.
    groups
        For each level of a hierarchy the group of each code, -1 where it has none. Codes of one
        group share an effect, beside their own.

    Examples
    --------
    >>> Relation.of_domain(Domain.of_texts("sex", ["F", "M"]))
    Relation(unrelated)
    >>> from shoal.core.domain import ColumnType
    >>> ages = Domain.of_texts("age", ["20", "22"], type=ColumnType.INTEGER, numbers=[20, 22])
    >>> Relation.of_domain(ages)
    Relation(ordered)
    """

    position: Floats | None = field(default=None)
    groups: tuple[Codes, ...] = ()

    @classmethod
    def of_domain(cls, domain: Domain, tree: Tree | None = None) -> Relation:
        """Relate the values of a column by their numbers or order, or else by a hierarchy.

        Parameters
        ----------
        domain
            The column's values.
        tree
            The column's hierarchy, if one is known; values that it lacks belong to no group.
        """
        if domain.type.has_order:
            n_values = len(domain.texts)
            numbers = np.arange(n_values) if domain.numbers is None else domain.numbers
            position = np.full(domain.size, np.nan)
            position[:n_values] = numbers
            return cls(position)
        if tree is None:
            return cls()
        place = {label: at for at, label in enumerate(tree.labels[: tree.n_leaves].tolist())}
        leaf = np.array([place.get(label, -1) for label in domain.labels()], dtype=np.int64)
        sets = [
            np.flatnonzero((leaf >= first) & (leaf < last))
            for first, last in zip(tree.first.tolist(), tree.last.tolist(), strict=True)
        ]
        return cls.of_sets(sets, domain.size)

    @classmethod
    def of_labels(
        cls, domain: Domain, meanings: Mapping[str, Meaning], kind: ColumnType
    ) -> Relation:
        """Relate the labels of a recoded column by what they stand for.

        Parameters
        ----------
        domain
            The published labels.
        meanings
            What they stand for; a label without a meaning, such as ``*``, has no place.
        kind
            The type of the values that they stand for. Labels of numbers lie at the middle of
            theirs, others belong to every label that stands for all that they do, and more.

        Examples
        --------
        >>> labels = Domain.of_texts("work", ["*", "State", "public"])
        >>> meanings = {
        ...     "State": Meaning(members=frozenset({"State"})),
        ...     "public": Meaning(members=frozenset({"State", "Federal"})),
        ... }
        >>> Relation.of_labels(labels, meanings, ColumnType.CATEGORICAL).groups[0].tolist()
        [-1, 0, 0]
        """
        known = [None if label is None else meanings.get(label) for label in domain.labels()]
        if kind.is_numeric:
            middle = np.array([np.nan if one is None else _middle(one) for one in known])
            return cls(middle) if np.isfinite(middle).any() else cls()
        members = [frozenset() if one is None else one.members for one in known]
        sets = [
            np.array([code for code, own in enumerate(members) if own and own <= whole], np.int64)
            for whole in members
        ]
        return cls.of_sets(sets, domain.size)

    @classmethod
    def of_members(cls, domain: Domain, meanings: Mapping[str, Meaning]) -> Relation:
        """Relate values by the labels that stand for them in a release.

        Examples
        --------
        >>> values = Domain.of_texts("work", ["Federal", "Private", "State"])
        >>> meanings = {"public": Meaning(members=frozenset({"State", "Federal"}))}
        >>> Relation.of_members(values, meanings).groups[0].tolist()
        [0, -1, 0]
        """
        if domain.type.has_order:
            return cls.of_domain(domain)
        sets = [domain.codes_of([*sorted(one.members)]) for one in meanings.values()]
        return cls.of_sets([codes[codes >= 0] for codes in sets], domain.size)

    @classmethod
    def of_sets(cls, sets: Sequence[Codes], size: int) -> Relation:
        """Relate codes by sets of them that are nested or disjoint; unrelated if they are not.

        Parameters
        ----------
        sets
            Codes that belong together.
        size
            How many codes there are.

        Examples
        --------
        >>> found = Relation.of_sets([np.array([0, 1]), np.array([0, 1, 2]), np.array([3])], 5)
        >>> [level.tolist() for level in found.groups]
        [[0, 0, -1, -1, -1], [1, 1, 1, -1, -1]]
        >>> Relation.of_sets([np.array([0, 1]), np.array([1, 2])], 3)
        Relation(unrelated)
        """
        different = {frozenset(codes.tolist()) for codes in sets}
        ordered = sorted((one for one in different if 1 < len(one) < size), key=_by_size)
        levels: list[Codes] = []
        for number, codes in enumerate(ordered):
            members = np.array(sorted(codes), dtype=np.int64)
            # The lowest level above everything that the set holds.
            height = 0
            for place, level in enumerate(levels):
                own = np.unique(level[members])
                own = own[own >= 0]
                if any(not ordered[group] <= codes for group in own.tolist()):
                    return cls()
                height = place + 1 if len(own) else height
            if height == len(levels):
                levels.append(np.full(size, -1, dtype=np.int64))
            levels[height][members] = number
        return cls(groups=tuple(levels))

    @property
    def is_unrelated(self) -> bool:
        """Whether nothing relates the values."""
        return self.position is None and not self.groups

    def __repr__(self) -> str:
        kind = "ordered" if self.position is not None else f"{len(self.groups)} levels of groups"
        return f"Relation({'unrelated' if self.is_unrelated else kind})"


UNRELATED = Relation()
"""The relation of values about which nothing is known."""


def _by_size(codes: frozenset[int]) -> tuple[int, list[int]]:
    return len(codes), sorted(codes)


def _middle(meaning: Meaning) -> float:
    """Return the middle of the numbers that a label stands for."""
    texts = meaning.members if meaning.interval is None else meaning.interval
    numbers = [number for number in map(_number, texts) if np.isfinite(number)]
    return (min(numbers) + max(numbers)) / 2 if numbers else np.nan


def _number(text: str) -> float:
    """Read a number or a date; what is neither has no place."""
    try:
        return number_of(text)
    except ParameterError:
        return np.nan


def relate(
    looks: Cells,
    trees: Mapping[str, Tree],
    meanings: Mapping[str, Mapping[str, Meaning]] | None = None,
    types: Mapping[str, ColumnType] | None = None,
) -> tuple[Relation, ...]:
    """Relate the values of every quasi-identifier by whatever is known about it.

    Parameters
    ----------
    looks
        The distinct quasi-identifiers of people: values, or published labels.
    trees
        The hierarchies that are known, by column.
    meanings
        What labels of the release stand for, by column and label.
    types
        The types of the original values of columns with labels.
    """
    found = []
    for domain in looks.domains:
        own = (meanings or {}).get(domain.column, {})
        kind = (types or {}).get(domain.column, domain.type)
        is_label = bool(own) and {*domain.labels()} <= {*own, SUPPRESSED, None}
        if domain.column in trees or not own:
            found.append(Relation.of_domain(domain, trees.get(domain.column)))
        elif is_label:
            found.append(Relation.of_labels(domain, own, kind))
        else:
            found.append(Relation.of_members(domain, own))
    return tuple(found)
