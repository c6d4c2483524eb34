"""`shoal publish`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.command import command
from shoal.cli.options import Replace
from shoal.cli.output import Mark, Output

if TYPE_CHECKING:
    from shoal.core.guarantees import Guarantee
    from shoal.pipeline.preview import Preview
    from shoal.pipeline.publish import Judgement, Publication

__all__ = ["register", "show_gate", "show_publication"]


def register(app: typer.Typer) -> None:
    """Register the command."""

    @command(app, "publish")
    def publish(
        output: Output,
        *,
        configuration: Annotated[
            Path,
            typer.Argument(metavar="shoal.toml", help="The configuration.", show_default=False),
        ],
        dry_run: Annotated[
            bool, typer.Option("--dry-run", help="Only say what would be done.")
        ] = False,
        accept_risk: Annotated[
            str | None,
            typer.Option(metavar="REASON", help="Seal it although the gate fails, and say why."),
        ] = None,
        replace: Replace = False,
        out: Annotated[
            Path | None, typer.Option(metavar="FOLDER", help="Another folder for the release.")
        ] = None,
        format: Annotated[  # noqa: A002 - the name of the option
            str | None, typer.Option(metavar="csv|parquet", help="Another format.")
        ] = None,
    ) -> None:
        """Read, anonymize, attack, judge and seal, as one file says."""
        from shoal.pipeline.config import load  # noqa: PLC0415 - help imports no engine

        loaded = load(configuration)
        if dry_run:
            from shoal.pipeline import preview  # noqa: PLC0415

            planned = preview.dry_run(loaded, replace=replace, format=format, folder=out)
            output.document(planned.to_dict())
            _show_preview(output, planned)
            return
        from shoal.pipeline import publish as job  # noqa: PLC0415

        try:
            with output.progress() as progress:
                published = job.publish(
                    loaded,
                    progress=progress,
                    accept_risk=accept_risk,
                    replace=replace,
                    format=format,
                    folder=out,
                )
        except job.GateError as error:
            show_gate(output, error.judgements)
            raise
        output.document(published.to_dict())
        show_gate(output, published.judgements)
        show_publication(output, published)


def show_gate(output: Output, judgements: Sequence[Judgement]) -> None:
    """Print how every attack was judged; no value of the table is in it."""
    output.table(
        ("attack", "what the adversary knows", "people at risk", "worst posterior", "verdict"),
        [
            (
                judgement.attack,
                judgement.knows,
                f"{judgement.n_at_risk} of {judgement.n_people}",
                judgement.worst,
                _verdict(judgement),
            )
            for judgement in judgements
        ],
        title="The gate",
    )


def _verdict(judgement: Judgement) -> Mark | str:
    if judgement.max_people is None:
        return str(judgement.outcome)
    is_passed = judgement.n_at_risk <= judgement.max_people
    return Mark(f"{judgement.outcome} (at most {judgement.max_people})", is_passed)


def show_publication(output: Output, published: Publication) -> None:
    """Print what was published and where it is."""
    stated = published.manifest
    output.line(
        f"{stated.n_rows} rows in {stated.n_buckets} buckets, {stated.shape}, "
        f"{'sealed' if stated.is_sealed else 'not sealed'}"
        f"{', a test release' if stated.is_test else ''}:"
    )
    output.line(f"  {published.folder}  to ship")
    output.line(f"  {published.internal}  never to be shipped")
    output.line()
    _show_guarantees(output, stated.guarantees)
    if published.accepted is not None:
        output.warn(f"A risk was accepted, and is in the internal record: {published.accepted}")
    for warning in published.warnings:
        output.warn(warning)


def _show_guarantees(output: Output, guarantees: Sequence[Guarantee]) -> None:
    output.table(
        ("guarantee", "promises", "its limits"),
        [(entry.name, entry.statement, entry.limits) for entry in guarantees],
    )


def _show_preview(output: Output, planned: Preview) -> None:
    output.table(("", "step"), list(enumerate(planned.steps, start=1)), title="What would be done")
    kinds = planned.schema.hierarchies
    output.table(
        ("role", "columns"),
        [
            (
                str(role),
                ", ".join(
                    f"{name} ({kinds[name].kind})" if name in kinds else name for name in names
                ),
            )
            for role, names in planned.columns.items()
        ],
        title="Columns, with their hierarchies",
    )
    output.facts(
        {name: value for name, value in planned.method.parameters().items() if value is not None},
        title=f"Method {planned.method_name}",
    )
    _show_guarantees(output, planned.guarantees)
    output.table(
        ("attack", "what the adversary knows", "people at risk allowed"),
        [
            (entry.name, entry.knows, entry.max_people if entry.max_people is not None else "any")
            for entry in planned.attacks
        ],
    )
    output.table(
        ("folder", "there already"),
        [(str(path), path.exists()) for path in (planned.folder, planned.internal)],
    )
    output.line(
        f"About {planned.seconds:.1f} s and {planned.memory / 2**20:.0f} MB of memory. "
        "Nothing was written."
    )
    for warning in planned.warnings:
        output.warn(warning)
