"""The configuration: one file that serves every command.

`shoal.toml` names the table, the roles of its columns, the method, the attacks with their limits
and the release. It is checked as a whole when it is loaded: a key that is misspelt is an error,
never a setting that is silently ignored. Relative paths in it are relative to the file.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from shoal.core.documents import DocumentLimitError, parse_toml, read_whole_text
from shoal.core.errors import EngineError, ParameterError, SchemaError, ShoalError
from shoal.core.exact import Number
from shoal.core.manifest import About
from shoal.core.measure import Measure
from shoal.core.method import Method
from shoal.core.registry import find
from shoal.core.schema import Schema
from shoal.engines.engine import is_postgres_address
from shoal.engines.limits import Limits
from shoal.engines.postgres.connection import public_address
from shoal.engines.sql.table import EngineTable
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.workflow.config_sections import Sections, check_sections
from shoal.workflow.make import (
    ConfiguredAttack,
    Parameters,
    accepted_by,
    check_left_out,
    left_out,
    make,
    max_people_of,
)
from shoal.workflow.read import read

_METHODS, _ATTACKS = "shoal.methods", "shoal.attacks"


@dataclass(frozen=True, kw_only=True)
class ComparedMethods:
    """The `[compare]` section of a configuration."""

    # Each method with the parameters that the file gives it; empty for the usual methods.
    methods: tuple[tuple[Method, Mapping[str, object]], ...]
    folder: Path
    # The largest risk allowed; None for no limit.
    max_risk: Number | None
    max_rows: int
    seed: int


@dataclass(frozen=True, kw_only=True, repr=False)
class Configuration:
    """A configuration file, checked.

    Parameters
    ----------
    base
        The folder that relative paths start from.
    given
        The file as it was parsed.
    """

    base: Path
    given: Mapping[str, Any]
    _file: Sections

    @property
    def source(self) -> Path | str:
        """The file that holds the table, the address of a database, or a table of Spark."""
        stated = self._file.table.source
        if "://" in stated:
            return stated
        path = self.base / stated
        return stated if self._file.engine.name == "spark" and not path.exists() else path

    @property
    def source_name(self) -> str:
        """The name of the source for texts that others may read: no user, no password."""
        stated = self._file.table.source
        return public_address(stated) if is_postgres_address(stated) else Path(stated).name

    @property
    def reading(self) -> dict[str, Any]:
        """The options of `shoal.read`."""
        stated = self._file.table
        return {
            "table": stated.table,
            "delimiter": stated.delimiter,
            "quote": stated.quote,
            "encoding": stated.encoding,
            "engine": self._file.engine.name,
            "memory": self._file.engine.memory,
        }

    @property
    def limits(self) -> Limits:
        """The limits on the source, beyond which it is refused."""
        return self._file.engine.limits

    @property
    def folder(self) -> Path:
        """The public folder of the release."""
        return self.base / self._file.release.folder

    @property
    def format(self) -> str:
        """The format of the data files: csv or parquet."""
        return self._file.release.format

    @property
    def about(self) -> About:
        """The title, institution and so on that the documents of the release state."""
        return About.from_dict(self._file.about)

    @property
    def seed(self) -> int | None:
        """The seed that makes the release a test; None for a real one."""
        return self._file.release.seed

    @property
    def replace(self) -> bool:
        """Whether an existing release is replaced."""
        return self._file.release.replace

    @property
    def max_work(self) -> int:
        """The number of operations that verifying the release may take."""
        return self._file.release.max_work

    @property
    def attack_work(self) -> int:
        """The units of work that each attack may do."""
        return self._file.attacks.work

    @property
    def earlier(self) -> tuple[Path, ...]:
        """The public folders of earlier releases that the new one must stay safe beside."""
        return tuple(self.base / folder for folder in self._file.release.earlier)

    @property
    def database(self) -> str | None:
        """The address of the database that the release is also written to."""
        return self._file.release.database

    @property
    def database_schema(self) -> str | None:
        """The schema of that database; None for its default schema."""
        return self._file.release.database_schema

    @property
    def method_name(self) -> str:
        """The name of the method."""
        return self._file.method.name

    def schema(self) -> Schema:
        """Return the schema; hierarchies are read from their files.

        Raises
        ------
        SchemaError
            If roles, types and hierarchies do not fit together.
        """
        stated, columns = self._file.table, self._file.columns
        return Schema(
            identifying=columns.identifying,
            quasi=columns.quasi,
            sensitive=columns.sensitive,
            insensitive=columns.insensitive,
            nearly_unique=columns.nearly_unique,
            meant=columns.meant,
            variants=columns.variants,
            hierarchies={
                column: _hierarchy(column, given, self.base)
                for column, given in self._file.hierarchies.items()
            },
            types={
                column: names if isinstance(self.given["types"][column], list) else names[0]
                for column, names in self._file.types.items()
            },
            levels=self._file.levels,
            key=stated.key,
            person=stated.person,
        )

    def read(self, schema: Schema | None = None) -> EngineTable:
        """Read the table; the caller closes its engine. Default: the configuration's own schema."""
        chosen = self.schema() if schema is None else schema
        return read(self.source, chosen, limits=self.limits, **self.reading)

    def method(self) -> Method:
        """Return the method.

        Raises
        ------
        ParameterError
            If there is no method of that name, or it refuses a parameter.
        """
        return self._method(self._file.method.model_dump())

    def _method(self, stated: Mapping[str, object]) -> Method:
        name = str(stated["name"])
        given = {key: stated[key] for key in stated if key != "name"}
        return cast(Method, make(_METHODS, name, self._resolved(_METHODS, name, given)))

    @property
    def repair(self) -> dict[str, Any] | None:
        """The arguments of `shoal.repair` after the method; None for no repair."""
        stated = self._file.repair
        return None if stated is None else stated.model_dump()

    def attacks(self) -> tuple[ConfiguredAttack, ...]:
        """Return the attacks that the configuration names, in its order, except those left out."""
        return tuple(
            ConfiguredAttack(
                name=name,
                parameters=self._resolved(_ATTACKS, name, stated.model_extra or {}),
                max_people=max_people_of(name, stated),
            )
            for name, stated in self._file.attacks.by_name.items()
            if stated.run
        )

    def attacks_not_run(self) -> dict[str, str]:
        """Return the attacks that the configuration leaves out, each with its reason."""
        return left_out(self._file.attacks.by_name)

    def measures(self) -> tuple[Measure, ...]:
        """Return the measures that the configuration names, in its order."""
        return tuple(
            cast(Measure, make("shoal.measures", name, parameters))
            for name, parameters in self._file.measures.items()
        )

    @property
    def compared(self) -> ComparedMethods:
        """The `[compare]` section, with its methods made."""
        stated = self._file.compare
        given = [entry.model_dump() for entry in stated.methods]
        return ComparedMethods(
            methods=tuple((self._method(entry), entry) for entry in given),
            folder=self.base / stated.folder,
            max_risk=stated.max_risk,
            max_rows=stated.max_rows,
            seed=stated.seed,
        )

    def to_dict(self) -> dict[str, object]:
        """Return the configuration as the internal record holds it, without passwords."""
        return cast("dict[str, object]", _plain(self.given))

    def _resolved(self, package: str, name: str, given: Parameters) -> dict[str, object]:
        """Resolve relative paths from the folder of the configuration."""
        known = accepted_by(find(package, name))
        places = {key: known[key].place for key in given if key in known}
        return {
            key: value if (place := places.get(key)) is None else place(value, self.base)
            for key, value in given.items()
        }

    def __repr__(self) -> str:
        return f"Configuration({self.method_name} on {self.source_name})"


