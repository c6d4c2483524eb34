"""Write down who is at risk: the internal file `risk.parquet`, one line a person and attack."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.attack import Findings
from shoal.core.cells import Codes, smallest_type
from shoal.core.errors import InternalError
from shoal.core.release import BUCKET, Published
from shoal.engines.duckdb import DuckDB
from shoal.pipeline.release import PLACEMENT, Release
from shoal.pipeline.sliced_people import Placed, place_kinds
from shoal.pipeline.syncing import sync
from shoal.pipeline.witnesses import kinds_of_release

__all__ = ["write_risk"]

_FILE = "risk.parquet"


def write_risk(release: Release, internal: Path, findings: Sequence[Findings]) -> None:
    """Write what attacks found, one line a person and attack, to `risk.parquet`.

    Parameters
    ----------
    release
        A release opened from its folder.
    internal
        Its internal folder; `placement.parquet` says which line, or which kind, is whose.
    findings
        What attacks on everybody in the release found: one entry a distinct line, or a kind.
    """
    if not findings:
        return
    engine = release.files.engine
    # The entry of every line where there are lines, else of every kind.
    numbered, entries = _entries(release, release.published)
    placed = _placed(release, release.published, findings)
    texts = _value_texts(release.published)
    n_rows = release.published.lines.n_rows
    engine.push(
        "value_text",
        {"code": np.arange(len(texts)), "v": np.array([*texts, None], dtype=object)[:-1]},
    )
    # What was counted has served; the scores of every line now take its room.
    release.forget_counts()
    placement = engine.scan_own(internal / PLACEMENT, is_trusted=True).relation
    # Both have one row a line, in the order of lines.
    join = "POSITIONAL JOIN" if numbered == "line" else "CROSS JOIN"
    text, text_join = engine.decode("value_text", "code", "s.value", len(texts))
    temporary = internal / f".new-{_FILE}"
    try:
        with contextlib.ExitStack() as lent:
            parts = []
            for found in findings:
                has_value = found.value.max(initial=-1) >= 0
                scores = _scores(found, numbered, entries, placed)
                same = " AND ".join(
                    f"p.{name} = s.{name}" for name in (numbered, BUCKET) if name in scores
                )
                # No value is -1, which has no text.
                shown, joined = (text, text_join) if has_value else ("CAST(NULL AS VARCHAR)", "")
                apart = ""
                if found.apart:
                    own = lent.enter_context(engine.lent(_own_scores(found, texts)))
                    apart = f" AND p.row_key NOT IN (SELECT row_key FROM {own})"
                    parts.append(
                        f"SELECT row_key, '{found.attack}' AS attack, "
                        f"CAST(value AS VARCHAR) AS value, posterior, breached FROM {own}"
                    )
                parts.append(
                    f"SELECT p.row_key, '{found.attack}' AS attack, {shown} AS value, "
                    f"s.posterior, s.breached FROM {placement} p {join} "
                    f"{lent.enter_context(engine.lent(scores))} s{joined} "
                    f"WHERE {same}{apart}"
                )
            parts += _lines_of_others(engine, internal, findings)
            engine.write(" UNION ALL ".join(parts), temporary, "parquet")
        relation = engine.scan_own(temporary, is_trusted=True).relation
        written = engine.rows(f"SELECT count(*) AS n FROM {relation}")
        if int(written["n"][0]) % n_rows:
            raise InternalError("The risk file would not have one line a person.")
        temporary.chmod(0o600)
        sync(temporary)
        temporary.replace(internal / _FILE)
        sync(internal)
    finally:
        temporary.unlink(missing_ok=True)


def _entries(release: Release, published: Published) -> tuple[str, Codes]:
    if published.sliced is not None:
        return "kind", kinds_of_release(release, published.sliced).entry
    return "line", release.files.cell_of_lines(published)


def _value_texts(published: Published) -> list[str | None]:
    if published.sliced is not None:
        return published.sliced.sensitive_texts
    return [None] if published.buckets is None else published.buckets.domain.labels()


def _placed(release: Release, published: Published, findings: Sequence[Findings]) -> Placed | None:
    if published.sliced is None or not any(found.is_by_place for found in findings):
        return None
    return place_kinds(release, published, kinds_of_release(release, published.sliced))


def _scores(
    found: Findings, numbered: str, entries: Codes, placed: Placed | None
) -> dict[str, npt.NDArray[Any]]:
    number = np.arange(1, len(entries) + 1, dtype=smallest_type(len(entries) + 1))
    entry = number - 1 if found.is_by_line else entries
    place: dict[str, npt.NDArray[Any]] = {numbered: number}
    if found.is_by_place and placed is not None:
        place, entry = {numbered: placed.kind, BUCKET: placed.bucket}, placed.entry
    scores: dict[str, npt.NDArray[Any]] = {
        **place,
        "posterior": found.posterior[entry],
        "breached": found.breached[entry],
    }
    return scores if found.value.max(initial=-1) < 0 else scores | {"value": found.value[entry]}


def _own_scores(found: Findings, texts: Sequence[str | None]) -> dict[str, npt.NDArray[Any]]:
    """Return what was found about people of whom single facts are known, by their keys."""
    entry = np.arange(len(found.counts) - len(found.apart), len(found.counts))
    shown = [None if code < 0 else texts[code] for code in found.value[entry].tolist()]
    return {
        "row_key": np.array([*found.apart, None], dtype=object)[:-1],
        "value": np.array([*shown, None], dtype=object)[:-1],
        "posterior": found.posterior[entry],
        "breached": found.breached[entry],
    }


def _lines_of_others(engine: DuckDB, internal: Path, findings: Sequence[Findings]) -> list[str]:
    """Give the query of what other attacks found before, where any did."""
    path = internal / _FILE
    if not path.exists():
        return []
    named = ", ".join(f"'{found.attack}'" for found in findings)
    relation = engine.scan_own(path, is_trusted=True).relation
    columns = "row_key, attack, value, posterior, breached"
    return [f"SELECT {columns} FROM {relation} WHERE attack NOT IN ({named})"]
