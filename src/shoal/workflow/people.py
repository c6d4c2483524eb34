"""The people attacked, and the truth about them.

They are everybody in a release, people of another table, or people named by facts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.beliefs.beliefs import Beliefs
from shoal.beliefs.informed import prior_beliefs
from shoal.calibration.calibrate import calibrate
from shoal.core.arrays import Codes, Texts
from shoal.core.attack import Attack, View
from shoal.core.cells import Cells, group, smallest_type
from shoal.core.domain import ColumnType, Domain, NumberedDomain, Role
from shoal.core.errors import DataError, ParameterError, SchemaError
from shoal.core.findings import Findings, Truth
from shoal.core.levelled import domains_of_levels, rows_at_levels
from shoal.core.levels import declared_anew
from shoal.core.release import People, Published
from shoal.core.sampling import Sample
from shoal.core.schema import Schema
from shoal.core.table import Rows
from shoal.engines.sql.domains import retype
from shoal.engines.sql.table import EngineTable
from shoal.injector.known import Knowledge
from shoal.injector.nodes import codes_in
from shoal.release.opened import Release
from shoal.release.people import lines_of_keys, rows_in_buckets
from shoal.release.witnesses import kinds_of_release, place_people
from shoal.workflow.read import columns_of, read


def everybody_in(release: Release) -> People:
    """Return the people of the release, each known to be in their own line if there are lines."""
    published = release.published
    if published.sliced is not None:
        return People(kinds_of_release(release, published.sliced).people)
    lines = published.lines
    return People(
        Cells(lines.domains[1:], lines.codes[:, 1:], lines.counts),
        bucket=lines.codes[:, 0],
        line=np.arange(lines.n_cells, dtype=smallest_type(lines.n_cells)),
    )


def read_people(people: Any, published: Published) -> People:
    """Read the quasi-identifiers of people who are to be found by matching.

    Values are read as the release's types demand, however they are spelled: 20.0 is the 20 of a
    whole number, True is true. A value that is not of its type fits nobody; if no value of a column
    is, DataError is raised.
    """
    quasi = published.known
    if isinstance(people, EngineTable):
        lacking = [column for column in quasi if column not in people.domains]
        if lacking:
            raise SchemaError(
                f"The people's table has no quasi-identifying column {', '.join(lacking)}.",
                hint="give every quasi-identifier of the release that role.",
            )
        return People(_as_released(people.counts(quasi), published))
    rest = _other_columns(people, quasi)
    # As texts, because other people may have values that are not of the release's type.
    types = dict.fromkeys(quasi, str(ColumnType.CATEGORICAL))
    table = read(people, Schema(quasi=quasi, identifying=rest, types=types))
    with contextlib.closing(table.engine):
        return People(_as_released(table.counts(quasi), published))


def _other_columns(source: Any, wanted: Sequence[str]) -> list[str]:
    return [column for column in columns_of(source) if column not in wanted]


def read_prior(source: Any, published: Published, bandwidth: Any) -> Beliefs:
    """Estimate the beliefs of an adversary who has a table with the columns of a release.

    `source` is the table itself, or data like it, with the release's quasi-identifiers and its
    sensitive column. Distances are those of numbers and of equal texts. `bandwidth` is as for
    `shoal.knowledge.prior_beliefs`.
    """
    columns = [
        column
        for column in published.manifest.columns
        if column.role in (Role.QUASI, Role.SENSITIVE)
    ]
    names = {role: [c.name for c in columns if c.role is role] for role in Role}
    types: dict[str, Any] = {c.name: c.type if c.order is None else c.order for c in columns}
    schema = Schema(
        quasi=names[Role.QUASI],
        sensitive=names[Role.SENSITIVE],
        identifying=_other_columns(source, tuple(types)),
        types={name: kind for name, kind in types.items() if kind is not ColumnType.ORDERED},
        variants=dict.fromkeys(names[Role.SENSITIVE], "distinct"),
        levels=declared_anew(published.manifest.levels, names[Role.SENSITIVE], names[Role.QUASI]),
    )
    table = read(source, schema)
    with contextlib.closing(table.engine):
        return prior_beliefs(table, bandwidth)


def _as_released(people: Cells, published: Published) -> Cells:
    """Return people with the column types of the release."""
    types = {column.name: column.type for column in published.manifest.columns}
    domains, codes = [], []
    for domain in people.domains:
        retyped, code = retype(domain, types[domain.column])
        domains.append(retyped)
        codes.append(code[people.column(domain.column)])
    cells = Cells(tuple(domains), np.stack(codes, axis=1), people.counts)
    return cells.select(people.columns)


def with_keys(
    release: Release,
    attacked: People,
    others: tuple[Any, str | None],
    told: Sequence[object],
    *,
    is_own: bool,
) -> People:
    """Find the attacked people whom facts name by the keys of their rows.

    `others` is the table, frame or file that these people come from and its key column, or None for
    everybody in the release. `told` is what attacks are given, of which the facts count; `is_own`
    says whether its first entry is the knowledge that the release was made against. A person whom
    the release leaves out has the cell -1, if the table is available or the release was made
    against this very knowledge.
    """
    known = [one for one in told if isinstance(one, Knowledge)]
    keys = tuple({fact.person: None for one in known for fact in one.facts})
    if not keys:
        return attacked
    is_own = is_own and len(known) == 1 and known[0] is told[0]
    return replace(attacked, cell_of_key=_cells_of_keys(release, attacked, others, keys, is_own))


def _cells_of_keys(
    release: Release,
    attacked: People,
    others: tuple[Any, str | None],
    keys: Sequence[str],
    is_own: bool,
) -> dict[str, int] | None:
    """Return the cell of each person; None if nothing tells whose row is whose."""
    published = release.published
    people, key = others
    shape = release.manifest.shape
    if shape.hides_cells or not shape.has_lines:
        return None
    if people is not None:
        return _cells_of_others(published, attacked, people, key, keys)
    if release.making is None and release.internal is None:
        return None
    found = lines_of_keys(release, published, keys)
    if release.making is not None:
        left_out = list(release.making.table.codes_of_keys(keys))
    else:
        left_out = list(keys) if is_own else []
    return dict.fromkeys(left_out, -1) | found


def _cells_of_others(
    published: Published, attacked: People, people: Any, key: str | None, keys: Sequence[str]
) -> dict[str, int] | None:
    """Find people of another table by their keys, if it has them."""
    if isinstance(people, EngineTable):
        return None if people.schema.key is None else _cells_by_text(attacked, people, keys)
    if key is None:
        return None
    quasi = published.manifest.columns_of(Role.QUASI)
    types = dict.fromkeys(quasi, str(ColumnType.CATEGORICAL))
    rest = _other_columns(people, quasi)
    table = read(people, Schema(quasi=quasi, identifying=rest, types=types, key=key))
    with contextlib.closing(table.engine):
        return _cells_by_text(attacked, table, keys)


def _cells_by_text(attacked: People, table: EngineTable, keys: Sequence[str]) -> dict[str, int]:
    quasi = attacked.quasi
    place = {tuple(row): cell for cell, row in enumerate(quasi.codes.tolist())}
    cells: dict[str, int] = {}
    for key, codes in table.codes_of_keys(keys).items():
        texts = [table.domains[column].text(codes[column]) for column in quasi.columns]
        own = [codes_in(d, [text])[0] for d, text in zip(quasi.domains, texts, strict=True)]
        cells[key] = place.get(tuple(map(int, own)), -1)
    return cells


# --- the truth about them -------------------------------------------------------------------------
# An attack sees the release and the people, each in their own bucket, with the exact values of
# their quasi-identifiers. Only here are its beliefs compared with the true values: they are
# calibrated, and the gate judges the number of people who are exposed after that ([Wong11] Section
# 5.1, see `shoal.foreground.attack`).

_MOST_ROWS = 20_000_000


@dataclass(frozen=True, eq=False)
class LocatedPeople:
    """Everybody in a release, each in their own bucket, with the truth kept apart."""

    # Exact quasi-identifiers and buckets: what an adversary may know.
    people: People
    # Sensitive values: what only the steward knows.
    truth: Truth
    # The line of each person, from 0; None in a sliced release, which has no lines.
    line: Codes | None = None
    # For each cell of everybody placed in a sliced release, the cell of these people; -1 for those
    # left out. None if these are all.
    among: Codes | None = None


def locate_people(
    release: Release, table: EngineTable | None = None, sample: Sample | None = None
) -> LocatedPeople:
    """Put the people of a table into the buckets of its release.

    The release is in memory, or opened with its internal folder; an opened one needs the table.
    With a sample, only the people in its buckets are located. Raises ParameterError without a
    table, and DataError if nothing tells where people are, or the table does not have them all.
    """
    table = release.making.table if table is None and release.making is not None else table
    if table is None:
        raise ParameterError(
            "An attack cannot be scored without the table.",
            hint="give the table that the release was made from.",
        )
    published = release.levelled
    n_buckets = published.n_buckets
    chosen = np.arange(n_buckets) if sample is None else sample.buckets
    place = np.arange(n_buckets) if sample is None else sample.number(n_buckets)
    placed = rows_in_buckets(release, published, place)
    rows = table.row_codes(_MOST_ROWS) if sample is None else table.codes_of_rows(placed.keys)
    levels = release.manifest.levels
    rows = rows_at_levels(rows, domains_of_levels(levels, table.domains.values(), table.trees))
    assert rows.keys is not None
    # People who were left out of the release are not attacked.
    row = _rows_of_keys(rows.keys, placed.keys)
    n_expected = published.lines.n_rows if sample is None else sample.n_people
    if np.any(row < 0) or len(row) < n_expected:
        raise DataError("The table is not the one that the release was made from.")
    codes, bucket = rows.codes[row].astype(np.int64), chosen[placed.place]
    values = tuple(_numbered(rows, codes, domain, published) for domain in published.sensitive)
    # Hierarchies are assumed to be common knowledge: the digits of a postcode, a classification.
    trees = {column: table.trees[column] for column in table.schema.quasi if column in table.trees}
    if placed.kind is not None:
        everybody = place_people(release)
        assert everybody is not None
        people, number = people_in(everybody.people, place)
        cell = number[everybody.entry_of(placed.kind, _bucket_numbers(published)[bucket])]
        truth = Truth(cell, values, people.quasi.n_cells)
        return LocatedPeople(replace(people, trees=trees), truth, among=number)
    people, cell = _by_bucket(table, rows, codes, bucket, n_buckets)
    truth = Truth(cell, values, people.quasi.n_cells)
    return LocatedPeople(replace(people, trees=trees), truth, placed.line)


def _rows_of_keys(keys: Texts, wanted: Texts) -> Codes:
    """Return the place of each wanted key among some keys; -1 for one that is not there."""
    if np.array_equal(keys, wanted):
        return np.arange(len(keys))
    place = {key: number for number, key in enumerate(keys.tolist())}
    return np.array([place.get(key, -1) for key in wanted.tolist()], dtype=np.int64)


def people_in(people: People, place: Codes) -> tuple[People, Codes]:
    """Return the people of the buckets that have a place; -1 is no place.

    Also return the new number of each cell of people, -1 for those left out.
    """
    assert people.bucket is not None
    quasi, keys = people.quasi, people.cell_of_key
    kept = np.flatnonzero(place[people.bucket] >= 0)
    number = np.full(quasi.n_cells, -1, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    if keys is not None:
        keys = {key: int(number[cell]) if cell >= 0 else -1 for key, cell in keys.items()}
    chosen = replace(
        people,
        quasi=Cells(quasi.domains, quasi.codes[kept], quasi.counts[kept]),
        bucket=people.bucket[kept],
        line=None if people.line is None else people.line[kept],
        company=None,
        cell_of_key=keys,
    )
    return chosen, number


def _bucket_numbers(published: Published) -> Codes:
    """Return the numbers of buckets, as they are written."""
    numbers = published.lines.domains[0]
    assert isinstance(numbers, NumberedDomain)
    return numbers.whole


def _numbered(rows: Rows, codes: Codes, domain: Domain, published: Published) -> Codes:
    """Return the value of each row in a column, as findings number it; -1 if it is not there."""
    place = rows.columns.index(domain.column)
    translated = domain.codes_of(rows.domains[place].labels())
    first = published.first_value(domain.column)
    return np.where(translated < 0, -1, translated + first)[codes[:, place]]


def _by_bucket(
    table: EngineTable, rows: Rows, codes: Codes, bucket: Codes, n_buckets: int
) -> tuple[People, Codes]:
    """Group rows by bucket and quasi-identifiers; return the people, and the cell of each row."""
    places = [rows.columns.index(column) for column in table.schema.quasi]
    domains = tuple(rows.domains[place] for place in places)
    columns = [bucket, *(codes[:, place] for place in places)]
    sizes = [n_buckets, *(domain.size for domain in domains)]
    first, cell = group(columns, sizes, len(bucket))
    quasi = np.column_stack([column[first] for column in columns[1:]])
    counts = np.bincount(cell, minlength=len(first)).astype(np.int64)
    return People(Cells(domains, quasi, counts), bucket[first]), cell


def by_line(found: Findings, located: LocatedPeople, published: Published) -> Findings:
    """Return findings about located people with one entry per line.

    In a sliced release, which has no lines, there is one entry per kind of people and bucket.
    Entries about people who were not attacked have a count of 0.
    """
    if located.line is None:
        found = found if located.among is None else spread_over(found, located.among)
        return replace(found, is_by_place=True)
    cell = np.full(published.lines.n_rows, -1, dtype=np.int64)
    cell[located.line] = located.truth.cell
    counts = (cell >= 0).astype(np.int64)
    return replace(spread_over(found, cell), counts=counts, is_by_line=True)


def spread_over(found: Findings, entry: Codes) -> Findings:
    """Return findings with other entries: each is one of the present ones, or -1 for nobody."""
    is_there = entry >= 0
    return replace(
        found,
        counts=np.where(is_there, found.counts[entry], 0),
        value=np.where(is_there, found.value[entry], -1),
        posterior=np.where(is_there, found.posterior[entry], 0.0),
        breached=is_there & found.breached[entry],
    )


def attack_and_score(
    release: Release,
    attack: Attack,
    table: EngineTable | None = None,
    knowledge: object = None,
) -> Findings:
    """Run an attack on everybody in a release, and score it by the truth.

    The findings carry a calibration and further figures; they are internal, like everything that
    tells the truth. See `locate_people` for the table.

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
    located = locate_people(release, table)
    view = View(release.levelled, located.people, knowledge)
    return join_truth(attack.run(view), located, release.levelled)


def join_truth(found: Findings, located: LocatedPeople, published: Published) -> Findings:
    """Calibrate the beliefs about located people, and add the attack's own figures."""
    found = _checked(found, located, published)
    if found.score is None:
        return found
    headline, further = found.score(located.truth)
    return replace(
        found,
        headline=dict(found.headline) | dict(headline),
        sections=(*found.sections, *further),
    )


def _checked(found: Findings, located: LocatedPeople, published: Published) -> Findings:
    """Calibrate beliefs against the truth; the people breached are those exposed after that."""
    if found.suspicions is None:
        return found
    carriers = [located.truth.carriers(one.values) for one in found.suspicions.about]
    names = [_name(one.values, published) for one in found.suspicions.about]
    calibration, is_exposed = calibrate(
        found.suspicions, found.counts, carriers, names, located.people.quasi
    )
    return replace(found, calibration=calibration, breached=is_exposed)


def _name(values: tuple[int, ...], published: Published) -> str:
    """Return the name of values that count as one; it contains values of the table."""
    texts = [text for domain in published.sensitive for text in domain.labels()]
    named = [texts[value] for value in values]
    return " or ".join("missing" if text is None else text for text in named)
