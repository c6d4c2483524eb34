from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from shoal.core.domain import ColumnType, Role, role_of
from shoal.core.errors import SchemaError
from shoal.core.schema import ColumnDeclaration, Schema
from shoal.hierarchies.hierarchy import Hierarchy


def full(**changes):
    return Schema(
        **{
            "quasi": ["age", "sex"],
            "sensitive": "disease",
            "identifying": ["name"],
            "insensitive": ["note"],
        }
        | changes
    )


@pytest.mark.parametrize(
    ("word", "role"),
    [
        ("quasi", Role.QUASI),
        ("Quasi-Identifying", Role.QUASI),
        ("QUASI_IDENTIFYING_ATTRIBUTE", Role.QUASI),
        ("keyVars", Role.QUASI),
        ("numVars", Role.QUASI),
        ("direct", Role.IDENTIFYING),
        ("hhId", Role.IDENTIFYING),
        ("SENSITIVE_ATTRIBUTE", Role.SENSITIVE),
        ("sensibleVar", Role.SENSITIVE),
        ("INSENSITIVE_ATTRIBUTE", Role.INSENSITIVE),
        ("non-sensitive", Role.INSENSITIVE),
    ],
)
def test_roles_are_understood_in_three_languages(word, role):
    assert role_of(word) is role


@pytest.mark.parametrize("role", Role)
def test_every_role_is_understood_by_its_own_name(role):
    assert role_of(role) is role


@pytest.mark.parametrize("word", ["", "weightVar", "not sensitive", "quasisensitive", "identify"])
def test_a_role_is_never_guessed(word):
    with pytest.raises(SchemaError, match="is not a role"):
        role_of(word)


def test_a_name_alone_is_one_column_not_its_letters():
    schema = Schema(quasi="age", sensitive="disease", identifying="name", insensitive="note")
    assert schema.roles == {
        "name": Role.IDENTIFYING,
        "age": Role.QUASI,
        "disease": Role.SENSITIVE,
        "note": Role.INSENSITIVE,
    }


def test_roles_by_column_and_columns_by_role_say_the_same():
    assert Schema.from_roles({column: str(role) for column, role in full().roles.items()}) == full()


def test_the_published_columns_are_all_but_the_identifying_ones():
    assert full(key="no").published == ("age", "sex", "note", "disease")
    assert full(key="no").coded == ("age", "sex", "disease")


@pytest.mark.parametrize("given", [{"key": "no"}, {"person": "no"}, {"key": "no", "person": "no"}])
def test_key_and_person_are_identifying(given):
    assert full(**given).identifying == ("name", "no")


def test_a_key_that_is_named_as_identifying_stays_there_once():
    assert full(key="name", person="name").identifying == ("name",)


@pytest.mark.parametrize(
    "given",
    [
        {"key": "age"},
        {"person": "disease"},
        {"insensitive": ["note", "sex"]},
        {"sensitive": ["disease", "name"]},
    ],
)
def test_a_column_has_one_role(given):
    with pytest.raises(SchemaError, match="is given two roles"):
        full(**given)


def test_a_column_is_named_once():
    with pytest.raises(SchemaError, match="'age' is named twice as quasi-identifying"):
        full(quasi=["age", "sex", "age"])


@pytest.mark.parametrize(
    "given", [{"hierarchies": {"agee": Hierarchy.flat()}}, {"types": {"agee": "integer"}}]
)
def test_what_is_said_of_an_unknown_column_is_refused(given):
    with pytest.raises(SchemaError, match="for columns without a role: 'agee'"):
        full(**given)


@pytest.mark.parametrize("column", ["age", "disease", "name", "stray"])
def test_only_insensitive_columns_can_be_meant_to_be_nearly_unique(column):
    with pytest.raises(SchemaError, match="not insensitive"):
        full(nearly_unique=["note", column])
    assert full(nearly_unique="note").nearly_unique == ("note",)


def test_a_list_of_values_declares_an_order():
    schema = full(types={"age": "integer", "sex": ["M", "F"]})
    assert schema.types["age"] == ColumnDeclaration(ColumnType.INTEGER)
    assert schema.types["sex"] == ColumnDeclaration(ColumnType.ORDERED, ("M", "F"))


