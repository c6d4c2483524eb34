from __future__ import annotations

import pytest

from shoal.core.errors import ParameterError
from shoal.release.verify import Status, verify
from shoal.workflow.demo import demo
from shoal.workflow.gate import Outcome


@pytest.mark.parametrize("seed", [1, 2])
def test_demo_passes_its_own_gate(tmp_path, seed):
    shown = demo(tmp_path / "sample", rows=300, seed=seed)
    outcomes = {one.attack: one.outcome for one in shown.publication.judgements}
    assert outcomes.pop("homogeneity") is outcomes.pop("linkage") is Outcome.PASSED
    # What it promises nothing against is told, not judged.
    assert set(outcomes.values()) == {Outcome.REPORTED}
    assert verify(shown.publication.folder).status is Status.VERIFIED
    assert all(path.exists() for path, _ in shown.places)
    assert shown.publication.manifest.is_sealed
    assert not shown.publication.manifest.is_test


def test_seed_makes_the_sample_repeatable(tmp_path):
    first = demo(tmp_path / "first", rows=200, seed=4)
    second = demo(tmp_path / "second", rows=200, seed=4)
    assert (first.folder / "people.csv").read_text() == (second.folder / "people.csv").read_text()


def test_empty_folder_serves(tmp_path):
    assert demo(tmp_path, rows=200).folder == tmp_path


def test_folder_with_files_is_refused(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    for replace in (False, True):
        with pytest.raises(ParameterError):
            demo(tmp_path, rows=200, replace=replace)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_too_few_rows_are_refused(tmp_path):
    with pytest.raises(ParameterError, match="200"):
        demo(tmp_path / "sample", rows=10)
    assert not (tmp_path / "sample").exists()


def test_failure_leaves_nothing(tmp_path, monkeypatch):
    from shoal.workflow import demo as module

    def fail(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "publish", fail)
    with pytest.raises(KeyboardInterrupt):
        demo(tmp_path / "sample", rows=200)
    assert not (tmp_path / "sample").exists()
