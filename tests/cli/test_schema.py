"""`shoal schema`: what a configuration may say."""

import json

import jsonschema

from shoal.core.registry import CATALOGUES, names


def test_the_schema_of_the_configuration_is_printed(run):
    result = run("schema")
    schema = json.loads(result.stdout)
    jsonschema.Draft7Validator.check_schema(schema)
    assert {"table", "columns", "method", "attacks"} <= set(schema["properties"])


def test_the_parameters_of_a_method_are_listed(run):
    result = run("schema", "mask")
    assert "At most 1/m of a bucket shows a protected value." in result.stdout
    assert "Default: enough." in " ".join(result.stdout.split())


def test_the_parameters_of_everything_are_listed_as_json(run):
    for name in [name for package in CATALOGUES for name in names(package)]:
        listed = json.loads(run("schema", name, "--json").stdout)
        assert listed["name"] == name
        assert all(one["takes"] and one["meaning"] for one in listed["parameters"])


def test_a_name_that_is_misspelt_is_guessed(run):
    result = run("schema", "mondrain")
    assert result.exit_code == 3
    assert "did you mean 'mondrian'" in result.stderr
