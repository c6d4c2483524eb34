"""The walk through adding a shape in `docs/howto/extend.md`: one class, no other module changed."""

from __future__ import annotations

import csv
import pickle
import re
from copy import deepcopy
from pathlib import Path

import pytest

import shoal
from shoal.core.errors import DataError, ParameterError
from shoal.core.manifest import Manifest
from shoal.core.registry import snake_case
from shoal.core.shapes import _SHAPES, Generalized, Shape, register
from shoal.workflow.attack import attacks_that_apply

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "extend.md"
BLOCK = re.compile(r"^<!-- run -->\n+```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """Run the section "Add a shape" in an empty folder, and return its names."""
    section = PAGE.read_text(encoding="utf-8").partition("\n## Add a shape\n")[2]
    section = section.partition("\n## ")[0]
    names = {"__name__": "extending"}
    blocks = BLOCK.findall(section)
    assert blocks
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("extending"))
        patch.setitem(_SHAPES, "tabulated", None)
        del _SHAPES["tabulated"]
        for block in blocks:
            exec(block, names)
        names["folder"] = Path(names["folder"]).resolve()
        names["plain"] = shoal.anonymize(names["table"], shoal.Mondrian(k=5), seed=1)
        yield names


def test_the_release_is_verified_from_its_files(walked):
    assert walked["verification"].holds
    opened = shoal.open_release(walked["folder"])
    assert opened.manifest.shape is walked["TABULATED"]
    assert '"shape": "tabulated"' in (walked["folder"] / "manifest.json").read_text()


def test_its_file_counts_the_lines_of_the_generalized_release(walked):
    with (walked["folder"] / "tabulation.csv").open(encoding="utf-8", newline="") as file:
        lines = [tuple(line) for line in csv.reader(file)]
    assert lines.pop(0) == ("age", "sex", "education", "condition", "count")
    whole = walked["plain"].to_arrow("table").to_pydict()
    expected = list(zip(*whole.values(), strict=True))
    assert sorted(lines) == sorted(
        (*line, str(expected.count(line))) for line in dict.fromkeys(expected)
    )
    # Lines are sorted like those of the table.
    assert [line[:-1] for line in lines] == list(dict.fromkeys(expected))


def test_it_is_counted_like_the_release_that_it_tabulates(walked):
    plain = walked["plain"].published
    for published in (walked["release"].published, shoal.open_release(walked["folder"]).published):
        assert published.bucket_sizes.tolist() == plain.bucket_sizes.tolist()
        assert published.buckets.count.tolist() == plain.buckets.count.tolist()


def test_its_words_stand_in_every_document(walked):
    words = walked["TABULATED"].words
    codebook = (walked["folder"] / "codebook.md").read_text(encoding="utf-8")
    assert "Tabulated release, made by the method tabulated_mondrian" in codebook
    assert words.reading in codebook
    assert "<fileName>tabulation.csv</fileName>" in (walked["folder"] / "codebook.xml").read_text()
    report = (walked["folder"] / "report.html").read_text(encoding="utf-8")
    for sentence in (words.singled_out, words.linked, words.membership):
        assert sentence in report


def test_attacks_and_measures_of_its_model_run(walked):
    names = {found.attack for found in walked["attacked"].findings}
    assert names == {
        snake_case(type(one).__name__)
        for one in attacks_that_apply(walked["plain"].published, has_knowledge=False)
    }
    assert {"homogeneity", "linkage"} <= names
    assert (walked["folder"].with_name("release.internal") / "placement.parquet").exists()


def test_a_changed_count_is_noticed(walked, tmp_path):
    folder = tmp_path / "changed"
    shoal.anonymize(walked["table"], walked["TabulatedMondrian"](k=5), seed=2).write(folder)
    path = folder / "tabulation.csv"
    head, _, rest = path.read_text().rpartition("\n")[0].rpartition(",")
    path.write_text(f"{head},{int(rest) + 1}\n")
    assert not shoal.verify(folder).holds


def test_a_shape_has_one_object_and_one_name(walked):
    shape = walked["TABULATED"]
    assert shape in Shape.all()
    assert deepcopy(shape) is pickle.loads(pickle.dumps(shape)) is shape
    assert str(shape) == "tabulated"
    assert repr(shape) == "Shape(tabulated)"

    class Other(Generalized):
        name = "tabulated"

    with pytest.raises(ParameterError, match="already"):
        register(Other())


def test_a_shape_that_is_not_registered_is_refused(walked):
    text = (walked["folder"] / "manifest.json").read_text().replace("tabulated", "engraved", 1)
    with pytest.raises(DataError, match=r"manifest\.json"):
        Manifest.from_json(text)
