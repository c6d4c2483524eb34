"""How the values of a quasi-identifier resemble one another, and the effects that follow from it.

A model that gives every value its own effect learns little about rare values. People aged 41 are
much like people aged 42, and a rare occupation is like others of its group. A relation says so: an
order with distances, along which effects change gradually, or groups of values, each with an effect
that its members share. An adversary knows the order of numbers and ordered values from the release,
and groups from the labels of a generalized release or from hierarchies that are common knowledge.
Without either, values are unrelated.

The effects are the parameters of the additive model, tied together by a normal prior. Every value
has its own effect, shrunk towards 0. Along an order, the differences between neighbours are shrunk
towards 0 instead, the more the closer they are: a random walk. Every group of a hierarchy has an
effect that its members share, so that a rare value borrows from its group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from shoal.core.arrays import Codes, Floats, Small
from shoal.core.cells import Cells
from shoal.core.domain import SUPPRESSED, ColumnType, Domain
from shoal.core.errors import ParameterError
from shoal.core.meaning import Meaning
from shoal.core.tree import Tree
from shoal.injector.nodes import number_of


@dataclass(frozen=True, eq=False)
class Relation:
    """How the values of one column are related, as far as is known.

    `position` is where each code lies along the column's order, NaN for a value without a place
    there, such as the missing value; None if the column has no order. `groups` has, for each level
    of a hierarchy, the group of each code, -1 if it has none. Codes of one group share an effect,
    in addition to their own.

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
        """Relate values by their numbers or order, otherwise by a hierarchy, if one is known.

        Values that the hierarchy lacks belong to no group.
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

        Labels of numbers lie at the middle of their interval; other labels belong to every label
        that stands for all of their values and more. A label without a meaning, such as ``*``, has
        no place. `kind` is the type of the original values.
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
        """Relate values by the labels that stand for them in a release."""
        if domain.type.has_order:
            return cls.of_domain(domain)
        sets = [domain.codes_of([*sorted(one.members)]) for one in meanings.values()]
        return cls.of_sets([codes[codes >= 0] for codes in sets], domain.size)

    @classmethod
    def of_sets(cls, sets: Sequence[Codes], size: int) -> Relation:
        """Relate codes by sets of them that are nested or disjoint; unrelated if they are not.

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
            # The lowest level above all groups that the set contains.
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
    """Read a number or a date; NaN for any other text."""
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

    `looks` holds values or published labels; `trees` are the known hierarchies, by column;
    `meanings` say what labels stand for, by column and label; `types` are those of the original
    values.
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


# --- effects --------------------------------------------------------------------------------------


_MOST_KNOTS = 100
"""Beyond this many distinct values, numbers share effects with their nearest neighbours."""
_FREE = 1e-3
"""The precision of the level of effects along an order, which the model's level absorbs."""


@dataclass(frozen=True, eq=False)
class Effects:
    """The parameters of an additive model, and the prior that ties them together.

    The first parameter is the level, which nothing ties; the last is always 0 and is used if a
    value has no group. Minus twice the logarithm of the prior is a penalty times `form`. `place`
    has the parameters of each distinct row, besides the level, and `of_code` those of each code of
    each column. `codes` numbers the codes of all columns, and has those of each distinct row.
    `ridge` is how strongly each parameter is shrunk towards 0; `low`, `high` and `weight` are pairs
    of neighbours along an order, and how strongly they are tied to each other.
    """

    place: Codes
    n_parameters: int
    ridge: Floats
    low: Codes
    high: Codes
    weight: Floats
    of_code: tuple[Codes, ...]
    codes: Small

    @classmethod
    def of(cls, looks: Cells, relations: Sequence[Relation]) -> Effects:
        """Lay out the parameters of the columns of distinct rows."""
        laid = _Layout()
        of_code = []
        for column, (domain, relation) in enumerate(zip(looks.domains, relations, strict=True)):
            rows = np.bincount(looks.codes[:, column], looks.counts, domain.size).astype(np.float64)
            # The levels of a hierarchy share the variance that a column has without one.
            share = float(len(relation.groups) + 1)
            own = [laid.add_values(relation, rows, share)]
            own += [laid.add_group(level, share) for level in relation.groups]
            of_code.append(np.column_stack(own))
        n_parameters = laid.n_parameters + 1
        of_code = [np.where(one < 0, n_parameters - 1, one) for one in of_code]
        place = np.column_stack([one[looks.codes[:, column]] for column, one in enumerate(of_code)])
        n_before = np.cumsum([0, *(len(one) for one in of_code[:-1])])
        return cls(
            place,
            n_parameters,
            np.concatenate([[0.0], *laid.ridge, [1.0]]),
            np.concatenate([*laid.low, []]).astype(np.int64),
            np.concatenate([*laid.high, []]).astype(np.int64),
            np.concatenate([*laid.weight, []]),
            tuple(of_code),
            np.ascontiguousarray(looks.codes + n_before, dtype=np.int32),
        )

    @cached_property
    def of_any_code(self) -> Codes:
        """The parameters of each code of all columns; the last one stands for groups it lacks."""
        width = max(one.shape[1] for one in self.of_code)
        found: Codes = np.full(
            (sum(len(one) for one in self.of_code), width), self.n_parameters - 1, dtype=np.int64
        )
        end = 0
        for own in self.of_code:
            found[end : end + len(own), : own.shape[1]] = own
            end += len(own)
        return found

    def totals(self, parameters: Floats) -> Floats:
        """Return the sum of the effects of each distinct row, without the level.

        Several sets of parameters may be given as the rows of a matrix, here and in `form`.
        """
        by_code = parameters[..., self.of_any_code].sum(axis=-1)
        total: Floats = np.zeros((*parameters.shape[:-1], len(self.codes)))
        for own in self.codes.T:
            total += by_code[..., own]
        return total

    def collect(self, weights: Floats) -> Floats:
        """Sum weights of distinct rows by parameter; the level collects all of them."""
        each = np.repeat(weights, self.place.shape[1])
        found = np.bincount(self.place.ravel(), each, self.n_parameters).astype(np.float64)
        found[0], found[-1] = weights.sum(), 0.0
        return found

    def form(self, parameters: Floats) -> tuple[float, Floats]:
        """Return the quadratic form of the prior, and half its gradient."""
        rise = self.weight * (parameters[..., self.high] - parameters[..., self.low])
        half = self.ridge * parameters
        # No value is the upper or the lower neighbour of two others.
        half[..., self.high] += rise
        half[..., self.low] -= rise
        return float((half * parameters).sum()), half

    def matrix(self) -> Floats:
        """Return the matrix of the quadratic form."""
        found = np.diag(self.ridge)
        np.add.at(found, (self.high, self.high), self.weight)
        np.add.at(found, (self.low, self.low), self.weight)
        np.add.at(found, (self.high, self.low), -self.weight)
        np.add.at(found, (self.low, self.high), -self.weight)
        return found

    def diagonal(self) -> Floats:
        """Return the diagonal of the matrix of the quadratic form."""
        found: Floats = self.ridge.copy()
        found += np.bincount(self.high, self.weight, self.n_parameters)
        found += np.bincount(self.low, self.weight, self.n_parameters)
        return found

    def chains(self) -> list[tuple[int, int, Floats]]:
        """Return where the parameters of each order begin and end, and the weights between."""
        border = np.flatnonzero(np.diff(self.low) != 1) + 1
        pieces = zip(np.split(self.low, border), np.split(self.weight, border), strict=True)
        return [(int(low[0]), int(low[-1]) + 2, weight) for low, weight in pieces if len(low)]

    def by_column(self, parameters: Floats) -> tuple[Floats, ...]:
        """Return the sum of the effects of each code of each column."""
        return tuple(parameters[one].sum(axis=1) for one in self.of_code)


