"""Join the truth to what an adversary believes.

An attack sees the release and the people, each in their own bucket, with the exact values of their
quasi-identifiers. Only here are its beliefs compared with what the people have: they are
calibrated, and what the gate judges is how many people are exposed then.

References
----------
[Wong11] (see `shoal.attacks.foreground`) Section 5.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal.attacks.foreground import Foreground
from shoal.core.attack import Attack, Findings, Section
from shoal.core.cells import Buckets, Cells, Codes, Counts, group
from shoal.core.domain import Domain
from shoal.core.errors import DataError, ParameterError
from shoal.core.method import Shape
from shoal.core.release import BUCKET, People, Published
from shoal.core.rows import Rows
from shoal.engines.laid_out import LaidOut
from shoal.engines.table import EngineTable
from shoal.knowledge.calibration import calibrate
from shoal.knowledge.foreground import (
    Exposed,
    Target,
    expose_sliced,
    mine,
    sample_size,
    usable_sets,
)
from shoal.knowledge.foreground.scoring import Score, is_above, score_beliefs
from shoal.pipeline.release import PLACEMENT, Release
from shoal.pipeline.sliced_people import place_kinds, placement_relation
from shoal.pipeline.witnesses import kinds_of_release

__all__ = ["Located", "attack_and_score", "attack_each_person", "locate_people"]

Flags = npt.NDArray[np.bool_]

_MOST_ROWS = 20_000_000
_FEWEST = 20
_N_GROUPS = 15


@dataclass(frozen=True, eq=False)
class Located:
    """Everybody in a release, each in their own bucket, with the truth apart.

    Parameters
    ----------
    people
        Their exact quasi-identifiers and their buckets: what an adversary may know.
    cell, values
        The truth, one entry per person: which of `people` it is, and for each sensitive column of
        the release the value, numbered as findings number it; -1 if the release does not hold it.
    line
        The line of each person, from 0; None in a sliced release, which has none.
    """

    people: People
    cell: Codes
    values: tuple[Codes, ...]
    line: Codes | None = None

    def has(self, values: tuple[int, ...]) -> Flags:
        """Return for each person whether they have any of some values."""
        has: Flags = np.any([np.isin(column, values) for column in self.values], axis=0)
        return has

    def carriers(self, values: tuple[int, ...]) -> Counts:
        """Count, for each cell of people, those who have any of some values."""
        chosen = self.cell[self.has(values)]
        return np.bincount(chosen, minlength=len(self.people.counts)).astype(np.int64)


def locate_people(release: Release, table: EngineTable | None = None) -> Located:
    """Put the people of a table into the buckets of its release.

    Parameters
    ----------
    release
        A release in memory, or opened with its internal folder.
    table
        The table it was made from; needed where it was opened.

    Raises
    ------
    ParameterError
        Where there is no table.
    DataError
        Where neither its maker nor an internal folder says where people are, or the table does
        not have them all.
    """
    table = release.making.table if table is None and release.making is not None else table
    if table is None:
        raise ParameterError(
            "How right an attack is cannot be said without the table.",
            hint="give the table that the release was made from.",
        )
    published = release.published
    rows = table.row_codes(_MOST_ROWS)
    assert rows.keys is not None
    keys = [str(key) for key in rows.keys.tolist()]
    if published.sliced is not None:
        people, place_of = _people_of_slices(release, published)
    else:
        place_of = _buckets_of_keys(release, published, keys)
    # Who was left out of the release is not attacked.
    is_there = np.array([key in place_of for key in keys], dtype=bool)
    if np.count_nonzero(is_there) < published.lines.n_rows:
        raise DataError("The table is not the one that the release was made from.")
    place = np.array([place_of[key] for key in keys if key in place_of], dtype=np.int64)
    codes = rows.codes[is_there].astype(np.int64)
    values = tuple(_numbered(rows, codes, *one) for one in _sensitive(published))
    # Hierarchies are taken to be common knowledge: the digits of a postcode, a classification.
    trees = {column: table.trees[column] for column in table.schema.quasi if column in table.trees}
    if published.sliced is not None:
        return Located(replace(people, trees=trees), place, values)
    people, cell = _by_bucket(table, rows, codes, place, published.n_buckets)
    line_of = _fetched(release, "line")
    line = np.array([line_of[key] for key in keys if key in place_of], dtype=np.int64)
    return Located(replace(people, trees=trees), cell, values, line - 1)


def _sensitive(published: Published) -> list[tuple[Domain, int]]:
    """Return the sensitive columns, and the number of the first value of each in findings."""
    sliced = published.sliced
    if sliced is not None:
        return [
            (sliced.domain(one), sliced.first_sensitive(one)) for one in sliced.layout.sensitive
        ]
    return [] if published.buckets is None else [(published.buckets.domain, 0)]


def _numbered(rows: Rows, codes: Codes, domain: Domain, first: int) -> Codes:
    """Return the value of each row in a column, as findings number it; -1 if it is not there."""
    place = rows.columns.index(domain.column)
    translated = domain.codes_of(rows.domains[place].labels())
    return np.where(translated < 0, -1, translated + first)[codes[:, place]]


def _by_bucket(
    table: EngineTable, rows: Rows, codes: Codes, bucket: Codes, n_buckets: int
) -> tuple[People, Codes]:
    """Group rows by bucket and quasi-identifiers; give the people, and the cell of each row."""
    places = [rows.columns.index(column) for column in table.schema.quasi]
    domains = tuple(rows.domains[place] for place in places)
    columns = [bucket, *(codes[:, place] for place in places)]
    sizes = [n_buckets, *(domain.size for domain in domains)]
    first, cell = group(columns, sizes, len(bucket))
    quasi = np.column_stack([column[first] for column in columns[1:]])
    counts = np.bincount(cell, minlength=len(first)).astype(np.int64)
    return People(Cells(domains, quasi, counts), bucket[first]), cell


def _people_of_slices(release: Release, published: Published) -> tuple[People, dict[str, int]]:
    """Give everybody in a sliced release by bucket, and the cell of each by their row's key."""
    assert published.sliced is not None
    placed = place_kinds(release, published, kinds_of_release(release, published.sliced))
    kind, bucket = _fetched(release, "kind"), _fetched(release, "bucket")
    entry = placed.entry_of(
        np.array(list(kind.values()), dtype=np.int64),
        np.array([bucket[key] for key in kind], dtype=np.int64),
    )
    return placed.people, dict(zip(kind, entry.tolist(), strict=True))


