from __future__ import annotations

import datetime as dt
from fractions import Fraction
from pathlib import Path

import pytest

from shoal.core.budget import DEFAULT_ATTACK_WORK, read_work
from shoal.core.declared import Declared, declared
from shoal.core.errors import EngineError, ParameterError, SchemaError
from shoal.core.parameters import parameter
from shoal.workflow.config import configure, load
from shoal.workflow.make import make

WHOLE = """
[table]
source = "data/people.csv"
key = "person_no"
delimiter = ";"

[columns]
identifying = ["name", "person_no"]
quasi = ["age", "postcode", "grade"]
sensitive = ["disease"]
insensitive = ["wave"]
nearly_unique = ["wave"]

[types]
age = "integer"
grade = ["low", "high"]

[hierarchies]
age = { intervals = [0, 18, 30, 45, 65] }
postcode = "hierarchies/postcode.csv"

[method]
name = "mondrian"
k = 5
t = 0.2

[attacks.homogeneity]
limit = "1/3"
max_people = 0
[attacks.linkage]
population = "population.csv"

[release]
folder = "out/release"
format = "parquet"
seed = 7
replace = true

[engine]
memory = "2GB"
"""


@pytest.fixture
def given():
    return {
        "table": {"source": "people.csv"},
        "columns": {"quasi": ["age"], "sensitive": "disease"},
        "method": {"name": "anatomy", "ell": 2},
    }


@pytest.fixture
def refused(given):
    """Assert that the configuration is refused with an error of a class, and give its text."""

    def refuse(kind: type[Exception], **sections: object) -> str:
        with pytest.raises(kind) as caught:
            configure({**given, **sections}, base=Path())
        return str(caught.value)

    return refuse


def test_everything_that_the_design_lists(tmp_path):
    (tmp_path / "hierarchies").mkdir()
    (tmp_path / "hierarchies" / "postcode.csv").write_text("10115;101…;*\n")
    (tmp_path / "shoal.toml").write_text(WHOLE)
    configuration = load(tmp_path / "shoal.toml")
    schema, method = configuration.schema(), configuration.method()
    assert configuration.source == tmp_path / "data/people.csv"
    assert configuration.folder == tmp_path / "out/release"
    assert (configuration.format, configuration.seed, configuration.replace) == ("parquet", 7, True)
    assert configuration.reading["delimiter"] == ";"
    assert configuration.reading["memory"] == "2GB"
    assert schema.key == "person_no"
    assert schema.nearly_unique == ("wave",)
    assert schema.types["grade"].order == ("low", "high")
    assert schema.hierarchies["postcode"].n_leaves == 1
    assert (method.k, method.t) == (5, Fraction(1, 5))
    homogeneity, linkage = configuration.attacks()
    assert (homogeneity.max_people, linkage.max_people) == (0, None)
    assert linkage.parameters["population"] == tmp_path / "population.csv"


def test_words_of_arx_and_sdcmicro(given):
    given["columns"] = {"keyVars": ["age"], "QI": "sex", "SENSITIVE_ATTRIBUTE": ["disease"]}
    schema = configure(given, base=Path()).schema()
    assert schema.quasi == ("age", "sex")
    assert schema.sensitive == ("disease",)


def test_configuration_of_the_record_is_plain(given):
    given["hierarchies"] = {"age": {"intervals": [dt.date(1990, 1, 1)]}}
    assert configure(given, base=Path()).to_dict()["hierarchies"] == {
        "age": {"intervals": ["1990-01-01"]}
    }


def test_file_that_is_not_there(tmp_path):
    with pytest.raises(EngineError, match=r"shoal\.toml"):
        load(tmp_path / "shoal.toml")


@pytest.mark.parametrize(
    ("text", "words"),
    [(b"[table\n", "line 1"), (b"a = \xff", "UTF-8"), (b"[a]\n[a]\n", "not TOML")],
)
def test_file_that_is_not_toml(tmp_path, text, words):
    (tmp_path / "shoal.toml").write_bytes(text)
    with pytest.raises(SchemaError, match=words):
        load(tmp_path / "shoal.toml")


def test_missing_section(refused, given):
    with pytest.raises(SchemaError, match=r"\[table\] lacks this section"):
        configure({"columns": {}, "method": {"name": "anatomy"}}, base=Path())


def test_unknown_section(refused):
    assert "did you mean 'columns'" in refused(ParameterError, colums={})


def test_unknown_key(refused):
    message = refused(SchemaError, table={"source": "a.csv", "delimeter": ";"})
    assert "[table] has a key 'delimeter'" in message
    assert "did you mean 'delimiter'?" in message


def test_unknown_role(refused):
    message = refused(SchemaError, columns={"sensitiv": ["disease"]})
    assert "'sensitiv', which is not a role" in message
    assert "did you mean 'sensitive'?" in message


