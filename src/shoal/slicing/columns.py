"""Attributes grouped around medoids: k-medoids by PAM, without any chance.

[Slicing], section 4.1, clusters attributes by their correlations into the columns of a sliced
table. PAM (Partitioning Around Medoids) builds medoids one by one, then swaps a medoid against
another attribute as long as that lowers the sum of all distances to the nearest medoid. The result
is a local optimum: no single swap lowers the sum.

[Slicing] Rafi, Ramanaiah: Protecting Attribute Disclosure for High Dimensionality and Preserving
Publishing of Microdata.
[Kaufman90] Kaufman, Rousseeuw: Finding Groups in Data. Wiley 1990, chapter 2.
[Schubert19] Schubert, Rousseeuw: Faster k-Medoids Clustering. SISAP 2019.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes
from shoal.core.errors import ParameterError
from shoal.core.exact import whole

__all__ = ["AttributeClusters", "cluster_attributes"]

_SCALE = 10**12
"""Distances are counted in units of 1/_SCALE, so that sums are exact and ties are ties."""
_FAR = 2**62


@dataclass(frozen=True)
class AttributeClusters:
    """Attributes, by place, in clusters.

    Parameters
    ----------
    medoids
        The attribute in the middle of each cluster. Clusters are in the order of their first
        members.
    labels
        For each attribute its cluster.
    total
        The sum of the distances of all attributes to their medoids.

    Examples
    --------
    >>> AttributeClusters(medoids=(2, 1), labels=(0, 1, 0), total=0.5).members
    ((0, 2), (1,))
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
        """Give medoids, labels and total as plain lists."""
        return {
            "medoids": list(self.medoids),
            "labels": list(self.labels),
            "total": self.total,
        }


def cluster_attributes(distance: npt.ArrayLike, n_clusters: int) -> AttributeClusters:
    """Group attributes by PAM.

    Parameters
    ----------
    distance
        How far attributes are apart: symmetric, from 0 to 1, 0 on the diagonal. It is taken to
        twelve decimals.
    n_clusters
        How many clusters there are; none is empty.

    Notes
    -----
    Of several medoids or swaps that are equally good the first is taken: the medoid that comes
    first, then the attribute that comes first. An attribute goes to its nearest medoid, of several
    to the first; a medoid stays in its own cluster.

    One round looks at all swaps in time and memory that grow with the square of the number of
    attributes ([Schubert19], section 3.1) and takes the one that PAM would.

    Raises
    ------
    ParameterError
        Where it is no such matrix, or there are fewer attributes than clusters.

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
    # Said so that NaN, which is neither above nor below, is refused too.
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
    """Take as the next medoid, again and again, what lowers the sum of distances most."""
    nearest = np.full(len(distance), _SCALE, dtype=np.int64)
    medoids: list[int] = []
    for _ in range(n_clusters):
        totals = np.minimum(distance, nearest[:, np.newaxis]).sum(axis=0)
        # Where attributes are equal no further medoid lowers it, yet there have to be as many.
        totals[medoids] = _FAR
        medoids.append(int(np.argmin(totals)))
        nearest = np.minimum(nearest, distance[:, medoids[-1]])
    return sorted(medoids)


def _swap(distance: Codes, medoids: list[int]) -> list[int]:
    """Swap medoids against other attributes, the best swap first, until none helps."""
    while len(medoids) < len(distance):
        change = _changes(distance, medoids)
        leaving, coming = np.unravel_index(int(np.argmin(change)), change.shape)
        if change[leaving, coming] >= 0:
            break
        medoids[int(leaving)] = int(coming)
        medoids.sort()
    return medoids


def _changes(distance: Codes, medoids: list[int]) -> Codes:
    """Give by how much the sum changes if a medoid, by row, leaves for an attribute, by column."""
    labels = _labels(distance, medoids)
    to_medoids = np.sort(distance[:, medoids], axis=1)
    nearest = to_medoids[:, :1]
    second = to_medoids[:, 1:2] if len(medoids) > 1 else np.full_like(nearest, _SCALE)
    # An attribute whose medoid stays moves only if what comes is nearer; one whose medoid leaves
    # goes to what comes or to its second medoid.
    if_stays = np.minimum(distance, nearest)
    if_leaves = np.minimum(distance, second)
    order = np.argsort(labels, kind="stable")
    begin = np.searchsorted(labels[order], np.arange(len(medoids)))
    extra = np.add.reduceat((if_leaves - if_stays)[order], begin, axis=0)
    # A medoid that comes in place of another leaves one medoid fewer, which lowers no sum.
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
