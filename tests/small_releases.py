"""Small releases of every shape from explicit rows, and what is expected of them by definition."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from shoal.core.cells import Buckets, Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.manifest import Manifest
from shoal.core.release import Published
from shoal.core.shapes import Shape
from shoal.core.sliced import Layout, Sliced
from shoal.core.table import HIDDEN, Rows

HIDE = "*"


def domain_of(column, values):
    """Return the domain of some values; whole numbers are numbers."""
    known = sorted({value for value in values if value is not None})
    has_missing = None in values
    texts = [str(value) for value in known]
    if known and all(isinstance(value, int) for value in known):
        kind = ColumnType.INTEGER
        return Domain.of_texts(column, texts, type=kind, numbers=known, has_missing=has_missing)
    return Domain.of_texts(column, texts, has_missing=has_missing)


def codes_of(domain, values):
    return domain.codes_of([None if value is None else str(value) for value in values])


def cells_of(columns, rows, domains=None):
    """Count rows."""
    listed = [[row[place] for row in rows] for place in range(len(columns))]
    if domains is None:
        domains = [domain_of(name, values) for name, values in zip(columns, listed, strict=True)]
    codes = [codes_of(domain, values) for domain, values in zip(domains, listed, strict=True)]
    return Cells.of_rows(domains, np.stack(codes, axis=1).reshape(-1, len(columns)))


def manifest_of(shape, n_rows, n_buckets):
    return Manifest(
        shape=shape,
        method="test",
        parameters={},
        guarantees=(),
        columns=(),
        n_rows=n_rows,
        n_buckets=n_buckets,
    )


def bucketized(columns, rows, buckets, *, shape=Shape.BUCKETIZED, meanings=None, domains=None):
    """Publish rows, the last column sensitive, each in its bucket."""
    names = ["bucket", *columns[:-1]]
    given = domains or [
        domain_of(name, [row[place] for row in rows]) for place, name in enumerate(columns)
    ]
    bucket = domain_of("bucket", buckets)
    placed = [(own, *row[:-1]) for own, row in zip(buckets, rows, strict=True)]
    lines = cells_of(names, placed, [bucket, *given[:-1]])
    values = Buckets.of_pairs(
        codes_of(bucket, buckets), codes_of(given[-1], [row[-1] for row in rows]), given[-1]
    )
    manifest = manifest_of(shape, len(rows), bucket.size)
    return Published(manifest, lines, values, meanings or {})


def generalized(columns, rows, meanings=None):
    """Publish rows, whose quasi-identifiers may be labels; equal ones are a bucket."""
    looks = sorted({row[:-1] for row in rows}, key=str)
    buckets = [looks.index(row[:-1]) + 1 for row in rows]
    return bucketized(columns, rows, buckets, shape=Shape.GENERALIZED, meanings=meanings)


def suppressed(columns, rows, truth):
    """Publish rows, of which those cells are suppressed that are `HIDE`."""
    codes = np.full((len(rows), len(columns)), HIDDEN, dtype=np.int32)
    for place, name in enumerate(columns):
        values = [None if row[place] is HIDE else row[place] for row in rows]
        found = codes_of(truth.domain(name), values)
        codes[:, place] = np.where([row[place] is HIDE for row in rows], HIDDEN, found)
    one = Cells(
        (domain_of("bucket", [1]),), np.zeros((1, 1), dtype=np.int64), np.array([len(rows)])
    )
    manifest = manifest_of(Shape.SUPPRESSED, len(rows), 1)
    return Published(manifest, one, None, rows=Rows(truth.domains, codes))


def sliced(columns, rows, buckets, parts, sensitive):
    """Publish rows in columns of attributes, each in its bucket."""
    cells = cells_of(columns, rows)
    layout = Layout(parts, [sensitive])
    bucket = domain_of("bucket", buckets)
    of_row = codes_of(bucket, buckets)
    codes = np.stack(
        [
            codes_of(cells.domain(name), [row[place] for row in rows])
            for place, name in enumerate(columns)
        ],
        axis=1,
    )
    cell = np.array([np.flatnonzero((cells.codes == code).all(axis=1))[0] for code in codes])
    ones = np.ones(len(rows), dtype=np.int64)
    found = Sliced.of_pieces(cells, layout, cell, of_row, ones)
    lines = Cells.of_rows([bucket], of_row[:, np.newaxis])
    manifest = manifest_of(Shape.SLICED, len(rows), bucket.size)
    return Published(manifest, lines, None, sliced=found)


def expected_rows(parts, buckets, rows, admitted, worth):
    """Give, by definition, what the rows are worth on average over all linkings.

    Parameters
    ----------
    parts
        The places of the attributes of each column.
    buckets, rows
        The rows as they are published, and the bucket of each.
    admitted
        For the place of an attribute and its published label, the values it stands for.
    worth
        What a row of values is worth.
    """
    total = Fraction(0)
    for bucket in set(buckets):
        inside = [row for own, row in zip(buckets, rows, strict=True) if own == bucket]
        # Each entry of a column is as likely as any other to be linked to those of the others.
        for entries in itertools.product(inside, repeat=len(parts)):
            row = list(inside[0])
            for part, entry in zip(parts, entries, strict=True):
                for place in part:
                    row[place] = entry[place]
            choices = [admitted(place, label) for place, label in enumerate(row)]
            weight = Fraction(1, len(inside) ** (len(parts) - 1))
            for choice in choices:
                weight /= len(choice)
            total += sum((weight * worth(values) for values in itertools.product(*choices)), 0)
    return total