def load(path: str | os.PathLike[str]) -> Configuration:
    """Load a configuration file.

    Parameters
    ----------
    path
        The file, in TOML; `shoal profile --draft` writes a first version of it.

    Raises
    ------
    SchemaError, ParameterError
        If a key is unknown or has a value that it cannot have.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> text = '''
    ... [table]
    ... source = "people.csv"
    ... [columns]
    ... quasi = ["age", "sex"]
    ... sensitive = "disease"
    ... [method]
    ... name = "anatomy"
    ... ell = 3
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "shoal.toml")
    ...     _ = path.write_text(text)
    ...     load(path)
    Configuration(anatomy on people.csv)
    """
    file = Path(path)
    return configure(read_toml(file), base=file.parent)


def read_toml(path: Path) -> dict[str, Any]:
    """Parse a configuration file, without checking what it says."""
    try:
        return parse_toml(read_whole_text(path, encoding="utf-8-sig"))
    except OSError as error:
        raise EngineError(
            f"The configuration {path} cannot be read: {error.strerror}.",
            hint="`shoal profile SOURCE --draft shoal.toml` drafts one.",
        ) from None
    except UnicodeDecodeError:
        raise SchemaError(f"{path.name} is not UTF-8, which TOML demands.") from None
    except DocumentLimitError as error:
        raise SchemaError(
            f"The configuration {path.name} cannot be used: {error}.",
            hint="no section of it is nested more than a few levels deep.",
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(
            f"{path.name} is not TOML: {error}.",
            hint="texts stand in quotes, lists in brackets, sections on a line of their own.",
        ) from None


def configure(given: Mapping[str, Any], *, base: Path) -> Configuration:
    """Check a configuration that is already parsed; relative paths start from `base`.

    Examples
    --------
    >>> given = {
    ...     "table": {"source": "people.csv"},
    ...     "columns": {"keyVars": ["age"], "sensitive": "disease"},
    ...     "method": {"name": "anatomy", "ell": 2},
    ... }
    >>> configure(given, base=Path()).schema().quasi
    ('age',)
    """
    file = check_sections(given)
    _check_addresses(file)
    check_left_out(file.attacks.by_name)
    configuration = Configuration(base=base, given=given, _file=file)
    configuration.measures()
    configuration.about  # noqa: B018 - evaluating it checks it
    for attack in configuration.attacks():
        attack.check()
    return configuration


def _check_addresses(file: Sections) -> None:
    """Refuse addresses that no engine reads; they may hold a password, so none is shown."""
    source, database = file.table.source, file.release.database
    is_foreign = "://" in source and not is_postgres_address(source)
    if is_foreign and file.engine.name != "spark":
        raise ParameterError(
            "[table] source is an address that Shoal cannot read.",
            hint='it reads postgresql://...; with [engine] name = "spark" also what Spark reads.',
        )
    if database is not None and not is_postgres_address(database):
        raise ParameterError(
            "[release] database is no address of a database.",
            hint='for example database = "postgresql://host/name".',
        )


def _hierarchy(column: str, given: object, base: Path) -> Hierarchy:
    try:
        if isinstance(given, str):
            return Hierarchy.from_csv(base / given, column=column)
        return Hierarchy.from_config(given, column=column)
    except ShoalError as error:
        raise type(error)(f"[hierarchies] {column}: {error.fact}", hint=error.hint) from None


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if is_postgres_address(value):
        return public_address(str(value))
    return value if isinstance(value, str | int | float | None) else str(value)
