"""Say what publishing would do, without doing it.

Everything that can be wrong in a configuration shows here: roles against the columns of the
source, hierarchies, the method's parameters, attacks and the place of the release. The table is
counted, not coded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from shoal import attacks as all_attacks
from shoal.core.attack import Attack
from shoal.core.guarantees import Guarantee
from shoal.core.method import Method
from shoal.core.private_cells import PrivateCells
from shoal.core.registry import find, snake_case
from shoal.core.rows import MOST_ROWS
from shoal.core.schema import Role, Schema
from shoal.core.table_attack import TableAttack
from shoal.engines.engine import Scan
from shoal.engines.marking import mark_cells
from shoal.engines.opening import open_engine
from shoal.engines.table import EngineTable
from shoal.pipeline.config import Configuration
from shoal.pipeline.gate import NOTHING_JUDGED
from shoal.pipeline.profile import estimate
from shoal.pipeline.publish import internal_folder, place_of
from shoal.pipeline.record import earlier_releases

__all__ = ["Preview", "PreviewedAttack", "dry_run"]


@dataclass(frozen=True)
class PreviewedAttack:
    """An attack that would run, what its adversary knows, and how many people it may find."""

    name: str
    knows: str
    max_people: int | None

    def to_dict(self) -> dict[str, object]:
        """Give the attack as JSON holds it."""
        return {"attack": self.name, "knows": self.knows, "max_people": self.max_people}


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What publishing would do.

    Parameters
    ----------
    name, source, n_rows, n_columns
        The table that would be read.
    n_bytes
        The size of its file; None where it is none.
    schema
        The roles of its columns and their hierarchies.
    method_name, method
        What would anonymize it.
    attacks
        What would attack the release.
    folder, internal
        Where it would be written.
    format
        The format of the data files.
    warnings
        What stands in the way or should be known, in words.
    seconds, memory
        About how long it would take, and how many bytes of memory.
    """

    name: str
    source: str
    n_bytes: int | None
    n_rows: int
    n_columns: int
    schema: Schema
    method_name: str
    method: Method
    attacks: tuple[PreviewedAttack, ...]
    folder: Path
    internal: Path
    format: str
    warnings: tuple[str, ...]
    seconds: float
    memory: int

    @property
    def columns(self) -> Mapping[Role, tuple[str, ...]]:
        """The columns by role, in the order of the schema."""
        roles = self.schema.roles
        return {role: tuple(c for c, given in roles.items() if given is role) for role in Role}

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """What the release would promise."""
        return self.method.guarantees

    @property
    def steps(self) -> tuple[str, ...]:
        """What would be done, in order."""
        n_judged = sum(attack.max_people is not None for attack in self.attacks)
        return (
            f"read {self.name}: {self.n_rows} rows, {self.n_columns} columns",
            f"anonymize with {self.method_name}",
            "verify the guarantees from what would be published",
            f"attack with {', '.join(attack.name for attack in self.attacks) or 'nothing'}",
            f"judge {n_judged} of {len(self.attacks)} attacks by their limits",
            f"write {self.folder.name} and {self.internal.name} ({self.format}), and seal them",
        )

    def to_dict(self) -> dict[str, object]:
        """Give the preview as JSON holds it."""
        return {
            "steps": list(self.steps),
            "source": self.source,
            "bytes": self.n_bytes,
            "rows": self.n_rows,
            "columns": {str(role): list(names) for role, names in self.columns.items()},
            "hierarchies": {c: h.kind for c, h in self.schema.hierarchies.items()},
            "method": {"name": self.method_name, "parameters": self.method.parameters()},
            "guarantees": [
                guarantee.to_dict() | {"statement": guarantee.statement, "limits": guarantee.limits}
                for guarantee in self.guarantees
            ],
            "attacks": [attack.to_dict() for attack in self.attacks],
            "folders": [
                {"path": str(path), "exists": path.exists()}
                for path in (self.folder, self.internal)
            ],
            "format": self.format,
            "estimate": {"seconds": self.seconds, "bytes": self.memory},
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        return f"Preview({self.method_name} on {self.n_rows} rows, about {self.seconds:.0f} s)"


def dry_run(
    configuration: Configuration,
    *,
    replace: bool = False,
    format: str | None = None,  # noqa: A002 - the word of the design
    folder: Path | None = None,
) -> Preview:
    """Check all that can be checked before a table is published, and say what would be done.

    Parameters
    ----------
    configuration
        What `load` gave.
    replace, format, folder
        As for `publish`.

    Raises
    ------
    ShoalError
        Where publishing would fail for a reason that shows already.
    """
    method, schema = configuration.method(), configuration.schema()
    method.check_schema(schema)
    reading = configuration.reading
    engine = open_engine(
        configuration.source,
        reading.pop("engine"),
        memory=reading.pop("memory"),
        limits=configuration.limits,
    )
    options = {name: value for name, value in reading.items() if value is not None}
    try:
        scan = engine.scan(configuration.source, **options)
        schema.check_columns(tuple(scan.types))
        counted = engine.rows(f"SELECT count(*) AS n FROM {scan.relation}")
        private = _private(EngineTable(engine, scan, schema), method) if _hides(method) else ()
    finally:
        engine.close()
    n_rows = int(counted["n"][0])
    seconds, memory = estimate(n_rows, len(scan.types), configuration.method_name)
    place = place_of(configuration.folder if folder is None else folder)
    may_replace = replace or configuration.replace
    return Preview(
        name=scan.name,
        source=_shown(configuration),
        n_bytes=_size(configuration.source),
        n_rows=n_rows,
        n_columns=len(scan.types),
        schema=schema,
        method_name=configuration.method_name,
        method=method,
        attacks=_attacks(configuration, method),
        folder=place,
        internal=internal_folder(place),
        format=configuration.format if format is None else format,
        warnings=(*private, *_warnings(configuration, place, scan, may_replace=may_replace)),
        seconds=seconds,
        memory=memory,
    )


def _hides(method: Method) -> bool:
    return method.private_cells is not None


def _private(table: EngineTable, method: Method) -> tuple[str, ...]:
    """Look for the private cells, and say how many there are."""
    rows = table.row_codes(MOST_ROWS)
    marks = mark_cells(table, method.private_cells or PrivateCells(), rows)
    warnings = method.check_rows(rows, marks)
    counts = zip(rows.columns, marks.sum(axis=0).tolist(), strict=True)
    named = ", ".join(f"{count} of {column}" for column, count in counts if count)
    return (f"{int(marks.sum())} cells are private: {named}.", *warnings)


def _shown(configuration: Configuration) -> str:
    source = configuration.source
    return str(source) if isinstance(source, Path) else configuration.source_name


def _size(source: Path | str) -> int | None:
    return source.stat().st_size if isinstance(source, Path) else None


def _attacks(configuration: Configuration, method: Method) -> tuple[PreviewedAttack, ...]:
    limits = {attack.name: attack.max_people for attack in configuration.attacks()}
    left_out = configuration.attacks_not_run()
    names = [*limits, *(snake_case(name) for name in all_attacks.__all__)]
    found = [(name, find("shoal.attacks", name)) for name in dict.fromkeys(names)]
    return tuple(
        PreviewedAttack(name, attack.knows, limits.get(name))
        for name, attack in found
        if name in limits
        or (
            name not in left_out
            and method.shape in attack.shapes
            and _is_run_unasked(attack, method)
        )
    )


def _is_run_unasked(attack: type[Attack], method: Method) -> bool:
    """Whether an attack is run without being named: who runs the algorithm anew is asked for."""
    return method.distorts or not issubclass(attack, TableAttack)


def _warnings(
    configuration: Configuration, folder: Path, scan: Scan, *, may_replace: bool
) -> tuple[str, ...]:
    warnings = []
    existing = [path.name for path in (folder, internal_folder(folder)) if path.exists()]
    if existing and not may_replace:
        warnings.append(f"{' and '.join(existing)} would be in the way: give --replace.")
    elif existing:
        warnings.append(f"{' and '.join(existing)} would be replaced.")
    warnings += [
        f"The release {name!r} was made of this same table: ship only one of the two."
        for name in earlier_releases(folder, scan)
    ]
    warnings += [
        f"The attack {name!r} would not be run: {reason}"
        for name, reason in configuration.attacks_not_run().items()
    ]
    if all(attack.max_people is None for attack in configuration.attacks()):
        warnings.append(NOTHING_JUDGED)
    if configuration.seed is not None:
        warnings.append("The seed makes it a test release: sealing it needs --accept-risk.")
    return tuple(warnings)
