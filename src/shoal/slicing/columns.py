"""Attribute partitioning: which attributes share a column of a sliced table.

Correlated attributes share a column; within a bucket the columns are not linked. Attributes are
clustered by k-medoids with PAM (Partitioning Around Medoids), which builds medoids one by one, then
swaps a medoid for another attribute as long as that lowers the sum of all distances to the nearest
medoid. The result is deterministic and a local optimum: no single swap lowers the sum. Columns may
also be listed by hand, hold one attribute each, or separate sensitive attributes from the others.

References
----------
[Slicing] (see `shoal.core.sliced`) Sections 4.1 and, for overlapping columns, 7; Table 1.
[Kaufman90] Kaufman, Rousseeuw: Finding Groups in Data. Wiley 1990, chapter 2.
[Schubert19] Schubert, Rousseeuw: Faster k-Medoids Clustering. SISAP 2019.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Codes
from shoal.core.errors import ParameterError
from shoal.core.exact import whole
from shoal.core.sliced import Layout
from shoal.slicing.correlation import Correlations

_SCALE = 10**12
"""Distances are counted in units of 1/_SCALE, so that sums are exact and ties are ties."""
_FAR = 2**62


@dataclass(frozen=True)
class AttributeClusters:
    """Attributes, by place, in clusters, which are in the order of their first members.

    `labels` is the cluster of each attribute, and `total` the sum of the distances of all
    attributes to their medoids.
    """

    medoids: tuple[int, ...]
    labels: tuple[int, ...]
    total: float

    @property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """The attributes of each cluster, ascending."""
        return tuple(
            tuple(place for place, label in enumerate(self.labels) if label == cluster)
            for cluster in range(len(self.medoids))
        )

    def to_dict(self) -> dict[str, object]:
        """Return medoids, labels and total as plain lists."""
        return {
            "medoids": list(self.medoids),
            "labels": list(self.labels),
            "total": self.total,
        }


def cluster_attributes(distance: npt.ArrayLike, n_clusters: int) -> AttributeClusters:
    """Cluster attributes by PAM into `n_clusters` clusters, none of which is empty.

    Distances are symmetric, from 0 to 1, 0 on the diagonal, and are taken to twelve decimals.

    Notes
    -----
    Of several medoids or swaps that are equally good the first is taken: the medoid that comes
    first, then the attribute that comes first. An attribute goes to its nearest medoid, the first
    of several; a medoid stays in its own cluster.

    One round looks at all swaps in time and memory that grow with the square of the number of
    attributes ([Schubert19], section 3.1) and takes the one that PAM would.

    Examples
    --------
    >>> distance = [[0, 0.1, 0.9], [0.1, 0, 0.8], [0.9, 0.8, 0]]
    >>> cluster_attributes(distance, 2).members
    ((0, 1), (2,))
    """
    matrix = _whole_distances(distance)
    n_attributes = len(matrix)
    n_clusters = whole("n_clusters", n_clusters, least=1)
    if n_clusters > n_attributes:
        raise ParameterError(
            f"{n_attributes} attributes cannot be grouped into {n_clusters} clusters.",
            hint=f"ask for {n_attributes} or fewer.",
        )
    medoids = _swap(matrix, _build(matrix, n_clusters))
    return _clusters(matrix, medoids)


def _whole_distances(distance: npt.ArrayLike) -> Codes:
    matrix = np.asarray(distance, dtype=np.float64)
    is_square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]
    # Written so that NaN, which is neither above nor below, is refused too.
    if not is_square or not np.all((matrix >= 0) & (matrix <= 1)):
        raise ParameterError(
            "Distances of attributes must be a square matrix of numbers from 0 to 1.",
            hint="for example Correlations.distance.",
        )
    scaled = np.rint(matrix * _SCALE).astype(np.int64)
    if not np.array_equal(scaled, scaled.T) or np.diagonal(scaled).any():
        raise ParameterError(
            "Distances of attributes must be symmetric, and 0 from an attribute to itself.",
            hint="for example Correlations.distance.",
        )
    return scaled


def _build(distance: Codes, n_clusters: int) -> list[int]:
    """BUILD: take the next medoid so that the sum of distances falls most, again and again."""
    nearest = np.full(len(distance), _SCALE, dtype=np.int64)
    medoids: list[int] = []
    for _ in range(n_clusters):
        totals = np.minimum(distance, nearest[:, np.newaxis]).sum(axis=0)
        # If attributes are equal no further medoid lowers it, yet `n_clusters` are needed.
        totals[medoids] = _FAR
        medoids.append(int(np.argmin(totals)))
        nearest = np.minimum(nearest, distance[:, medoids[-1]])
    return sorted(medoids)


def _swap(distance: Codes, medoids: list[int]) -> list[int]:
    """SWAP: exchange medoids for other attributes, the best swap first, until none helps."""
    while len(medoids) < len(distance):
        change = _changes(distance, medoids)
        leaving, coming = np.unravel_index(int(np.argmin(change)), change.shape)
        if change[leaving, coming] >= 0:
            break
        medoids[int(leaving)] = int(coming)
        medoids.sort()
    return medoids


def _changes(distance: Codes, medoids: list[int]) -> Codes:
    """Return how the sum changes if a medoid (row) is replaced by an attribute (column)."""
    labels = _labels(distance, medoids)
    to_medoids = np.sort(distance[:, medoids], axis=1)
    nearest = to_medoids[:, :1]
    second = to_medoids[:, 1:2] if len(medoids) > 1 else np.full_like(nearest, _SCALE)
    # An attribute whose medoid stays moves only if the new one is nearer; one whose medoid leaves
    # goes to the new one or to its second medoid.
    if_stays = np.minimum(distance, nearest)
    if_leaves = np.minimum(distance, second)
    order = np.argsort(labels, kind="stable")
    begin = np.searchsorted(labels[order], np.arange(len(medoids)))
    extra = np.add.reduceat((if_leaves - if_stays)[order], begin, axis=0)
    # Replacing a medoid by another medoid leaves one fewer, which lowers no sum.
    change: Codes = (if_stays - nearest).sum(axis=0) + extra
    return change


def _labels(distance: Codes, medoids: list[int]) -> Codes:
    labels: Codes = np.argmin(distance[:, medoids], axis=1).astype(np.int64)
    labels[medoids] = np.arange(len(medoids))
    return labels


def _clusters(distance: Codes, medoids: list[int]) -> AttributeClusters:
    labels = _labels(distance, medoids)
    total = int(distance[:, medoids].min(axis=1).sum())
    _, first = np.unique(labels, return_index=True)
    order = np.argsort(first)
    rank = np.argsort(order)
    return AttributeClusters(
        medoids=tuple(medoids[cluster] for cluster in order.tolist()),
        labels=tuple(rank[labels].tolist()),
        total=total / _SCALE,
    )


_MOST_LISTED = 40


def clustered_columns(
    correlations: Correlations,
    n_columns: int,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
) -> Layout:
    """Cluster correlated attributes into columns ([Slicing] Section 4.1).

    Attributes are taken in the order of `quasi`, then of the sensitive ones that are not among
    them. That order decides ties (see `cluster_attributes`), the order within a column, and with it
    the order of columns, which is that of their first attributes.

    Examples
    --------
    >>> matrix = np.array([[1, 0.1, 0.2], [0.1, 1, 0.9], [0.2, 0.9, 1]])
    >>> found = Correlations(("age", "sex", "job"), matrix)
    >>> clustered_columns(found, 2, quasi=["age", "sex"], sensitive=["job"]).columns
    (('age',), ('sex', 'job'))
    """
    attributes = _in_order(quasi, sensitive)
    clusters = cluster_attributes(correlations.select(attributes).distance, n_columns)
    columns = [[attributes[place] for place in members] for members in clusters.members]
    return Layout(columns, sensitive, quasi)


def one_attribute_each(*, quasi: Sequence[str], sensitive: Sequence[str] = ()) -> Layout:
    """Put every attribute into a column of its own ([Slicing] Table 1(e))."""
    return Layout([[name] for name in _in_order(quasi, sensitive)], sensitive, quasi)


def bucketized_columns(*, quasi: Sequence[str], sensitive: Sequence[str]) -> Layout:
    """Separate all sensitive attributes from the others ([Slicing] Table 1(c)).

    An attribute that is both quasi-identifying and sensitive goes with the sensitive ones.
    """
    others = [name for name in quasi if name not in sensitive]
    if not sensitive or not others:
        raise ParameterError(
            "Bucketized columns separate sensitive attributes from others; "
            f"there are {len(sensitive)} sensitive attributes and {len(others)} others.",
            hint="declare at least one of each, or list the columns.",
        )
    return Layout([others, sensitive], sensitive, quasi)


def given_columns(
    columns: Iterable[Sequence[str]],
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    overlap: bool = False,
) -> Layout:
    """Check columns that the user lists: they hold every attribute, each once unless `overlap`."""
    listed = tuple(tuple(column) for column in columns)
    attributes = _in_order(quasi, sensitive)
    named = dict.fromkeys(name for column in listed for name in column)
    unknown = [name for name in named if name not in attributes]
    if unknown:
        raise ParameterError(
            "Columns hold quasi-identifying and sensitive attributes; these are neither: "
            f"{_listed(unknown)}.",
            hint=f"the attributes are {_listed(attributes)}.",
        )
    lacking = [name for name in attributes if name not in named]
    if lacking:
        raise ParameterError(
            f"These attributes are in none of the {len(listed)} columns: {_listed(lacking)}.",
            hint="put every quasi-identifying and sensitive attribute into a column.",
        )
    layout = Layout(listed, sensitive, quasi)
    if layout.shared and not overlap:
        raise ParameterError(
            f"These attributes are in more than one column: {_listed(layout.shared)}.",
            hint="keep each in one column, or set overlap=True.",
        )
    return layout


def _in_order(quasi: Sequence[str], sensitive: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*quasi, *sensitive)))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:_MOST_LISTED]))
    beyond = len(names) - _MOST_LISTED
    return f"{shown} and {beyond} more" if beyond > 0 else shown
