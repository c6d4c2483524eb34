"""Attack two releases of one table together.

Who stands where in each, the internal folders say: the adversary is taken to know it, as in other
attacks on everybody in a release.
"""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt

from shoal.core.attack import Findings, Section
from shoal.core.cells import Codes
from shoal.core.domain import Domain
from shoal.core.errors import DataError, ParameterError
from shoal.core.exact import as_text
from shoal.core.release import Manifest, Published
from shoal.core.schema import Role
from shoal.knowledge.intersection import Intersection, View, intersect
from shoal.pipeline.release import PLACEMENT, Release, open_release
from shoal.pipeline.witnesses import kinds_of_release

__all__ = ["attack_with_earlier"]

_KNOWS = (
    "the bucket of people who are in both releases; given a person's value, their two buckets are "
    "independent to her"
)
_CERTAIN = 1 - 1e-9
_TIE = 1 + 1e-12
_MOST_LEFT = 5


def attack_with_earlier(release: Release, earlier: str | os.PathLike[str]) -> Findings:
    """Intersect what two releases say of the people who are in both.

    Parameters
    ----------
    release
        A release that was opened from its folder, or written to one.
    earlier
        The public folder of another release of the same table.

    Raises
    ------
    DataError
        Where an internal folder is missing, or the releases have no people in common.
    ParameterError
        Where they have no sensitive column in common, or one suppresses cells.
    """
    other = open_release(earlier)
    sensitive = _common(release.manifest, other.manifest)
    one, first = _view(release, sensitive)
    two, second = _view(other, sensitive)
    mine, theirs = _in_both(release, other)
    found = intersect(one, two, first[mine - 1], second[theirs - 1])
    limit = _limit(release.manifest)
    is_certain = found.posterior > _CERTAIN
    breached = is_certain.copy()
    if limit is not None:
        is_about = _is_protected(release.manifest, one.domain)[found.value]
        breached |= is_about & (found.posterior > float(limit) * _TIE)
    return Findings(
        attack="intersection",
        knows=_KNOWS,
        counts=found.counts,
        value=found.value,
        posterior=found.posterior,
        breached=breached,
        limit="anything short of certainty" if limit is None else as_text(limit),
        headline={
            "people in both": int(found.counts.sum()),
            "people at risk": int(found.counts[breached].sum()),
            "people certain": int(found.counts[is_certain].sum()),
            "worst posterior": float(found.posterior.max(initial=0.0)),
            "worst in this release alone": float(found.alone.max(initial=0.0)),
            "people whom no value fits": int(found.counts[found.n_left == 0].sum()),
        },
        sections=(_by_values_left(found),),
    )


def _common(one: Manifest, other: Manifest) -> str:
    """Name the sensitive column of both."""
    shared = [
        name for name in one.columns_of(Role.SENSITIVE) if name in other.columns_of(Role.SENSITIVE)
    ]
    if not shared:
        raise ParameterError("The two releases have no sensitive column in common.")
    return shared[0]


def _view(release: Release, sensitive: str) -> tuple[View, Codes]:
    """Give what a release says, and the place that each line, or kind, has in it."""
    published = release.published
    if published.sliced is not None:
        kinds = kinds_of_release(release, published.sliced)
        return View.of_sliced(published.sliced, kinds.people, sensitive), kinds.entry
    if published.buckets is None or published.rows is not None:
        raise ParameterError("Releases are intersected by buckets of sensitive values.")
    return View.of_buckets(published.buckets), _bucket_of_lines(release, published)


def _bucket_of_lines(release: Release, published: Published) -> Codes:
    opened = release
    if release.making is not None:
        assert release.folder is not None
        opened = open_release(release.folder)
    return np.asarray(published.lines.codes[opened.files.cell_of_lines(opened.published), 0])


def _in_both(one: Release, other: Release) -> tuple[Codes, Codes]:
    """Give the line, or kind, of every person of both releases, by the keys of rows."""
    engine = one.files.engine
    columns = ["kind" if release.manifest.slices else "line" for release in (one, other)]
    relations = [
        engine.scan_own(_internal(release) / PLACEMENT, is_trusted=True).relation
        for release in (one, other)
    ]
    fetched = engine.rows(
        f"SELECT a.{columns[0]} AS one, b.{columns[1]} AS other "
        f"FROM {relations[0]} a JOIN {relations[1]} b USING (row_key)"
    )
    if not len(fetched["one"]):
        raise DataError(
            "Nobody is in both releases by the keys of their rows.",
            hint="were they made of the same table, with the same key?",
        )
    return fetched["one"].astype(np.int64), fetched["other"].astype(np.int64)


def _internal(release: Release) -> Path:
    if release.internal is None:
        raise DataError(
            "Whose place is whose in a release, its internal folder says; one is not there.",
            hint="name the public folder that has its internal folder beside it.",
        )
    return release.internal


def _limit(manifest: Manifest) -> Fraction | None:
    bounds = [guarantee.posterior_bound for guarantee in manifest.guarantees]
    return min((bound for bound in bounds if bound is not None), default=None)


def _is_protected(manifest: Manifest, domain: Domain) -> npt.NDArray[np.bool_]:
    """Say of each value whether a bound is about it; the last entry is for no value."""
    bounding = [one for one in manifest.guarantees if one.posterior_bound is not None]
    protected = {value for one in bounding for value in getattr(one, "protect", ())}
    is_about_all = any(not getattr(one, "protect", ()) for one in bounding)
    return np.array([is_about_all or text in protected for text in [*domain.labels()]] + [False])


def _by_values_left(found: Intersection) -> Section:
    left = np.minimum(found.n_left, _MOST_LEFT)
    rows = []
    for number in np.unique(left).tolist():
        chosen = left == number
        rows.append(
            (
                f"{number} or more" if number == _MOST_LEFT else number,
                int(found.counts[chosen].sum()),
                float(found.posterior[chosen].max(initial=0.0)),
            )
        )
    return Section(
        "people by sensitive values that both releases leave",
        ("values", "people", "worst posterior"),
        tuple(rows),
        holds_values=False,
    )
