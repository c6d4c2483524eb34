"""How well people fit a release of any shape.

The more rows of the release are like a person, the more likely one of them is theirs. If columns
are not linked, that is the mean number of such rows over all linkings, |B| f(t, B) of a bucket B
[Slicing, Section 3]; otherwise, the rows that show what the person would be published as. An
adversary with a list of all people who may be in the table knows more: the rows of a line belong to
the listed people whom it admits, so the chance of each is the number of rows divided by these
people [Nergiz07].

References
----------
[Slicing] (see `shoal.membership.attack`) Section 3.

[Nergiz07] (see `shoal.membership.attack`) Section 3.
"""

from __future__ import annotations

import numpy as np

from shoal.core.arrays import Floats
from shoal.core.cells import Cells
from shoal.core.release import People, Published
from shoal.locating.location import match_lines, matching_buckets
from shoal.slicing.membership import (
    Fits,
    Telling,
    find_sliced_presence,
    fit_sliced,
    tell_apart_by,
    tell_apart_sliced,
)


def fit_people(published: Published, people: People) -> Fits:
    """Return how well people fit a release of any shape.

    People are found by their known values, even if their bucket is given; a column that they lack
    is one that the adversary does not know.
    """
    if published.sliced is not None:
        return fit_sliced(published.sliced, people.quasi, published.meanings)
    found = matching_buckets(published, People(people.quasi))
    classes, _ = published.looks
    n_lines = np.diff(match_lines(classes, published.meanings, people.quasi).start)
    return Fits(found.n_buckets_of, found.totals / np.maximum(n_lines, 1))


def find_presence(published: Published, people: People) -> Floats:
    """Return how many rows of a release belong to each person, if all belong to these people.

    `people` are all who may be in the table, found by their known values. The result has one entry
    per cell, for each of the people in it.
    """
    if published.sliced is not None:
        return find_sliced_presence(published.sliced, people.quasi, published.meanings)
    classes, _ = published.looks
    matches = match_lines(classes, published.meanings, people.quasi)
    # If several lines may be a person's, exactly one is.
    share = 1 / np.diff(matches.start)[matches.person]
    n_fitting = np.bincount(
        matches.line, share * people.counts[matches.person], minlength=classes.n_cells
    )
    chance = share * classes.counts[matches.line] / n_fitting[matches.line]
    presence: Floats = np.zeros(people.quasi.n_cells)
    np.add.at(presence, matches.person, chance)
    return presence


def tell_apart(published: Published, members: People, others: People) -> Telling:
    """Measure how well a release tells the people in it from others.

    `members` are in its table and `others` are not; both have the same known columns and codes.
    """
    if published.sliced is not None:
        labels = published.meanings
        return tell_apart_sliced(published.sliced, members.quasi, others.quasi, labels)

    def score(everybody: Cells) -> tuple[Floats, Floats]:
        people = People(everybody)
        return fit_people(published, people).n_rows, find_presence(published, people)

    return tell_apart_by(members.quasi, others.quasi, score)
