"""What the shapes state of themselves."""

from __future__ import annotations

from dataclasses import astuple

import pytest

from shoal.core.shapes import Contents, Model, Shape
from shoal.engines.sql.line_counts import COUNTERS

CONTENTS = Contents(("age", "sex"), ("wave",), ("disease",), (("age", "sex"), ("sex", "disease")))


def headers(shape, contents=CONTENTS):
    return {file.name: file.header for file in shape.files(contents)}


def test_a_table_holds_every_column():
    whole = {"table": ("age", "sex", "wave", "disease")}
    assert headers(Shape.GENERALIZED) == headers(Shape.SUPPRESSED) == whole


def test_a_bucketized_release_parts_sensitive_values_from_the_rest():
    assert headers(Shape.BUCKETIZED) == {
        "quasi": ("bucket", "age", "sex", "wave"),
        "sensitive": ("bucket", "disease", "count"),
    }


def test_a_sliced_release_has_a_file_for_each_column_and_one_linking():
    assert headers(Shape.SLICED) == {
        "column_1": ("bucket", "age", "sex", "count"),
        "column_2": ("bucket", "sex", "disease", "count"),
        "sliced": ("bucket", "age", "sex", "disease"),
    }
    assert [file.is_linking for file in Shape.SLICED.files(CONTENTS)] == [False, False, True]


@pytest.mark.parametrize("shape", Shape.all())
def test_every_shape_is_found_by_its_name_and_has_words(shape):
    assert Shape.named(str(shape)) is shape
    assert all(astuple(shape.words))
    assert shape in Shape.counted_as({shape.model})


@pytest.mark.parametrize("shape", Shape.all())
def test_files_are_joined_by_bucket_numbers_exactly_where_the_shape_says_so(shape):
    files = shape.files(CONTENTS)
    assert shape.numbers_buckets == all(file.has_bucket for file in files)
    # Where rows have lines, the first file shows them.
    assert shape.has_lines == (not files[0].has_count)


def test_a_name_that_no_shape_has_is_refused_without_repeating_it():
    with pytest.raises(ValueError, match="no shape") as refused:
        Shape.named("engraved")
    assert "engraved" not in str(refused.value)


def test_every_model_can_be_counted():
    assert set(COUNTERS) == set(Model)