@pytest.mark.parametrize(
    ("sections", "kind", "words"),
    [
        ({"table": {"source": 5}}, SchemaError, "[table] source must be a text"),
        ({"table": {}}, SchemaError, "[table] lacks the key 'source'"),
        ({"table": "people.csv"}, SchemaError, "[table] must be a section"),
        ({"columns": {"quasi": 5}}, SchemaError, "[columns] quasi must be a text or a list"),
        ({"columns": {"quasi": ["a", 5]}}, SchemaError, "[columns] quasi, entry 2 must be a text"),
        ({"types": {"age": 5}}, SchemaError, "[types] age must be a text or a list"),
        ({"method": {"ell": 2}}, ParameterError, "[method] lacks the key 'name'"),
        ({"release": {"format": "xlsx"}}, ParameterError, "[release] format must be 'csv' or"),
        ({"release": {"replace": 1}}, ParameterError, "[release] replace must be true or false"),
        ({"release": {"seed": 1.5}}, ParameterError, "[release] seed must be a whole number"),
        ({"engine": {"memory": 4}}, ParameterError, "[engine] memory must be a text"),
        (
            {"attacks": {"linkage": {"max_people": -1}}},
            ParameterError,
            "[attacks] linkage max_people must be greater than or equal to 0",
        ),
        (
            {"attacks": {"work": "a while"}},
            ParameterError,
            "[attacks] work must be an amount of work",
        ),
        ({"attacks": {"work": 0}}, ParameterError, "[attacks] work must be an amount of work"),
        ({"engine": {"max_line": "a lot"}}, ParameterError, "max_line must be an amount of bytes"),
        ({"attacks": {"linkage": {"limits": 1}}}, ParameterError, "no parameter 'limits'"),
        ({"attacks": {"linkage": {"limit": 7}}}, ParameterError, "limit must be"),
        ({"attacks": {"magic": {}}}, ParameterError, "'magic' is not one of the attacks"),
        ({"measures": {"magic": {}}}, ParameterError, "'magic' is not one of the measures"),
        (
            {"attacks": {"homogeneity": {"population": "a.csv"}}},
            ParameterError,
            "no parameter 'population'",
        ),
    ],
)
def test_values_that_a_key_cannot_have(refused, sections, kind, words):
    assert words in refused(kind, **sections)


def test_the_work_of_attacks_stands_beside_their_sections(given):
    given["attacks"] = {"work": "30s", "homogeneity": {"max_people": 0}}
    configuration = configure(given, base=Path())
    assert configuration.attack_work == read_work("30s")
    assert [one.name for one in configuration.attacks()] == ["homogeneity"]
    del given["attacks"]
    assert configure(given, base=Path()).attack_work == DEFAULT_ATTACK_WORK


def test_address_of_a_database_is_not_repeated(refused):
    message = refused(ParameterError, table={"source": "mysql://me:secret@host/db"})
    assert "secret" not in message
    message = refused(ParameterError, release={"database": "mysql://me:secret@host/db"})
    assert "secret" not in message


def test_address_of_a_database_loses_its_password(given):
    pytest.importorskip("psycopg")
    address = "postgresql://me:secret@host:5433/db?sslmode=require"
    given["table"] = {"source": address, "table": "people"}
    given["release"] = {"database": address, "schema": "open"}
    configuration = configure(given, base=Path("folder"))
    assert configuration.source == configuration.database == address
    assert configuration.database_schema == "open"
    stated = configuration.to_dict()
    assert stated["table"]["source"] == "postgresql://host:5433/db"
    assert stated["release"]["database"] == "postgresql://host:5433/db"
    assert "secret" not in repr(configuration) + str(stated)


def test_engine_has_a_name(given, tmp_path):
    given["engine"] = {"name": "spark"}
    given["table"] = {"source": "catalog.people"}
    configuration = configure(given, base=tmp_path)
    assert configuration.source == "catalog.people"
    assert configuration.reading["engine"] == "spark"
    (tmp_path / "catalog.people").touch()
    assert configuration.source == tmp_path / "catalog.people"


def test_values_of_the_table_are_not_repeated(refused):
    message = refused(SchemaError, types={"grade": ["SECRET", 5]})
    assert "SECRET" not in message


def test_wrong_work_is_answered_with_right_work(refused):
    message = refused(ParameterError, attacks={"work": "a while"})
    assert 'for example work = "30s"' in message


def test_hierarchy_errors_name_the_column(given):
    given["hierarchies"] = {"age": {"intervals": [3, 1]}}
    with pytest.raises(
        ParameterError, match=r"\[hierarchies\] age: cuts must be strictly ascending"
    ):
        configure(given, base=Path()).schema()
    given["hierarchies"] = {"age": "nowhere.csv"}
    with pytest.raises(EngineError, match=r"\[hierarchies\] age: .*nowhere"):
        configure(given, base=Path()).schema()


def test_unknown_parameter_of_the_method(given):
    given["method"] = {"name": "mondrian", "kk": 5}
    with pytest.raises(ParameterError, match=r"did you mean 'k'.*k, ell, diversity"):
        configure(given, base=Path()).method()


def test_missing_parameter_of_the_method():
    with pytest.raises(ParameterError, match="anatomy needs the parameter 'ell'"):
        make("shoal.methods", "anatomy", {})


def test_values_of_a_wrong_kind_are_no_bug(monkeypatch):
    def read(_, given):
        return given + 1

    @declared
    class Careless(Declared):
        ell: int = parameter("A number.", read, takes="a number", schema={})

    monkeypatch.setattr("shoal.workflow.make.find", lambda *_: Careless)
    words = r"a value of the wrong type.*\n\n.*ell \(a number\)"
    with pytest.raises(ParameterError, match=words):
        make("shoal.methods", "anatomy", {"ell": "two"})


@pytest.mark.parametrize(
    ("given", "taken"), [("flu", ("flu",)), (5, ("5",)), (True, ("true",)), (["a", 2], ("a", "2"))]
)
def test_protect_is_a_list_of_texts(given, taken):
    assert tuple(make("shoal.methods", "anatomy", {"ell": 2, "protect": given}).protect) == taken


@pytest.mark.parametrize("given", [2, "one_each", (("age", "sex"), ("disease",))])
def test_columns_of_slicing_are_no_list_of_texts(given):
    stated = [list(names) for names in given] if isinstance(given, tuple) else given
    assert make("shoal.methods", "slicing", {"ell": 2, "columns": stated}).columns == given
