"""The sections of the configuration file, and the error messages for mistakes in them.

pydantic finds what is wrong; this module puts it into words that name the key, the rule and the
fix, and that repeat no value of the file, because some of them are values of the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema

from shoal.core.budget import DEFAULT_ATTACK_WORK, read_work
from shoal.core.domain import Role, role_of
from shoal.core.errors import ParameterError, SchemaError, ShoalError, suggestion
from shoal.core.guarantees import BANDWIDTH
from shoal.core.progress import DEFAULT_MAX_WORK
from shoal.core.table import MOST_ROWS
from shoal.engines.limits import Limits, bytes_of

_ROLE_KEYS = {
    Role.IDENTIFYING: "identifying",
    Role.QUASI: "quasi",
    Role.SENSITIVE: "sensitive",
    Role.INSENSITIVE: "insensitive",
}
_OF_COLUMNS = ("nearly_unique", "meant", "variants")
"""Keys of [columns] that are not roles."""


def _as_list(given: object) -> object:
    return [given] if isinstance(given, str) else given


def _as_lists(given: object) -> object:
    listed = _as_list(given)
    return [_as_list(one) for one in listed] if isinstance(listed, list) else listed


_NAMES: dict[str, Any] = {
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
}
_NUMBER: dict[str, Any] = {"type": ["number", "string"]}

_Names = Annotated[list[str], BeforeValidator(_as_list), WithJsonSchema(_NAMES)]
_Combinations = Annotated[
    list[list[str]],
    BeforeValidator(_as_lists),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": _NAMES}]}),
]
_Size = Annotated[int, BeforeValidator(bytes_of), WithJsonSchema({"type": ["integer", "string"]})]
_Number = Annotated[float | int | str, WithJsonSchema(_NUMBER)]
_Work = Annotated[int, BeforeValidator(read_work), WithJsonSchema(_NUMBER)]


class _Section(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Table(_Section):
    source: str = Field(description="The file, or the address of a database, with the table.")
    table: str | None = Field(
        default=None, description="Which table of a database or a DuckDB file."
    )
    key: str | None = Field(default=None, description="A column that tells rows apart.")
    person: str | None = Field(default=None, description="A column that says whose row it is.")
    delimiter: str | None = Field(
        default=None, description="What separates fields. Default: found out."
    )
    quote: str | None = Field(default=None, description="What encloses fields. Default: found out.")
    encoding: str | None = Field(
        default=None, description="The encoding of a CSV file. Default: found out."
    )


class _Columns(_Section):
    # The words of ARX and sdcMicro for roles are accepted beside these.
    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, json_schema_extra={"additionalProperties": _NAMES}
    )

    identifying: _Names = Field(
        default=[], description="Columns that name a person; never published."
    )
    quasi: _Names = Field(default=[], description="Columns that an adversary may know and link.")
    sensitive: _Names = Field(default=[], description="Columns that nobody may learn of a person.")
    insensitive: _Names = Field(default=[], description="Columns that are published as they are.")
    nearly_unique: _Names = Field(
        default=[], description="Insensitive columns that are published although nearly unique."
    )
    meant: _Combinations = Field(
        default=[],
        description="Combinations of insensitive columns that are published although they tell.",
    )
    variants: dict[str, Literal["distinct", "merge"]] = Field(
        default={}, description="What different spellings of one sensitive value are, by column."
    )


class _Method(_Section):
    model_config = ConfigDict(strict=True, extra="allow", frozen=True)

    name: str


class AttackSection(_Section):
    """An attack: how it is judged, or why it is left out, beside its own parameters."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)

    max_people: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="How many people may be at risk. Default: reported, not judged."
    )
    run: bool = Field(default=True, description="Whether the attack is run.")
    reason: str | None = Field(default=None, description="Why the attack is not run, if it is not.")


