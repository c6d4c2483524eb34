from __future__ import annotations

import pytest

from shoal.core.errors import ParameterError
from shoal.core.guarantees import (
    AlphaK,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    KAnonymity,
    RecursiveDiversity,
    TCloseness,
)
from shoal.release.claims import Claims


@pytest.mark.parametrize(
    ("given", "claimed"),
    [
        ({"k": 5}, (KAnonymity(k=5),)),
        ({"k": 5, "alpha": "0.3"}, (AlphaK(alpha="0.3", k=5),)),
        ({"alpha": "0.3"}, (AlphaK(alpha="0.3", k=1),)),
        ({"ell": "3"}, (DistinctDiversity(ell=3),)),
        ({"ell": "2.5", "diversity": "frequency"}, (FrequencyDiversity(ell="2.5"),)),
        ({"ell": "2.5", "diversity": "entropy"}, (EntropyDiversity(ell="2.5"),)),
        ({"ell": "3", "diversity": "recursive", "c": "2"}, (RecursiveDiversity(c=2, ell=3),)),
        ({"t": "1/3", "distance": "ordered"}, (TCloseness(t="1/3", distance="ordered"),)),
        ({"k": 2, "t": 1}, (KAnonymity(k=2), TCloseness(t=1))),
    ],
)
def test_parameters_claim_guarantees(given, claimed):
    assert Claims(**given).guarantees == claimed


@pytest.mark.parametrize(
    "given",
    [
        {"diversity": "frequency"},
        {"c": 2},
        {"distance": "equal"},
        {"ell": 2, "diversity": "recursive"},
        {"ell": 2, "c": 2},
        {"ell": "2.5"},
        {"ell": 2, "diversity": "odd"},
    ],
)
def test_parameters_that_claim_nothing(given):
    with pytest.raises(ParameterError):
        _ = Claims(**given).guarantees


def test_claims_name_what_they_lack(tmp_path):
    with pytest.raises(ParameterError, match="does not say what it promises"):
        Claims(quasi=("age",)).verify(tmp_path / "people.csv")
    with pytest.raises(ParameterError, match="about a sensitive column"):
        Claims(quasi=("age",), ell=2).verify(tmp_path / "people.csv")


def test_only_an_empty_claim_suits_a_release():
    Claims().refuse_any()
    with pytest.raises(ParameterError, match="quasi, k has no meaning"):
        Claims(quasi=("age",), k=2).refuse_any()
