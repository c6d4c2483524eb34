from __future__ import annotations

import shoal
from shoal.core.domain import ColumnType, Role
from shoal.core.manifest import Manifest, PublishedColumn
from shoal.core.shapes import Shape
from shoal.datasets import papers
from shoal.report.codebook import codebook


def manifest_of(shape, columns, slices=()):
    return Manifest(
        shape=shape,
        method="slicing",
        parameters={},
        guarantees=(),
        columns=tuple(columns),
        n_rows=8,
        n_buckets=2,
        slices=tuple(slices),
    )


def quasi(name):
    return PublishedColumn(name, Role.QUASI, ColumnType.CATEGORICAL)


def test_a_sliced_codebook_lists_the_attributes_of_every_column():
    ill = PublishedColumn("ill", Role.SENSITIVE, ColumnType.CATEGORICAL, is_also_quasi=True)
    text = codebook(
        manifest_of(Shape.SLICED, [quasi("age"), quasi("a|b"), ill], [("age", "a|b"), ("ill",)]), {}
    )
    assert "| `column_1` | age, a\\|b |" in text
    assert "| `column_2` | ill |" in text
    assert "| ill | sensitive, quasi-identifying | categorical | original values |" in text
    assert "no line describes a real person" in text
    assert "shoal.analyse.Analyst" in text
    assert "in several columns" not in text


def test_a_sliced_codebook_names_what_columns_share():
    slices = [("age", "ill"), ("<zip>", "ill")]
    names = ["age", "<zip>", "ill"]
    text = codebook(manifest_of(Shape.SLICED, map(quasi, names), slices), {})
    assert "These attributes are in several columns: ill. Only entries that agree" in text
    assert "&lt;zip&gt;, ill" in text


def test_only_releases_whose_columns_are_linked_at_random_say_how_to_analyse_them():
    for shape, is_said in [
        (Shape.BUCKETIZED, True),
        (Shape.GENERALIZED, False),
        (Shape.SUPPRESSED, False),
    ]:
        text = codebook(manifest_of(shape, [quasi("age")]), {})
        assert ("How to analyse the data" in text) == is_said
        assert "column_1" not in text


def test_a_written_release_has_it(tmp_path):
    table = shoal.read(papers.slicing_patients())
    columns = [["age", "sex"], ["zipcode", "disease"]]
    release = shoal.anonymize(table, shoal.Slicing(ell=2, columns=columns), seed=1)
    release.write(tmp_path / "release")
    text = (tmp_path / "release" / "codebook.md").read_text(encoding="utf-8")
    assert "| `column_2` | zipcode, disease |" in text
    for value in ("dyspepsia", "47906"):
        assert value not in text
