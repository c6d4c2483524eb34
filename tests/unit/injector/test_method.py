"""Injector's parameters, what it publishes and what it keeps to itself."""

from __future__ import annotations

import pytest

import shoal
from shoal.core.declared import changed
from shoal.core.errors import InfeasibleError, ParameterError
from shoal.knowledge import Knowledge, NegativeRule

MEN = NegativeRule(antecedent={"sex": "M"}, value="Ovarian Cancer", who="Dr. Who", why="anatomy")


@pytest.fixture
def patients():
    return shoal.read(shoal.datasets.papers.injector_patients())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ell": 1}, "ell"),
        ({"ell": True}, "ell"),
        ({"min_exp": 2}, "min_exp"),
        ({"min_conf": 0}, "min_conf"),
        ({"max_len": 0}, "max_len"),
        ({"choose": "largest"}, "choose"),
        ({"fuzzy": "sum"}, "fuzzy"),
        ({"on_infeasible": "ignore"}, "on_infeasible"),
        ({"rules": "rules.toml"}, "rules"),
        ({"mine": False}, "mine"),
    ],
)
def test_parameters_out_of_range_are_refused(given, said):
    with pytest.raises(ParameterError, match=said):
        shoal.Injector(**given)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (NegativeRule(antecedent={"height": "tall"}, value="Flu"), "height"),
        (NegativeRule(antecedent={"sex": "X"}, value="Flu"), "sex"),
        (NegativeRule(antecedent={"sex": "M"}, value="Gout"), "disease"),
        (NegativeRule(antecedent={"sex": "M"}, value="Flu"), "3 rows"),
    ],
)
def test_a_given_rule_that_does_not_fit_the_table_is_refused(patients, rule, said):
    method = shoal.Injector(ell=2, rules=Knowledge("disease", [rule]), mine=False)
    with pytest.raises(ParameterError, match=said):
        shoal.anonymize(patients, method)


def test_what_cannot_be_reached_is_said_with_the_best_that_can(patients):
    known = Knowledge("disease", [MEN])
    with pytest.raises(InfeasibleError) as raised:
        shoal.anonymize(patients, shoal.Injector(ell=4, rules=known, mine=False))
    assert raised.value.best == {"ell": 3}
    release = shoal.anonymize(patients, shoal.Injector(ell=3, rules=known, mine=False))
    assert release.manifest.n_rows == 9


def test_rows_whose_value_the_rules_exclude_are_left_out_where_they_leave_no_assignment():
    """A value that few of every kind have is excluded for all: nobody could be given it."""
    sex, disease = ["F", "M"] * 30, ["cold", "cold", "flu", "flu", "gout", "gout"] * 10
    disease[:2] = ["rare", "rare"]
    table = shoal.read({"sex": sex, "disease": disease},
                       shoal.Schema(quasi=["sex"], sensitive="disease"))  # fmt: skip
    method = shoal.Injector(ell=2, min_exp=0.5, min_conf=0.9)
    with pytest.raises(InfeasibleError, match="that 2 rows have, and no assignment"):
        shoal.anonymize(table, method)
    release = shoal.anonymize(table, changed(method, on_infeasible="suppress"))
    assert release.manifest.n_rows == 58


def test_rows_that_are_left_out_are_counted_and_explained(patients):
    known = Knowledge("disease", [MEN])
    method = shoal.Injector(ell=4, rules=known, mine=False, on_infeasible="suppress")
    with pytest.raises(InfeasibleError):
        # Without the men only two diseases are left.
        shoal.anonymize(patients, method)


def test_no_public_file_tells_the_rules_unless_asked(patients, tmp_path):
    known = Knowledge("disease", [MEN])
    for lists in (False, True):
        method = shoal.Injector(ell=2, rules=known, mine=False, list_rules=lists)
        folder = shoal.anonymize(patients, method).write(tmp_path / str(lists))
        public = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert not any(b"Dr. Who" in content for content in public.values())
        for name in ("codebook.md", "manifest.json"):
            said = b"Nobody with sex M has disease Ovarian Cancer." in public[name]
            assert said == lists


def test_a_value_that_few_have_is_not_named_in_the_codebook(patients, tmp_path):
    """One person has prostate cancer: a rule about it would say so."""
    women = NegativeRule(antecedent={"sex": "F"}, value="Prostate Cancer")
    method = shoal.Injector(ell=2, rules=Knowledge("disease", [women]), mine=False,
                            list_rules=True)  # fmt: skip
    folder = shoal.anonymize(patients, method).write(tmp_path / "release")
    assert "Prostate" not in (folder / "codebook.md").read_text(encoding="utf-8")


def test_the_same_seed_gives_the_same_release(patients):
    one, other = (shoal.anonymize(patients, shoal.Injector(ell=2), seed=3) for _ in range(2))
    assert one.to_arrow("quasi") == other.to_arrow("quasi")
