"""Documents that harm: configurations, knowledge, hierarchies, manifests and records."""

from __future__ import annotations

import contextlib
import json
import os
import string
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from mutations import MARKER

import shoal
from shoal.core.documents import DocumentLimitError, parse_json, parse_toml, read_whole
from shoal.core.domain import Domain
from shoal.core.errors import InternalError, ShoalError
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.injector.known import Knowledge
from shoal.release.opened import read_manifest
from shoal.release.record import read_record
from shoal.workflow import config
from shoal.workflow.config_sections import Sections

CONFIGURATION = """
[table]
source = "people.csv"
[columns]
quasi = ["age", "zip"]
sensitive = "disease"
[method]
name = "mondrian"
k = 2
"""


@contextlib.contextmanager
def refused_soon(*words: str):
    """Assert that a typed error comes soon, and that it shows no value."""
    begun = time.perf_counter()
    with pytest.raises(ShoalError) as raised:
        yield
    assert time.perf_counter() - begun < 30
    assert not isinstance(raised.value, InternalError)
    assert MARKER not in str(raised.value)
    for word in words:
        assert word in str(raised.value)


# --- depth and length ------------------------------------------------------------------------

DEEP = {
    "arrays": "x = " + "[" * 20_000 + "]" * 20_000,
    "tables": "x = " + "{a=" * 20_000 + "1" + "}" * 20_000,
    "dots": ".".join(["a"] * 20_000) + " = 1",
    "header": "[" + ".".join(["a"] * 20_000) + "]",
    "quoted dots": ".".join(['"a"'] * 20_000) + " = 1",
    "one more": "x = " + "[" * 200 + "]" * 200,
}
LARGE = {
    "digits": "x = " + "9" * 5_000,
    "fewer digits": "x = " + "9" * 4_000,
    "65 bits": f"x = {2**63}",
    "hexadecimal": "x = 0x" + "F" * 20_000,
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_toml_that_is_nested_too_deep_is_refused(text):
    with pytest.raises(DocumentLimitError, match="levels deep"):
        parse_toml(text)


@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
def test_toml_with_too_large_a_number_is_refused(text):
    with pytest.raises(DocumentLimitError, match="64 bits"):
        parse_toml(text)


def test_toml_within_the_limits_is_read():
    assert parse_toml(f"x = {2**63 - 1}\ny = -{2**63}") == {"x": 2**63 - 1, "y": -(2**63)}
    assert parse_toml("x = " + "[" * 99 + "]" * 99)["x"] is not None


@pytest.mark.parametrize("text", [*DEEP.values(), *LARGE.values()], ids=[*DEEP, *LARGE])
def test_configuration_beyond_the_limits_is_refused(tmp_path, text):
    path = tmp_path / "shoal.toml"
    path.write_text("[hierarchies]\n" + text)
    with refused_soon("shoal.toml", "cannot be used"):
        config.load(path)


@pytest.mark.parametrize("text", [*DEEP.values(), *LARGE.values()], ids=[*DEEP, *LARGE])
def test_knowledge_beyond_the_limits_is_refused(text):
    with refused_soon("knowledge"):
        Knowledge.from_toml(f'sensitive = "{MARKER}"\n{text}')


@pytest.mark.parametrize(
    "text",
    ["[" * 20_000, '{"a":' * 20_000 + "1" + "}" * 20_000, "9" * 5_000, "9" * 4_000],
    ids=["arrays", "objects", "digits", "fewer digits"],
)
@pytest.mark.parametrize("name", ["manifest.json", "labels.json", "record.json"])
def test_json_beyond_the_limits_is_refused(tmp_path, text, name):
    with pytest.raises(ValueError, match=r".*"):
        parse_json(text)
    folder = make_release(tmp_path)
    if name == "record.json":
        (tmp_path / "release.internal" / name).write_text(text)
        with refused_soon(name):
            read_record(tmp_path / "release.internal")
    else:
        (folder / name).write_text(text)
        with refused_soon(name):
            shoal.open_release(folder).published  # noqa: B018 - it is read then


def make_release(folder: Path) -> Path:
    columns = {"age": [20 + n % 9 for n in range(60)], "s": [f"v{n % 5}" for n in range(60)]}
    table = shoal.read(columns, shoal.Schema(quasi="age", sensitive="s"))
    return shoal.anonymize(table, shoal.Mondrian(k=3)).write(folder / "release")


# --- hierarchies -----------------------------------------------------------------------------


def test_hierarchy_with_endless_levels_is_refused(tmp_path):
    path = tmp_path / "zip.csv"
    path.write_text(f"{MARKER};" + ";".join("ab" * 100_000) + ";*\n")
    with refused_soon("at most 100 levels"):
        Hierarchy.from_csv(path, column="zip")
    with refused_soon("at most 100 levels"):
        Hierarchy.from_config({"rows": [[MARKER] * 200_000]}, column="zip")


@pytest.mark.parametrize(
    "rule",
    [
        {"prefix": list(range(20_000, 0, -1))},
        {"intervals": [[0, 1]] * 20_000},
        {"dates": ["day"] * 20_000},
        {"width": 1e-320},
        {"width": float("inf")},
        {"quantiles": 2**62},
        {"width": 1, "merge": 2**62},
        {"intervals": [float("nan"), 1]},
    ],
    ids=lambda rule: next(iter(rule)),
)
def test_rule_beyond_the_limits_is_refused(rule):
    domain = Domain.of_texts("a", ["1", "2", "1000000000"])
    begun = time.perf_counter()
    with contextlib.suppress(ShoalError):
        Hierarchy.from_config(rule, column="a").over(domain)
    assert time.perf_counter() - begun < 30


def test_hierarchy_of_a_hundred_levels_is_read():
    rows = [[f"{leaf}.{level}" for level in range(99)] for leaf in range(3)]
    assert Hierarchy.from_rows([[*row, "*"] for row in rows]).height == 99


# --- numbers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["1" + "0" * 400, "-1e999", "9" * 5_000])
@pytest.mark.parametrize("types", [{}, {"a": "real"}, {"a": "integer"}])
def test_number_that_is_too_large_is_called_so(tmp_path, number, types):
    path = tmp_path / "people.csv"
    path.write_text("a,s\n" + f"1,x\n2,y\n{number},z\n" * 5)
    with refused_soon("'a'", "too large", "1 of its different values"):
        shoal.read(path, shoal.Schema(quasi="a", sensitive="s", types=types))


def test_number_of_endless_digits_in_memory_is_called_so():
    with refused_soon("'a'", "too large"):
        shoal.read({"a": [1, 2, 10**400]}, shoal.Schema(quasi="a"))


# --- pipes -----------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="Windows has no named pipes")
class TestPipes:
    """A named pipe in place of a file must be refused, not waited for."""

    @pytest.fixture
    def pipe(self, tmp_path):
        path = tmp_path / "pipe"
        os.mkfifo(path)
        return path

    def test_whole_files(self, pipe):
        with pytest.raises(OSError, match="it is a named pipe, not a file"):
            read_whole(pipe)

    def test_configuration(self, pipe):
        with refused_soon("named pipe"):
            config.load(pipe)

    def test_knowledge(self, pipe):
        with refused_soon("named pipe"):
            Knowledge.from_file(pipe)

    def test_hierarchy(self, pipe):
        with refused_soon("named pipe"):
            Hierarchy.from_csv(pipe)

    def test_record(self, pipe):
        with refused_soon("as the record of a release"):
            read_record(pipe)

    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_private_cells(self, tmp_path, ending):
        path = tmp_path / f"private.{ending}"
        os.mkfifo(path)
        table = shoal.read({"a": [1, 2], "s": ["x", "y"]}, shoal.Schema(quasi="a", sensitive="s"))
        with refused_soon():
            shoal.anonymize(table, shoal.RuleHiding(private=str(path)))

    @pytest.mark.parametrize(
        "name", ["manifest.json", "labels.json", "table.csv", "codebook.md", "report.html"]
    )
    def test_release(self, tmp_path, name):
        folder = make_release(tmp_path)
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)
        begun = time.perf_counter()
        with contextlib.suppress(ShoalError):
            assert str(shoal.verify(folder).status) == "failed"
        with contextlib.suppress(ShoalError):
            shoal.open_release(folder).published  # noqa: B018 - it is read then
        assert time.perf_counter() - begun < 20

    def test_internal_folder(self, tmp_path):
        folder = make_release(tmp_path)
        record = tmp_path / "release.internal" / "record.json"
        record.unlink()
        os.mkfifo(record)
        with refused_soon("record.json"):
            read_record(record.parent)
        assert read_manifest(folder).is_sealed


