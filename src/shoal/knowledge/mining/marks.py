"""What rules exclude: the sensitive values that each distinct row cannot take.

Rules about one column are looked up by code. For longer ones every node has the set of cells that
it holds, as bits: an antecedent holds for the intersection of its nodes' sets, and what a value is
excluded from is the union over its rules.

References
----------
[Li08] Li, Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008; section V-A.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes, group
from shoal.knowledge.location import spread
from shoal.knowledge.mining._kernels import mark_cells
from shoal.knowledge.mining.items import Flags
from shoal.knowledge.mining.rules import NO_NODE

__all__ = ["forbidden_marks"]

Nodes = npt.NDArray[np.integer]

_CHUNK = 2**26
"""How many pairs of a node and a cell are held at a time."""
_WORD = 64


def forbidden_marks(
    nodes: Nodes,
    value: npt.NDArray[np.integer],
    extents: Sequence[Flags],
    codes: Codes,
    n_values: int,
) -> Flags:
    """Say which values each cell cannot take.

    Parameters
    ----------
    nodes
        One row a rule, one column a quasi-identifier: a node, or -1 where the rule does not name
        the column.
    value
        For each rule the value that it excludes.
    extents
        For each column which node (row) holds for which code (column).
    codes
        One row a cell, one column a quasi-identifier.
    n_values
        The number of sensitive values.

    Returns
    -------
    One row a cell, one column a value; true where the cell cannot take it.

    Examples
    --------
    >>> nodes, value = np.array([[0, -1], [1, 1]]), np.array([2, 0])
    >>> extents = [np.eye(2, dtype=bool), np.eye(2, dtype=bool)]
    >>> codes = np.array([[0, 0], [1, 0], [1, 1]])
    >>> forbidden_marks(nodes, value, extents, codes, 3).astype(int).tolist()
    [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    """
    n_named = (nodes != NO_NODE).sum(axis=1)
    marks = np.zeros((len(codes), n_values), dtype=bool)
    marks[:, value[n_named == 0]] = True
    for column, extent in enumerate(extents):
        is_single = (n_named == 1) & (nodes[:, column] != NO_NODE)
        if is_single.any():
            by_code = _marks_by_code(nodes[is_single, column], value[is_single], extent, n_values)
            marks |= by_code[codes[:, column]]
    if (n_named > 1).any():
        _mark_long(nodes[n_named > 1], value[n_named > 1], extents, codes, marks)
    return marks


def _marks_by_code(
    node: Nodes, value: npt.NDArray[np.integer], extent: Flags, n_values: int
) -> Flags:
    """Say for each code of a column which values the rules about this column exclude."""
    used, place = np.unique(node, return_inverse=True)
    holder, code = np.nonzero(extent[used])
    start = np.searchsorted(holder, np.arange(len(used) + 1))
    by_code = np.zeros((extent.shape[1], n_values), dtype=bool)
    rule, entry = spread(start[place], np.diff(start)[place])
    by_code[code[entry], value[rule]] = True
    return by_code


def _mark_long(
    nodes: Nodes,
    value: npt.NDArray[np.integer],
    extents: Sequence[Flags],
    codes: Codes,
    marks: Flags,
) -> None:
    """Mark what rules about several columns exclude."""
    sizes = [len(extent) + 1 for extent in extents]
    columns = [nodes[:, column].astype(np.int64) + 1 for column in range(len(extents))]
    first, _ = group([*columns, value.astype(np.int64)], [*sizes, marks.shape[1]], len(nodes))
    used = [np.setdiff1d(nodes[:, column], [NO_NODE]) for column in range(len(extents))]
    item = _items(nodes[first], used)
    n_items, rule_value = sum(map(len, used)), value[first].astype(np.int32)
    n_together = max(_WORD, _CHUNK // n_items)
    for start in range(0, len(codes), n_together):
        part = slice(start, start + n_together)
        held = [
            extent[nodes_used][:, codes[part, column]]
            for column, (extent, nodes_used) in enumerate(zip(extents, used, strict=True))
        ]
        cells = _pack(np.concatenate(held))
        found = np.zeros((marks.shape[1], cells.shape[1]), dtype=np.uint64)
        work = np.full((len(extents) + 1, cells.shape[1]), np.iinfo(np.uint64).max)
        mark_cells(cells, item, rule_value, work, found)
        n_cells = len(codes[part])
        unpacked = np.unpackbits(found.view(np.uint8), axis=1, count=n_cells, bitorder="little")
        marks[part] |= unpacked.T.astype(bool)


def _items(nodes: Nodes, used: Sequence[Nodes]) -> npt.NDArray[np.int32]:
    """Number the nodes of all columns together; move those of each rule to its front."""
    item = np.full(nodes.shape, NO_NODE, dtype=np.int32)
    start = 0
    for column, nodes_used in enumerate(used):
        is_named = nodes[:, column] != NO_NODE
        item[is_named, column] = start + np.searchsorted(nodes_used, nodes[is_named, column])
        start += len(nodes_used)
    order = np.argsort(item == NO_NODE, axis=1, kind="stable")
    return np.ascontiguousarray(np.take_along_axis(item, order, axis=1))


def _pack(flags: Flags) -> npt.NDArray[np.uint64]:
    """Give each row as bits, in whole words."""
    n_bytes = -(-flags.shape[1] // _WORD) * _WORD // 8
    packed = np.zeros((len(flags), n_bytes), dtype=np.uint8)
    bits = np.packbits(flags, axis=1, bitorder="little")
    packed[:, : bits.shape[1]] = bits
    return packed.view(np.uint64)
