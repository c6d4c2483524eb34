"""The sections of the configuration file, and what is said of a mistake in them.

pydantic finds what is wrong; here it is put into words that name the key, the rule and the fix,
and that repeat no value of the file, for some of them are values of the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from shoal.core.errors import ParameterError, SchemaError, ShoalError
from shoal.core.guarantee import BANDWIDTH
from shoal.core.rows import MOST_ROWS
from shoal.core.schema import Role, role_of
from shoal.core.work import DEFAULT_MAX_WORK
from shoal.engines.limits import Limits, bytes_of
from shoal.pipeline.make import suggestion

__all__ = ["AttackSection", "Sections", "check_sections"]

_ROLE_KEYS = {
    Role.IDENTIFYING: "identifying",
    Role.QUASI: "quasi",
    Role.SENSITIVE: "sensitive",
    Role.INSENSITIVE: "insensitive",
}
_OF_COLUMNS = ("nearly_unique", "meant", "variants")
"""Keys of [columns] that are no role."""


def _as_list(given: object) -> object:
    return [given] if isinstance(given, str) else given


def _as_lists(given: object) -> object:
    listed = _as_list(given)
    return [_as_list(one) for one in listed] if isinstance(listed, list) else listed


_Names = Annotated[list[str], BeforeValidator(_as_list)]
_Combinations = Annotated[list[list[str]], BeforeValidator(_as_lists)]
_Size = Annotated[int, BeforeValidator(bytes_of)]


class _Section(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Table(_Section):
    source: str
    table: str | None = None
    key: str | None = None
    person: str | None = None
    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None


class _Columns(_Section):
    identifying: _Names = []
    quasi: _Names = []
    sensitive: _Names = []
    insensitive: _Names = []
    nearly_unique: _Names = []
    meant: _Combinations = []
    variants: dict[str, Literal["distinct", "merge"]] = {}


class _Method(_Section):
    model_config = ConfigDict(strict=True, extra="allow", frozen=True)

    name: str


class AttackSection(_Section):
    """An attack: how it is judged, or why it is left out, beside its own parameters."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)

    max_people: Annotated[int, Field(ge=0)] | None = None
    run: bool = True
    reason: str | None = None


class _RepairForeground(_Section):
    value: str | list[str] = []
    r: float | int | str
    epsilon: float | int | str = 0.01
    sigma: float | int | str = 0.9
    policy: Literal["pool", "prior", "half"] = "pool"


class _Repair(_Section):
    belief_gain: float | int | str | None = None
    bandwidth: float | int | str = BANDWIDTH
    foreground: _RepairForeground | None = None


class _Release(_Section):
    folder: str = "release"
    format: Literal["csv", "parquet"] = "csv"
    seed: int | None = None
    replace: bool = False
    earlier: _Names = []
    max_work: Annotated[int, Field(ge=0)] = DEFAULT_MAX_WORK
    database: str | None = None
    # `schema` alone is a method of pydantic's models.
    database_schema: Annotated[str | None, Field(alias="schema")] = None


class _Engine(_Section):
    name: Literal["duckdb", "spark", "postgres"] | None = None
    memory: str | None = None
    max_columns: Annotated[int, Field(ge=1)] | None = None
    max_line: _Size | None = None
    max_expanded: _Size | None = None
    max_ratio: Annotated[int, Field(ge=1)] | None = None

    @property
    def limits(self) -> Limits:
        """What a source may cost: the usual limits, but for those that are given."""
        given = {
            "max_columns": self.max_columns,
            "max_line": self.max_line,
            "max_expanded": self.max_expanded,
            "max_ratio": self.max_ratio,
        }
        return Limits(**{name: value for name, value in given.items() if value is not None})


class _Compare(_Section):
    methods: list[_Method] = []
    folder: str = "compare"
    max_risk: float | int | str | None = None
    max_rows: Annotated[int, Field(ge=1)] = MOST_ROWS
    seed: Annotated[int, Field(ge=0)] = 0


