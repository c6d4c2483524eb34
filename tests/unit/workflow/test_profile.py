"""What a steward is told of a table before any column has a role."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import tomllib

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from shoal.core.display import Section
from shoal.core.domain import ColumnType
from shoal.core.errors import DataError, ParameterError, SchemaError
from shoal.core.schema import Schema
from shoal.datasets.papers import injector_patients
from shoal.engines.sql import columns as staged_columns
from shoal.grouping.anatomy import Anatomy
from shoal.slicing.correlation import correlations
from shoal.workflow import preview as estimating
from shoal.workflow import profile as profiling
from shoal.workflow.column_words import naming_word
from shoal.workflow.config import load
from shoal.workflow.preview import estimate
from shoal.workflow.profile import profile
from shoal.workflow.read import read


def column(values, name="a"):
    return profile({name: values, "other": [i % 2 for i in range(len(values))]}).column(name)


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


# --- types and hints -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1\n2", "integer"),
        ("1.5\n2", "real"),
        ("01\n2", "categorical"),
        ("2020-01-01\n1899-12-31", "date"),
        ("true\nfalse", "boolean"),
        ("x\ny", "categorical"),
    ],
)
def test_the_type_of_csv_is_read_off_the_texts(tmp_path, text, kind):
    path = written(tmp_path / "t.csv", "a\n" + text + "\n")
    assert str(profile(path).column("a").type) == kind


def test_the_type_of_a_typed_source_is_its_own(tmp_path):
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pa.table({"a": ["1", "2"], "b": [1, 2]}), path)
    found = profile(path)
    assert found.column("a").type is ColumnType.CATEGORICAL
    assert found.column("b").type is ColumnType.INTEGER


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["01069", "10115"], "leading zeros: kept as text"),
        (["12345678901234567890", "12345678901234567891"], "long numbers"),
        (["1.5", "1.50"], "several ways"),
        (["1,5", "2,25", "3"], "decimal comma"),
        (["31.12.2020", "1.1.2021"], "not written year-month-day"),
        (["*", "x"], "the literal *"),
        (["x\0y", "x"], "NUL"),
        (["x ", "x"], "space"),
        (["Berlin", "berlin"], "upper and lower case"),
        (["x", "x"], "constant"),
        ([None, None], "empty"),
        ([*map(str, range(1000, 1099)), "n/a"], "numbers but for 1 different texts"),
        (np.array([1.5, np.inf]), "infinite"),
        (pa.array([1.5, float("nan")]), "NaN"),
        ([dt.date(2020, 1, 1), dt.date(2020, 1, 2)], "dates"),
        ([dt.datetime.fromisoformat("2020-01-01T12:00"), None], "1 times of day"),
        (pa.array([[1], [2]]), "no plain value"),
        ([1, 2, 3, 1], "declare the type categorical"),
    ],
)
def test_what_is_remarkable_is_said(values, said):
    source = {"a": values} if not isinstance(values, pa.Array) else pa.table({"a": values})
    hints = profile(source).column("a").hints
    assert any(said in hint for hint in hints), hints


@pytest.mark.parametrize("values", [["a", "b"], [1, 2], [0.5, 1.5], [True, False], ["10", "1x"]])
def test_a_plain_column_gets_no_remark(values):
    assert profile({"a": values}).column("a").hints == ()


def test_a_column_that_is_no_plain_value_is_counted_all_the_same():
    found = profile(pa.table({"a": [[1], [1], [2]], "b": [1, 2, 2]})).column("a")
    assert (found.type, found.n_distinct, found.n_unique) == (None, 2, 1)


# --- identifiers -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("name", "name"),
        ("last_name", "name"),
        ("LastName", "name"),
        ("Nachname", "nachname"),
        ("PRÉNOM", "prenom"),
        ("e-mail", "mail"),
        ("homePhone2", "phone"),
        ("Straße", "strasse"),
        ("número de teléfono", "telefono"),
        ("фамилия", "фамилия"),
        ("患者姓名", "姓名"),
        ("personnummer", "personnummer"),
        ("age", None),
        ("country_name", None),
        ("renamed", None),
        ("semester", None),
        ("unnamed", None),
    ],
)
def test_names_that_speak_of_identity_are_known_in_several_languages(name, word):
    assert naming_word(name) == word


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("name", ["Ann", "Bob", "Ann", "Cy"]),
        ("vorname", ["Ann", "Bob", "Ann", "Cy"]),
        ("email", [f"a{i}@example.org" for i in range(5)]),
        ("patient_id", [7, 3, 90]),
        ("code", [f"X{i:04}" for i in range(30)]),
        ("serial", list(range(1000, 1030))),
        ("insurance", [10**9 + 7919 * i for i in range(30)]),
    ],
)
def test_columns_that_look_like_identifiers_are_found_with_a_reason(name, values):
    found = column(values, name)
    assert found.is_identifier_like
    assert "differ" in found.identity


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("height", [1.5 + i / 97 for i in range(30)]),
        ("born", [dt.date(1950, 1, 1) + dt.timedelta(days=37 * i) for i in range(30)]),
        ("income", [1000 + 137 * i * i for i in range(30)]),
        ("postcode", [f"{10000 + 31 * i}" for i in range(30)]),
        ("age", [29, 22, 27]),
        ("city", ["x", "y", "z"]),
        ("email_allowed", [True, False, True]),
        ("phone_type", ["home", "work"] * 20),
        ("id", ["x", "x", "y", "y"] * 20),
    ],
)
def test_measurements_and_common_values_are_no_identifiers(name, values):
    assert not column(values, name).is_identifier_like


def test_a_name_that_many_share_is_still_a_name():
    assert column([f"N{i % 60}" for i in range(3000)], "name").is_identifier_like
    few = column(["x", "y"] * 1000, "name")
    assert not few.is_identifier_like
    assert any("'name'" in hint for hint in few.hints)


def test_identifiers_and_constants_are_no_part_of_combinations():
    rows = range(40)
    found = profile(
        {
            "name": [f"n{i}" for i in rows],
            "same": ["x" for _ in rows],
            "a": [i % 7 for i in rows],
            "b": [i % 5 for i in rows],
        }
    )
    assert found.identifier_like == ("name",)
    assert {name for one in found.combinations.counted for name in one.columns} == {"a", "b"}
    assert found.combinations.smallest_above(0.5).columns == ("a", "b")


# --- sources ---------------------------------------------------------------------------------


def test_every_kind_of_source_is_profiled_alike(tmp_path):
    columns = {"äge": [1, 2, 2, None], 'a "b"; c': ["x", None, "y", "y"]}
    table = pa.table(columns)
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    text = 'äge;"a ""b""; c"\n1;x\n2;\n2;y\n;y\n'
    sources = [
        columns,
        table,
        table.to_pandas(types_mapper=pd.ArrowDtype),
        tmp_path / "t.parquet",
        written(tmp_path / "t.csv", text),
        str(written(tmp_path / "u.csv", text)),
    ]
    found = [profile(source).to_dict() for source in sources]
    for other in found[1:]:
        assert {**other, "source": ""} == {**found[0], "source": ""}


def test_a_dataset_is_profiled():
    assert profile(injector_patients()).n_rows == 9


@pytest.mark.parametrize(
    ("text", "said"), [("a,b\n", "no rows"), ("", "empty"), ("a,a\n1,2\n", "same name")]
)
def test_what_is_no_table_is_refused(tmp_path, text, said):
    with pytest.raises(DataError, match=said):
        profile(written(tmp_path / "t.csv", text))


def test_progress_is_told_between_steps():
    steps = []
    profile({"a": [1, 2, 2], "b": [1, 1, 2]}, progress=steps.append)
    assert steps[0] == "read"
    assert "column 2 of 2" in steps
    assert any(step.startswith("pairs of columns") for step in steps)


@pytest.mark.slow
def test_adult_is_profiled(adult_path):
    found = profile(adult_path)
    assert found.n_rows == 48842
    assert found.identifier_like == ()
    # All pairs and triples but those with a pair that singles out more than half of the rows.
    pairs = [one for one in found.combinations.counted if len(one.columns) == 2]
    enough = [set(one.columns) for one in pairs if one.share > 0.5]
    assert len(pairs) == 105
    assert len(enough) == 8
    assert all("fnlwgt" in pair for pair in enough)
    n_contained = math.comb(14, 2) - math.comb(14 - 8, 2)
    assert len(found.combinations.counted) == 15 + 105 + 455 - n_contained
    assert found.column("workclass").n_missing == 2799
    assert found.combinations.smallest_above(0.5).columns == ("fnlwgt", "occupation")
    assert not found.combinations.left_out


# --- output ----------------------------------------------------------------------------------


def test_the_profile_is_json_and_tables_of_plain_values():
    found = profile({"name": ["Ann", "Bob", "Cy"], "a": [1, 2, 2], "b": ["x", None, "x"]})
    assert json.loads(json.dumps(found.to_dict()))["rows"] == 3
    for section in found.sections():
        assert isinstance(section, Section)
        assert all(len(row) == len(section.columns) for row in section.rows)
        assert all(isinstance(cell, str | int) for row in section.rows for cell in row)
    assert repr(found) == (
        "Profile(columns: 3 rows, 3 columns, 1 like identifiers, 2 columns single out 100%)"
    )


def test_a_few_people_among_many_are_not_shown_as_none():
    found = profile({"a": ["rare", *(["x"] * 5000)], "b": [0, 1] * 2500 + [1]})
    assert "<0.1 %" in str([section.rows for section in found.sections()])


# --- the draft -------------------------------------------------------------------------------


def test_a_draft_is_refused_until_every_column_has_a_role(tmp_path):
    written(tmp_path / "people.csv", "name,age,sex\nAnn,1,F\nBob,2,M\n")
    text = profile(tmp_path / "people.csv").draft(tmp_path)
    configuration = load(written(tmp_path / "shoal.toml", text))
    assert tomllib.loads(text)["table"]["source"] == "people.csv"
    assert configuration.schema().identifying == ("name",)
    with pytest.raises(SchemaError, match="Columns without a role: 'age', 'sex'"):
        read(configuration.source, configuration.schema())


def test_a_draft_that_is_decided_can_be_read(tmp_path):
    rng = np.random.default_rng(1)
    lines = [
        f"P{i:03},{rng.integers(18, 90)},{10000 + rng.integers(0, 90) * 100},"
        f"{dt.date(1950, 1, 1) + dt.timedelta(days=int(rng.integers(0, 9999)))},{rng.random()},"
        f"{'abc'[i % 3]}"
        for i in range(200)
    ]
    header = "person_no,age,zip,born,weight,disease\n"
    path = written(tmp_path / "people.csv", header + "\n".join(lines) + "\n")
    text = profile(path).draft(tmp_path)
    decided = text.replace("\n    # ", "\n    ").replace("# key = ", "key = ")
    disease = re.search(r'\n    "disease",[^\n]*', decided).group()
    decided = decided.replace(disease, "").replace("sensitive = [", 'sensitive = ["disease"', 1)
    before, heading, after = decided.partition("[levels]")
    decided = re.sub(r"\n# (\w+ = \{)", r"\n\1", before) + heading + after
    configuration = load(written(tmp_path / "shoal.toml", decided))
    table = read(configuration.source, configuration.schema())
    kinds = {column: h.kind for column, h in table.schema.hierarchies.items()}
    assert kinds == {"age": "intervals", "zip": "prefix", "born": "dates", "weight": "intervals"}
    assert all(tree.height > 1 for tree in table.trees.values())
    assert table.schema.key == "person_no"


def test_a_draft_offers_levels_for_columns_of_many_values(tmp_path):
    lines = [f"{'ab'[i % 2]},{1000 + 7 * i},place {i % 150}" for i in range(300)]
    path = written(tmp_path / "people.csv", "sex,income,town\n" + "\n".join(lines) + "\n")
    text = profile(path).draft(tmp_path)
    levels = re.search(r"\[levels\]\n(.*?)\n\n", text, re.DOTALL).group(1).splitlines()
    drafted = [line.lstrip("# ").split("  #")[0] for line in levels if "= {" in line]
    assert drafted == ["income = { quantiles = 20 }", "town = { node_level = 1 }"]
    decided = re.sub(r"quasi = \[.*?\n\]", 'quasi = ["sex", "town"]', text, flags=re.DOTALL)
    decided = decided.replace("sensitive = [", 'sensitive = ["income"', 1)
    decided = decided.replace("# income = { quantiles", "income = { quantiles")
    configuration = load(written(tmp_path / "shoal.toml", decided))
    table = read(configuration.source, configuration.schema())
    (level,) = table.levels
    assert (level.column, level.is_drafted, len(level.bounds)) == ("income", False, 19)


def test_a_draft_judges_and_bounds_how_frequent_a_value_is_in_a_bucket():
    drafted = tomllib.loads(profile({"a": [1, 2]}).draft())
    assert drafted["method"]["diversity"] == "frequency"
    limits = {name: stated["max_people"] for name, stated in drafted["attacks"].items()}
    assert limits == {"homogeneity": 0, "linkage": 0}


def test_a_draft_says_how_the_source_is_read(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes("a;b\né;'x'\n".encode("cp1252"))
    found = tomllib.loads(profile(path, encoding="cp1252", quote="'").draft())["table"]
    assert found == {"source": str(path), "delimiter": ";", "quote": "'", "encoding": "cp1252"}
    plain = tomllib.loads(profile(written(tmp_path / "p.csv", "a,b\n1,2\n")).draft())["table"]
    assert set(plain) == {"source"}


def test_a_draft_from_a_frame_says_that_it_needs_a_file():
    assert "not a file" in profile({"a": [1, 2]}).draft()


def test_cuts_are_round_and_say_nothing_of_the_ends():
    rng = np.random.default_rng(2)
    ages = [*rng.integers(18, 90, 500).tolist(), 117]
    income = [0] * 400 + rng.lognormal(8, 1, 101).round(2).tolist()
    found = profile({"age": ages, "income": income})
    cuts = found.column("age").hierarchy["intervals"]
    assert cuts == sorted(set(cuts))
    assert all(cut % 5 == 0 and min(ages) < cut < 100 for cut in cuts)
    incomes = found.column("income").hierarchy["intervals"]
    assert not set(incomes) & set(income) - {0}
    assert "117" not in found.draft()


def test_few_rows_get_a_width_and_no_cuts():
    assert set(column([1, 5, 7, 11, 13, 17, 19, 23, 29], "x").hierarchy) == {"width"}


@pytest.mark.parametrize(
    "name", ['a "b"', "a\nb", "a'b", "a\\b", "\x7f", "\u2028", "=1", "a#b", "[x]", "ключ", "a.b"]
)
def test_any_name_of_a_column_is_safe_in_a_draft(name):
    text = profile({name: [i * i for i in range(50)], "s": ["x", "y"] * 25}).draft()
    assert name not in str(tomllib.loads(text))
    decided = re.sub(r"\n# (?=[^\n]* = \{ )", "\n", text.replace("\n    # ", "\n    "))
    found = tomllib.loads(decided)
    assert name in found["columns"]["quasi"]
    assert name in found["hierarchies"]


# --- the estimate ----------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["anatomy", "mondrian", "something_new"])
def test_an_estimate_grows_with_the_table(method):
    small, large, wide = (estimate(*size, method) for size in ((1000, 5), (10**6, 5), (10**6, 50)))
    assert 0 < small.seconds < large.seconds < wide.seconds
    assert 0 < small.memory_bytes < large.memory_bytes < wide.memory_bytes


def test_an_estimate_takes_a_method_or_its_name():
    assert estimate(1000, 5, Anatomy(ell=2)) == estimate(1000, 5, "anatomy")


def test_an_estimate_reckons_with_kernels_that_are_not_compiled(monkeypatch):
    found = {}
    for compiled in (True, False):
        monkeypatch.setattr(estimating, "is_compiled", lambda _, is_so=compiled: is_so)
        found[compiled] = estimate(10**5, 5, "mondrian").seconds
    assert found[False] > 3 * found[True]


# --- correlations ----------------------------------------------------------------------------


def test_columns_are_correlated_as_slicing_correlates_them():
    generator = np.random.default_rng(8)
    age = generator.integers(0, 90, 200)
    columns = {
        "age": age.tolist(),
        "group": [None if one < 20 else "é" if one < 50 else "z" for one in age],
        "coin": generator.integers(0, 2, 200).tolist(),
        "constant": ["x"] * 200,
    }
    found = profile(columns).correlations
    assert found.columns == ("age", "group", "coin")
    schema = Schema(quasi=["age", "group", "coin"], insensitive="constant")
    expected = correlations(read(columns, schema).counts(["age", "group", "coin"]))
    assert found.matrix.tolist() == expected.matrix.tolist()
    assert found.between("age", "group") > 0.9


def test_correlations_are_stated_and_shown():
    columns = {"a": [1, 1, 2, 2], "b": ["x", "x", "y", "y"], "c": ["x", "y", "x", "y"]}
    found = profile(columns)
    assert json.loads(json.dumps(found.to_dict()))["correlations"] == {
        "columns": ["a", "b", "c"],
        "matrix": [[1, 1, 0], [1, 1, 0], [0, 0, 1]],
    }
    sections = {section.title: section for section in found.sections()}
    (title,) = (title for title in sections if "strongest pairs" in title)
    assert sections[title].rows == (("a", "b", "1.000"),)
    assert sections["Correlation of every pair"].rows == (
        ("1 a", "", ""), ("2 b", "1.00", ""), ("3 c", "0.00", "0.00"),
    )  # fmt: skip


def test_a_matrix_that_does_not_fit_is_not_shown():
    generator = np.random.default_rng(2)
    columns = {f"a{number}": generator.integers(0, 3, 30).tolist() for number in range(13)}
    found = profile(columns)
    titles = [section.title for section in found.sections()]
    assert "Correlation of every pair" not in titles
    (pairs,) = (section for section in found.sections() if "strongest pairs" in section.title)
    assert len(pairs.rows) == 10
    assert len(found.correlations.columns) == 13


def test_a_column_of_lone_values_is_not_correlated():
    columns = {
        "word": [f"w{number} x" for number in range(9)] + ["w0 x"],
        "a": [1, 2] * 5,
        "b": [1, 2, 3, 1, 2] * 2,
    }
    found = profile(columns)
    assert found.correlations.columns == ("a", "b")
    assert any("correlations of word" in text for text in found.to_dict()["left_out"])


def test_a_table_too_large_to_be_compared_says_so(monkeypatch):
    monkeypatch.setattr(profiling, "MOST_CODES", 7)
    found = profile({"a": [1, 2] * 2, "b": [1, 1, 2, 2]})
    assert found.correlations is None
    assert "4 rows of 2 columns" in found.to_dict()["left_out"][-1]
    with pytest.raises(ParameterError, match="no correlations"):
        found.heat_map()


def test_what_is_no_plain_number_or_date_is_correlated_as_texts():
    moments = np.array(["2020-01-01T01:00", "2020-01-01T02:00"] * 3, dtype="datetime64[us]")
    columns = {"moment": moments, "size": np.array([1.5, np.inf] * 3), "coin": [0, 1] * 3}
    found = profile(columns).correlations
    assert found.matrix.tolist() == np.ones((3, 3)).tolist()


def test_the_heat_map_names_the_columns():
    drawing = profile({"a<b": [1, 1, 2, 2], "c": [1, 2, 1, 2]}).heat_map()
    assert drawing.startswith("<svg")
    assert "a&lt;b" in drawing


def test_columns_coded_in_parts_are_profiled_as_those_coded_at_once(monkeypatch):
    generator = np.random.default_rng(6)
    values = ["a", "é", "", None]
    columns = {
        f"c{number}": [values[code] for code in generator.integers(0, 4, 40)] for number in range(7)
    }
    at_once = profile(columns).to_dict()
    monkeypatch.setattr(staged_columns, "_MOST_JOINS", 2)
    assert profile(columns).to_dict() == at_once
