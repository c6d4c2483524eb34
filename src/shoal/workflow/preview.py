"""Preview what publishing would do, without doing it.

Unless the table is large, a dry run makes the release, attacks nothing and writes nothing: it fails
with the same error as publishing for everything except what attacks find. Of a large table it
checks the roles of columns, hierarchies, parameters, attacks and the place of the release.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from shoal import attacks as all_attacks
from shoal.core.attack import Attack, Need
from shoal.core.budget import UNITS_PER_SECOND, words_of_work
from shoal.core.display import number
from shoal.core.domain import Role
from shoal.core.guarantees import Guarantee
from shoal.core.kernels import find_kernels, is_compiled
from shoal.core.method import Method
from shoal.core.progress import Progress, silent
from shoal.core.registry import find, snake_case
from shoal.core.schema import Schema
from shoal.core.table import MOST_ROWS
from shoal.engines.engine import Scan
from shoal.engines.sql.marking import mark_cells
from shoal.engines.sql.table import EngineTable
from shoal.release.opened import path_of
from shoal.release.placing import claimed, internal_folder
from shoal.release.record import earlier_releases
from shoal.release.seal import check_writing
from shoal.workflow.anonymize import check_fits
from shoal.workflow.attack import unfit_error
from shoal.workflow.config import Configuration
from shoal.workflow.gate import make_attacks, nothing_judged
from shoal.workflow.make import ConfiguredAttack
from shoal.workflow.measure import confirm_measures
from shoal.workflow.publish import Task, make_release, place_of, refuse_unexplained

_MOST_TRIED = 100_000
"""Up to this many rows, a dry run makes the release, to see whether that is feasible."""


@dataclass(frozen=True)
class PreviewedAttack:
    """An attack that would run or is left out."""

    name: str
    knows: str
    # None if the attack is not judged.
    max_people: int | None
    # An estimate, within the budget of work; 0 if the attack is not run.
    seconds: float
    # Why it is not run; empty if it is.
    not_run: str = ""
    # What its figure may reach, if that judges it and not a number of people.
    limit: str | None = None
    # Whether the whole attack would take more than the budget of work.
    is_limited: bool = False

    def to_dict(self) -> dict[str, object]:
        """Return the attack as JSON holds it."""
        return {
            "attack": self.name,
            "knows": self.knows,
            "max_people": self.max_people,
            "limit": self.limit,
            "seconds": self.seconds,
            "whole": not self.is_limited,
            "not_run": self.not_run,
        }


@dataclass(frozen=True, kw_only=True)
class Preview:
    """The table, method, attacks and folders of a publication, with an estimate of its cost."""

    name: str
    source: str
    # The size of the file; None if the source is not a file.
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
    # Estimates; memory in bytes.
    seconds: float
    memory: int
    # The units of work that each attack may do.
    attack_work: int

    @property
    def columns(self) -> Mapping[Role, tuple[str, ...]]:
        """The columns by role, in the order of the schema."""
        roles = self.schema.roles
        return {role: tuple(c for c, given in roles.items() if given is role) for role in Role}

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """The guarantees that the release would have."""
        return self.method.guarantees

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps of publishing, in order."""
        run = [attack for attack in self.attacks if not attack.not_run]
        n_judged = sum(attack.max_people is not None for attack in run)
        return (
            f"read {self.name}: {number(self.n_rows)} rows, {self.n_columns} columns",
            f"anonymize with {self.method_name}",
            "verify the guarantees from what would be published",
            f"attack with {', '.join(attack.name for attack in run) or 'nothing'}",
            f"judge {n_judged} of {len(run)} attacks by their limits",
            f"write {self.folder.name} and {self.internal.name} ({self.format}), and seal them",
        )

    def to_dict(self) -> dict[str, object]:
        """Return the preview as JSON holds it."""
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
            "attack_work": self.attack_work,
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
    accept_risk: str | None = None,
    replace: bool = False,
    format: str | None = None,  # noqa: A002 - the word of the design
    folder: Path | None = None,
    progress: Progress = silent,
) -> Preview:
    """Check everything that can be checked before publishing, and return what would be done.

    The keywords are those of `publish`. If publishing would fail for a reason that is known
    already, the same error is raised.
    """
    place = place_of(configuration.folder if folder is None else folder)
    may_replace = replace or configuration.replace
    ending = configuration.format if format is None else format
    refuse_unexplained(configuration.seed, accept_risk)
    check_writing(ending, accept_risk)
    with claimed(path_of(place).resolve(), replace=may_replace):
        task = Task.of(configuration)
        method = task.method
        progress("read the table")
        table = task.open_table()
        with contextlib.closing(table.engine):
            check_fits(table, method)
            _check_attacks(configuration, method)
            notes = (*_private(table, method), *_tried(task, table, progress))
            schema, scan, n_rows = table.schema, table.scan, table.n_rows
    seconds, memory = estimate(n_rows, len(scan.types), configuration.method_name)
    attacks = _attacks(configuration, method, n_rows)
    return Preview(
        name=scan.name,
        source=_shown(configuration),
        n_bytes=_size(configuration.source),
        n_rows=n_rows,
        n_columns=len(scan.types),
        schema=schema,
        method_name=configuration.method_name,
        method=method,
        attacks=attacks,
        folder=place,
        internal=internal_folder(place),
        format=ending,
        warnings=(*notes, *_warnings(configuration, place, scan, attacks)),
        seconds=seconds + sum(attack.seconds for attack in attacks),
        memory=memory,
        attack_work=configuration.attack_work,
    )


