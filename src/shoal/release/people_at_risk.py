"""The people at risk of each attack: counted for the internal report, and written one by one.

`people_at_risk` counts them by bucket, by column and by single values, whatever the shape of the
release. Findings are about kinds of people, about published lines, or about kinds in their buckets;
each is joined here with the quasi-identifiers and the bucket of the people concerned, which only
the maker of a release can do. If something cannot be counted, the reason is stated.

`write_risk` writes the internal file `risk.parquet`: one line per person and attack.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Codes
from shoal.core.cells import Cells, smallest_type
from shoal.core.display import Section
from shoal.core.documents import sync
from shoal.core.domain import SUPPRESSED, Domain
from shoal.core.errors import InternalError
from shoal.core.findings import Findings, Risk
from shoal.core.release import Published
from shoal.core.shapes import BUCKET
from shoal.core.table import HIDDEN, Rows
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.sql.domains import text_array
from shoal.release.opened import PLACEMENT, Release, forget_counts
from shoal.release.people import Placed
from shoal.release.witnesses import kinds_of_release, place_people
from shoal.report.risk import WITHOUT_COLUMN, Attacked, risk_sections

_FILE = "risk.parquet"
_MOST_LINES = 5_000_000
_EQUAL = 1e-9
_NOBODY = "Nobody is at risk, so no column adds to the risk."
_NO_LIMIT = "This attack has no limit on this release, so nobody can be counted as at risk."
_ALIKE = (
    "Nobody is at risk, and the adversary believes the same about everybody: no bucket, column or "
    "value makes a difference."
)
_ONE_FIGURE = (
    "The attack yields one figure for everybody, which is given above; it does not distinguish "
    "buckets, columns or values."
)
_NO_COLUMN = (
    "What each column adds is not counted: who is at risk does not depend only on the belief in "
    "one sensitive value or one line."
)
_NO_BUCKET = "Each line is one person, so there are no buckets to count people by."
_BY_RULES = (
    "Private cells are revealed by the other cells of their line; the tables below list which "
    "columns are revealed, and by what."
)
_OTHERS = (
    "People are not counted by what they have in common, because the attack is about other people."
)
_TOO_MANY = (
    "People are not counted by what they have in common, because there are more than "
    f"{_MOST_LINES:,} lines."
)


@dataclass(frozen=True, eq=False)
class AtRisk:
    """The people at risk of one attack."""

    # By bucket, by column and by single values.
    sections: tuple[Section, ...]
    # What could not be counted, and why, in words.
    unsaid: tuple[str, ...] = ()


def people_at_risk(release: Release, findings: Sequence[Findings]) -> dict[str, AtRisk]:
    """Count the people at risk of every attack on everybody in an opened release, by attack."""
    if not findings:
        return {}
    published = release.published
    placed = place_people(release)
    # Findings about the same people share the grouping of these people.
    known: dict[tuple[bool, tuple[int, ...]], Attacked] = {}
    told = {}
    for found in findings:
        if found.is_by_line and found.sampled is None and published.lines.n_rows > _MOST_LINES:
            told[found.attack] = AtRisk((), (_TOO_MANY,))
            continue
        one = found if placed is None or found.is_by_place else _placed(found, placed)
        if found.sampled is not None:
            told[found.attack] = _in_sample(one, release, published, placed)
            continue
        who = one.is_by_line, tuple(one.apart.values())
        if who not in known:
            known[who] = (
                _of_lines(one, release, published)
                if placed is None
                else Attacked(placed.people.quasi, placed.people.bucket)
            )
        told[found.attack] = _at_risk(one, published, known[who])
    return told


def _in_sample(
    found: Findings, release: Release, published: Published, placed: Placed | None
) -> AtRisk:
    """Count the people at risk among those of the sample."""
    kept = np.flatnonzero(found.counts)
    if placed is not None:
        cells, bucket = placed.people.quasi, placed.people.bucket
        assert bucket is not None
        domains, codes, bucket = cells.domains, cells.codes[kept], bucket[kept]
    else:
        lines = published.lines
        line = release.files.cell_of_lines(published)[kept] if found.is_by_line else kept
        domains, codes, bucket = lines.domains[1:], lines.codes[line, 1:], lines.codes[line, 0]
    one = replace(
        found,
        counts=found.counts[kept],
        value=found.value[kept],
        posterior=found.posterior[kept],
        breached=found.breached[kept],
    )
    who = Attacked(Cells(domains, codes, one.counts), bucket, published.buckets)
    return _at_risk(one, published, who)


def _at_risk(found: Findings, published: Published, people: Attacked) -> AtRisk:
    if not len(found.posterior) or np.ptp(found.posterior) < _EQUAL:
        if found.figure and (Risk.MEMBERSHIP in found.risks or not found.breached.any()):
            return AtRisk((), (_ONE_FIGURE,))
        if not found.breached.any():
            return AtRisk((), (_ALIKE if found.limit is not None else _NO_LIMIT,))
    sections = risk_sections(found, people)
    if not sections:
        return AtRisk((), (_OTHERS,))
    return AtRisk(sections, tuple(_unsaid(found, published, people, sections)))


def _placed(found: Findings, placed: Placed) -> Findings:
    """Split findings about kinds of people by the buckets that these people are in."""
    return replace(
        found,
        counts=placed.people.quasi.counts,
        value=found.value[placed.cell],
        posterior=found.posterior[placed.cell],
        breached=found.breached[placed.cell],
    )


def _of_lines(found: Findings, release: Release, published: Published) -> Attacked:
    lines = published.lines
    if found.is_by_line and published.rows is not None:
        return Attacked(_shown_cells(published.rows))
    domains, codes, counts = lines.domains[1:], lines.codes, lines.counts
    if found.is_by_line:
        codes = codes[release.files.cell_of_lines(published)]
        counts = np.ones(len(codes), dtype=np.int64)
    if found.apart:
        # People named by a fact are taken out of their line, and come after all lines.
        own = np.array(list(found.apart.values()), dtype=np.int64)
        codes, counts = np.concatenate([codes, codes[own]]), found.counts
    # A line of a suppressed release is a bucket of its own.
    bucket = None if published.manifest.shape.hides_cells else codes[:, 0]
    return Attacked(Cells(domains, codes[:, 1:], counts), bucket, published.buckets)


def _shown_cells(rows: Rows) -> Cells:
    """Return rows as they are shown: hidden is a value of its own."""
    domains, codes = [], np.empty(rows.codes.shape, dtype=np.int64)
    for place, domain in enumerate(rows.domains):
        shown, own = rows.codes[:, place], len(domain.texts)
        # The code of the missing value stays behind those of all texts.
        codes[:, place] = np.where(shown == HIDDEN, own, shown + (shown >= own))
        texts = [*domain.texts.tolist(), SUPPRESSED]
        domains.append(Domain.of_texts(domain.column, texts, has_missing=domain.has_missing))
    return Cells(tuple(domains), codes, np.ones(len(codes), dtype=np.int64))


def _unsaid(
    found: Findings, published: Published, people: Attacked, sections: tuple[Section, ...]
) -> Iterator[str]:
    is_suppressed = published.manifest.shape.hides_cells
    if people.bucket is None and is_suppressed:
        yield _NO_BUCKET
    if found.limit is None:
        yield _NO_LIMIT
    elif not found.breached.any():
        yield _NOBODY
    elif found.is_by_line and is_suppressed:
        yield _BY_RULES
    elif all(section.title != WITHOUT_COLUMN for section in sections):
        yield _NO_COLUMN


def write_risk(release: Release, internal: Path, findings: Sequence[Findings]) -> None:
    """Write the findings of attacks to `risk.parquet`, one line per person and attack.

    The release is opened from its folder, and `placement.parquet` says which line, or which kind,
    belongs to whom. Findings have one entry per distinct line, or per kind. Findings of other
    attacks that the file already holds are kept.
    """
    if not findings:
        return
    engine = release.files.engine
    # The entry of every line if there are lines, otherwise of every kind.
    numbered, entries = _entries(release, release.published)
    is_by_place = any(found.is_by_place for found in findings)
    placed = place_people(release) if is_by_place else None
    texts = release.levelled.sensitive_texts
    n_rows = release.published.lines.n_rows
    engine.push(
        "value_text",
        {"code": np.arange(len(texts)), "v": text_array(texts)},
    )
    # The counts are no longer needed; the scores of every line take their memory.
    forget_counts(release)
    placement = engine.scan_own(internal / PLACEMENT, is_trusted=True).relation
    # Both have one row per line, in the order of lines.
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
                # The code -1 means no value, and has no text.
                shown, joined = (text, text_join) if has_value else ("CAST(NULL AS VARCHAR)", "")
                apart = ""
                if found.apart:
                    own = lent.enter_context(engine.lent(_scores_of_named(found, texts)))
                    apart = f" AND p.row_key NOT IN (SELECT row_key FROM {own})"
                    parts.append(
                        f"SELECT row_key, '{found.attack}' AS attack, "
                        f"CAST(value AS VARCHAR) AS value, posterior, breached FROM {own}"
                    )
                parts.append(
                    f"SELECT p.row_key, '{found.attack}' AS attack, {shown} AS value, "
                    f"s.posterior, s.breached FROM {placement} p {join} "
                    f"{lent.enter_context(engine.lent(scores))} s{joined} "
                    f"WHERE {same}{apart}{' AND s.attacked' if 'attacked' in scores else ''}"
                )
            parts += _lines_of_others(engine, internal, findings)
            engine.write(" UNION ALL ".join(parts), temporary, "parquet")
        relation = engine.scan_own(temporary, is_trusted=True).relation
        whole = ["''", *(f"'{one.attack}'" for one in findings if one.sampled is None)]
        written = engine.rows(
            f"SELECT count(*) AS n FROM {relation} WHERE attack IN ({', '.join(whole)}) "
            "GROUP BY attack"
        )
        if np.any(written["n"] != n_rows):
            raise InternalError("The risk file would not have one line per person.")
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
    if found.sampled is not None:
        # Nobody else was attacked.
        scores["attacked"] = found.counts[entry] > 0
    return scores if found.value.max(initial=-1) < 0 else scores | {"value": found.value[entry]}


def _scores_of_named(found: Findings, texts: Sequence[str | None]) -> dict[str, npt.NDArray[Any]]:
    """Return the findings about people named by single facts, by their keys."""
    entry = np.arange(len(found.counts) - len(found.apart), len(found.counts))
    shown = [None if code < 0 else texts[code] for code in found.value[entry].tolist()]
    return {
        "row_key": text_array(found.apart),
        "value": text_array(shown),
        "posterior": found.posterior[entry],
        "breached": found.breached[entry],
    }


def _lines_of_others(engine: DuckDB, internal: Path, findings: Sequence[Findings]) -> list[str]:
    """Return the query for earlier findings of other attacks, if there are any."""
    path = internal / _FILE
    if not path.exists():
        return []
    named = ", ".join(f"'{found.attack}'" for found in findings)
    relation = engine.scan_own(path, is_trusted=True).relation
    columns = "row_key, attack, value, posterior, breached"
    return [f"SELECT {columns} FROM {relation} WHERE attack NOT IN ({named})"]
