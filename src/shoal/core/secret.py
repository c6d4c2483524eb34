"""The one secret of a release, and everything that is drawn from it.

Every key and every draw is derived from 256 secret bits by HMAC with a label, so that one purpose
reveals nothing about another. The bits never reach a public file, a log or an error.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from numbers import Integral

import numpy as np

from shoal.core.arrays import Integers, Words
from shoal.core.errors import ParameterError

_N_BYTES = 32


class Secret:
    """The source of all randomness of one release.

    Examples
    --------
    >>> Secret.from_seed(7).permutation("buckets", 4).tolist() == (
    ...     Secret.from_seed(7).permutation("buckets", 4).tolist())
    True
    """

    __slots__ = ("_bits", "is_test")

    def __init__(self, bits: bytes, *, is_test: bool = False) -> None:
        self._bits = bits
        self.is_test = is_test
        """Whether the secret comes from a caller's seed, which others may guess."""

    @classmethod
    def fresh(cls) -> Secret:
        """Draw 256 bits from the operating system."""
        return cls(secrets.token_bytes(_N_BYTES))

    @classmethod
    def from_seed(cls, seed: int | str) -> Secret:
        """Derive a repeatable secret from a seed, for tests and examples."""
        try:
            text = f"shoal seed {seed}".encode()
        except UnicodeEncodeError:
            text = None
        if text is None or not isinstance(seed, (str, Integral)):
            raise ParameterError(
                "A seed must be a whole number or a text that can be written as UTF-8.",
                hint="leave it out: then a secret one is drawn.",
            )
        return cls(hashlib.sha256(text).digest(), is_test=True)

    @classmethod
    def from_hex(cls, bits: str, *, is_test: bool) -> Secret:
        """Restore a secret from an internal record."""
        return cls(bytes.fromhex(bits), is_test=is_test)

    def reveal(self) -> str:
        """Return the bits in hexadecimal, only for the internal record."""
        return self._bits.hex()

    def derive(self, label: str) -> bytes:
        """Derive the 256-bit key of one purpose."""
        return hmac.new(self._bits, label.encode(), hashlib.sha256).digest()

    def numbers(self, label: str, size: int) -> Words:
        """Draw 64-bit numbers from a cryptographic stream."""
        stream = hashlib.shake_256(self.derive(label)).digest(8 * size)
        return np.frombuffer(stream, dtype="<u8").astype(np.uint64)

    def permutation(self, label: str, size: int) -> Integers:
        """Draw a permutation of 0, ..., size - 1."""
        return np.argsort(self.numbers(label, size), kind="stable").astype(np.int64)

    def generator(self, label: str) -> np.random.Generator:
        """Return a numpy generator for draws that need more than uniform numbers."""
        return np.random.default_rng(int.from_bytes(self.derive(label)))

    def __repr__(self) -> str:
        return "Secret(test)" if self.is_test else "Secret(...)"
