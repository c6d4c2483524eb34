"""Compare methods on one table: what each protects, and what each keeps."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from shoal.core.attack import Attack
from shoal.core.budget import DEFAULT_ATTACK_WORK, read_work
from shoal.core.documents import read_whole_text, toml_document, write_whole
from shoal.core.domain import ColumnType
from shoal.core.errors import DataError, EngineError, ParameterError, SchemaError
from shoal.core.exact import Number, exact, whole
from shoal.core.measure import Measure
from shoal.core.method import Method
from shoal.core.progress import Progress, silent
from shoal.core.registry import snake_case
from shoal.core.schema import Schema
from shoal.core.secret import Secret
from shoal.core.table import MOST_ROWS
from shoal.core.threads import n_cores
from shoal.engines.sql.table import EngineTable
from shoal.workflow.anonymize import check_fits
from shoal.workflow.compare_methods import (
    aim_of,
    default_methods,
    most_frequent_share,
    usual_left_out,
)
from shoal.workflow.compare_schedule import try_all
from shoal.workflow.compare_trial import (
    DOES_NOT_APPLY,
    TrialResult,
    TrialSetup,
    label_of,
    non_default,
)
from shoal.workflow.comparison import Comparison
from shoal.workflow.config import Configuration
from shoal.workflow.make import ConfiguredAttack
from shoal.workflow.rerun import schema_of_rows

RECOMMENDED = "shoal.recommended.toml"
"""The configuration file of the recommended method, in the folder of the one compared."""
_HEADER = "# Written by a comparison of methods; this one is recommended.\n"
_MOST_DRAWN = MOST_ROWS * 99 // 100
_FEW_ROWS = 2_000
"""So many rows are compared in one process: others would take as long to start and stage them."""

Sections = Mapping[str, Mapping[str, object]]
"""The sections of a configuration file, by name."""


def compare(
    table: EngineTable,
    methods: Iterable[Method] | None = None,
    attacks: Iterable[Attack] | None = None,
    measures: Iterable[Measure] | None = None,
    *,
    max_risk: Number | None = None,
    max_rows: int = MOST_ROWS,
    workers: int | None = None,
    progress: Progress = silent,
    resume: str | os.PathLike[str] | None = None,
    seed: int = 0,
    attack_work: float | str = DEFAULT_ATTACK_WORK,
) -> Comparison:
    """Try several methods on one table, attack and measure each, and recommend one.

    Parameters
    ----------
    table
        The table, as `shoal.read` returns it.
    methods
        The methods to try, such as `[shoal.Anatomy(ell=3), shoal.Mondrian(k=5)]`. Default: six that
        suit the schema; the result names the others, with the reason why they are left out.
    attacks, measures
        The attacks and measures to run on every release that they fit. Default: all that apply,
        with one limit for all methods, so that the numbers of exposed people can be compared.
    max_risk
        The largest risk allowed, from 0 to 1: of the methods within it, the one that loses least is
        recommended. Default: no limit; the method nearest to losing nothing at the risk of a guess
        is recommended.
    max_rows
        The largest number of rows that methods are tried on, at most a million. From a larger table
        about that many are drawn at random, and the reasons say so. Default: a million.
    workers
        The number of processes; with 1, everything runs in this process. Scripts that use more call
        this under ``if __name__ == "__main__":``. Default: the number of cores; 1 for a table of at
        most 2,000 rows, which takes no longer than starting processes.
    progress
        Called with the name of each step. Default: nothing is reported.
    resume
        A folder that keeps every result; results found in it are reused. It holds figures of the
        table and is internal. Default: nothing is kept.
    seed
        The seed of all draws, the same for all methods; none of these releases is written.
        Default: 0.
    attack_work
        The most work of each attack on each release, as `work` of `shoal.attack`. Default:
        ``"30s"``.

    Returns
    -------
    The table, the picture (`Comparison.to_svg`), the recommendation with its reasons, and its
    configuration file.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> methods = [shoal.Anatomy(ell=2), shoal.Anatomy(ell=9)]
    >>> found = shoal.compare(
    ...     table, methods, [shoal.attacks.Homogeneity()], [shoal.measures.Loss()], workers=1
    ... )
    >>> found
    Comparison(1 methods, recommended: anatomy ell=2)
    >>> [row[0] for row in found.refused.rows]
    ['anatomy ell=9']
    """
    if not isinstance(table, EngineTable):
        raise ParameterError(
            f"compare takes a table, not a {type(table).__name__}.",
            hint="read it first: shoal.read(source, schema).",
        )
    chosen = default_methods(table) if methods is None else tuple(methods)
    for one in chosen:
        if not isinstance(one, Method):
            raise ParameterError(
                "A method must be an object such as shoal.Mondrian(k=5), not a "
                f"{type(one).__name__}."
            )
    schema = _sections(table)
    return compare_stated(
        table,
        [(one, {**schema, "method": _stated(one)}) for one in chosen],
        attacks=None if attacks is None else tuple(attacks),
        measures=None if measures is None else tuple(measures),
        has_others=False,
        repair=None,
        max_risk=max_risk,
        max_rows=max_rows,
        workers=workers,
        progress=progress,
        resume=resume,
        seed=seed,
        left_out=usual_left_out(table) if methods is None else None,
        attack_work=read_work(attack_work),
    )


def compare_stated(
    table: EngineTable,
    methods: Sequence[tuple[Method, Sections]],
    *,
    attacks: tuple[Attack | ConfiguredAttack, ...] | None,
    measures: tuple[Measure, ...] | None,
    has_others: bool,
    repair: Mapping[str, Any] | None,
    max_risk: Number | None,
    max_rows: int,
    workers: int | None,
    progress: Progress,
    resume: str | os.PathLike[str] | None,
    seed: int,
    left_out: Mapping[str, str] | None = None,
    not_run: Mapping[str, str] | None = None,
    attack_work: int = DEFAULT_ATTACK_WORK,
) -> Comparison:
    """Compare methods as `compare` does, each with the sections of its configuration file.

    `has_others` says whether attacks that are not named are run as well, and `repair` what buckets
    are merged for after each method. `left_out` and `not_run` are the methods and the attacks that
    are left out, each with the reason.
    """
    if not methods:
        raise ParameterError("There is no method to compare.")
    most = None if max_risk is None else exact("max_risk", max_risk)
    if most is not None and not 0 <= most <= 1:
        raise ParameterError("max_risk must be from 0 to 1.")
    n_workers = whole("workers", _usual_workers(table) if workers is None else workers, least=1)
    n_most = min(whole("max_rows", max_rows, least=1), MOST_ROWS)
    # Sampling returns about that many rows, and must not return more than `Rows` may hold.
    n_drawn = n_most if table.n_rows <= n_most else min(n_most, _MOST_DRAWN)
    folder = None if resume is None else _made_folder(Path(resume))
    for name, reason in (left_out or {}).items():
        progress(f"left out: {name}, because {reason}")
    progress("count the table")
    rows = table.sampled_codes(n_drawn, Secret.from_seed(seed).derive("compared rows"))
    is_sampled = rows.n_rows < table.n_rows
    trying = TrialSetup(
        rows,
        schema_of_rows(table),
        attacks,
        measures,
        has_others,
        seed,
        repair,
        aim_of(table),
        not_run or {},
        attack_work,
    )
    labels = _labels([method for method, _ in methods])
    named = dict(zip(labels, (method for method, _ in methods), strict=True))
    refused = {label: _refusal(table, method, is_sampled) for label, method in named.items()}
    fitting = {label: method for label, method in named.items() if refused[label] is None}
    tried = try_all(table, trying, fitting, workers=n_workers, folder=folder, progress=progress)
    found = {label: refused[label] or tried[label] for label in labels}
    return Comparison(
        tried=found,
        guess=most_frequent_share(table),
        max_risk=None if most is None else float(most),
        configurations={
            label: _configuration(sections, found[label])
            for label, (_, sections) in zip(labels, methods, strict=True)
        },
        sampled=(rows.n_rows, table.n_rows) if is_sampled else None,
        left_out=left_out or {},
    )


def _usual_workers(table: EngineTable) -> int:
    return 1 if table.n_rows <= _FEW_ROWS else n_cores()


def _configuration(sections: Sections, tried: TrialResult) -> str:
    """Return the text of the configuration file of a method.

    Attacks that `publish` could not run on its releases are left out, unless they are judged: then
    the method does not pass the gate.
    """
    stated = dict(sections.get("attacks", {}))
    left_out = [
        one["attack"]
        for one in tried.attacks
        if one.get("not_run") == DOES_NOT_APPLY and one["max_people"] is None
    ]
    attacks = {name: given for name, given in stated.items() if name not in left_out}
    kept = {
        name: attacks if name == "attacks" else section
        for name, section in sections.items()
        if name != "attacks" or attacks
    }
    remark = "".join(
        f"# [attacks.{name}] is left out: it does not apply to what this method publishes.\n"
        for name in left_out
    )
    return f"{_HEADER}{remark}\n{toml_document(kept)}"


def compare_as_configured(
    configuration: Configuration, *, workers: int | None = None, progress: Progress = silent
) -> Comparison:
    """Compare the methods of a configuration on its table, and write the results.

    If `[compare]` names no methods, the configuration's own method is compared beside the usual
    ones. Results are kept in the folder of `[compare]`, with the table and the picture. The
    configuration of the recommended method is written beside the file itself, since paths in it are
    relative.
    """
    stated = configuration.compared
    progress("read the table")
    table = configuration.read()
    try:
        methods = stated.methods or _beside_usual(configuration, table)
        found = compare_stated(
            table,
            [(method, _with_method(configuration, given)) for method, given in methods],
            attacks=configuration.attacks(),
            measures=configuration.measures() or None,
            has_others=True,
            repair=configuration.repair,
            max_risk=stated.max_risk,
            max_rows=stated.max_rows,
            workers=workers,
            progress=progress,
            resume=stated.folder / "results",
            seed=stated.seed,
            left_out=None if stated.methods else _left_out_beside(configuration, table),
            not_run=configuration.attacks_not_run(),
            attack_work=configuration.attack_work,
        )
    finally:
        table.engine.close()
    found.write(stated.folder)
    recommended = configuration.base / RECOMMENDED
    if found.configuration is not None:
        write_whole(recommended, [found.configuration])
    elif _is_written_here(recommended):
        # The recommendation of an earlier comparison no longer holds.
        recommended.unlink()
    return found


def _is_written_here(path: Path) -> bool:
    try:
        return read_whole_text(path).startswith(_HEADER)
    except (OSError, UnicodeDecodeError):
        return False


def _beside_usual(
    configuration: Configuration, table: EngineTable
) -> tuple[tuple[Method, Mapping[str, object]], ...]:
    """Return the method of a configuration and the usual ones."""
    own = configuration.method()
    usual = [(method, _stated(method)) for method in default_methods(table) if method != own]
    return ((own, configuration.given["method"]), *usual)


def _left_out_beside(configuration: Configuration, table: EngineTable) -> dict[str, str]:
    """Return the usual methods that are left out, except the configuration's own."""
    left_out = usual_left_out(table)
    left_out.pop(configuration.method_name, None)
    return left_out


