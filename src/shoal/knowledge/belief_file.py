"""Beliefs as a file that is kept beside a release, and what it says of the release's rows.

A release that promises something about beliefs can be checked only against them. They tell about
everybody in the table, so they are internal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from shoal.core.believed_rows import BelievedRows
from shoal.core.cells import Buckets, Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import DataError, ParameterError
from shoal.core.exact import as_text
from shoal.core.method import Shape
from shoal.core.reading import parse_json
from shoal.core.release import Published
from shoal.knowledge.beliefs import Beliefs, read_bandwidth
from shoal.knowledge.location import match_lines
from shoal.knowledge.priors import priors_of_lines, rename_values

__all__ = ["BELIEFS", "beliefs_from_json", "beliefs_to_json", "occupants_of_release"]

BELIEFS = "beliefs.json"
"""The internal file with what is believed of everybody before the release is seen."""


def beliefs_to_json(beliefs: Beliefs) -> bytes:
    """Write beliefs, with every number as exact as it is.

    Examples
    --------
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> cells = Cells((sex,), np.array([[0], [1]]), np.array([3, 2]))
    >>> held = Beliefs(cells, np.array([[0.1, 0.9], [0.5, 0.5]]), Domain.of_texts("d", ["x", "y"]))
    >>> beliefs_from_json(beliefs_to_json(held)).prior.tolist()
    [[0.1, 0.9], [0.5, 0.5]]
    """
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
    """Read what `beliefs_to_json` wrote.

    Raises
    ------
    DataError
        Where the content is something else.
    """
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
        raise DataError("A file of beliefs has not as many numbers as values.")
    return Domain.of_texts(
        str(stated["column"]),
        texts,
        type=ColumnType(stated["type"]),
        numbers=numbers,
        has_missing=bool(stated["missing"]),
    )


def occupants_of_release(
    published: Published, buckets: Buckets, beliefs: Beliefs
) -> BelievedRows | None:
    """Say which beliefs meet in the buckets of a release, where that can be told.

    Parameters
    ----------
    published
        The release.
    buckets
        Its sensitive values.
    beliefs
        What was believed of everybody in the table that it was made from.

    Returns
    -------
    The rows of each bucket by prior belief. None where labels leave open which of several buckets
    somebody is in, as those of relaxed cuts and of values too rare to be named do.

    Raises
    ------
    DataError
        Where the beliefs are about other people than those of the release.
    """
    if published.manifest.shape is not Shape.GENERALIZED:
        found = priors_of_lines(published, buckets, beliefs)
        if not found.is_known.all():
            raise DataError("There are people in the release of whom nothing was believed.")
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
