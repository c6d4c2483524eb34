"""The JSON Schema of the configuration file, for editors.

The sections come from the models that check them, and the parameters of methods, attacks and
measures from their declarations. An editor that knows the schema completes keys, explains them and
marks mistakes while `shoal.toml` is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from shoal.core.errors import ParameterError, suggestion
from shoal.core.parameters import Parameter
from shoal.core.registry import CATALOGUES, find, names
from shoal.workflow.config_sections import AttackSection, Sections
from shoal.workflow.make import accepted_by

_DIALECT = "http://json-schema.org/draft-07/schema#"


def configuration_schema() -> dict[str, Any]:
    """Return the JSON Schema of `shoal.toml`.

    Examples
    --------
    >>> schema = configuration_schema()
    >>> schema["$defs"]["anatomy"]["properties"]["ell"]["minimum"]
    2
    """
    # TOML holds names such as `schema`, which are aliases in the models.
    schema = _without_titles(
        Sections.model_json_schema(by_alias=True, ref_template="#/$defs/{model}")
    )
    defined, sections = schema["$defs"], schema["properties"]
    for name in names("shoal.methods"):
        defined[name] = _method_schema(name)
    methods = {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in names("shoal.methods")]}
    sections["method"] = {"description": "The method and its parameters.", **methods}
    defined["_Compare"]["properties"]["methods"]["items"] = methods
    judged = _without_titles(AttackSection.model_json_schema())["properties"]
    sections["attacks"] = _by_name("shoal.attacks", "How attacks are judged, by name.", judged)
    sections["measures"] = _by_name("shoal.measures", "What is measured, by name.", {})
    for unused in ("_Method", "AttackSection"):
        defined.pop(unused, None)
    return {"$schema": _DIALECT, "title": "shoal.toml", **schema}


def list_parameters(name: str) -> tuple[Parameter, ...]:
    """Return the keys that a configuration may give a method, an attack or a measure.

    Examples
    --------
    >>> [one.name for one in list_parameters("homogeneity")]
    ['limit']
    """
    for package in CATALOGUES:
        if name in names(package):
            return tuple(accepted_by(find(package, name)).values())
    known = [each for package in CATALOGUES for each in names(package)]
    raise ParameterError(
        f"{name!r} is no method, attack or measure.", hint=suggestion(name, known, "they are")
    )


def _method_schema(name: str) -> dict[str, Any]:
    found = find("shoal.methods", name)
    known = accepted_by(found)
    return {
        "type": "object",
        "title": name,
        "description": _summary(found),
        "properties": {"name": {"const": name}, **_properties(known)},
        "required": ["name", *(one.name for one in known.values() if one.is_required)],
        "additionalProperties": False,
    }


def _by_name(package: str, description: str, beside: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a section with a subsection for each class of a catalogue."""
    return {
        "type": "object",
        "description": description,
        "properties": {
            name: {
                "type": "object",
                "description": _summary(found := find(package, name)),
                "properties": {**_properties(accepted_by(found)), **beside},
                "additionalProperties": False,
            }
            for name in names(package)
        },
        "additionalProperties": False,
    }


def _properties(known: Mapping[str, Parameter]) -> dict[str, Any]:
    return {name: _property(one) for name, one in known.items()}


def _property(one: Parameter) -> dict[str, Any]:
    described = {**one.schema, "description": one.text}
    if not one.default_text:
        return described
    kept = one.default
    return {**described, "default": kept if isinstance(kept, bool | int | str) else _plain(kept)}


def _plain(kept: object) -> object:
    """Return a default as TOML writes it."""
    if isinstance(kept, tuple):
        return [_plain(one) for one in kept]
    return float(kept) if isinstance(kept, Fraction) else kept


def _summary(found: Any) -> str:
    return str(found.__doc__ or found.__name__).strip().partition("\n")[0]


def _without_titles(schema: Any) -> Any:
    """Leave out the titles that pydantic derives from the names of keys."""
    if isinstance(schema, Mapping):
        kept = {key: one for key, one in schema.items() if not _is_title(key, one)}
        return {key: _without_titles(one) for key, one in kept.items()}
    return [_without_titles(one) for one in schema] if isinstance(schema, list) else schema


def _is_title(key: str, value: object) -> bool:
    # A section may have a key named "title" too; then the value is a schema, not a text.
    return key == "title" and isinstance(value, str)
