from __future__ import annotations

import numpy as np
import pytest

from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import DataError, ParameterError
from shoal.core.progress import TooMuchWork, Work
from shoal.core.sliced import Layout, Sliced
from shoal.slicing.check import matching
from shoal.slicing.check.matching import is_matched_once
from shoal.slicing.check.sliced_diversity import check_sliced

SEX = Domain.of_texts("sex", ["F", "M"])
DISEASE = Domain.of_texts("disease", ["cold", "flu"])
CELLS = Cells.of_rows([SEX, DISEASE], np.array([[0, 0], [0, 1], [1, 0], [1, 1]]))
LAYOUT = Layout([["sex"], ["disease"]], ["disease"])


def release(bucket, layout=LAYOUT):
    return Sliced.of_pieces(CELLS, layout, np.arange(4), np.array(bucket), CELLS.counts)


def test_a_bound_that_is_too_large_proves_nothing():
    # Both sexes are in both buckets, each of which holds one disease.
    crossed = release([0, 1, 0, 1])
    bound = check_sliced(crossed, 2)
    assert (bound.basis, bound.holds, bound.reached) == ("bound", False, 1)
    assert "is not proved by bound" in repr(bound)
    told = check_sliced(crossed, 2, CELLS)
    assert (told.basis, told.holds, told.reached) == ("tuples", True, 2)
    assert told.to_dict() == {
        "ell": "2",
        "diversity": "frequency",
        "basis": "tuples",
        "holds": True,
        "reached": "2",
        "judged": 2,
        "failing": 0,
    }


def test_the_attribute_that_is_worst_off_is_found():
    layout = Layout([["sex"], ["disease"]], ["sex", "disease"], ["sex"])
    by_sex = release([0, 0, 1, 1], layout)
    finding = check_sliced(by_sex, 2, CELLS)
    # Nothing is known that tells the sex: half of the rows are of each.
    assert finding.reached == 2
    assert check_sliced(by_sex, 2, CELLS, diversity="distinct").holds


def test_too_many_pairs_of_buckets_are_not_compared(monkeypatch):
    crossed = release([0, 1, 0, 1])
    assert not is_matched_once(crossed, "disease")
    monkeypatch.setattr(matching, "_MOST_BUCKET_PAIRS", 0)
    assert not is_matched_once(crossed, "disease")
    assert is_matched_once(release([0, 0, 1, 1]), "disease")


def test_pairs_are_compared_in_parts(monkeypatch):
    layout = Layout([["sex"], ["disease"]], ["disease"], ["sex", "disease"])
    monkeypatch.setattr(matching, "_ENTRIES_A_TIME", 1)
    assert not is_matched_once(release([0, 1, 0, 1], layout), "disease")


def test_what_cannot_be_checked_is_refused():
    with pytest.raises(ParameterError, match="at least 1"):
        check_sliced(release([0, 0, 1, 1]), "0.5")
    with pytest.raises(ParameterError, match="there is none"):
        check_sliced(release([0, 0, 1, 1], Layout([["sex"], ["disease"]])), 2)
    nothing = np.empty(0, dtype=np.int64)
    with pytest.raises(DataError, match="without rows"):
        check_sliced(Sliced.of_pieces(CELLS, LAYOUT, *[nothing] * 3), 2)
    stranger = Cells.of_rows([Domain.of_texts("sex", ["X"])], np.array([[0]]))
    with pytest.raises(DataError, match="matches no bucket"):
        check_sliced(release([0, 1, 0, 1]), 2, stranger)
    shared = Layout([["sex", "disease"], ["disease"]], ["disease"])
    with pytest.raises(TooMuchWork):
        check_sliced(release([0, 0, 0, 0], shared), 2, work=Work(1_000))
