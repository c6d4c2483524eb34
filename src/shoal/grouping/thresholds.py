"""Whether a whole table keeps a guarantee, and if not, what it could keep.

Where one bucket that holds everybody does not keep a guarantee, no release does: a union of
buckets that keep it keeps it too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.core.cells import Counts
from shoal.core.errors import InfeasibleError
from shoal.core.exact import as_text
from shoal.core.guarantees import (
    AlphaK,
    BucketSize,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    Guarantee,
    KAnonymity,
    RecursiveDiversity,
)
from shoal.methods.requirements.thresholds import is_entropy_at_least

__all__ = ["Shortfall", "confirm_reachable", "shortfall_of"]


@dataclass(frozen=True)
class Shortfall:
    """Why a guarantee is out of reach, and the best parameters within reach, if any."""

    fact: str
    best: dict[str, object]


def confirm_reachable(guarantees: Sequence[Guarantee], counts: Counts) -> None:
    """Refuse guarantees that not even the whole table keeps.

    Parameters
    ----------
    guarantees
        What is asked for.
    counts
        How many rows carry each sensitive value (protected or not, where values are protected);
        in one number where no column is sensitive.

    Raises
    ------
    InfeasibleError
        It names the best reachable parameters.

    Examples
    --------
    >>> confirm_reachable([KAnonymity(k=5)], np.array([3]))
    Traceback (most recent call last):
    ...
    shoal.core.errors.InfeasibleError: k-anonymity with k = 5 needs 5 rows; the table has 3.
    <BLANKLINE>
    Hint: k = 3 can be reached.
    """
    found = [shortfall_of(guarantee, counts) for guarantee in guarantees]
    short = [shortfall for shortfall in found if shortfall is not None]
    if not short:
        return
    best = {name: value for shortfall in short for name, value in shortfall.best.items()}
    reachable = ", ".join(f"{name} = {value}" for name, value in best.items())
    raise InfeasibleError(
        " ".join(shortfall.fact for shortfall in short),
        hint=f"{reachable} can be reached." if best else "no other parameter helps.",
        best=best,
    )


def shortfall_of(guarantee: Guarantee, counts: Counts) -> Shortfall | None:
    """Say why the whole table does not keep a guarantee; None where it does."""
    match guarantee:
        case KAnonymity() | BucketSize():
            found = _of_size(guarantee, counts)
        case AlphaK():
            found = _of_alpha(guarantee, counts)
        case DistinctDiversity():
            found = _of_distinct(guarantee, counts)
        case FrequencyDiversity():
            found = _of_frequency(guarantee, counts)
        case EntropyDiversity():
            found = _of_entropy(guarantee, counts)
        case RecursiveDiversity():
            found = _of_recursive(guarantee, counts)
        case _:
            # A table is at distance 0 from itself.
            found = None
    return found


def _of_size(guarantee: KAnonymity | BucketSize | AlphaK, counts: Counts) -> Shortfall | None:
    n_rows = int(counts.sum())
    if n_rows >= guarantee.k:
        return None
    fact = f"{guarantee.name} with k = {guarantee.k} needs {guarantee.k} rows; the table has"
    return Shortfall(f"{fact} {n_rows}.", {"k": n_rows})


def _of_distinct(guarantee: DistinctDiversity, counts: Counts) -> Shortfall | None:
    n_values = int(np.count_nonzero(counts))
    if n_values >= guarantee.ell:
        return None
    fact = f"{guarantee.name} with ell = {guarantee.ell} needs as many different sensitive values"
    return Shortfall(f"{fact}; the table has {n_values}.", {"ell": n_values})


def _of_frequency(guarantee: FrequencyDiversity, counts: Counts) -> Shortfall | None:
    n_rows = int(counts.sum())
    largest = int(counts[0] if guarantee.protect else counts.max())
    if largest * guarantee.ell <= n_rows:
        return None
    reached = Fraction(n_rows, largest)
    best: object = as_text(reached)
    if guarantee.ell.denominator == 1:
        best = math.floor(reached)
    who = "the protected values" if guarantee.protect else "the most frequent value"
    ell = as_text(guarantee.ell)
    return Shortfall(
        f"{guarantee.name} with ell = {ell} allows {who} at most 1/{ell} of the rows; the table "
        f"has {largest} such rows among {n_rows}.",
        {"ell": best},
    )


def _of_alpha(guarantee: AlphaK, counts: Counts) -> Shortfall | None:
    short = _of_size(guarantee, counts)
    n_rows, n_bounded = int(counts.sum()), len(guarantee.protect) or len(counts)
    # Protected values come first, each for itself.
    largest = int(counts[:n_bounded].max())
    if largest <= guarantee.alpha * n_rows:
        return short
    who = "a protected value" if guarantee.protect else "a value"
    fact = (
        f"{guarantee.name} with alpha = {as_text(guarantee.alpha)} allows {who} at most that share "
        f"of the rows; the table has {largest} rows with the most frequent one among {n_rows}."
    )
    best: dict[str, object] = {"alpha": as_text(Fraction(largest, n_rows))}
    if short is None:
        return Shortfall(fact, best)
    return Shortfall(f"{short.fact} {fact}", short.best | best)


def _of_entropy(guarantee: EntropyDiversity, counts: Counts) -> Shortfall | None:
    positive = counts[counts > 0].tolist()
    if is_entropy_at_least(positive, guarantee.ell):
        return None
    n_rows = sum(positive)
    entropy = math.fsum(count / n_rows * math.log(n_rows / count) for count in positive)
    thousandths = math.floor(math.exp(entropy) * 1000) + 1
    while not is_entropy_at_least(positive, Fraction(thousandths, 1000)):
        thousandths -= 1
    best = as_text(Fraction(thousandths, 1000))
    return Shortfall(
        f"{guarantee.name} asks for an entropy of at least log({as_text(guarantee.ell)}); that of "
        f"the table's sensitive values is about log({best}).",
        {"ell": best},
    )


def _of_recursive(guarantee: RecursiveDiversity, counts: Counts) -> Shortfall | None:
    ordered = -np.sort(-counts[counts > 0])
    largest = int(ordered[0])
    # For each ell from 1 the rows of the ell-th most frequent value and of all rarer ones.
    rest = np.cumsum(ordered[::-1])[::-1].tolist()
    n_rest = rest[guarantee.ell - 1] if guarantee.ell <= len(rest) else 0
    if largest < guarantee.c * n_rest:
        return None
    fact = (
        f"{guarantee.name} with c = {as_text(guarantee.c)} and ell = {guarantee.ell} allows the "
        f"most frequent value fewer than {as_text(guarantee.c)} times the rows of all values from "
        f"rank {guarantee.ell} on; the table has {largest} and {n_rest}."
    )
    reachable = [ell for ell in range(2, len(rest) + 1) if largest < guarantee.c * rest[ell - 1]]
    if reachable:
        return Shortfall(fact, {"ell": reachable[-1]})
    if len(rest) < 2:
        return Shortfall(f"{fact} All rows carry one value.", {})
    # c must be above the quotient: the next thousandth is.
    thousandths = 1000 * largest // rest[1] + 1
    return Shortfall(fact, {"c": as_text(Fraction(thousandths, 1000)), "ell": 2})
