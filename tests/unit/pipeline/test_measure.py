from __future__ import annotations

import json
from typing import ClassVar

import numpy as np
import pytest

import shoal
from shoal.core.measure import FoldedMeasure, Measured, draw_folds
from shoal.pipeline.measure import measures_that_apply


class Recorder(FoldedMeasure):
    """Keeps the folds that it is given."""

    seen: ClassVar[list] = []

    def judge(self, folds):
        self.seen.append(folds)
        return Measured("recorder", {"folds": len(folds)})


@pytest.fixture
def table():
    return shoal.read(shoal.datasets.census(rows=200, seed=3))


@pytest.fixture(autouse=True)
def _forget():
    Recorder.seen.clear()


def listed(cells):
    """List rows by their codes, as often as they occur."""
    return sorted(np.repeat(cells.codes, cells.counts, axis=0).tolist())


def test_all_measures_that_make_sense_are_taken(table):
    release = shoal.anonymize(table, shoal.Mondrian(k=10), seed=1)
    report = shoal.measure(release, shoal.measures.Loss(), shoal.measures.Queries(number=5))
    assert [one.measure for one in report] == ["loss", "queries"]
    names = [type(one).__name__ for one in measures_that_apply(release.published)]
    assert {"Loss", "Queries", "Associations"} <= set(names)
    assert json.loads(json.dumps(report.to_dict()))["measures"][0]["measure"] == "loss"
    assert report["loss"].headline["generalized loss"] > 0
    with pytest.raises(KeyError):
        report["other"]


def test_a_written_release_is_measured_with_its_table(table, tmp_path):
    release = shoal.anonymize(table, shoal.Mondrian(k=10), seed=1)
    loss = shoal.measures.Loss()
    folder = release.write(tmp_path / "release")
    written = shoal.measure(folder, loss, table=table)
    assert written.to_dict() == shoal.measure(release, loss).to_dict()
    with pytest.raises(shoal.ParameterError, match="not at hand"):
        shoal.measure(folder, loss)


def test_folds_are_the_same_for_every_method_and_part_the_table(table):
    for method in (shoal.Anatomy(ell=2), shoal.Mondrian(k=5)):
        shoal.measure(shoal.anonymize(table, method, seed=1), Recorder(folds=3, seed=2))
    first, second = Recorder.seen
    assert len(first) == len(second) == 3
    truth = table.counts(table.schema.coded)
    for one, other in zip(first, second, strict=True):
        assert one.published.manifest.method != other.published.manifest.method
        for name in ("train", "test"):
            ours, theirs = getattr(one, name), getattr(other, name)
            assert np.array_equal(ours.codes, theirs.codes)
            assert np.array_equal(ours.counts, theirs.counts)
        assert one.train.n_rows == one.published.manifest.n_rows
        assert one.train.n_rows + one.test.n_rows == truth.n_rows
    assert sorted(row for fold in first for row in listed(fold.test)) == listed(truth)
    rows, fold = table.row_codes(1000), draw_folds(200, 3, seed=2)
    assert listed(first[0].test) == sorted(rows.codes[fold == 0].tolist())


def test_a_method_that_no_part_suffices_for_is_tried_on_its_own_rows():
    columns = {"age": [1, 2, 3, 4], "disease": ["a", "a", "b", "b"]}
    table = shoal.read(columns, shoal.Schema(quasi="age", sensitive="disease"))
    release = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
    shoal.measure(release, Recorder(folds=4))
    ((fold,),) = Recorder.seen
    assert fold.train is fold.test


def test_what_is_no_measure_and_what_is_no_table_of_the_release_is_refused(table):
    release = shoal.anonymize(table, shoal.Mondrian(k=10), seed=1)
    with pytest.raises(shoal.ParameterError, match="must be an object such as"):
        shoal.measure(release, "loss")
    other = shoal.read(shoal.datasets.papers.injector_patients())
    with pytest.raises(shoal.SchemaError, match="lacks the column"):
        shoal.measure(release, shoal.measures.Loss(), table=other)
