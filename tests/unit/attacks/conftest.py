"""Releases and people from explicit rows, for the tests of attacks."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.core.cells import Buckets, Cells
from shoal.core.domain import Domain
from shoal.core.method import Shape
from shoal.core.release import Manifest, People, Published


def _domain(column, texts):
    known = sorted({text for text in texts if text is not None})
    return Domain.of_texts(column, known, has_missing=None in texts)


def _cells(columns, rows):
    domains = [_domain(name, [row[place] for row in rows]) for place, name in enumerate(columns)]
    codes = [domain.codes_of([row[place] for row in rows]) for place, domain in enumerate(domains)]
    stacked = np.stack(codes, axis=1) if codes else np.empty((len(rows), 0), dtype=np.int64)
    return Cells.of_rows(domains, stacked)


@pytest.fixture
def publish():
    """Give the function that makes a release from rows (bucket, quasi-identifiers, value).

    Without `values` the last column is a quasi-identifier too, and nothing is sensitive.
    """

    def make(columns, rows, *, shape=Shape.BUCKETIZED, guarantees=(), meanings=None, values=True):
        quasi = columns if not values else columns[:-1]
        lines = _cells(["bucket", *quasi], [row[: len(quasi) + 1] for row in rows])
        manifest = Manifest(
            shape=shape,
            method="test",
            parameters={},
            guarantees=tuple(guarantees),
            columns=(),
            n_rows=len(rows),
            n_buckets=lines.domains[0].size,
        )
        buckets = None
        if values:
            domain = _domain(columns[-1], [row[-1] for row in rows])
            buckets = Buckets.of_pairs(
                lines.domains[0].codes_of([row[0] for row in rows]),
                domain.codes_of([row[-1] for row in rows]),
                domain,
            )
        return Published(manifest, lines, buckets, meanings or {})

    return make


@pytest.fixture
def people_of():
    """Give the function that makes people from rows of quasi-identifiers."""

    def make(columns, rows):
        return People(_cells(columns, rows))

    return make


@pytest.fixture
def everybody():
    """Give the function that makes the people of a release, each in their known bucket."""

    def make(published):
        lines = published.lines
        return People(Cells(published.quasi, lines.codes[:, 1:], lines.counts), lines.codes[:, 0])

    return make