def _tried(task: Task, table: EngineTable, progress: Progress) -> tuple[str, ...]:
    """Make the release and drop it, so that what cannot be published fails now."""
    if table.n_rows > _MOST_TRIED:
        most = number(_MOST_TRIED)
        return (f"Above {most} rows, only publishing shows whether the method is feasible.",)
    release = make_release(task, table, progress)
    confirm_measures(task.measures, release.published)
    make_attacks(release, task.attacks)
    return ()


def _check_attacks(configuration: Configuration, method: Method) -> None:
    """Refuse attacks with wrong parameters, and those that do not apply to the release."""
    for entry in configuration.attacks():
        entry.check()
        kind = find("shoal.attacks", entry.name)
        if method.shape.model not in kind.reads:
            raise unfit_error(kind, method.shape)


def _private(table: EngineTable, method: Method) -> tuple[str, ...]:
    """Mark the private cells, and return how many there are, in words."""
    if method.private_cells is None:
        return ()
    rows = table.row_codes(MOST_ROWS)
    marks = mark_cells(table, method.private_cells, rows)
    warnings = method.check_rows(rows, marks)
    counts = zip(rows.columns, marks.sum(axis=0).tolist(), strict=True)
    named = ", ".join(f"{count} of {column}" for column, count in counts if count)
    return (f"{int(marks.sum())} cells are private: {named}.", *warnings)


def _shown(configuration: Configuration) -> str:
    source = configuration.source
    return str(source) if isinstance(source, Path) else configuration.source_name


def _size(source: Path | str) -> int | None:
    return source.stat().st_size if isinstance(source, Path) else None


def _previewed(
    name: str, attack: type[Attack], stated: ConfiguredAttack | None, n_rows: int, work: int
) -> PreviewedAttack:
    """Return an attack that would run, and what judges it."""
    given = {} if stated is None else stated.parameters
    seconds, most = estimate_attack(name, n_rows), work / UNITS_PER_SECOND
    return PreviewedAttack(
        name,
        attack.knows,
        None if stated is None else stated.max_people,
        min(seconds, most),
        limit=str(given["limit"]) if attack.is_judged_by_limit and "limit" in given else None,
        is_limited=seconds > most,
    )


def _attacks(
    configuration: Configuration, method: Method, n_rows: int
) -> tuple[PreviewedAttack, ...]:
    """List the attacks of the gate in its order: those named, those that fit, those left out."""
    named = {attack.name: attack for attack in configuration.attacks()}
    left_out = configuration.attacks_not_run()
    names = [*named, *(snake_case(name) for name in all_attacks.__all__)]
    found = [(name, find("shoal.attacks", name)) for name in dict.fromkeys(names)]
    run = (
        _previewed(name, attack, named.get(name), n_rows, configuration.attack_work)
        for name, attack in found
        if name in named
        or (
            name not in left_out
            and method.shape.model in attack.reads
            and _is_run_unasked(attack, method)
        )
    )
    skipped = (
        PreviewedAttack(name, find("shoal.attacks", name).knows, None, 0.0, reason)
        for name, reason in left_out.items()
    )
    return (*run, *skipped)


def _is_run_unasked(attack: type[Attack], method: Method) -> bool:
    """Return whether an attack is run without being named."""
    if Need.KNOWLEDGE in attack.needs and not any(one.needs_witness for one in method.guarantees):
        return False
    is_possible = method.distorts or Need.ALGORITHM not in attack.needs
    return is_possible and attack.is_installed()