@pytest.mark.parametrize(
    "declared", ["ordered", ColumnType.ORDERED, ColumnDeclaration(ColumnType.ORDERED)]
)
def test_an_ordered_column_needs_its_order(declared):
    with pytest.raises(SchemaError, match="its order is not given"):
        full(types={"sex": declared})


@pytest.mark.parametrize(
    "declared", [["M", "F", "M"], ColumnDeclaration(ColumnType.ORDERED, ("M", "M"))]
)
def test_an_order_names_each_value_once_and_the_error_names_none(declared):
    with pytest.raises(SchemaError, match="names a value twice") as caught:
        full(types={"sex": declared})
    assert "'M'" not in str(caught.value)


@pytest.mark.parametrize("word", ["int", "", "text", "Integer"])
def test_an_unknown_type_is_refused(word):
    with pytest.raises(SchemaError, match="is not a type"):
        full(types={"age": word})


def test_a_schema_does_not_change_with_what_it_was_made_of():
    quasi, types = ["age"], {"age": "integer"}
    schema = Schema(quasi=quasi, types=types)
    quasi.append("sex")
    types["age"] = "real"
    assert schema.quasi == ("age",)
    assert schema.types["age"].type is ColumnType.INTEGER
    with pytest.raises(TypeError):
        schema.types["age"] = "real"
    with pytest.raises(FrozenInstanceError):
        schema.quasi = ()


def test_a_schema_can_be_changed_into_another():
    schema = full(key="no", types={"sex": ["M", "F"]}, hierarchies={"sex": Hierarchy.flat()})
    assert replace(schema) == schema
    assert replace(schema, sensitive=(), insensitive=("note", "disease")).sensitive == ()


def test_a_table_must_have_every_column_of_the_schema():
    with pytest.raises(SchemaError, match="no column 'sex', 'disease'"):
        full().check_columns(["name", "age", "note", "Disease"])


def test_a_table_without_a_header_does_not_show_its_first_row():
    with pytest.raises(SchemaError, match="begin with a line of their names") as caught:
        full().check_columns(["Alice", "1975", "F", "HIV", "none"])
    assert "Alice" not in str(caught.value)


def test_a_table_must_have_no_column_without_a_role():
    columns = list(full().roles)
    full().check_columns(columns[::-1])
    with pytest.raises(SchemaError, match="Columns without a role: 'more'"):
        full().check_columns([*columns, "more"])


def test_a_wide_table_does_not_flood_the_message():
    with pytest.raises(SchemaError, match="and 960 more") as caught:
        full().check_columns([*full().roles, *(f"column {i}" for i in range(1000))])
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"quasi": 5}, "quasi takes names of columns, which are texts, not a int"),
        ({"quasi": [None]}, "quasi takes names of columns, which are texts, not None"),
        ({"sensitive": [1]}, "sensitive takes names"),
        ({"insensitive": b"a"}, "insensitive takes names"),
        ({"quasi": "a", "nearly_unique": 5}, "nearly_unique takes names"),
        ({"quasi": "a", "key": ["b"]}, "key takes names"),
        ({"quasi": "a", "person": 3}, "person takes names"),
        ({"quasi": "a", "types": ["a"]}, "types must be a mapping of columns, not a list"),
        ({"quasi": "a", "types": {"a": 5}}, "type of column 'a' must be a name or a list"),
        ({"quasi": "a", "types": {"a": [1, 2]}}, "type of column 'a' must be a name or a list"),
        ({"quasi": "a", "types": {None: "real"}}, "types takes names"),
        ({"quasi": "a", "hierarchies": ["a"]}, "hierarchies must be a mapping of columns"),
        ({"quasi": "a", "hierarchies": {"a": "x"}}, r"must be a shoal\.Hierarchy, not a str"),
    ],
)
def test_what_is_no_name_type_or_hierarchy_is_refused(given, said):
    with pytest.raises(SchemaError, match=said) as caught:
        Schema(**given)
    assert caught.value.hint


@pytest.mark.parametrize("roles", [5, ["age"], {"age": 5}, {5: "quasi"}])
def test_roles_that_are_none_are_refused(roles):
    with pytest.raises(SchemaError):
        Schema.from_roles(roles)
