from __future__ import annotations

import numpy as np
import pytest

from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import DataError, ParameterError
from shoal.core.sliced import Layout, Link, Sliced, SlicedColumn

SEX = Domain.of_texts("sex", ["F", "M"])
DISEASE = Domain.of_texts("disease", ["cold", "flu"], has_missing=True)
CELLS = Cells.of_rows([SEX, DISEASE], np.array([[0, 0], [0, 1], [1, 2], [1, 2]]))
LAYOUT = Layout([["sex"], ["disease"]], ["disease"])


def test_all_that_is_not_sensitive_is_known_unless_told():
    assert LAYOUT.known == ("sex",)
    both = Layout([["sex"], ["disease"]], ["disease"], ["sex", "disease"])
    assert both.known_for("disease") == ("sex",)
    assert both.known == ("sex", "disease")


def test_rows_are_cut_outside_every_sensitive_column():
    layout = Layout([["a", "b"], ["c", "s"], ["d", "t"], ["e"]], ["s", "t"])
    assert layout.outside_attributes == ("a", "b", "e")
    assert layout.sensitive_columns == (1, 2)


def test_shared_unknown_attributes_are_hidden_and_link_columns():
    layout = Layout([["a", "s"], ["b", "s", "t"]], ["s", "t"])
    assert layout.hidden_for("t") == ("s", "t")
    assert layout.hidden_for("s") == ("s",)
    assert layout.is_linked_by_unknown("t")
    assert not LAYOUT.is_linked_by_unknown("disease")
    assert layout.is_overlapping
    assert not LAYOUT.is_overlapping


def test_columns_are_linked_by_their_largest_overlap():
    layout = Layout([["a", "b"], ["c"], ["b", "c", "d"]], ["a"])
    assert layout.links(1) == (Link(1, ()), Link(2, ("c",)), Link(0, ("b",)))


@pytest.mark.parametrize(
    ("columns", "sensitive", "match"),
    [
        ([], [], "at least one column"),
        ([["a"], []], [], "at least one column"),
        ([["a", "a"]], [], "twice"),
        ([["a"]], ["s"], "No column holds s"),
        ([["a", "b"], ["b", "c"], ["c", "a"]], [], "in a ring"),
    ],
)
def test_layouts_that_cannot_be_are_refused(columns, sensitive, match):
    with pytest.raises(ParameterError, match=match):
        Layout(columns, sensitive)


def test_columns_must_fill_their_buckets():
    sliced = Sliced.of_pieces(CELLS, LAYOUT, np.arange(3), np.array([0, 0, 1]), CELLS.counts)
    assert sliced.sizes.tolist() == [2, 2]
    sex, disease = sliced.columns
    short = SlicedColumn(disease.values, disease.bucket, disease.value, disease.count - 1)
    with pytest.raises(DataError, match="disease does not"):
        Sliced(LAYOUT, (sex, short), sliced.sizes)
    with pytest.raises(DataError, match="those of its layout"):
        Sliced(LAYOUT, (disease, sex), sliced.sizes)
    far = SlicedColumn(disease.values, disease.bucket + 1, disease.value, disease.count)
    with pytest.raises(DataError, match="disease does not"):
        Sliced(LAYOUT, (sex, far), sliced.sizes)


def test_a_sliced_release_shows_no_value():
    sliced = Sliced.of_pieces(CELLS, LAYOUT, np.arange(3), np.array([0, 0, 1]), CELLS.counts)
    assert repr(sliced) == "Sliced(sex | disease: 2 buckets, 4 rows, disease sensitive)"
    assert repr(sliced.columns[1]) == "SlicedColumn(disease: 3 values)"
    with pytest.raises(ParameterError, match="no attribute 'age'"):
        sliced.domain("age")