def _fetched(release: Release, column: str) -> dict[str, int]:
    """Give a column of the placement by the keys of rows."""
    query = f"SELECT row_key, {column} FROM {placement_relation(release)} p"
    fetched = release.files.engine.rows(query)
    numbers = fetched[column].astype(np.int64).tolist()
    return dict(zip(map(str, fetched["row_key"].tolist()), numbers, strict=True))


def _buckets_of_keys(release: Release, published: Published, keys: Sequence[str]) -> dict[str, int]:
    """Give the bucket, as the release is counted, of everybody in it."""
    files, lines = release.files, published.lines
    if not isinstance(files, LaidOut):
        return _buckets_on_disk(release, published)
    shown = files.shown_of_keys(keys)
    texts = list(shown.values())
    if published.manifest.shape is Shape.BUCKETIZED:
        codes = lines.domains[0].codes_of([row[BUCKET] for row in texts])
        return dict(zip(shown, codes.tolist(), strict=True))
    # A bucket of a generalized release is whoever shows the same.
    looks = [
        np.concatenate([codes, domain.codes_of([row[domain.column] for row in texts])])
        for domain, codes in zip(lines.domains[1:], lines.codes[:, 1:].T, strict=True)
    ]
    first, number = group(looks, [domain.size for domain in published.quasi], len(looks[0]))
    bucket = np.full(len(first), -1, dtype=np.int64)
    bucket[number[: lines.n_cells]] = lines.codes[:, 0]
    return dict(zip(shown, bucket[number[lines.n_cells :]].tolist(), strict=True))


def _buckets_on_disk(release: Release, published: Published) -> dict[str, int]:
    line_of = _fetched(release, "line")
    cell = release.files.cell_of_lines(published)
    line = np.array(list(line_of.values()), dtype=np.int64)
    if not np.all((line >= 1) & (line <= len(cell))):
        raise DataError(
            f"{PLACEMENT} names lines that the release does not have.",
            hint="is it the internal folder of this release, and was nothing changed in it?",
        )
    bucket = published.lines.codes[cell[line - 1], 0]
    return dict(zip(line_of, bucket.tolist(), strict=True))


def attack_each_person(
    release: Release,
    attack: Attack,
    located: Located,
    knowledge: object = None,
) -> Findings:
    """Run an attack that yields beliefs on everybody, and hold its beliefs against the truth.

    Returns
    -------
    What it found, with one entry per line; in a sliced release, per kind of people and bucket.
    """
    found = _scored(release, attack, located, knowledge)
    if located.line is None:
        return replace(found, is_by_place=True)
    cell = np.empty(len(located.line), dtype=np.int64)
    cell[located.line] = located.cell
    return replace(
        found,
        counts=np.ones(len(cell), dtype=np.int64),
        value=found.value[cell],
        posterior=found.posterior[cell],
        breached=found.breached[cell],
        is_by_line=True,
    )


def attack_and_score(
    release: Release,
    attack: Attack,
    table: EngineTable | None = None,
    knowledge: object = None,
) -> Findings:
    """Run an attack on everybody in a release, and say how right it is.

    Parameters
    ----------
    release, table
        The release and the table it was made from; see `locate_people`.
    attack
        The attack.
    knowledge
        What is known beside the release.

    Returns
    -------
    What it found, with its calibration and further figures: internal, as all that tells the
    truth.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.census(rows=500, seed=1))
    >>> release = shoal.anonymize(table, shoal.Mondrian(k=5), seed=1)
    >>> value = release.published.buckets.domain.text(0)
    >>> attack = shoal.attacks.Foreground(value=value, r=4, epsilon=0.1)
    >>> found = attack_and_score(release, attack)
    >>> {"recall", "precision", "false flags"} <= set(found.headline)
    True
    >>> found.calibration.exposed == found.n_breached
    True
    """
    return _scored(release, attack, locate_people(release, table), knowledge)