class _Attacks(BaseModel):
    """All attacks by name, beside what holds for each of them."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)
    __pydantic_extra__: dict[str, AttackSection]

    work: _Work = Field(
        default=DEFAULT_ATTACK_WORK,
        description="The most work of each attack, in units or CPU seconds. Default: 30s.",
    )

    @property
    def by_name(self) -> dict[str, AttackSection]:
        """The attacks that the file names, in its order."""
        return self.__pydantic_extra__


class _RepairForeground(_Section):
    value: str | list[str] = Field(
        default=[], description="The values protected. Default: every value."
    )
    r: _Number = Field(description="Nobody is linked to a value with more than 1/r.")
    epsilon: _Number = 0.01
    sigma: _Number = 0.9
    policy: Literal["pool", "prior", "half"] = "pool"


class _Repair(_Section):
    belief_gain: _Number | None = Field(
        default=None, description="Merge buckets until nobody's belief gains more than that."
    )
    bandwidth: _Number = Field(default=BANDWIDTH, description="How unlike people may be to count.")
    foreground: _RepairForeground | None = Field(
        default=None, description="Merge buckets until the foreground attack links nobody."
    )


class _Release(_Section):
    folder: str = Field(default="release", description="The public folder.")
    format: Literal["csv", "parquet"] = Field(
        default="csv", description="The format of data files."
    )
    seed: int | None = Field(default=None, description="Makes the release repeatable, and a test.")
    replace: bool = Field(default=False, description="Whether a release that is there is replaced.")
    earlier: _Names = Field(
        default=[],
        description="Public folders of earlier releases that this one stays safe beside.",
    )
    max_work: Annotated[int, Field(ge=0)] = Field(
        default=DEFAULT_MAX_WORK, description="The operations that verifying may take."
    )
    database: str | None = Field(
        default=None, description="A Postgres database that is written to too."
    )
    # `schema` alone is a method of pydantic's models.
    database_schema: str | None = Field(
        default=None, alias="schema", description="The schema of that database."
    )


class _Engine(_Section):
    name: Literal["duckdb", "spark", "postgres"] | None = Field(
        default=None,
        description="What holds and sorts the rows. Default: it follows from the source.",
    )
    memory: str | None = Field(
        default=None, description="Memory limit, such as 4GB. Default: half the free memory."
    )
    max_columns: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="How many columns a source may have. Default: 10000."
    )
    max_line: _Size | None = Field(
        default=None, description="How long a line of a CSV file may be. Default: 16MB."
    )
    max_expanded: _Size | None = Field(
        default=None, description="How much may come out of a compressed file. Default: 64GB."
    )
    max_ratio: Annotated[int, Field(ge=1)] | None = Field(
        default=None,
        description="How many bytes may come out of each compressed byte. Default: 200.",
    )
    lock_timeout: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="Seconds to wait for a lock in a database. Default: 30."
    )

    @property
    def limits(self) -> Limits:
        """The limits on a source: the default ones, except for those given."""
        given = {
            "max_columns": self.max_columns,
            "max_line": self.max_line,
            "max_expanded": self.max_expanded,
            "max_ratio": self.max_ratio,
            "lock_timeout": self.lock_timeout,
        }
        return Limits(**{name: value for name, value in given.items() if value is not None})


class _Compare(_Section):
    methods: list[_Method] = Field(default=[], description="The methods, each with its parameters.")
    folder: str = Field(default="compare", description="Where results are kept.")
    max_risk: _Number | None = Field(
        default=None, description="The risk that is allowed, from 0 to 1."
    )
    max_rows: Annotated[int, Field(ge=1)] = Field(
        default=MOST_ROWS, description="The most rows that methods are tried on."
    )
    seed: Annotated[int, Field(ge=0)] = Field(default=0, description="The seed of random draws.")


class Sections(_Section):
    """The whole file."""

    table: _Table
    columns: _Columns
    types: dict[str, _Names] = {}
    hierarchies: dict[str, Any] = {}
    levels: dict[str, Any] = {}
    method: _Method
    repair: _Repair | None = None
    attacks: _Attacks = Field(default_factory=lambda: _Attacks.model_validate({}))
    measures: dict[str, dict[str, Any]] = {}
    compare: _Compare = _Compare()
    release: _Release = _Release()
    about: dict[str, Any] = {}
    engine: _Engine = _Engine()


def check_sections(given: Mapping[str, Any]) -> Sections:
    """Check the sections of a configuration; an unknown, missing or wrong key raises an error."""
    try:
        return Sections.model_validate({**given, "columns": _by_role(given.get("columns", {}))})
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        # A misspelled section is the reason why another one is missing.
        first, *others = sorted(problems, key=lambda one: one["type"] == "missing")
        raise _explained(first, n_others=len(others)) from None


def _by_role(columns: object) -> object:
    """Collect the columns under Shoal's own names for roles."""
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
    "dict_type": "must be a section",
    "model_type": "must be a section",
}


