"""Which values of people a published label names.

Texts name texts. Where the values are numbers, equal numbers have equal names, however they are
spelled: 20 names 20.0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property

import numpy as np

from shoal.core.cells import Codes
from shoal.core.domain import ColumnType, Domain
from shoal.core.hierarchy_rules import day_of_date, iso_date
from shoal.core.release import Meaning

__all__ = ["named_pairs"]

_Labels = Mapping[str, Meaning]
_Key = str | int | float | Decimal | None


def named_pairs(domain: Domain, meanings: _Labels, values: Domain) -> tuple[Codes, Codes]:
    """Give the pairs of a value and a label that admits it by name, sorted by value.

    Parameters
    ----------
    domain
        The published labels.
    meanings
        What the labels stand for.
    values
        The values of the people.

    Examples
    --------
    >>> ages = Domain.of_texts("age", ["20", "21"], type=ColumnType.INTEGER, numbers=[20, 21])
    >>> people = Domain.of_texts("age", ["20.0", "30.0"], type=ColumnType.REAL, numbers=[20, 30])
    >>> value, label = named_pairs(ages, {}, people)
    >>> value.tolist(), label.tolist()
    ([0], [0])
    """
    labels = domain.labels()
    keys = _Keys.of(domain, meanings, values)
    others = _unnamed(labels, meanings, keys)
    pairs = [
        (code, place)
        for place, label in enumerate(labels)
        for code in _named_codes(label, meanings, keys, others)
    ]
    named = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return named[:, 0], named[:, 1]


@dataclass(frozen=True, eq=False)
class _Keys:
    """What the values of people are compared by: numbers, or texts.

    Parameters
    ----------
    type
        The type of the numbers; None where texts are compared.
    of_value
        The key of each value; None where it is missing.
    """

    type: ColumnType | None
    of_value: tuple[_Key, ...]

    @classmethod
    def of(cls, labels: Domain, meanings: _Labels, values: Domain) -> _Keys:
        # Labels are no numbers, but the values that they stand for may be.
        is_numeric = values.numbers is not None and (labels.numbers is not None or bool(meanings))
        kind = labels.type if labels.numbers is not None else values.type
        unread = cls(kind if is_numeric else None, ())
        return replace(unread, of_value=tuple(map(unread.of_text, values.labels())))

    def of_text(self, text: str | None) -> _Key:
        """Give the key of a text, so that equal numbers have equal keys."""
        if self.type is None or text is None:
            return text
        if self.type is ColumnType.DATE:
            date = iso_date(text)
            return text if date is None else day_of_date(date)
        try:
            # Whole numbers exactly: from 2**53 on, several of them are one float.
            number = Decimal(text) if self.type is ColumnType.INTEGER else float(text)
        except (InvalidOperation, ValueError):
            return text
        return number if math.isfinite(number) else text

    @cached_property
    def codes(self) -> Mapping[_Key, list[int]]:
        """The values that have each key: people may spell one number in several ways."""
        codes: dict[_Key, list[int]] = {}
        for code, key in enumerate(self.of_value):
            codes.setdefault(key, []).append(code)
        return codes


def _named_codes(
    label: str | None, meanings: _Labels, keys: _Keys, others: Sequence[int]
) -> set[int]:
    """Give the codes of the values that a label admits by name."""
    meaning = None if label is None else meanings.get(label)
    if meaning is None:
        return set(keys.codes.get(keys.of_text(label), ()))
    codes = {code for text in meaning.members for code in keys.codes.get(keys.of_text(text), ())}
    if meaning.has_missing:
        codes.update(keys.codes.get(None, ()))
    return codes.union(others) if meaning.has_other else codes


def _unnamed(labels: Sequence[str | None], meanings: _Labels, keys: _Keys) -> list[int]:
    """Give the codes of the values that the release names nowhere: too few people carry them."""
    if not any(meaning.has_other for meaning in meanings.values()):
        return []
    named: set[_Key] = {keys.of_text(label) for label in labels if label not in meanings}
    for meaning in meanings.values():
        named.update(map(keys.of_text, meaning.members))
    named.add(None)
    return [code for code, key in enumerate(keys.of_value) if key not in named]
