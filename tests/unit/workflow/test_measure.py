from __future__ import annotations

import json
from typing import ClassVar

import numpy as np
import pytest

import shoal
from shoal.core.measure import FoldedMeasure, Measured, draw_folds
from shoal.workflow.measure import measures_that_apply


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
    with pytest.raises(shoal.errors.ParameterError, match="not at hand"):
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
    with pytest.raises(shoal.errors.ParameterError, match="must be an object such as"):
        shoal.measure(release, "loss")
    other = shoal.read(shoal.datasets.papers.injector_patients())
    with pytest.raises(shoal.errors.SchemaError, match="lacks the column"):
        shoal.measure(release, shoal.measures.Loss(), table=other)


SERIAL = shoal.Schema(quasi=["serial", "sex"], sensitive="disease", types={"serial": "categorical"})


@pytest.fixture
def numbered():
    """Everybody has a number of their own, so that it shows who is in a release."""
    columns = {
        "serial": [f"n{place:03}" for place in range(90)],
        "sex": ["F" if place % 3 else "M" for place in range(90)],
        "disease": [("cold", "flu", "gout")[place % 7 % 3] for place in range(90)],
    }
    return shoal.read(columns, SERIAL)


@pytest.mark.parametrize(
    "method",
    [
        shoal.Anatomy(ell=2),
        shoal.Slicing(ell=1, columns=[["serial"], ["sex", "disease"]]),
        shoal.Mondrian(ell=2, publish="bucketized"),
    ],
    ids=lambda method: type(method).__name__,
)
def test_rows_that_are_held_out_are_not_in_the_release(numbered, method):
    shoal.measure(shoal.anonymize(numbered, method, seed=1), Recorder(folds=3))
    (folds,) = Recorder.seen
    serials = [set(numbers_in(fold.published)) for fold in folds]
    for fold, published in zip(folds, serials, strict=True):
        place = fold.train.columns.index("serial")
        labels = fold.train.domain("serial").labels()
        train, test = (
            {labels[row[place]] for row in listed(part)} for part in (fold.train, fold.test)
        )
        assert published == train
        assert published.isdisjoint(test)
    assert len(serials[0] | serials[1] | serials[2]) == 90


def numbers_in(published):
    """Name everybody whose number a release holds."""
    if published.sliced is not None:
        column = next(one for one in published.sliced.columns if "serial" in one.attributes)
        codes = column.values.column("serial")[column.value]
        return [column.values.domain("serial").labels()[code] for code in codes]
    labels = published.lines.domain("serial").labels()
    return [labels[code] for code in published.lines.column("serial")]


@pytest.mark.parametrize("shape", ["generalized", "bucketized"])
def test_accuracy_is_what_scikit_learn_finds(table, shape):
    bayes = pytest.importorskip("sklearn.naive_bayes")
    trees = pytest.importorskip("sklearn.tree")
    release = shoal.anonymize(table, shoal.Mondrian(ell=2, publish=shape), seed=1)
    target = table.schema.sensitive[0]
    measured = shoal.measure(
        release,
        shoal.measures.Classification(targets=[target], models=["tree", "bayes"], folds=3, seed=4),
    )["classification"]
    rows, fold = table.row_codes(1000), draw_folds(200, 3, seed=4)
    place = rows.columns.index(target)
    features, classes = np.delete(rows.codes, place, axis=1), rows.codes[:, place]
    kinds = [domain for domain in rows.domains if domain.column != target]
    parts = [
        column == np.arange(kind.size) if kind.size <= 64 and not kind.type.has_order else column
        for kind, column in zip(kinds, features.T[:, :, np.newaxis], strict=True)
    ]
    # A tree draws in which order it looks at columns, so that there must be as many.
    shown = np.concatenate([*parts, np.zeros((200, 1))], axis=1)
    right = {"tree": 0, "bayes": 0}
    for number in range(3):
        train, test = fold != number, fold == number
        for name, model, seen in (
            ("tree", trees.DecisionTreeClassifier(min_samples_leaf=6, random_state=0), shown),
            ("bayes", bayes.CategoricalNB(min_categories=[kind.size for kind in kinds]), features),
        ):
            model.fit(seen[train], classes[train])
            right[name] += int((model.predict(seen[test]) == classes[test]).sum())
    found = {row[1:3]: row[4] for row in measured.sections[0].rows}
    assert found["tree", "linked at random"] * 200 == pytest.approx(right["tree"])
    assert found["bayes", "linked at random"] * 200 == pytest.approx(right["bayes"])
    assert found["bayes", "expected tables"] * 200 == pytest.approx(right["bayes"])