def _with_method(
    configuration: Configuration, given: Mapping[str, object]
) -> dict[str, Mapping[str, object]]:
    """Return the sections of a configuration with another method."""
    return {
        name: given if name == "method" else section
        for name, section in configuration.given.items()
        if name != "compare"
    }


def _labels(methods: Sequence[Method]) -> list[str]:
    """Return the labels of methods; equal labels are numbered."""
    plain = [label_of(method) for method in methods]
    return [
        f"{label} ({plain[:place].count(label) + 1})" if plain.count(label) > 1 else label
        for place, label in enumerate(plain)
    ]


def _refusal(table: EngineTable, method: Method, is_sampled: bool) -> TrialResult | None:
    """Return why a method cannot be tried on the table; None if it can."""
    if is_sampled and method.private_cells is not None:
        return TrialResult(
            refusal="Which cells are private is known of the whole table, not of a sample of it.",
            hint="compare such methods on a table of fewer rows.",
        )
    try:
        check_fits(table, method)
    except (DataError, ParameterError, SchemaError) as error:
        return TrialResult(refusal=error.fact, hint=error.hint)
    return None


def _made_folder(folder: Path) -> Path:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise EngineError(
            f"The folder {str(folder)!r} could not be made: {error.strerror}."
        ) from None
    return folder