# --- anything --------------------------------------------------------------------------------

texts = st.text(st.sampled_from(string.ascii_letters + "\x00\n\"'\\[]{}=.*;🦈\ud800"), max_size=20)
scalars = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.booleans(),
    st.dates(),
    st.just(MARKER),
    texts,
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=80, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(sorted(Sections.model_fields)), st.dictionaries(texts, values, max_size=4))
def test_any_section_is_read_or_refused(section, stated):
    parsed = {**parse_toml(CONFIGURATION), section: stated}
    with contextlib.suppress(ShoalError):
        config.configure(parsed, base=Path())


@settings(max_examples=80, suppress_health_check=list(HealthCheck))
@given(values)
@example({"width": 5e-324})
@example({"rows": [["a", "*"], ["a", "b", "*"]]})
def test_any_hierarchy_is_read_or_refused(stated):
    with contextlib.suppress(ShoalError):
        Hierarchy.from_config(stated, column="a")


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(["width", "quantiles", "intervals", "prefix", "dates", "rows", "flat"]), values
)
def test_any_rule_is_applied_or_refused(kind, value):
    domain = Domain.of_texts("a", ["1", "2", "30"])
    with contextlib.suppress(ShoalError):
        Hierarchy.from_config({kind: value}, column="a").over(domain)


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda b: b.decode("latin-1")))
def test_any_text_of_knowledge_is_read_or_refused(text):
    with contextlib.suppress(ShoalError):
        Knowledge.from_toml(f'sensitive = "s"\n{text}')


@settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
@given(place=st.integers(0, 10**6), value=values)
def test_any_manifest_is_read_or_refused(sealed, place, value):
    """One entry of a manifest, at any depth, is something else."""
    folder, original = sealed
    stated = json.loads(original)
    places = list(_places(stated))
    owner, key = places[place % len(places)]
    owner[key] = value
    (folder / "manifest.json").write_text(json.dumps(stated, default=str))
    with contextlib.suppress(ShoalError):
        shoal.verify(folder)


@pytest.fixture(scope="module")
def sealed(tmp_path_factory):
    folder = make_release(tmp_path_factory.mktemp("sealed"))
    return folder, (folder / "manifest.json").read_text()


def _places(stated):
    entries = stated.items() if isinstance(stated, dict) else enumerate(stated)
    for key, value in list(entries):
        yield stated, key
        if isinstance(value, dict | list):
            yield from _places(value)
