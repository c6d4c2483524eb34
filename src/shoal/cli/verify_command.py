"""`shoal verify`: of a release folder, or of any table whoever made it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import parsing
from shoal.cli.command import command
from shoal.cli.failures import NOT_CHECKED, NOT_FOR_OTHERS, PARTLY_VERIFIED
from shoal.cli.options import ColumnNames, MaxWork, Memory
from shoal.cli.output import Mark, Output
from shoal.core.errors import GuaranteeError
from shoal.core.work import DEFAULT_MAX_WORK

if TYPE_CHECKING:
    from shoal.pipeline.claims import Claims
    from shoal.pipeline.verify import Verification

__all__ = ["register"]

_PANEL = "Of a file that another tool made"


def register(app: typer.Typer) -> None:
    """Register the command."""

    @command(app, "verify")
    def verify(
        output: Output,
        *,
        path: Annotated[
            Path,
            typer.Argument(
                metavar="FOLDER|FILE",
                help="The public folder of a release, or a table with one line a person.",
                show_default=False,
            ),
        ],
        internal: Annotated[
            Path | None,
            typer.Option(metavar="FOLDER", help="The internal folder, for its witnesses."),
        ] = None,
        quasi: Annotated[
            ColumnNames,
            typer.Option(
                metavar="a,b", help="The quasi-identifying columns.", rich_help_panel=_PANEL
            ),
        ] = None,
        sensitive: Annotated[
            str | None,
            typer.Option(metavar="COLUMN", help="The sensitive column.", rich_help_panel=_PANEL),
        ] = None,
        k: Annotated[
            int | None, typer.Option("--k", help="k-anonymity.", rich_help_panel=_PANEL)
        ] = None,
        ell: Annotated[
            str | None,
            typer.Option("--ell", metavar="NUMBER", help="l-diversity.", rich_help_panel=_PANEL),
        ] = None,
        diversity: Annotated[
            str | None,
            typer.Option(
                metavar="NAME",
                help="Which: distinct (the default), frequency, entropy or recursive.",
                rich_help_panel=_PANEL,
            ),
        ] = None,
        c: Annotated[
            str | None,
            typer.Option(
                "--c", metavar="NUMBER", help="Of recursive l-diversity.", rich_help_panel=_PANEL
            ),
        ] = None,
        t: Annotated[
            str | None,
            typer.Option("--t", metavar="NUMBER", help="t-closeness.", rich_help_panel=_PANEL),
        ] = None,
        distance: Annotated[
            str | None,
            typer.Option(
                metavar="NAME",
                help="Of t-closeness: equal (the default), ordered or hierarchical.",
                rich_help_panel=_PANEL,
            ),
        ] = None,
        alpha: Annotated[
            str | None,
            typer.Option(
                metavar="NUMBER", help="(alpha, k)-anonymity, with --k.", rich_help_panel=_PANEL
            ),
        ] = None,
        hierarchy: Annotated[
            str | None,
            typer.Option(
                metavar="file|rule",
                help="Of the sensitive column, for hierarchical t-closeness.",
                rich_help_panel=_PANEL,
            ),
        ] = None,
        order: Annotated[
            str | None,
            typer.Option(
                metavar="low,high",
                help="Of the sensitive values, for ordered t-closeness.",
                rich_help_panel=_PANEL,
            ),
        ] = None,
        memory: Memory = None,
        max_work: MaxWork = DEFAULT_MAX_WORK,
    ) -> None:
        """Derive the guarantees of a release anew from its published files."""
        from shoal.pipeline.claims import Claims  # noqa: PLC0415 - help imports no engine

        claims = Claims(
            quasi=tuple(parsing.read_columns(quasi)),
            sensitive=sensitive,
            k=k,
            ell=ell,
            diversity=diversity,
            c=c,
            t=t,
            distance=distance,
            alpha=alpha,
            hierarchy=None if hierarchy is None else parsing.read_hierarchy(hierarchy),
            order=tuple(parsing.read_columns(None if order is None else [order])),
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
    from shoal.pipeline.verify import verify  # noqa: PLC0415 - help imports no engine

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
    """Say what was too large to check, and whether the release is meant for others."""
    if found.unread:
        listed = ", ".join(map(repr, found.unread))
        output.line(f"Columns that were not looked at: {listed}.", style="yellow")
    for one in found.unchecked:
        output.line(f"Not checked: {one}. Allow more operations with --max-work.", style="yellow")
    for note in found.notes:
        output.line(f"Note: {note}.", style="yellow")
    if found.is_test:
        output.line("The release is a test: whoever knows its seed can undo what is drawn from it.")
    elif found.is_sealed is False:
        output.line("The release is not sealed, so it is not meant for others.")


def _explain_part(output: Output, found: Verification, *, is_internal_given: bool) -> None:
    """Say why a release is verified in part only, and what to do about it."""
    names = ", ".join(verdict.guarantee.name for verdict in found.verdicts if verdict.is_partial)
    if not names:
        return
    todo = (
        "this version of Shoal cannot check it any further"
        if is_internal_given
        else "whoever has the internal folder checks all of it with --internal FOLDER"
    )
    output.line(f"Only in part: what {names} is checked by is not published; {todo}.")


def _leave(found: Verification) -> None:
    from shoal.pipeline.verify import Status  # noqa: PLC0415 - help imports no engine

    codes = {
        Status.FAILED: GuaranteeError.exit_code,
        Status.NOT_CHECKED: NOT_CHECKED,
        Status.PARTLY: PARTLY_VERIFIED,
        Status.VERIFIED: 0 if found.is_for_others else NOT_FOR_OTHERS,
    }
    raise typer.Exit(codes[found.status])
