"""The distinct signatures of a table: what is known of a row, seen through the columns.

Rows of one signature have one p(t, s), however many they are. Signatures, the features they are
made of and the pairs (u, s) are numbered here in the form in which the kernel reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.core.cells import Cells, Codes
from shoal.core.errors import DataError
from shoal.core.sliced import Layout

__all__ = ["Signatures"]

_MOST_SUMS = 2**28


@dataclass(frozen=True, eq=False)
class Signatures:
    """The signatures of all sensitive attributes, one after the other.

    Parameters
    ----------
    n_targets, n_features, n_values, n_pairs
        How many sensitive attributes, features, values of features and pairs (u, s) there are.
    feature
        For each cell the value of each feature; values are numbered through all features.
    pair
        For each cell and sensitive attribute its pair; pairs are numbered through.
    pair_start
        Where the pairs of each u begin; they are sorted by it.
    target
        For each signature the place of its sensitive attribute.
    signature
        For each signature its value of each feature; -1 of a feature that its attribute lacks.
    multiplied, divided, part_start
        For each sensitive attribute the features whose counts are multiplied and, all but the
        first, those that they are divided by, and where these begin.
    known, group
        For each signature its u: as a value of a feature, and as numbered among pairs.
    main_start, by_main
        For each value the signatures to be found by it.
    sum_start
        Where the sums of each signature begin, one a pair of its u.
    """

    n_targets: int
    n_features: int
    n_values: int
    n_pairs: int
    feature: Codes
    pair: Codes
    pair_start: Codes
    target: Codes
    signature: Codes
    multiplied: Codes
    divided: Codes
    part_start: Codes
    known: Codes
    group: Codes
    main_start: Codes
    by_main: Codes
    sum_start: Codes

    @classmethod
    def of_cells(cls, cells: Cells, layout: Layout) -> Signatures:
        """Number the signatures of a table.

        The layout links no columns by an attribute that the adversary does not know.

        Raises
        ------
        DataError
            Where the sums would not fit into a computer's memory.
        """
        features = _Features(cells)
        targets = [_target(layout, sensitive, features) for sensitive in layout.sensitive]
        values = features.numbered()
        parts = [_Part.of_target(cells, layout, target, values) for target in targets]
        # Pairs and their u are numbered through all sensitive attributes.
        pairs = _joined([part.pair for part in parts], [part.n_pairs for part in parts])
        groups = _joined([part.group for part in parts], [len(part.n_with) for part in parts])
        n_with = np.concatenate([part.n_with for part in parts])
        n_sums = int(n_with[np.concatenate(groups)].sum())
        if n_sums > _MOST_SUMS:
            raise DataError(
                f"Relaxed cuts need {n_sums} sums, one for each tuple of known values and each "
                "sensitive value; that is more than fit into memory.",
                hint="take strict cuts, which need none.",
            )
        signature = np.concatenate([part.signature for part in parts])
        main = np.concatenate([part.main for part in parts])
        group_of = np.concatenate(groups)
        return cls(
            n_targets=len(targets),
            n_features=values.shape[1],
            n_values=features.n_values,
            n_pairs=sum(part.n_pairs for part in parts),
            feature=values.reshape(-1),
            pair=np.stack(pairs, axis=1).reshape(-1),
            pair_start=_starts(n_with),
            target=np.repeat(np.arange(len(parts)), [len(part.group) for part in parts]),
            signature=signature.reshape(-1),
            multiplied=np.concatenate([target.multiplied for target in targets]),
            divided=np.concatenate([target.divided for target in targets]),
            part_start=_starts(np.array([len(target.multiplied) for target in targets])),
            known=np.concatenate([part.known for part in parts]),
            group=group_of,
            main_start=_starts(np.bincount(main, minlength=features.n_values)),
            by_main=np.argsort(main, kind="stable").astype(np.int64),
            sum_start=_starts(n_with[group_of]),
        )


class _Features:
    """Sets of attributes of which values are counted, each numbered once."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._place: dict[tuple[str, ...], int] = {}
        self.n_values = 0

    def place(self, names: Sequence[str]) -> int:
        """Give the number of a set of attributes."""
        return self._place.setdefault(tuple(sorted(names)), len(self._place))

    def numbered(self) -> Codes:
        """Give the value of each feature for each cell, numbered through all features."""
        found = np.empty((self._cells.n_cells, len(self._place)), dtype=np.int64)
        self.n_values = 0
        for names, place in self._place.items():
            chosen, inverse = self._cells.select_with_inverse(names)
            found[:, place] = inverse + self.n_values
            self.n_values += chosen.n_cells
        return found


@dataclass(frozen=True, eq=False)
class _Target:
    """One sensitive attribute: the features of its signatures, and those of its u."""

    sensitive: str
    beside: tuple[str, ...]
    known: int
    multiplied: Codes
    divided: Codes


def _target(layout: Layout, sensitive: str, features: _Features) -> _Target:
    known = layout.known_for(sensitive)
    links = layout.links()
    parts = [[name for name in layout.columns[link.column] if name in known] for link in links]
    beside = next(
        part
        for part, link in zip(parts, links, strict=True)
        if sensitive in layout.columns[link.column]
    )
    return _Target(
        sensitive,
        tuple(beside),
        features.place(beside),
        np.array([features.place(part) for part in parts], dtype=np.int64),
        np.array([features.place(link.separator) for link in links], dtype=np.int64),
    )


@dataclass(frozen=True, eq=False)
class _Part:
    """The signatures and the pairs of one sensitive attribute, numbered by themselves."""

    pair: Codes
    n_pairs: int
    n_with: Codes
    signature: Codes
    known: Codes
    group: Codes
    main: Codes

    @classmethod
    def of_target(cls, cells: Cells, layout: Layout, target: _Target, values: Codes) -> _Part:
        pairs, pair = cells.select_with_inverse([*target.beside, target.sensitive])
        groups, group_of_pair = pairs.select_with_inverse(target.beside)
        known, inverse = cells.select_with_inverse(layout.known_for(target.sensitive))
        first = np.empty(known.n_cells, dtype=np.int64)
        first[inverse] = np.arange(cells.n_cells)
        used = np.unique(np.r_[target.multiplied, target.divided])
        signature = np.full((len(first), values.shape[1]), -1, dtype=np.int64)
        signature[:, used] = values[np.ix_(first, used)]
        n_different = [len(np.unique(signature[:, place])) for place in target.multiplied.tolist()]
        main = int(target.multiplied[int(np.argmax(n_different))])
        return cls(
            pair,
            pairs.n_cells,
            np.bincount(group_of_pair, minlength=groups.n_cells).astype(np.int64),
            signature,
            signature[:, target.known],
            group_of_pair[pair[first]],
            signature[:, main],
        )


def _joined(numbers: Sequence[Codes], sizes: Sequence[int]) -> list[Codes]:
    """Shift numbers so that each array has numbers of its own."""
    offsets = np.cumsum([0, *sizes])[:-1].tolist()
    return [array + offset for array, offset in zip(numbers, offsets, strict=True)]


def _starts(lengths: Codes) -> Codes:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
