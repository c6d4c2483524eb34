"""Problems, buckets, releases and people made from texts, without an engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from shoal.core.cells import Buckets, Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.manifest import Manifest
from shoal.core.method import Method, Problem
from shoal.core.plan import Plan
from shoal.core.release import People, Published
from shoal.core.schema import Schema
from shoal.core.secret import Secret
from shoal.core.shapes import Shape
from shoal.hierarchies.hierarchy import Hierarchy

# --- problems ------------------------------------------------------------------------------------


def _typed_domain(column: str, texts: Sequence[str | None], kind: ColumnType) -> Domain:
    present = sorted({text for text in texts if text is not None})
    numbers = None
    if kind is ColumnType.DATE:
        numbers = [float(np.datetime64(text, "D").astype(int)) for text in present]
    elif kind.is_numeric:
        present.sort(key=float)
        numbers = [float(text) for text in present]
    return Domain.of_texts(column, present, type=kind, numbers=numbers, has_missing=None in texts)


@pytest.fixture
def make_problem() -> Callable[..., Problem]:
    """Make the problem of a method on a table of texts; the last column is sensitive."""

    def make(
        method: Method,
        columns: Mapping[str, Sequence[str | None]],
        *,
        types: Mapping[str, str] | None = None,
        hierarchies: Mapping[str, Hierarchy] | None = None,
        has_sensitive: bool = True,
        seed: int = 1,
    ) -> Problem:
        names = list(columns)
        kinds = {name: ColumnType((types or {}).get(name, "categorical")) for name in names}
        domains = [_typed_domain(name, columns[name], kinds[name]) for name in names]
        codes = [domain.codes_of(list(columns[domain.column])) for domain in domains]
        schema = Schema(
            quasi=names[:-1] if has_sensitive else names,
            sensitive=names[-1] if has_sensitive else None,
            hierarchies=hierarchies,
        )
        method.check_schema(schema)
        cells = Cells.of_rows(domains, np.stack(codes, axis=1))
        trees = {name: found.over(cells.domain(name)) for name, found in schema.hierarchies.items()}
        return Problem(
            cells.select(method.class_columns(schema)), schema, trees, Secret.from_seed(seed)
        )

    return make


@pytest.fixture
def contents() -> Callable[[Plan], list[Counter[tuple[str | None, ...]]]]:
    """List what each bucket of a plan holds, as texts of the method's classes."""

    def read(plan: Plan) -> list[Counter[tuple[str | None, ...]]]:
        texts = [
            tuple(domain.text(code) for domain, code in zip(plan.classes.domains, row, strict=True))
            for row in plan.classes.codes.tolist()
        ]
        found: list[Counter[tuple[str | None, ...]]] = [Counter() for _ in range(plan.n_buckets)]
        group, _, bucket = plan.assign.expand()
        for cell, number in zip(group.tolist(), bucket.tolist(), strict=True):
            found[number][texts[cell]] += 1
        return found

    return read


# --- buckets -------------------------------------------------------------------------------------


@pytest.fixture
def buckets_of():
    """Make buckets from lists of texts, one list a bucket; None is the missing value."""

    def build(*buckets, order=None):
        texts = [text for bucket in buckets for text in bucket]
        present = list(order) if order else sorted({text for text in texts if text is not None})
        domain = Domain.of_texts("disease", present, has_missing=None in texts)
        numbers = np.repeat(np.arange(len(buckets)), [len(bucket) for bucket in buckets])
        return Buckets.of_pairs(numbers.astype(np.int64), domain.codes_of(texts), domain)

    return build


@pytest.fixture
def counts_of():
    """Make buckets from matrices of counts: one row a bucket, one column a value."""

    def build(matrix):
        matrix = np.asarray(matrix, dtype=np.int64)
        bucket, value = np.nonzero(matrix)
        domain = Domain.of_texts("disease", [f"value {code:05}" for code in range(matrix.shape[1])])
        return Buckets.of_pairs(bucket, value, domain, matrix[bucket, value])

    return build


@pytest.fixture
def inpatients(buckets_of):
    """[Machanavajjhala06] Figure 3: the 3-diverse inpatient microdata."""
    return buckets_of(
        ["heart", "viral", "cancer", "cancer"],
        ["cancer", "heart", "viral", "viral"],
        ["heart", "viral", "cancer", "cancer"],
    )


@pytest.fixture
def four_anonymous_inpatients(buckets_of):
    """[Machanavajjhala06] Figure 2: 4-anonymous, and everybody in the last bucket has cancer."""
    return buckets_of(
        ["heart", "heart", "viral", "viral"],
        ["cancer", "heart", "viral", "viral"],
        ["cancer", "cancer", "cancer", "cancer"],
    )


# --- releases ------------------------------------------------------------------------------------


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