def _warnings(
    configuration: Configuration,
    folder: Path,
    scan: Scan,
    attacks: Sequence[PreviewedAttack],
) -> tuple[str, ...]:
    warnings = []
    existing = [path.name for path in (folder, internal_folder(folder)) if path.exists()]
    if existing:
        warnings.append(f"{' and '.join(existing)} would be replaced.")
    others = earlier_releases(folder, scan)
    if others:
        listed = ", ".join(map(repr, others))
        warnings.append(f"Made from this same table: {listed}. Ship only one of these releases.")
    warnings += [
        f"The attack {name!r} would not be run: {reason}"
        for name, reason in configuration.attacks_not_run().items()
    ]
    warnings += [
        f"The attack {attack.name!r} would not look at everything: that would take longer than "
        f"the {words_of_work(configuration.attack_work)} of work that it is allowed ([attacks] "
        "work, --attack-work)."
        for attack in attacks
        if attack.is_limited
    ]
    if all(attack.max_people is None for attack in attacks):
        warnings.append(nothing_judged([one.name for one in attacks if not one.not_run]))
    if configuration.seed is not None:
        warnings.append("The seed makes it a test release.")
    return tuple(warnings)


# --- estimates ------------------------------------------------------------------------------------
# The constants were measured with `shoal.datasets.census` on two cores: 200,000 and 1,000,000 rows
# of 4 to 16 columns, from a CSV file to the sealed release with every attack, in CPU seconds and as
# the largest resident set. Both grow with the number of rows and of cells; what that leaves out,
# the numbers of values and of buckets, is worth a factor of two at most.

_SECONDS_TO_START = 0.5
_BYTES_TO_START = 110_000_000


class Estimate(NamedTuple):
    """An estimate of time and memory."""

    seconds: float
    memory_bytes: int


@dataclass(frozen=True)
class _Cost:
    """The cost of each row and cell of a table, and of each row if kernels are not compiled."""

    seconds_a_row: float
    seconds_a_cell: float
    bytes_a_row: int
    bytes_a_cell: int
    seconds_a_row_if_plain: float = 0.0


_COSTS = {
    "anatomy": _Cost(3.5e-6, 2.6e-6, 300, 140),
    "mondrian": _Cost(0.0, 2.2e-6, 0, 140, seconds_a_row_if_plain=1.2e-4),
}
# A method that has not been measured is assumed to be as slow as all of them.
_UNKNOWN = _Cost(3.5e-6, 2.6e-6, 300, 140, seconds_a_row_if_plain=1.2e-4)


def estimate(n_rows: int, n_columns: int, method: str | Method) -> Estimate:
    """Estimate the time and memory of publishing a table.

    Examples
    --------
    >>> estimate(1_000_000, 9, "anatomy")
    Estimate(seconds=27.4, memory_bytes=1670000000)
    """
    name = method if isinstance(method, str) else snake_case(type(method).__name__)
    cost = _COSTS.get(name, _UNKNOWN)
    n_cells = n_rows * n_columns
    seconds = _SECONDS_TO_START + cost.seconds_a_row * n_rows + cost.seconds_a_cell * n_cells
    if cost.seconds_a_row_if_plain and not all(map(is_compiled, find_kernels())):
        seconds += cost.seconds_a_row_if_plain * n_rows
    memory = _BYTES_TO_START + cost.bytes_a_row * n_rows + cost.bytes_a_cell * n_cells
    return Estimate(round(seconds, 2), memory)


_ATTACK_SECONDS = {
    "background": (0.05, 1e-5),
    "belief": (0.1, 1e-5),
    "foreground": (0.6, 7e-5),
    "homogeneity": (0.01, 4e-7),
    "linkage": (0.01, 2.5e-6),
    "membership": (0.2, 2.3e-5),
}
"""CPU seconds of each attack, fixed and per row: measured on releases of `census` by Mondrian,
Anatomy and Injector with 4,000 and 16,000 rows of seven quasi-identifiers."""
_UNKNOWN_ATTACK = (0.5, 5e-5)


def estimate_attack(attack: str, n_rows: int) -> float:
    """Estimate the seconds that an attack takes on the release of a table.

    Examples
    --------
    >>> estimate_attack("homogeneity", 1_000_000) < estimate_attack("foreground", 1_000_000)
    True
    """
    at_least, per_row = _ATTACK_SECONDS.get(attack, _UNKNOWN_ATTACK)
    return round(at_least + per_row * n_rows, 2)
