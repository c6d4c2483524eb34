"""What every measure must be, found by the registry: none is named here."""

from __future__ import annotations

import inspect
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from attrs.exceptions import FrozenInstanceError

import shoal
from shoal.core import registry
from shoal.core.cells import Cells
from shoal.core.declared import parameters_of
from shoal.core.domain import Domain, Role
from shoal.core.manifest import Manifest, PublishedColumn
from shoal.core.measure import Measure, Measured
from shoal.core.release import Published
from shoal.core.shapes import Shape
from shoal.core.table import Rows

PROJECT = Path(__file__).parents[3]
MEASURES = [registry.find("shoal.measures", name) for name in registry.names("shoal.measures")]
METHODS = [registry.find("shoal.methods", name) for name in registry.names("shoal.methods")]

each_class = pytest.mark.parametrize("cls", MEASURES, ids=lambda cls: cls.__name__)


@each_class
def test_it_is_frozen_and_its_parameters_go_by_name(cls):
    assert issubclass(cls, Measure)
    kinds = {parameter.kind for parameter in inspect.signature(cls).parameters.values()}
    assert kinds <= {inspect.Parameter.KEYWORD_ONLY}
    made = cls(**cls.example)
    for name in parameters_of(cls):
        with pytest.raises(FrozenInstanceError):
            setattr(made, name, getattr(made, name))
    assert cls(**cls.example) == made
    assert hash(cls(**cls.example)) == hash(made)


@each_class
def test_its_docstring_says_what_it_takes_and_where_it_comes_from(cls):
    text = inspect.getdoc(cls)
    for section in ("Parameters\n---", "Notes\n---", "Examples\n---"):
        assert section in text
    parameters = text.partition("Parameters\n")[2].partition("Notes\n")[0]
    assert parameters_of(cls)
    for name, one in parameters_of(cls).items():
        assert f"\n{name}\n" in parameters
        assert one.is_required or "Default: " in one.text
    assert "References\n---" in text + sys.modules[cls.__module__].__doc__


# --- on releases by every method ------------------------------------------------------------------


@pytest.fixture(scope="module")
def releases():
    """Make one release by every method, with the counts of its table."""
    census = shoal.datasets.census(rows=150, seed=3)
    made = []
    for cls in METHODS:
        method = cls(**cls.example)
        schema = census.schema
        if method.private_cells is not None or method.shape is Shape.SLICED:
            every = (*schema.quasi, *schema.insensitive)
            schema = replace(schema, quasi=every, insensitive=(), meant=())
        table = shoal.read(census, schema)
        published = shoal.anonymize(table, method, seed=1).published
        made.append((published, table.counts([*schema.quasi, *schema.sensitive])))
    return made


@each_class
def test_it_measures_releases_of_every_shape(cls, releases):
    measure = cls(**cls.example)
    shapes = set()
    for published, truth in releases:
        if not measure.fits(published):
            continue
        shapes.add(published.manifest.shape)
        measured = measure.run(published, truth)
        assert isinstance(measured, Measured)
        assert measured.measure == registry.snake_case(cls.__name__)
        # What is not a number could not be written down.
        json.dumps(measured.to_dict(), allow_nan=False)
        assert repr(measured).startswith(f"Measured({measured.measure}: ")
    assert shapes == set(Shape.counted_as(cls.reads))


@each_class
def test_what_it_measures_is_the_same_each_time(cls, releases):
    published, truth = releases[0]
    measure = cls(**cls.example)
    assert measure.run(published, truth).to_dict() == measure.run(published, truth).to_dict()


def suppressed_from(truth, codes, sensitive):
    """Publish rows of codes of the table's values, as a release that hides single cells."""
    columns = tuple(
        PublishedColumn(
            name,
            Role.SENSITIVE if name in sensitive else Role.QUASI,
            truth.domain(name).type,
        )
        for name in truth.columns
    )
    one = Cells(
        (Domain.of_texts("bucket", ["1"]),),
        np.zeros((1, 1), dtype=np.int64),
        np.array([max(len(codes), 1)]),
    )
    manifest = Manifest(
        shape=Shape.SUPPRESSED,
        method="test",
        parameters={},
        guarantees=(),
        columns=columns,
        n_rows=len(codes),
        n_buckets=1,
    )
    rows = Rows(truth.domains, codes.astype(np.int32))
    return Published(manifest, one, None, rows=rows)


@each_class
def test_no_method_is_better_than_all_that_is_there_or_worse_than_nothing(cls, releases):
    measure = cls(**cls.example)

    def score(published, truth):
        return next(iter(measure.run(published, truth).headline.values()))

    for published, truth in releases:
        if not measure.fits(published):
            continue
        sensitive = truth.columns[-1:]
        everything = np.repeat(truth.codes, truth.counts, axis=0)
        best = score(suppressed_from(truth, everything, sensitive), truth)
        worst = score(suppressed_from(truth, everything[:0], sensitive), truth)
        assert best == pytest.approx(0, abs=1e-12)
        assert -0.02 <= score(published, truth) <= worst
        assert worst > 0.3