def _scored(release: Release, attack: Attack, located: Located, knowledge: object) -> Findings:
    published = release.published
    found = _checked(attack.run(published, located.people, knowledge), located, published)
    if not isinstance(attack, Foreground):
        return found
    aims, bound = attack.aims(published)
    buckets = attack.buckets_of(published)
    assert buckets is not None
    if len(aims) == 1:
        carriers = located.carriers(tuple(_first(published, buckets) + one for one in aims[0]))
    else:
        right = np.any([column == found.value[located.cell] for column in located.values], axis=0)
        carriers = np.bincount(located.cell[right], minlength=len(found.counts)).astype(np.int64)
    exposed, entry = _exposed(published, buckets, located.people)
    figures = score_beliefs(
        exposed.bucket[entry], found.counts, found.posterior, carriers, float(bound)
    )
    headline: dict[str, object] = dict(found.headline) | {"precision": figures.precision}
    if len(aims) == 1:
        carried = np.bincount(exposed.look[entry], carriers, exposed.looks.n_cells)
        headline |= _figures(figures)
        headline |= _errors(Target.of(exposed, aims[0]), carried.astype(np.int64), attack)
    above = is_above(found.posterior, float(bound))
    further = (_calibration(figures), _recall_by_group(located.people.quasi, above, carriers))
    return replace(found, headline=headline, sections=(*found.sections, *further))


def _checked(found: Findings, located: Located, published: Published) -> Findings:
    """Calibrate beliefs against the truth; people are breached who are exposed then."""
    if found.suspicions is None:
        return found
    carriers = [located.carriers(one.values) for one in found.suspicions.about]
    names = [_name(one.values, published) for one in found.suspicions.about]
    calibration, is_exposed = calibrate(
        found.suspicions, found.counts, carriers, names, located.people.quasi
    )
    return replace(found, calibration=calibration, breached=is_exposed)


def _name(values: tuple[int, ...], published: Published) -> str:
    """Name values that count as one; the name holds values of the table."""
    texts = [
        domain.text(value - first)
        for domain, first in _sensitive(published)
        for value in values
        if first <= value < first + domain.size
    ]
    return " or ".join("missing" if text is None else text for text in texts)


def _figures(figures: Score) -> dict[str, object]:
    return {
        "people who have it": figures.n_carriers,
        "recall": figures.recall,
        "false flags": figures.false_flags,
        "average probability": figures.average_probability,
        "right when naming the likeliest": figures.top_share,
    }


def _first(published: Published, buckets: Buckets) -> int:
    """Give the number that the findings have for the first value of the column attacked."""
    if published.sliced is None:
        return 0
    return published.sliced.first_sensitive(buckets.domain.column)


def _exposed(published: Published, buckets: Buckets, people: People) -> tuple[Exposed, Codes]:
    if published.sliced is None:
        return Exposed.of_people(people, buckets)
    return expose_sliced(published.sliced, people, buckets.domain.column)


def _errors(target: Target, carriers: Counts, attack: Foreground) -> dict[str, object]:
    """Compare the chances that are mined with the shares of the table."""
    looks = target.exposed.looks
    sets = usable_sets(looks, sample_size(attack.epsilon, attack.sigma))
    errors = [
        one.accuracy(carriers, looks.counts).mean_relative_error
        for one, _ in mine(target, sets, policy=attack.policy)
    ]
    return {"mean relative error of chances": float(np.mean(errors)) if errors else None}


def _calibration(figures: Score) -> Section:
    rows = tuple(
        (f"up to {band.highest:g}", band.n_people, band.believed, band.actual)
        for band in figures.bands
        if band.n_people
    )
    columns = ("posterior", "people", "believed", "actual")
    return Section("calibration", columns, rows, holds_values=False)


def _recall_by_group(quasi: Cells, is_flagged: Flags, carriers: Counts) -> Section:
    """List the subgroups of whose carriers the most are flagged."""
    rows: list[tuple[str, str | None, int, float]] = []
    for place, domain in enumerate(quasi.domains):
        codes = quasi.codes[:, place]
        have = np.bincount(codes, carriers, domain.size)
        flagged = np.bincount(codes, carriers * is_flagged, domain.size)
        rows.extend(
            (domain.column, domain.text(code), int(have[code]), float(flagged[code] / have[code]))
            for code in np.flatnonzero(have >= _FEWEST).tolist()
        )
    rows.sort(key=lambda row: (-row[3], -row[2], row[0], str(row[1])))
    columns = ("column", "label", "people who have it", "recall")
    return Section("recall by subgroup", columns, tuple(rows[:_N_GROUPS]))
