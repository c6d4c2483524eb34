from __future__ import annotations

import pytest

from shoal.core.errors import DataError, ParameterError, SchemaError
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.workflow.hierarchy import build, check, domain_of_column, domain_of_values, read_values


@pytest.fixture
def ages(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,sex\n" + "".join(f"{age},F\n" for age in [1] * 9 + [2, 3, 4]))
    return path


def test_quantiles_count_rows(ages, tmp_path):
    domain, counts = domain_of_column(ages, "age")
    assert counts == [9, 1, 1, 1]
    outline = build(Hierarchy.intervals(quantiles=2), domain, tmp_path / "age.csv", counts=counts)
    assert outline.nodes_by_level == (4, 2, 1)
    assert (tmp_path / "age.csv").read_text().startswith("1;]-inf, 2[;*\n")


def test_missing_values_have_a_line_of_their_own(tmp_path):
    (tmp_path / "people.csv").write_text("age,sex\n1,F\n,F\n2,F\n")
    domain, counts = domain_of_column(tmp_path / "people.csv", "age")
    build(Hierarchy.intervals(width=5), domain, tmp_path / "age.csv", counts=counts)
    assert check(tmp_path / "age.csv", domain).tree.n_leaves == 3


def test_built_hierarchy_has_every_value_and_can_be_read(ages, tmp_path):
    domain, _ = domain_of_column(ages, "age")
    build(Hierarchy.flat(), domain, tmp_path / "age.csv")
    outline = check(tmp_path / "age.csv", domain)
    assert outline.n_unused == 0
    assert outline.tree.rows() == [["1", "*"], ["2", "*"], ["3", "*"], ["4", "*"]]


def test_leaves_that_no_value_has_are_counted(ages, tmp_path):
    (tmp_path / "age.csv").write_text("".join(f"{age};*\n" for age in range(10)))
    domain, _ = domain_of_column(ages, "age")
    assert check(tmp_path / "age.csv", domain).n_unused == 6


def test_values_without_a_leaf_are_an_error(ages, tmp_path):
    (tmp_path / "age.csv").write_text("1;*\n")
    domain, _ = domain_of_column(ages, "age")
    with pytest.raises(SchemaError, match="3 of"):
        check(tmp_path / "age.csv", domain)


def test_unknown_column(ages):
    with pytest.raises(SchemaError, match="'sex'"):
        domain_of_column(ages, "size")


def test_existing_file_is_not_replaced(tmp_path):
    (tmp_path / "age.csv").write_text("mine")
    with pytest.raises(ParameterError, match="already exists"):
        build(Hierarchy.flat(), domain_of_values("age", ["1"]), tmp_path / "age.csv")
    assert (tmp_path / "age.csv").read_text() == "mine"


def test_listed_values_may_repeat_and_keep_leading_zeros(tmp_path):
    (tmp_path / "codes.txt").write_bytes(b"\xef\xbb\xbf007\r\n010\r\n\r\n007\r\n")
    domain = domain_of_values("code", read_values(tmp_path / "codes.txt"))
    assert domain.texts.tolist() == ["007", "010"]


def test_no_values_at_all():
    with pytest.raises(DataError, match="no values"):
        domain_of_values("code", [])


def test_nested_labels_are_capped_from_the_root_on(tmp_path):
    domain = domain_of_values("code", ["11", "12", "21", "22"])
    outline = build(Hierarchy.prefixes([1]), domain, tmp_path / "code.csv")
    assert outline.nested() == ({"*": {"1…": {"11": {}, "12": {}}, "2…": {"21": {}, "22": {}}}}, 0)
    assert outline.nested(most=3) == ({"*": {"1…": {}, "2…": {}}}, 4)