def _keys_of(location: list[str]) -> list[str]:
    """Return the keys that the section of a location may have, as the file writes them."""
    model: Any = Sections
    for part in location[:-1]:
        kind = model.model_fields[part].annotation
        # Of `_Repair | None`, the model.
        model = next((one for one in get_args(kind) if one is not type(None)), kind)
    return [one.alias or name for name, one in model.model_fields.items()]


def _explained(problem: Any, *, n_others: int) -> ShoalError:
    """Turn pydantic's first complaint into an error that names the key, the rule and the fix."""
    location = [str(part) for part in problem["loc"]]
    section = location[0]
    is_schema = section in ("table", "columns", "types", "hierarchies", "levels")
    kind: type[ShoalError] = SchemaError if is_schema else ParameterError
    more = f" ({n_others} more problem{'s' * (n_others > 1)} after it.)" if n_others else ""
    place = f"[{section}]" + "".join(
        f" {part}" if not part.isdigit() else f", entry {int(part) + 1}" for part in location[1:]
    )
    if problem["type"] == "extra_forbidden":
        known = _keys_of(location)
        where = f"[{'.'.join(location[:-1])}] has" if len(location) > 1 else "The configuration has"
        what = "a key" if len(location) > 1 else "a section"
        fact = f"{where} {what} {location[-1]!r}, which Shoal does not know."
        many = "the keys are" if len(location) > 1 else "the sections are"
        return kind(fact + more, hint=suggestion(location[-1], known, many))
    if problem["type"] == "missing":
        what = f"the key {location[-1]!r}" if len(location) > 1 else "this section"
        return kind(f"[{section}] lacks {what}, which is needed.{more}", hint=_NEEDED.get(section))
    rule, hint = _RULES.get(problem["type"]), _NEEDED.get(section)
    if problem["type"] == "value_error":
        rule, hint = _AMOUNTS[section]
    if rule is None:
        rule = str(problem["msg"]).replace("Input should", "must").rstrip(".")
    return kind(f"{place} {rule}.{more}", hint=hint)


_NEEDED = {
    "table": 'for example source = "people.csv"',
    "columns": 'for example quasi = ["age", "sex"]',
    "types": 'for example age = "integer", or the list of an ordered column\'s values as texts',
    "levels": "for example income = { quantiles = 20 }",
    "method": 'for example name = "anatomy" and ell = 3',
    "attacks": "for example [attacks.homogeneity] with max_people = 0",
    "compare": 'for example methods = [{ name = "anatomy", ell = 3 }]',
    "release": 'for example folder = "release" and format = "csv"',
    "engine": 'for example memory = "4GB" and max_line = "64MB"',
}
# The rule and the fix.
_AMOUNTS = {
    "attacks": (
        'must be an amount of work: a number of units, or CPU seconds such as "30s"',
        'for example work = "30s", or --attack-work 30s on the command line',
    ),
    "engine": ("must be an amount of bytes: a number and a unit", _NEEDED["engine"]),
}
