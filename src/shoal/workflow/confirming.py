"""Refuse insensitive columns that undo a release, until the steward confirms them.

Insensitive columns are published beside what a method hides. Before a release is written they are
compared with it, alone and in combination (`shoal.locating.insensitive_columns`):

- *determines*: alone or in pairs they determine a generalized quasi-identifier or a sensitive
  value;
- *share*: alone or in pairs they split an equivalence class of a generalized release into parts in
  which a sensitive value has a larger share than is promised;
- *classes*: in combinations of up to three, and all together, they split equivalence classes into
  ones that are smaller than the guarantees allow.

The last two concern lines that show quasi-identifiers, insensitive columns and the sensitive value
side by side. A bucketized release has its sensitive values in a file of their own and publishes
quasi-identifiers unchanged, so only the first is checked there. Sliced and suppressed releases have
no insensitive columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from shoal.core.cells import Cells, group
from shoal.core.display import number
from shoal.core.documents import toml_text
from shoal.core.domain import SUPPRESSED, NumberedDomain
from shoal.core.errors import DataError
from shoal.core.manifest import Manifest
from shoal.core.plan import Label, Plan
from shoal.engines.sql.columns import count_published, count_table
from shoal.locating.insensitive_columns import (
    Exposure,
    Rule,
    Search,
    find_determining,
    find_shares,
    find_small_classes,
)
from shoal.locating.random_worlds import claims_of, limit_text
from shoal.locating.row_groups import CodedColumns
from shoal.release.opened import Making, Release

_N_LISTED = 12


def refuse_unconfirmed(release: Release) -> Release:
    """Refuse a release whose insensitive columns undo it, unless its schema confirms them.

    The error names the columns, the number of people concerned, and how to confirm them. If there
    were too many combinations to check them all, the plan of the returned release carries a
    warning.
    """
    making = release.making
    if making is None or making.table.schema.confirms(making.table.schema.insensitive):
        return release
    searches = list(_searches(release, making))
    found = [one for search in searches for one in search.found]
    n_skipped = sum(search.n_skipped for search in searches)
    if found:
        raise _refused(found, release.manifest, n_skipped)
    if n_skipped:
        plan = making.plan
        warned = replace(plan, warnings=(*plan.warnings, _skipped(n_skipped)))
        return replace(release, making=replace(making, plan=warned))
    return release


def _searches(release: Release, making: Making) -> Iterator[Search]:
    """Search for what insensitive columns reveal, rule by rule."""
    table, schema = making.table, making.table.schema
    columns, confirmed = schema.insensitive, schema.confirmed
    # Counted one by one, targets make few cells; all columns together make as many as rows.
    told = [
        find_determining(
            CodedColumns.of_cells(count_table(table, (target,))), columns, (target,), confirmed
        )
        for target in (*_generalized(making), *schema.sensitive)
    ]
    found = tuple(one for search in told for one in search.found)
    yield Search(found, max((search.n_skipped for search in told), default=0))
    if not release.manifest.shape.generalizes:
        return
    guarantees = release.manifest.guarantees
    cells = _by_class(
        count_published(table, making.number, schema.coded), schema.quasi, schema.sensitive
    )
    if any(one.is_about_sensitive for one in guarantees):
        domain = table.domains[schema.sensitive[0]]
        claims = [
            (claim, domain.codes_of(sorted(claim.values, key=str)).tolist())
            for claim in claims_of(guarantees, None)
        ]
        yield find_shares(cells, columns, confirmed, claims)
    least = release.manifest.least_named
    yield find_small_classes(cells, columns, confirmed, least)


def _by_class(cells: Cells, quasi: Sequence[str], sensitive: Sequence[str]) -> Cells:
    """Put the equivalence class in place of the quasi-identifiers, then the sensitive columns."""
    shown = [cells.column(name) for name in quasi]
    first, number_of = group(shown, [cells.domain(name).size for name in quasi], cells.n_cells)
    places = [place for place, name in enumerate(cells.columns) if name not in quasi]
    ordered = sorted(places, key=lambda place: cells.columns[place] not in sensitive)
    domains = (
        NumberedDomain("\x00class", np.arange(len(first))),
        *(cells.domains[place] for place in ordered),
    )
    return Cells(domains, np.column_stack([number_of, cells.codes[:, ordered]]), cells.counts)


def _generalized(making: Making) -> tuple[str, ...]:
    """Return the quasi-identifiers that the release does not show unchanged."""
    return tuple(column for column in making.table.schema.quasi if _is_hidden(making.plan, column))


def _is_hidden(plan: Plan, column: str) -> bool:
    return any(
        _stands_for_several(recode.labels[place])
        for recode in plan.recode
        if recode.column == column
        for place in np.unique(recode.index).tolist()
    )


def _stands_for_several(label: Label) -> bool:
    has_several = label.members is not None and len(label.members) > 1
    is_wide = label.interval is not None and label.members is None
    return has_several or is_wide or label.text == SUPPRESSED


def _refused(found: Sequence[Exposure], manifest: Manifest, n_skipped: int) -> DataError:
    combinations = list(dict.fromkeys(one.columns for one in found))
    listed = [
        _words([one for one in found if one.columns == columns], manifest)
        for columns in combinations[:_N_LISTED]
    ]
    if len(combinations) > _N_LISTED:
        listed.append(f"and {len(combinations) - _N_LISTED} more combinations")
    return DataError(
        "Insensitive columns are published as they are, and these would undo what the release "
        f"promises to {number(manifest.n_rows)} people: {'; '.join(listed)}."
        + (f" {_skipped(n_skipped)}" if n_skipped else ""),
        hint="give them the role quasi or identifying; or, if nobody can know them about others, "
        f"confirm them in [columns]: meant = {_stated(found)}",
    )


def _words(exposures: Sequence[Exposure], manifest: Manifest) -> str:
    """Describe what a combination of columns does to how many people, without any value."""
    columns = exposures[0].columns
    names = " and ".join(map(repr, columns))
    s = "s" if len(columns) == 1 else ""
    said = []
    for one in exposures:
        who = f"{number(one.n_people)} people"
        if one.rule is Rule.DETERMINES:
            said.append(f"determine{s} {one.target!r} of {who}")
        elif one.rule is Rule.SHARE:
            said.append(f"leave{s} {who} in parts of classes where their value {_limit(manifest)}")
        else:
            said.append(f"leave{s} {who} in classes smaller than {manifest.least_named}")
    return f"{names} {' and '.join(said)}"


def _limit(manifest: Manifest) -> str:
    claims = claims_of(manifest.guarantees, None)
    if all(claim.bound is None for claim in claims):
        return "is certain"
    return f"has a larger share than {limit_text(claims)}"


def _skipped(n_skipped: int) -> str:
    return (
        f"{n_skipped} combinations of insensitive columns, those with the fewest different values, "
        "were too many to look at."
    )


def _stated(found: Sequence[Exposure]) -> str:
    """Return, as TOML, the fewest combinations that confirm everything found."""
    asked = list(dict.fromkeys(one.columns for one in found))
    largest = [one for one in asked if not any(set(one) < set(other) for other in asked)]
    listed = (f"[{', '.join(map(toml_text, columns))}]" for columns in largest)
    return f"[{', '.join(listed)}]"
