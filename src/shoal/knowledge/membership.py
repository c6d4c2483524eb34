"""How well people fit a release: what tells an adversary whether somebody is in the table.

She knows what is known of a person and looks for the buckets that hold it. The more rows of the
release are like the person, the likelier one of them is theirs. Where columns are not linked, that
is the number of such rows on average over all linkings, of which a bucket B has |B| f(t, B)
[Slicing, Section 3]; else the rows that show what the person would be published as. Somebody with a
list of all people who may be in the table knows more: the rows of a line belong to those of the
list whom it admits, so that the chance of each is the rows divided by these people [Nergiz07].

References
----------
[Slicing] (see `shoal.core.sliced`) Sections 3, 5 and 6.

[Nergiz07] M. E. Nergiz, M. Atzori, C. Clifton: Hiding the presence of individuals from shared
databases. SIGMOD 2007; Section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Cells, Counts
from shoal.core.release import People, Published
from shoal.core.sliced import Sliced
from shoal.knowledge.location import match_lines, matching_buckets
from shoal.knowledge.separation import Separation, separate, tie_rounded
from shoal.knowledge.sliced_matches import Labels, SlicedMatches, match_sliced

__all__ = [
    "Fits",
    "Telling",
    "find_presence",
    "find_sliced_presence",
    "fit_people",
    "fit_sliced",
    "split_rows",
    "tell_apart",
    "tell_apart_sliced",
]

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fits:
    """How well people fit a release, one entry a cell of people.

    Parameters
    ----------
    n_buckets
        How many buckets they match.
    n_rows
        How many rows of the release are like them, on average over all linkings of columns, and
        over the lines that may be theirs; above 0 exactly where they match a bucket.
    """

    n_buckets: Counts
    n_rows: _Floats

    def __repr__(self) -> str:
        n_matching = np.count_nonzero(self.n_buckets)
        return f"Fits({n_matching} of {len(self.n_buckets)} different people match)"


def fit_people(published: Published, people: People) -> Fits:
    """Say how well people fit a release of any shape.

    Parameters
    ----------
    published
        The release as any reader sees it.
    people
        The people. They are found by what is known of them, even where their bucket is given; a
        column that they lack is one that the adversary does not know.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.method import Shape
    >>> from shoal.core.release import Manifest
    >>> bucket, sex = Domain.of_texts("bucket", ["4", "5"]), Domain.of_texts("sex", ["F", "M"])
    >>> lines = Cells((bucket, sex), np.array([[0, 0], [0, 1], [1, 1]]), np.array([1, 1, 2]))
    >>> manifest = Manifest(
    ...     shape=Shape.BUCKETIZED, method="anatomy", parameters={}, guarantees=(), columns=(),
    ...     n_rows=4, n_buckets=2,
    ... )
    >>> fits = fit_people(Published(manifest, lines, None), People(lines.select(["sex"])))
    >>> fits.n_buckets.tolist(), fits.n_rows.tolist()
    ([1, 2], [1.0, 3.0])
    """
    if published.sliced is not None:
        return fit_sliced(published.sliced, people.quasi, published.meanings)
    found = matching_buckets(published, People(people.quasi))
    classes, _ = published.looks
    n_lines = np.diff(match_lines(classes, published.meanings, people.quasi).start)
    return Fits(found.n_buckets_of, found.totals / np.maximum(n_lines, 1))


def find_presence(published: Published, people: People) -> _Floats:
    """Say how many rows of a release belong to each person, if they all belong to these people.

    Parameters
    ----------
    published
        The release as any reader sees it.
    people
        All who may be in its table, found by what is known of them; one entry a cell, for each of
        the people in it.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.method import Shape
    >>> from shoal.core.release import Manifest
    >>> bucket, sex = Domain.of_texts("bucket", ["4", "5"]), Domain.of_texts("sex", ["F", "M"])
    >>> lines = Cells((bucket, sex), np.array([[0, 0], [0, 1], [1, 1]]), np.array([1, 1, 2]))
    >>> manifest = Manifest(
    ...     shape=Shape.BUCKETIZED, method="anatomy", parameters={}, guarantees=(), columns=(),
    ...     n_rows=4, n_buckets=2,
    ... )
    >>> people = People(Cells((sex,), np.array([[0], [1]]), np.array([4, 3])))
    >>> find_presence(Published(manifest, lines, None), people).tolist()
    [0.25, 1.0]
    """
    if published.sliced is not None:
        return find_sliced_presence(published.sliced, people.quasi, published.meanings)
    classes, _ = published.looks
    matches = match_lines(classes, published.meanings, people.quasi)
    # Of several lines that may be a person's, one is.
    share = 1 / np.diff(matches.start)[matches.person]
    n_fitting = np.bincount(
        matches.line, share * people.counts[matches.person], minlength=classes.n_cells
    )
    chance = share * classes.counts[matches.line] / n_fitting[matches.line]
    presence: _Floats = np.zeros(people.quasi.n_cells)
    np.add.at(presence, matches.person, chance)
    return presence


@dataclass(frozen=True)
class Telling:
    """How well members are told from others.

    Parameters
    ----------
    alone
        By the number of rows that are like a person, which the release alone tells.
    listed
        By the rows that belong to a person, for somebody who has a list of members and others.
    """

    alone: Separation
    listed: Separation

    @property
    def worse(self) -> Separation:
        """The separation of the adversary who tells them apart better."""
        return max(self.listed, self.alone, key=lambda one: one.auc)


def tell_apart(published: Published, members: People, others: People) -> Telling:
    """Measure how well a release tells the people in it from others.

    Parameters
    ----------
    published
        The release.
    members, others
        People who are in its table, and people who are not, by what is known of them: the same
        columns, coded alike.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.method import Shape
    >>> from shoal.core.release import Manifest
    >>> bucket, sex = Domain.of_texts("bucket", ["4"]), Domain.of_texts("sex", ["F", "M"])
    >>> lines = Cells((bucket, sex), np.array([[0, 0]]), np.array([3]))
    >>> manifest = Manifest(
    ...     shape=Shape.BUCKETIZED, method="anatomy", parameters={}, guarantees=(), columns=(),
    ...     n_rows=3, n_buckets=1,
    ... )
    >>> men = People(Cells.of_rows([sex], np.array([[1]] * 9)))
    >>> found = tell_apart(Published(manifest, lines, None), People(lines.select(["sex"])), men)
    >>> found.alone.auc, found.listed.auc
    (1.0, 1.0)
    """
    if published.sliced is not None:
        labels = published.meanings
        return tell_apart_sliced(published.sliced, members.quasi, others.quasi, labels)

    def score(everybody: Cells) -> tuple[_Floats, _Floats]:
        people = People(everybody)
        return fit_people(published, people).n_rows, find_presence(published, people)

    return _tell(members.quasi, others.quasi, score)


def tell_apart_sliced(
    sliced: Sliced, members: Cells, others: Cells, meanings: Labels | None = None
) -> Telling:
    """Measure how well a sliced release tells the people in it from others.

    Parameters
    ----------
    sliced, meanings
        The release, and what its labels stand for.
    members, others
        As for `tell_apart`.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.sliced import Layout
    >>> sex, city = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("city", ["Bonn", "Rome"])
    >>> rows = Cells.of_rows([sex, city], np.array([[0, 0], [1, 1]]))
    >>> others = Cells.of_rows([sex, city], np.array([[0, 1], [1, 0]]))
    >>> layout = Layout([["sex"], ["city"]])
    >>> together = Sliced.of_pieces(rows, layout, np.arange(2), np.array([0, 0]), rows.counts)
    >>> tell_apart_sliced(together, rows, others).worse.auc
    0.5
    >>> apart = Sliced.of_pieces(rows, layout, np.arange(2), np.array([0, 1]), rows.counts)
    >>> tell_apart_sliced(apart, rows, others).worse.auc
    1.0
    """

    def score(everybody: Cells) -> tuple[_Floats, _Floats]:
        matches = match_sliced(sliced, everybody, meanings or {})
        return _fits(matches).n_rows, _presence(matches, sliced.sizes, everybody.counts)

    return _tell(members, others, score)


def _tell(
    members: Cells, others: Cells, score: Callable[[Cells], tuple[_Floats, _Floats]]
) -> Telling:
    codes = np.concatenate([members.codes, others.codes])
    counts = np.concatenate([members.counts, others.counts])
    everybody, place = Cells(members.domains, codes, counts).select_with_inverse(members.columns)
    alone, listed = (
        separate(
            scores[place[: members.n_cells]],
            scores[place[members.n_cells :]],
            member_counts=members.counts,
            other_counts=others.counts,
        )
        for scores in map(tie_rounded, score(everybody))
    )
    return Telling(alone, listed)


def split_rows(cells: Cells, n_rows: int, generator: np.random.Generator) -> tuple[Cells, Cells]:
    """Draw some rows of a table at random; give these, and the others.

    Parameters
    ----------
    cells
        The table.
    n_rows
        How many rows to draw.
    generator
        The source of chance, such as `shoal.core.secret.Secret.generator`.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> cells = Cells.of_rows([Domain.of_texts("sex", ["F", "M"])], np.array([[0]] * 5 + [[1]] * 6))
    >>> drawn, rest = split_rows(cells, 4, np.random.default_rng(1))
    >>> drawn.n_rows, rest.n_rows
    (4, 7)
    """
    drawn = generator.multivariate_hypergeometric(cells.counts, n_rows, method="marginals")
    first, second = (
        Cells(cells.domains, cells.codes[counts > 0], counts[counts > 0])
        for counts in (drawn, cells.counts - drawn)
    )
    return first, second


def fit_sliced(sliced: Sliced, people: Cells, meanings: Labels | None = None) -> Fits:
    """Say how well people fit a sliced release.

    Parameters
    ----------
    sliced
        The release.
    people
        What is known of people, as values or as published labels; one entry a cell.
    meanings
        What the labels of the release stand for, by attribute and label.

    Raises
    ------
    DataError, ParameterError
        Where columns are linked by an attribute that is not sensitive, and it or something else
        that is known to the adversary is not given of the people.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.sliced import Layout
    >>> sex, city = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("city", ["Bonn", "Rome"])
    >>> rows = Cells.of_rows([sex, city], np.array([[0, 0], [0, 1], [1, 1]]))
    >>> layout = Layout([["sex"], ["city"]])
    >>> bucket = np.array([0, 0, 0])
    >>> release = Sliced.of_pieces(rows, layout, np.arange(3), bucket, rows.counts)
    >>> fits = fit_sliced(release, rows)
    >>> fits.n_buckets.tolist(), fits.n_rows.round(3).tolist()
    ([1, 1, 1], [0.667, 1.333, 0.667])
    """
    return _fits(match_sliced(sliced, people, meanings or {}))


def _fits(matches: SlicedMatches) -> Fits:
    n_kinds = matches.n_kinds
    n_buckets, n_rows = np.zeros(n_kinds, dtype=np.int64), np.zeros(n_kinds)
    for kind, _, amount in matches.terms():
        n_buckets += np.bincount(kind, minlength=n_kinds)
        n_rows += np.bincount(kind, amount, minlength=n_kinds)
    return Fits(n_buckets[matches.kind], n_rows[matches.kind])


def find_sliced_presence(sliced: Sliced, people: Cells, meanings: Labels | None = None) -> _Floats:
    """Say how many rows of a sliced release belong to each person, if all belong to these people.

    The rows of a bucket are divided among those who match it, as often as a linking has each.

    Parameters
    ----------
    sliced, people, meanings
        As for `fit_sliced`; the people are all who may be in the table.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.sliced import Layout
    >>> sex, city = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("city", ["Bonn", "Rome"])
    >>> rows = Cells.of_rows([sex, city], np.array([[0, 0], [0, 1], [1, 1]]))
    >>> bucket = np.array([0, 0, 0])
    >>> layout = Layout([["sex"], ["city"]])
    >>> release = Sliced.of_pieces(rows, layout, np.arange(3), bucket, rows.counts)
    >>> find_sliced_presence(release, rows).tolist()
    [0.75, 1.5, 0.75]
    """
    return _presence(match_sliced(sliced, people, meanings or {}), sliced.sizes, people.counts)


def _presence(matches: SlicedMatches, sizes: Counts, counts: Counts) -> _Floats:
    n_people = np.bincount(matches.kind, counts, minlength=matches.n_kinds)
    total = np.zeros(len(sizes))
    for kind, bucket, amount in matches.terms():
        total += np.bincount(bucket, amount * n_people[kind], minlength=len(sizes))
    presence = np.zeros(matches.n_kinds)
    for kind, bucket, amount in matches.terms():
        chance = sizes[bucket] * amount / total[bucket]
        presence += np.bincount(kind, chance, minlength=matches.n_kinds)
    return presence[matches.kind]
