"""Numbers of any size from their residues: kernels count with machine words, once a prime."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["joined", "primes_for"]

_LARGEST_MODULUS = 2**31


def primes_for(largest: int) -> list[int]:
    """Give primes below 2^31 whose product is larger than a number.

    Examples
    --------
    >>> primes_for(10**9)
    [2147483647]
    """
    primes: list[int] = []
    candidate, product = _LARGEST_MODULUS - 1, 1
    while product <= largest:
        if all(candidate % divisor for divisor in range(3, math.isqrt(candidate) + 1, 2)):
            primes.append(candidate)
            product *= candidate
        candidate -= 2
    return primes


def joined(residues: Sequence[int], moduli: Sequence[int]) -> int:
    """Give the least number that leaves these residues (the Chinese remainder theorem).

    Examples
    --------
    >>> joined([2, 3, 2], [3, 5, 7])
    23
    """
    number, product = 0, 1
    for residue, modulus in zip(residues, moduli, strict=True):
        number += product * ((residue - number) * pow(product, -1, modulus) % modulus)
        product *= modulus
    return number
