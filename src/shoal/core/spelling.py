"""Spellings of one value: texts that a reader takes for the same word.

`HIV`, `HIV ` and `hiv` are one disease, but three texts. If they count as three sensitive values,
a bucket in which everybody has it seems diverse. Two texts are variants of one another where they
are equal after these steps: invisible characters are dropped, the Unicode form is made one (NFKC),
upper and lower case are made one, and white space is collapsed and stripped.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from shoal.core.cells import Counts
from shoal.core.errors import DataError
from shoal.core.toml_text import key

__all__ = [
    "CHOICES",
    "group_variants",
    "most_frequent_spellings",
    "spelling_key",
    "variants_error",
    "words_of_variants",
]

CHOICES = ("distinct", "merge")
"""What a steward can say of the variants of a column: other values, or one value."""

_INVISIBLE = ("Cf", "Cc")
# Zero-width characters that Unicode counts as letters or marks: joiners, fillers and selectors.
_IGNORABLE = frozenset(
    map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0x180B, 0x1810)))
) | frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))


def spelling_key(text: str) -> str:
    r"""Return what all spellings of a value have in common.

    Examples
    --------
    >>> spelling_key(" HIV\u200b  positive") == spelling_key("hiv positive")
    True
    >>> spelling_key("e\u0301") == spelling_key("\u00c9")
    True
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _without_invisible(text))
        # Folding the case may leave a form that is not composed, and composing may change the case.
        text = unicodedata.normalize("NFKC", text.casefold())
    elif not text.isprintable():
        text = _without_invisible(text)
    return " ".join(text.casefold().split())


def _without_invisible(text: str) -> str:
    return "".join(
        letter
        for letter in text
        if letter.isspace()
        or (unicodedata.category(letter) not in _INVISIBLE and letter not in _IGNORABLE)
    )


def group_variants(texts: Sequence[str]) -> list[list[int]]:
    """Return the groups of texts that are variants of one another, by their places.

    Parameters
    ----------
    texts
        Different texts.

    Returns
    -------
    The groups of two or more texts, each in the order of `texts`.

    Examples
    --------
    >>> group_variants(["HIV", "flu", "hiv", "HIV "])
    [[0, 2, 3]]
    """
    groups: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        groups.setdefault(spelling_key(text), []).append(place)
    return [places for places in groups.values() if len(places) > 1]


def most_frequent_spellings(
    texts: Sequence[str], counts: Counts, groups: Sequence[Sequence[int]]
) -> list[str]:
    """Return for every text the spelling that its group is merged into.

    Parameters
    ----------
    texts, counts
        Different texts, and how many rows have each.
    groups
        What `group_variants` gave.

    Returns
    -------
    The most frequent spelling of the group; of equally frequent ones the first by code points. A
    text without variants stays what it is.

    Examples
    --------
    >>> import numpy as np
    >>> most_frequent_spellings(["hiv", "flu", "HIV"], np.array([2, 9, 2]), [[0, 2]])
    ['HIV', 'flu', 'HIV']
    """
    merged = list(texts)
    for places in groups:
        best = min(places, key=lambda place: (-int(counts[place]), texts[place]))
        for place in places:
            merged[place] = texts[best]
    return merged


def words_of_variants(groups: Sequence[Sequence[int]]) -> str:
    """Say how many values are spelled in several ways, without any of them.

    Examples
    --------
    >>> words_of_variants([[0, 2, 3]])
    '3 different texts are spellings of 1 value'
    """
    n_texts, n_values = sum(map(len, groups)), len(groups)
    return f"{n_texts} different texts are spellings of {n_values} value{'s' * (n_values > 1)}"


def variants_error(column: str, groups: Sequence[Sequence[int]]) -> DataError:
    """Return the error of a sensitive column with variants of which nobody says what they are."""
    return DataError(
        f"In the sensitive column {column!r} {words_of_variants(groups)}: they differ only in "
        "case, white space, invisible characters or Unicode form, and would count as different "
        "values.",
        hint=f'say what they are: [columns.variants] {key(column)} = "merge" makes one value of '
        'them, the most frequent spelling; "distinct" keeps them apart.',
    )
