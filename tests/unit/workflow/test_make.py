import json
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest

from shoal.core.errors import ParameterError
from shoal.core.registry import CATALOGUES, find, names
from shoal.workflow.config import configure
from shoal.workflow.make import configuration_schema, list_parameters

PROJECT = Path(__file__).parents[3]
LEAST = {"table": {"source": "a.csv"}, "columns": {"quasi": "age", "sensitive": ["ill"]}}
ANATOMY = {"name": "anatomy", "ell": 2}


@pytest.fixture(scope="module")
def validator():
    schema = configuration_schema()
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(json.loads(json.dumps(schema)))


def written_in_documents():
    """Return every configuration of the documentation that is whole."""
    for path in [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]:
        for text in re.findall(r"```toml\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL):
            try:
                given = tomllib.loads(text)
            except tomllib.TOMLDecodeError:
                continue
            if "table" in given:
                yield pytest.param(given, id=path.name)


@pytest.mark.parametrize("given", list(written_in_documents()))
def test_configurations_of_the_documents_fit_the_schema(validator, given):
    validator.validate(given)


@pytest.mark.parametrize("name", names("shoal.methods"))
def test_the_example_of_every_method_fits_the_schema(validator, name):
    given = {"name": name, **find("shoal.methods", name).example}
    method = json.loads(json.dumps(given))
    validator.validate({**LEAST, "method": method})
    validator.validate({**LEAST, "method": ANATOMY, "compare": {"methods": [method]}})


@pytest.mark.parametrize(
    "given",
    [
        {"method": {**ANATOMY, "protect": "flu"}},
        {"method": {"name": "mondrian", "t": "1/3", "protect": ["flu", 3]}},
        {"attacks": {"belief": {"limit": 0.3, "bandwidth": 0.2, "max_people": 0}}},
        {"attacks": {"learned": {"run": False, "reason": "nobody has a learner"}}},
        {"measures": {"queries": {"number": 10, "selectivity": "1/20"}}},
        {"engine": {"max_line": "64MB", "max_ratio": 7}},
        {"repair": {"foreground": {"r": 3}}},
        {"columns": {"keyVars": ["age"], "sensitive": "ill"}},
        {"release": {"schema": "open", "earlier": "old"}},
    ],
)
def test_what_is_configured_fits_the_schema(validator, given):
    whole = {**LEAST, "method": ANATOMY, **given}
    configure(whole, base=Path())
    validator.validate(whole)


@pytest.mark.parametrize(
    "given",
    [
        {"method": {"name": "anatomy"}},
        {"method": {"name": "anatomy", "ell": 1}},
        {"method": {"name": "anatomy", "el": 2}},
        {"method": {"name": "anatomie", "ell": 2}},
        {"method": {"name": "mondrian", "k": 5, "cuts": "loose"}},
        {"attacks": {"homogenity": {"max_people": 0}}},
        {"attacks": {"homogeneity": {"limit": 2}}},
        {"measures": {"loss": {"groups": 1}}},
        {"release": {"format": "xlsx"}},
        {"relase": {}},
    ],
)
def test_mistakes_do_not_fit_the_schema(validator, given):
    whole = {**LEAST, "method": ANATOMY, **given}
    assert not validator.is_valid(whole)
    # The configuration refuses the same.
    with pytest.raises(ParameterError):
        configure(whole, base=Path()).method()


def test_every_parameter_is_described(validator):
    described = validator.schema
    for name in names("shoal.methods"):
        for key, one in described["$defs"][name]["properties"].items():
            assert key == "name" or one["description"]
    for section in ("attacks", "measures"):
        for one in described["properties"][section]["properties"].values():
            # The work of all attacks is one entry, beside their sections.
            entries = one["properties"].values() if "properties" in one else [one]
            assert all(entry["description"] for entry in entries)


@pytest.mark.parametrize("package", CATALOGUES)
def test_parameters_are_listed_by_name(package):
    for name in names(package):
        assert list_parameters(name)
    assert "bandwidth" in [one.name for one in list_parameters("belief")]


def test_a_name_that_is_misspelt_is_guessed():
    with pytest.raises(ParameterError, match="did you mean 'mondrian'"):
        list_parameters("mondrain")