class _Layout:
    """Parameters under construction, column by column."""

    def __init__(self) -> None:
        self.n_parameters = 1
        self.ridge: list[Floats] = []
        self.low: list[Codes] = []
        self.high: list[Codes] = []
        self.weight: list[Floats] = []

    def _take(self, ridge: Floats) -> int:
        first = self.n_parameters
        self.ridge.append(ridge)
        self.n_parameters += len(ridge)
        return first

    def add_values(self, relation: Relation, rows: Floats, ridge: float) -> Codes:
        """Lay out the effects of values; return the parameter of each code."""
        if relation.position is None:
            return self._take(np.full(len(rows), ridge)) + np.arange(len(rows))
        is_placed = np.isfinite(relation.position)
        knot = np.full(len(rows), -1, dtype=np.int64)
        knot[is_placed], at = _knots(relation.position[is_placed], rows[is_placed])
        n_knots, n_others = len(at), int(np.count_nonzero(~is_placed))
        knot[~is_placed] = n_knots + np.arange(n_others)
        first = self._take(np.concatenate([np.full(n_knots, _FREE), np.ones(n_others)]))
        if n_knots > 1:
            mass = np.bincount(knot, rows, n_knots + n_others)[:n_knots].astype(np.float64)
            gap = np.diff(at) / _spread(at, mass)
            self.low.append(first + np.arange(n_knots - 1))
            self.high.append(first + np.arange(1, n_knots))
            self.weight.append(1 / gap)
        return first + knot

    def add_group(self, level: Codes, ridge: float) -> Codes:
        """Lay out the effects of the groups of a level; return the parameter of each code."""
        different, which = np.unique(level, return_inverse=True)
        has_none = int(different[0] < 0)
        first = self._take(np.full(len(different) - has_none, ridge))
        return np.where(level < 0, -1, first + which - has_none)


def _knots(position: Floats, rows: Floats) -> tuple[Codes, Floats]:
    """Assign values along an order to a limited number of knots; return also their positions."""
    different, which = np.unique(position, return_inverse=True)
    if len(different) > _MOST_KNOTS:
        mass = np.bincount(which, rows, len(different))
        # A value lies halfway between the people below it and those above.
        share = (np.cumsum(mass) - mass / 2) / max(float(mass.sum()), 1.0)
        _, knot = np.unique(np.floor(share * _MOST_KNOTS), return_inverse=True)
        which, at = knot[which], np.bincount(knot, different) / np.bincount(knot)
        return which.astype(np.int64), at
    return which.astype(np.int64), different


def _spread(at: Floats, mass: Floats) -> float:
    """Return half the mean distance between two people drawn at random.

    Along an order the variance of a difference grows with the distance. With distances in these
    units, the effects of two people differ on average as much as they would without an order.
    """
    share = np.cumsum(mass) / max(float(mass.sum()), 1.0)
    mean = float((share[:-1] * (1 - share[:-1]) * np.diff(at)).sum())
    return mean if mean > 0 else float(at[-1] - at[0])
