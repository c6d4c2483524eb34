"""The people at risk of each attack: by bucket, by column and by single values, in every shape.

Findings speak of kinds of people, of published lines, or of kinds in their buckets. Here each is
given the quasi-identifiers and the bucket of the people that it speaks of, as only the maker of a
release can; and where something cannot be counted, it is said why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.core.attack import Findings, Risk, Section
from shoal.core.cells import Cells
from shoal.core.domain import SUPPRESSED, Domain
from shoal.core.release import Published
from shoal.core.rows import HIDDEN, Rows
from shoal.pipeline.release import Release
from shoal.pipeline.sliced_people import Placed, place_kinds
from shoal.pipeline.witnesses import kinds_of_release
from shoal.report.contribution import Attacked
from shoal.report.risk import WITHOUT_COLUMN, risk_sections

__all__ = ["AtRisk", "people_at_risk"]

_MOST_LINES = 5_000_000
_EQUAL = 1e-9
_NOBODY = "Nobody is at risk, so that no column adds to it."
_NO_LIMIT = "This attack has no limit on this release, so that nobody can be counted as at risk."
_ALIKE = (
    "Nobody is at risk, and she believes the same of everybody: no bucket, column or value makes a "
    "difference."
)
_ONE_FIGURE = (
    "The attack gives one figure for everybody, which stands above; it tells no bucket, column or "
    "value from another."
)
_NO_COLUMN = (
    "What each column adds is not counted: not a belief about a sensitive value or a line alone "
    "decides who is at risk here."
)
_NO_BUCKET = "One line is one person here: there are no buckets to count people by."
_BY_RULES = (
    "What betrays a private cell are the other cells of its line: which columns are betrayed, and "
    "what did it, is listed below."
)
_OTHERS = "People are not counted by what they have in common: the attack speaks of other people."
_TOO_MANY = f"People are not counted by what they have in common: above {_MOST_LINES} lines."


@dataclass(frozen=True, eq=False)
class AtRisk:
    """The people at risk of one attack.

    Parameters
    ----------
    sections
        By bucket, by column and by single values.
    unsaid
        What of it is not there, and why, in words.
    """

    sections: tuple[Section, ...]
    unsaid: tuple[str, ...] = ()


def people_at_risk(release: Release, findings: Sequence[Findings]) -> dict[str, AtRisk]:
    """Count the people at risk of every attack, by its name.

    Parameters
    ----------
    release
        A release opened from its folder.
    findings
        What attacks on everybody in the release found.
    """
    if not findings:
        return {}
    published = release.published
    placed = None
    if published.sliced is not None:
        placed = place_kinds(release, published, kinds_of_release(release, published.sliced))
    # Findings that speak of the same people share what is grouped of them.
    known: dict[tuple[bool, tuple[int, ...]], Attacked] = {}
    told = {}
    for found in findings:
        if found.is_by_line and published.lines.n_rows > _MOST_LINES:
            told[found.attack] = AtRisk((), (_TOO_MANY,))
            continue
        one = found if placed is None or found.is_by_place else _placed(found, placed)
        who = one.is_by_line, tuple(one.apart.values())
        if who not in known:
            known[who] = (
                _of_lines(one, release, published)
                if placed is None
                else Attacked(placed.people.quasi, placed.people.bucket)
            )
        told[found.attack] = _at_risk(one, published, known[who])
    return told


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
    """Part what is said of kinds by the buckets that their people are in."""
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
        # Whoever a fact names is taken out of their line, and stands behind all lines.
        own = np.array(list(found.apart.values()), dtype=np.int64)
        codes, counts = np.concatenate([codes, codes[own]]), found.counts
    # A line of a suppressed release is a bucket of its own.
    bucket = None if published.rows is not None else codes[:, 0]
    return Attacked(Cells(domains, codes[:, 1:], counts), bucket, published.buckets)


def _shown_cells(rows: Rows) -> Cells:
    """Give rows as they are shown: what is hidden is a value of its own."""
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
    is_suppressed = published.rows is not None
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