# --- the configuration file -----------------------------------------------------------------------


def _stated(method: Method) -> dict[str, object]:
    """Return a method as a configuration states it."""
    given = {
        name: str(value) if isinstance(value, Fraction) else value
        for name, value in non_default(method, is_shown=False).items()
        if name not in method.internal_parameters
    }
    return {"name": snake_case(type(method).__name__), **given}


def _sections(table: EngineTable) -> dict[str, Mapping[str, object]]:
    """Return the sections of a configuration for a table that was read without one."""
    schema: Schema = table.schema
    roles = {
        "identifying": schema.identifying,
        "quasi": schema.quasi,
        "sensitive": schema.sensitive,
        "insensitive": schema.insensitive,
        "nearly_unique": schema.nearly_unique,
        "meant": [list(columns) for columns in schema.meant],
        "variants": dict(schema.variants),
    }
    types = {
        name: list(one.order) if one.type is ColumnType.ORDERED and one.order else str(one.type)
        for name, one in schema.types.items()
    }
    hierarchies = {name: one.to_config() for name, one in schema.hierarchies.items()}
    stated: dict[str, Mapping[str, object]] = {
        "table": {"source": table.scan.name, "key": schema.key, "person": schema.person},
        "columns": {role: names for role, names in roles.items() if names},
        "types": types,
        "hierarchies": hierarchies,
        "levels": {name: one.to_config() for name, one in schema.levels.items()},
    }
    return {name: section for name, section in stated.items() if section}
