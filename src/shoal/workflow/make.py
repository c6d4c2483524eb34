"""Make methods, attacks and measures from the names and parameters of a configuration.

An attack of a configuration also says how it is judged, or why it is left out. What a configuration
may say is described as a JSON Schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from shoal.beliefs.beliefs import Beliefs
from shoal.beliefs.informed import prior_beliefs
from shoal.core.attack import Attack
from shoal.core.declared import parameters_of
from shoal.core.errors import ParameterError, suggestion
from shoal.core.exact import Number
from shoal.core.guarantees import BANDWIDTH
from shoal.core.log import internal_log
from shoal.core.parameters import Parameter
from shoal.core.registry import CATALOGUES, find, names
from shoal.core.release import Published
from shoal.core.table import Table
from shoal.workflow.config_sections import AttackSection, Sections
from shoal.workflow.people import read_people, read_prior

Parameters = Mapping[str, object]


def make(package: str, name: str, parameters: Parameters) -> Any:
    """Make a method, an attack or a measure from its name in snake case.

    `package` is the catalogue: `shoal.methods`, `shoal.attacks` or `shoal.measures`. The
    declaration of each parameter says what it accepts: one text stands for a list of one, and
    knowledge may be the path of its file.

    Examples
    --------
    >>> make("shoal.attacks", "homogeneity", {"limit": "1/3"})
    Homogeneity(limit=Fraction(1, 3))
    """
    found = find(package, name)
    refuse_unknown(found, name, list(parameters))
    known = parameters_of(found)
    lacking = [one.name for one in known.values() if one.is_required]
    lacking = [parameter for parameter in lacking if parameter not in parameters]
    if lacking:
        raise ParameterError(
            f"{name} needs the parameter {lacking[0]!r}.",
            hint=f"its parameters are {', '.join(known)}.",
        )
    try:
        return found(**parameters)
    except TypeError as error:
        internal_log.info("%s: %s", name, error)
        raise ParameterError(
            f"A parameter of {name} has a value of the wrong type.",
            hint="its parameters are "
            + ", ".join(f"{one.name} ({one.takes})" for one in known.values())
            + ".",
        ) from None


def accepted_by(found: Any) -> dict[str, Parameter]:
    """Return the keys that a configuration may give a method, an attack or a measure.

    These are its parameters, and the keys that say how a file is read.
    """
    known = parameters_of(found)
    beside = {key: one for parameter in known.values() for key, one in parameter.beside.items()}
    return {**known, **beside}


def refuse_unknown(found: Any, name: str, given: list[str]) -> None:
    """Refuse keys that a method, an attack or a measure does not have."""
    accepted = accepted_by(found)
    unknown = [key for key in given if key not in accepted]
    if unknown:
        # An attack that is configured can be judged, or left out with a reason.
        limit = ["max_people", "run", "reason"] if hasattr(found, "knows") else []
        raise ParameterError(
            f"{name} has no parameter {unknown[0]!r}.",
            hint=suggestion(unknown[0], [*accepted, *limit], "its parameters are"),
        )


_ATTACKS = "shoal.attacks"
_POPULATION, _PRIOR = "population", "prior"
"""Parameters that may be files, which are read as the columns of a release demand."""
_BANDWIDTH = "bandwidth"
"""The bandwidth of a prior that is estimated."""


@dataclass(frozen=True, kw_only=True)
class ConfiguredAttack:
    """An attack that the steward named, and how many people it may put at risk."""

    name: str
    # A population or a prior is the path of its file.
    parameters: Parameters = field(default_factory=dict)
    # None if the attack is reported, not judged.
    max_people: int | None = None

    def make(self, published: Published, table: Table | None = None) -> Attack:
        """Make the attack; files that it names are read as the release's columns demand.

        If only the bandwidth of a prior is given, the prior is estimated from `table`, which is the
        table that the release was made from.
        """
        parameters = dict(self.parameters)
        population = parameters.get(_POPULATION)
        if isinstance(population, str | Path):
            parameters[_POPULATION] = read_people(population, published).quasi
        bandwidth, prior = parameters.pop(_BANDWIDTH, None), parameters.get(_PRIOR)
        if isinstance(prior, str | Path):
            chosen = BANDWIDTH if bandwidth is None else bandwidth
            parameters[_PRIOR] = read_prior(prior, published, chosen)
        elif bandwidth is not None:
            parameters[_PRIOR] = self._estimated(table, bandwidth)
        return cast(Attack, make(_ATTACKS, self.name, parameters))

    def _estimated(self, table: Table | None, bandwidth: object) -> Beliefs:
        if table is None:
            raise ParameterError(
                f"{self.name} has a bandwidth, but no table from which prior beliefs could be "
                "estimated.",
                hint="name a file with the columns of the table, or of data like it: prior=... or "
                "--prior FILE.",
            )
        return prior_beliefs(table, cast("Number", bandwidth))

    def check(self) -> None:
        """Refuse an unknown name or parameter before any work is done."""
        found = find(_ATTACKS, self.name)
        refuse_unknown(found, self.name, list(self.parameters))
        later = [name for name, one in parameters_of(found).items() if one.is_read_later]
        later = [*later, *(key for key in accepted_by(found) if key not in parameters_of(found))]
        given = {name: value for name, value in self.parameters.items() if name not in later}
        make(_ATTACKS, self.name, given)


def named_attacks(
    given: Mapping[str, Mapping[str, object]],
) -> tuple[tuple[ConfiguredAttack, ...], dict[str, str]]:
    """Return the attacks that keywords name, and the reasons of those that are left out.

    Each is given with the keys of ``[attacks.NAME]``.
    """
    sections = {name: _section(name, keys) for name, keys in given.items()}
    check_left_out(sections)
    attacks = tuple(
        ConfiguredAttack(
            name=name,
            parameters=stated.model_extra or {},
            max_people=max_people_of(name, stated),
        )
        for name, stated in sections.items()
        if stated.run
    )
    for one in attacks:
        one.check()
    return attacks, left_out(sections)


def _section(name: str, keys: Mapping[str, object]) -> AttackSection:
    try:
        return AttackSection.model_validate(dict(keys))
    except ValidationError:
        raise ParameterError(
            f"The attack {name!r} takes max_people (a whole number), run (True or False) and a "
            "reason (a text) beside its parameters.",
            hint="an attack that is not judged has no max_people.",
        ) from None


def left_out(sections: Mapping[str, AttackSection]) -> dict[str, str]:
    """Return the attacks that are left out, each with its reason."""
    return {name: str(stated.reason) for name, stated in sections.items() if not stated.run}


def max_people_of(name: str, stated: AttackSection) -> int | None:
    """Return how many people may be at risk; 0 if a limit alone judges the attack."""
    if stated.max_people is None and _limits(name, stated) and _is_judged_by_limit(name):
        return 0
    return stated.max_people


def _is_judged_by_limit(name: str) -> bool:
    return bool(find(_ATTACKS, name).is_judged_by_limit)


def _limits(name: str, stated: AttackSection) -> list[str]:
    """Return the keys of a section that decide from which belief on a person is at risk."""
    known = accepted_by(find(_ATTACKS, name))
    return [key for key in stated.model_extra or {} if key in known and known[key].is_limit]


def check_left_out(sections: Mapping[str, AttackSection]) -> None:
    """Refuse an attack that is left out without a reason, or although it has a limit."""
    for name, stated in sections.items():
        if stated.run:
            if stated.reason is not None:
                raise ParameterError(
                    f"[attacks.{name}] has a reason, but the attack is run.",
                    hint="reason says why an attack is left out: it belongs to run = false.",
                )
            continue
        find(_ATTACKS, name)
        if stated.reason is None or not stated.reason.strip():
            raise ParameterError(
                f"[attacks.{name}] run = false needs a reason, which goes to the internal record.",
                hint='add reason = "...".',
            )
        limits = _limits(name, stated)
        limits += ["max_people"] if stated.max_people is not None else []
        if limits:
            raise ParameterError(
                f"[attacks.{name}] has {limits[0]}, but run = false: an attack that is judged "
                "cannot be left out.",
                hint="take out the limit, or run = false.",
            )


# --- for editors ----------------------------------------------------------------------------------
# An editor that knows the JSON Schema completes keys, explains them and marks mistakes while
# `shoal.toml` is written. The sections come from the models that check them, and the parameters of
# methods, attacks and measures from their declarations.

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
    work = _without_titles(defined["_Attacks"]["properties"]["work"])
    sections["attacks"]["properties"] = {"work": work, **sections["attacks"]["properties"]}
    sections["measures"] = _by_name("shoal.measures", "What is measured, by name.", {})
    for unused in ("_Method", "_Attacks", "AttackSection"):
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
