"""Buckets of a given size: rows drawn at random, or near rows kept apart.

[Slicing] Section 7 asks how rows should be grouped against membership disclosure. Cuts put near
rows together (`partition_tuples` with a least size); here are the two others. Neither looks at
sensitive values: whether a release of them is diverse is checked afterwards.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from shoal.core.cells import Cells, Codes
from shoal.core.errors import InfeasibleError
from shoal.core.exact import as_text
from shoal.core.sliced import Layout
from shoal.knowledge.sliced_beliefs import largest_belief, sliced_beliefs
from shoal.methods.slicing_partition.eligibility import Diversity
from shoal.methods.slicing_partition.partition import confirm_rows, partition_tuples
from shoal.methods.slicing_partition.pieces import TuplePartition

__all__ = ["confirm_diverse", "dissimilar_buckets", "random_buckets"]


def random_buckets(cells: Cells, size: int, generator: np.random.Generator) -> TuplePartition:
    """Put rows into buckets at random.

    Parameters
    ----------
    cells
        The table, with at least one row.
    size
        How many rows a bucket has; some have one more, so that none has fewer.
    generator
        The source of chance, such as `shoal.core.secret.Secret.generator`.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> cells = Cells.of_rows([Domain.of_texts("sex", ["F", "M"])], np.array([[0]] * 5 + [[1]] * 6))
    >>> sorted(random_buckets(cells, 3, np.random.default_rng(1)).sizes.tolist())
    [3, 4, 4]
    """
    rows = np.repeat(np.arange(cells.n_cells), cells.counts)
    return _deal(cells, generator.permutation(rows), size)


def dissimilar_buckets(cells: Cells, layout: Layout, size: int) -> TuplePartition:
    """Put near rows into different buckets.

    Rows are laid in the order in which cuts down to `size` rows leave them, so that near rows
    follow each other, and are dealt out to the buckets in turn.

    Parameters
    ----------
    cells
        The table, with at least one row.
    layout
        The columns; rows are near by the known attributes outside sensitive columns.
    size
        How many rows a bucket has; some have one more, so that none has fewer.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> age = Domain.of_texts("age", ["20", "21", "60", "61"])
    >>> cells = Cells.of_rows([age], np.array([[0], [1], [2], [3]]))
    >>> dissimilar_buckets(cells, Layout([["age"]]), 2).bucket.tolist()
    [0, 1, 0, 1]
    """
    near = partition_tuples(cells, layout, least=min(size, cells.n_rows))
    order = np.argsort(near.bucket, kind="stable")
    return _deal(cells, np.repeat(near.cell[order], near.count[order]), size)


def _deal(cells: Cells, rows: Codes, size: int) -> TuplePartition:
    """Deal rows, given by their cells, out to buckets in turn."""
    confirm_rows(cells, size)
    n_buckets = max(len(rows) // size, 1)
    bucket = np.arange(len(rows), dtype=np.int64) % n_buckets
    return TuplePartition.of_pieces(cells, rows, bucket, np.ones(len(rows), dtype=np.int64))


def confirm_diverse(
    partition: TuplePartition, layout: Layout, ell: Fraction, diversity: Diversity
) -> None:
    """Refuse buckets in which the people's own tuples are not l-diverse.

    Raises
    ------
    InfeasibleError
        It names the largest l that these buckets reach.
    """
    reached = min(
        (_reached(partition, layout, sensitive, diversity) for sensitive in layout.sensitive),
        default=ell,
    )
    if reached < ell:
        raise InfeasibleError(
            f"Buckets that were not made for it do not keep sliced l-diversity with ell = "
            f"{as_text(ell)}; they reach {float(reached):.3g}.",
            hint="take larger buckets, or let cuts make them.",
            best={"ell": as_text(reached)},
        )


def _reached(
    partition: TuplePartition, layout: Layout, sensitive: str, diversity: Diversity
) -> Fraction:
    tuples = partition.cells.select(layout.known_for(sensitive))
    sliced = partition.sliced(layout)
    if diversity == "distinct":
        return Fraction(int(sliced_beliefs(sliced, tuples, sensitive).n_values.min()))
    return 1 / largest_belief(sliced, tuples, sensitive)
