"""Prior beliefs about the rows of a release, and the internal file that keeps them.

Beliefs are about exact values, but lines may show labels. The prior belief about a line is the
belief about the people whom it admits, or the mean over them if they are of several kinds. A line
that admits nobody with a known belief gets the mean over all people.

A release that claims bounded belief gain can be checked only against the beliefs it was made for.
They say something about everybody in the table, so their file is internal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.beliefs.beliefs import Beliefs, read_bandwidth
from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.cells import Buckets, Cells
from shoal.core.documents import parse_json
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import DataError, ParameterError
from shoal.core.exact import as_text
from shoal.core.prior_knowledge import BelievedRows
from shoal.core.release import Published
from shoal.locating.location import chunks, match_lines, named_pairs

BELIEFS = "beliefs.json"
"""The internal file with the prior beliefs about everybody."""
_CHUNK = 2**22
"""The number of beliefs that are summed at a time."""


@dataclass(frozen=True, eq=False)
class LinePriors:
    """The prior belief about each line of a release.

    `entry` is the entry of `occupants`, the rows of each bucket by prior, that each line belongs
    to. `is_known` marks the lines that admit somebody with a known belief.
    """

    occupants: BelievedRows
    entry: Codes
    is_known: Flags

    @classmethod
    def of(cls, published: Published, prior: Codes, priors: Floats, is_known: Flags) -> LinePriors:
        """Count the rows of buckets, given the prior of each line."""
        bucket = published.lines.codes[:, 0]
        occupants = BelievedRows.of_pairs(bucket, prior, priors, published.lines.counts)
        keys = occupants.bucket * len(priors) + occupants.prior
        entry = np.searchsorted(keys, bucket * len(priors) + prior).astype(np.int64)
        return cls(occupants, entry, is_known)


def priors_of_lines(published: Published, buckets: Buckets, beliefs: Beliefs | None) -> LinePriors:
    """Return the prior belief about each line of a release.

    `beliefs` is None if the adversary knows only the distribution of the sensitive values in the
    whole release.
    """
    n_lines = published.lines.n_cells
    if beliefs is None:
        shares = buckets.totals[np.newaxis] / max(buckets.n_rows, 1)
        zero, yes = np.zeros(n_lines, dtype=np.int64), np.ones(n_lines, dtype=bool)
        return LinePriors.of(published, zero, shares, yes)
    looks, look = published.looks
    known = rename_values(beliefs, buckets.domain)
    prior = np.full(looks.n_cells, -1, dtype=np.int64)
    means = np.empty((0, known.shape[1]))
    if set(looks.columns) & set(beliefs.cells.columns):
        matches = match_lines(looks, published.meanings, beliefs.cells)
        order = np.argsort(matches.line, kind="stable")
        line, cell = matches.line[order], matches.person[order]
        start = np.searchsorted(line, np.arange(looks.n_cells + 1))
        n_cells = np.diff(start)
        # Priors are numbered: one per cell of the beliefs, one per mixture, then the overall mean.
        prior[n_cells == 1] = cell[start[:-1][n_cells == 1]]
        mixed = np.flatnonzero(n_cells > 1)
        prior[mixed] = len(known) + np.arange(len(mixed))
        chosen = np.repeat(n_cells > 1, n_cells)
        means = _means(known, beliefs.cells.counts, cell[chosen], n_cells[mixed])
    overall = beliefs.cells.counts @ known / max(beliefs.cells.n_rows, 1)
    priors = np.concatenate([known, means, overall[np.newaxis]])
    is_known = prior >= 0
    prior[~is_known] = len(priors) - 1
    return LinePriors.of(published, prior[look], priors, is_known[look])


def occupants_of_release(
    published: Published, buckets: Buckets, beliefs: Beliefs
) -> BelievedRows | None:
    """Return the rows of each bucket of a release by prior belief.

    Returns None if labels leave open which of several buckets somebody is in, as labels of relaxed
    cuts and of suppressed rare values do. Raises `DataError` if the beliefs are about other people
    than those of the release.
    """
    if not published.manifest.shape.generalizes:
        found = priors_of_lines(published, buckets, beliefs)
        if not found.is_known.all():
            raise DataError("There are people in the release without a prior belief.")
        return found.occupants
    looks, look = published.looks
    matches = match_lines(looks, published.meanings, beliefs.cells)
    n_looks = np.diff(matches.start)
    if np.any(n_looks == 0):
        raise DataError("There are people whom no line of the release admits.")
    if np.any(n_looks > 1):
        return None
    bucket_of_look = np.empty(looks.n_cells, dtype=np.int64)
    bucket_of_look[look] = published.lines.codes[:, 0]
    prior = np.arange(beliefs.cells.n_cells)
    renamed = rename_values(beliefs, buckets.domain)
    found_in = bucket_of_look[matches.line]
    return BelievedRows.of_pairs(found_in, prior, renamed, beliefs.cells.counts)


def rename_values(beliefs: Beliefs, domain: Domain) -> Floats:
    """Return the prior beliefs with one column per published value; other values are left out."""
    value, label = named_pairs(domain, {}, beliefs.domain)
    renamed = np.zeros((len(beliefs.prior), domain.size))
    for own, published in zip(value.tolist(), label.tolist(), strict=True):
        renamed[:, published] += beliefs.prior[:, own]
    return renamed


def _means(prior: Floats, counts: Counts, cell: Codes, n_cells: Counts) -> Floats:
    """Return the mean belief over runs of cells, `n_cells` in each."""
    means = np.empty((len(n_cells), prior.shape[1]))
    ends = np.cumsum(n_cells)
    step = max(_CHUNK // max(prior.shape[1], 1), 1)
    for part in chunks(n_cells, step):
        first, last = part.start, part.stop
        begin = int(ends[first] - n_cells[first])
        own = cell[begin : ends[last - 1]]
        start = ends[part] - n_cells[part] - begin
        weighed = np.add.reduceat(prior[own] * counts[own, np.newaxis], start, axis=0)
        means[part] = weighed / np.add.reduceat(counts[own], start)[:, np.newaxis]
    return means


# --- the internal file -------------------------------------------------------------------------


def beliefs_to_json(beliefs: Beliefs) -> bytes:
    """Return beliefs as JSON, with every number in full precision."""
    stated = {
        "sensitive": _stated(beliefs.domain),
        "quasi": [_stated(domain) for domain in beliefs.cells.domains],
        "bandwidth": {column: as_text(one) for column, one in beliefs.bandwidth.items()},
        "codes": beliefs.cells.codes.tolist(),
        "counts": beliefs.cells.counts.tolist(),
        "prior": beliefs.prior.tolist(),
    }
    return json.dumps(stated, ensure_ascii=False).encode()


def beliefs_from_json(content: bytes) -> Beliefs:
    """Read the output of `beliefs_to_json`; raise `DataError` for anything else."""
    try:
        stated = parse_json(content)
        domains = tuple(map(_domain_of, stated["quasi"]))
        domain = _domain_of(stated["sensitive"])
        counts = np.array(stated["counts"], dtype=np.int64)
        codes = np.array(stated["codes"], dtype=np.int64).reshape(len(counts), len(domains))
        prior = np.array(stated["prior"], dtype=np.float64).reshape(len(counts), domain.size)
        bandwidth = read_bandwidth(stated["bandwidth"], list(stated["bandwidth"]))
        sizes = [one.size for one in domains]
        if np.any(counts < 1) or np.any(codes < 0) or np.any(codes >= sizes):
            raise DataError("A file of beliefs has codes or counts out of range.")
        return Beliefs(Cells(domains, codes, counts), prior, domain, bandwidth)
    except (
        ValueError,
        KeyError,
        TypeError,
        OverflowError,
        RecursionError,
        ParameterError,
    ) as error:
        if isinstance(error, DataError):
            raise
        raise DataError("A file of beliefs cannot be read.") from None


def _stated(domain: Domain) -> dict[str, object]:
    return {
        "column": domain.column,
        "type": str(domain.type),
        "texts": domain.texts.tolist(),
        "numbers": None if domain.numbers is None else domain.numbers.tolist(),
        "missing": domain.has_missing,
    }


def _domain_of(stated: Mapping[str, Any]) -> Domain:
    texts, numbers = list(map(str, stated["texts"])), stated["numbers"]
    if numbers is not None and len(numbers) != len(texts):
        raise DataError("A file of beliefs has more or fewer numbers than values.")
    return Domain.of_texts(
        str(stated["column"]),
        texts,
        type=ColumnType(stated["type"]),
        numbers=numbers,
        has_missing=bool(stated["missing"]),
    )