class Sections(_Section):
    """The whole file."""

    table: _Table
    columns: _Columns
    types: dict[str, _Names] = {}
    hierarchies: dict[str, Any] = {}
    method: _Method
    repair: _Repair | None = None
    attacks: dict[str, AttackSection] = {}
    measures: dict[str, dict[str, Any]] = {}
    compare: _Compare = _Compare()
    release: _Release = _Release()
    about: dict[str, Any] = {}
    engine: _Engine = _Engine()


def check_sections(given: Mapping[str, Any]) -> Sections:
    """Check the sections of a configuration.

    Raises
    ------
    SchemaError, ParameterError
        Where a key is unknown, is lacking or has a value that it cannot have.
    """
    try:
        return Sections.model_validate({**given, "columns": _by_role(given.get("columns", {}))})
    except ValidationError as error:
        first, *others = error.errors(include_url=False, include_input=False)
        raise _explained(first, n_others=len(others)) from None


def _by_role(columns: object) -> object:
    """Gather the columns under Shoal's own words for roles."""
    if not isinstance(columns, Mapping):
        return columns
    gathered: dict[str, object] = {}
    for word, names in columns.items():
        if word in _OF_COLUMNS:
            gathered[word] = names
            continue
        key = _role_key(word)
        listed = _as_list(names)
        if key in gathered and isinstance(listed, list):
            listed = [*cast("list[object]", gathered[key]), *listed]
        gathered[key] = listed
        if not isinstance(listed, list):
            break
    return gathered


def _role_key(word: str) -> str:
    try:
        return _ROLE_KEYS[role_of(word)]
    except SchemaError:
        known = [*_ROLE_KEYS.values(), *_OF_COLUMNS]
        raise SchemaError(
            f"[columns] has a key {word!r}, which is not a role.",
            hint=suggestion(word, known, "the keys are")
            + " The words of ARX and sdcMicro are accepted too.",
        ) from None


_RULES = {
    "string_type": "must be a text, in quotes",
    "list_type": "must be a text or a list of texts",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "value_error": "must be an amount of bytes: a number and a unit",
    "dict_type": "must be a section",
    "model_type": "must be a section",
}
_SECTIONS: Mapping[str, type[_Section]] = {
    "table": _Table,
    "columns": _Columns,
    "compare": _Compare,
    "release": _Release,
    "engine": _Engine,
}


def _explained(problem: Any, *, n_others: int) -> ShoalError:
    """Turn pydantic's first complaint into an error that names the key, the rule and the fix."""
    location = [str(part) for part in problem["loc"]]
    section = location[0]
    is_schema = section in ("table", "columns", "types", "hierarchies")
    kind: type[ShoalError] = SchemaError if is_schema else ParameterError
    more = f" ({n_others} more problems after it.)" if n_others else ""
    place = f"[{section}]" + "".join(
        f" {part}" if not part.isdigit() else f", entry {int(part) + 1}" for part in location[1:]
    )
    if problem["type"] == "extra_forbidden":
        known = _SECTIONS.get(section, Sections).model_fields
        where = f"[{section}] has" if len(location) > 1 else "The configuration has"
        what = "a key" if len(location) > 1 else "a section"
        fact = f"{where} {what} {location[-1]!r}, which Shoal does not know."
        many = "the keys are" if len(location) > 1 else "the sections are"
        return kind(fact + more, hint=suggestion(location[-1], list(known), many))
    if problem["type"] == "missing":
        what = f"the key {location[-1]!r}" if len(location) > 1 else "this section"
        return kind(f"[{section}] lacks {what}, which is needed.{more}", hint=_NEEDED.get(section))
    rule = _RULES.get(problem["type"])
    if rule is None:
        rule = str(problem["msg"]).replace("Input should", "must").rstrip(".")
    return kind(f"{place} {rule}; it is something else.{more}", hint=_NEEDED.get(section))


_NEEDED = {
    "table": 'for example source = "people.csv"',
    "columns": 'for example quasi = ["age", "sex"]',
    "types": 'for example age = "integer", or the list of an ordered column\'s values as texts',
    "method": 'for example name = "anatomy" and ell = 3',
    "attacks": "for example [attacks.homogeneity] with max_people = 0",
    "compare": 'for example methods = [{ name = "anatomy", ell = 3 }]',
    "release": 'for example folder = "release" and format = "csv"',
    "engine": 'for example memory = "4GB" and max_line = "64MB"',
}
