"""`shoal verify` and `shoal replay`: check that a release is what it says.

`verify` checks the guarantees of a release folder, or of a table that another tool made; `replay`
makes the public files again from the same table, and compares them with the sealed ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.command import NOT_CHECKED, NOT_FOR_OTHERS, PARTLY_VERIFIED, command
from shoal.cli.options import (
    ColumnNames,
    EngineName,
    MaxWork,
    Memory,
    argument,
    option,
    read_columns,
    read_hierarchy,
    read_levels,
)
from shoal.cli.output import Mark, Output
from shoal.core.errors import GuaranteeError
from shoal.core.progress import DEFAULT_MAX_WORK

if TYPE_CHECKING:
    from shoal.release.claims import Claims
    from shoal.release.verify import Verification
    from shoal.workflow.replay import Replay


def _claim(text: str, metavar: str) -> Any:
    """Declare an option that says what to check of a file that states nothing itself."""
    return option(text, metavar, panel="For a file that another tool made")


def register(app: typer.Typer) -> None:
    """Register the commands."""
    _register_verify(app)
    _register_replay(app)


def _register_verify(app: typer.Typer) -> None:
    @command(app, "verify")
    def verify(
        output: Output,
        *,
        path: Annotated[
            Path,
            argument(
                "The public folder of a release, or a table with one line per person.",
                "FOLDER|FILE",
            ),
        ],
        internal: Annotated[
            Path | None,
            option(
                "The internal folder, for guarantees that need its witnesses. Default: none.",
                "FOLDER",
            ),
        ] = None,
        quasi: Annotated[
            ColumnNames,
            _claim("Quasi-identifiers: columns that others may know. Default: none.", "a,b"),
        ] = None,
        sensitive: Annotated[
            str | None, _claim("The sensitive column. Default: none.", "COLUMN")
        ] = None,
        k: Annotated[
            int | None, _claim("Check k-anonymity. Default: not checked.", "NUMBER")
        ] = None,
        ell: Annotated[
            str | None, _claim("Check l-diversity. Default: not checked.", "NUMBER")
        ] = None,
        diversity: Annotated[
            str | None,
            _claim(
                "The kind of l-diversity: distinct, frequency, entropy or recursive. Default: "
                "distinct.",
                "NAME",
            ),
        ] = None,
        c: Annotated[
            str | None,
            _claim("The parameter c of recursive l-diversity. Default: none.", "NUMBER"),
        ] = None,
        t: Annotated[
            str | None, _claim("Check t-closeness. Default: not checked.", "NUMBER")
        ] = None,
        distance: Annotated[
            str | None,
            _claim(
                "The distance of t-closeness: equal, ordered or hierarchical. Default: equal.",
                "NAME",
            ),
        ] = None,
        alpha: Annotated[
            str | None,
            _claim("Check (alpha, k)-anonymity, with --k. Default: not checked.", "NUMBER"),
        ] = None,
        hierarchy: Annotated[
            str | None,
            _claim(
                "The hierarchy of the sensitive column, for hierarchical t-closeness. Default: "
                "none.",
                "file|rule",
            ),
        ] = None,
        order: Annotated[
            str | None,
            _claim(
                "The sensitive values from lowest to highest, for ordered t-closeness. Default: "
                "the order of numbers.",
                "low,high",
            ),
        ] = None,
        levels: Annotated[
            ColumnNames,
            _claim(
                "Levels of the sensitive column that guarantees count in place of its values: "
                "income=quantiles:20, income=intervals:0,10000,20000 or, with --hierarchy, "
                "job=node_level:1. Default: its values.",
                "column=levels",
            ),
        ] = None,
        memory: Memory = None,
        max_work: MaxWork = DEFAULT_MAX_WORK,
    ) -> None:
        """Check the guarantees of a release from its published files alone."""
        from shoal.release.claims import Claims  # noqa: PLC0415 - help imports no engine

        claims = Claims(
            quasi=tuple(read_columns(quasi)),
            sensitive=sensitive,
            k=k,
            ell=ell,
            diversity=diversity,
            c=c,
            t=t,
            distance=distance,
            alpha=alpha,
            hierarchy=None if hierarchy is None else read_hierarchy(hierarchy),
            order=tuple(read_columns(None if order is None else [order])),
            levels=read_levels(levels) or None,
        )
        with output.progress() as progress:
            progress("verify")
            found = _verify(path, internal, claims, memory, max_work)
        output.document(found.to_dict())
        _show(output, found)
        if found.status == "partly verified":
            _explain_part(output, found, is_internal_given=internal is not None)
        _explain_rest(output, found)
        _leave(found)


def _verify(
    path: Path, internal: Path | None, claims: Claims, memory: str | None, max_work: int
) -> Verification:
    from shoal.release.verify import verify  # noqa: PLC0415 - help imports no engine

    is_release = (path / "manifest.json").exists() or not claims.quasi
    if is_release and not path.is_file():
        claims.refuse_any()
        return verify(path, internal=internal, memory=memory, max_work=max_work)
    return claims.verify(path, memory=memory, max_work=max_work)


def _show(output: Output, found: Verification) -> None:
    output.table(
        ("guarantee", "holds", "reached", "found"),
        [
            (
                f"{verdict.guarantee.name}: {verdict.guarantee.statement}",
                Mark(_answer(verdict.holds if verdict.is_checked else None), verdict.holds),
                ", ".join(f"{name}={value}" for name, value in verdict.reached.items()),
                verdict.detail,
            )
            for verdict in found.verdicts
        ],
    )
    for role, columns in found.roles.items():
        output.line(f"Checked as {role}: {', '.join(map(repr, columns)) or 'no column'}.")
    for problem in found.problems:
        output.line(f"Problem: {problem}", style="red")
    extent = (
        f"{found.n_buckets} buckets"
        if found.n_suppressed is None
        else f"{found.n_suppressed} cells suppressed"
    )
    output.line(f"{str(found.status).capitalize()}: {found.n_rows} rows, {extent}.")


def _answer(holds: bool | None) -> str:
    if holds is None:
        return "not checked"
    return "yes" if holds else "no"


def _explain_rest(output: Output, found: Verification) -> None:
    """Print what was too large to check, and whether the release is meant for others."""
    if found.unread:
        listed = ", ".join(map(repr, found.unread))
        output.line(f"Columns that were not checked: {listed}.", style="yellow")
    for one in found.unchecked:
        output.line(f"Not checked: {one}. Allow more operations with --max-work.", style="yellow")
    for note in found.notes:
        output.line(f"Note: {note}.", style="yellow")
    if found.is_test:
        output.line("The release is a test: anyone who knows its seed can undo its random draws.")
    elif found.is_sealed is False:
        output.line("The release is not sealed, so it is not meant for others.")


def _explain_part(output: Output, found: Verification, *, is_internal_given: bool) -> None:
    """Print why a release is verified only in part, and what to do about it."""
    names = ", ".join(verdict.guarantee.name for verdict in found.verdicts if verdict.is_partial)
    if not names:
        return
    todo = (
        "this version of Shoal cannot check it any further"
        if is_internal_given
        else "with the internal folder, --internal FOLDER checks all of it"
    )
    output.line(f"Verified in part: the witness of {names} is not published; {todo}.")


def _leave(found: Verification) -> None:
    from shoal.release.verify import Status  # noqa: PLC0415 - help imports no engine

    codes = {
        Status.FAILED: GuaranteeError.exit_code,
        Status.NOT_CHECKED: NOT_CHECKED,
        Status.PARTLY: PARTLY_VERIFIED,
        Status.VERIFIED: 0 if found.is_for_others else NOT_FOR_OTHERS,
    }
    raise typer.Exit(codes[found.status])


def _register_replay(app: typer.Typer) -> None:
    @command(app, "replay")
    def replay(
        output: Output,
        *,
        record: Annotated[
            Path,
            argument(
                "The file record.json of an internal folder, or that folder. It holds the secret; "
                "use only records of your own.",
                "RECORD",
            ),
        ],
        source: Annotated[
            str | None,
            option(
                "The table, if it has moved; its content must be the same. Default: the recorded "
                "one.",
                "SOURCE",
            ),
        ] = None,
        to: Annotated[
            Path | None,
            option(
                "The folder of the replayed release. Default: NAME-replayed beside the record.",
                "FOLDER",
            ),
        ] = None,
        engine: EngineName = None,
        memory: Memory = None,
    ) -> None:
        """Make a release again from its record, and compare it byte by byte with the sealed one."""
        from shoal.workflow import replay as job  # noqa: PLC0415 - help imports no engine
        from shoal.workflow.read import read_source  # noqa: PLC0415

        given = None if source is None else read_source(source, engine)
        try:
            with output.progress() as progress:
                made = job.replay(
                    record, source=given, to=to, engine=engine, memory=memory, progress=progress
                )
        except job.ReplayError as error:
            _show_files(output, {"replay": error.files})
            _warn(output, error.warnings)
            raise
        output.document(made.to_dict())
        _show_replay(output, made)
        if not made.is_sealed_unchanged:
            raise typer.Exit(GuaranteeError.exit_code)


def _show_replay(output: Output, made: Replay) -> None:
    sealed = {} if made.sealed is None else {"sealed folder": made.sealed}
    _show_files(output, {"replay": made.files, **sealed})
    output.line(f"Replayed: {made.manifest.extent}, identical to the sealed release.")
    output.place("  to ship:   ", made.folder)
    output.place("  never ship:", made.internal)
    _warn(output, made.warnings)
    if not made.is_sealed_unchanged:
        output.warn("The sealed folder was changed since; the replay has its original content.")


def _show_files(output: Output, columns: Mapping[str, Mapping[str, str]]) -> None:
    names = sorted({name for states in columns.values() for name in states})
    output.table(
        ("file", *columns),
        [(name, *(_mark(states.get(name)) for states in columns.values())) for name in names],
        title="Compared with the recorded hashes",
    )


def _mark(state: str | None) -> Mark | str:
    return "" if state is None else Mark(state, state == "identical")


def _warn(output: Output, warnings: tuple[str, ...]) -> None:
    for warning in warnings:
        output.warn(warning)
