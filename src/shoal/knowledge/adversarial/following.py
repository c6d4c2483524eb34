"""Rules laid out by antecedent, with the rows in which each antecedent appears.

This is what the kernels need that blank and restore cells: which rules a row takes part in, and
which rows a rule has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.core.cells import Codes
from shoal.knowledge.adversarial._kernels import find_members
from shoal.knowledge.adversarial.capacity import MOST_MEMBERS, refuse_more_members
from shoal.knowledge.adversarial.cells import Small
from shoal.knowledge.adversarial.packing import Packed

__all__ = ["Followed", "PackedRules"]


@dataclass(frozen=True, eq=False)
class PackedRules:
    """Rules in packed codes, as a kernel finds them.

    Parameters
    ----------
    antecedent
        One row a rule: for each column the value that the rule names, or -1.
    found
        One row a rule: column, value, and the four counts.
    """

    antecedent: Small
    found: Codes

    @classmethod
    def joined(cls, parts: list[PackedRules]) -> tuple[PackedRules, Codes]:
        """Put rules together; of equal ones the first stays. Give also the part of each."""
        antecedent = np.concatenate([part.antecedent for part in parts])
        found = np.concatenate([part.found for part in parts])
        part = np.repeat(np.arange(len(parts)), [len(part.found) for part in parts])
        keys = [found[:, 1], found[:, 0], *antecedent.T]
        order = np.lexsort(keys)
        is_first = np.ones(len(order), dtype=bool)
        if len(order):
            is_first[1:] = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
        # The order is stable, so that equal rules come as they were found.
        kept = order[is_first]
        return cls(antecedent[kept], found[kept]), part[kept]

    def __len__(self) -> int:
        return len(self.found)


@dataclass(frozen=True, eq=False)
class Followed:
    """Rules by antecedent, and the rows of each antecedent.

    Parameters
    ----------
    antecedent
        One row for each distinct antecedent, in packed codes.
    rule_start
        Where the rules of each antecedent start.
    column, value
        For each rule its column and its packed value.
    member_start, member
        Where the rows of each antecedent start, and these rows.
    """

    antecedent: Small
    rule_start: Codes
    column: Codes
    value: Codes
    member_start: Codes
    member: Small

    @classmethod
    def of(cls, packed: Packed, rules: PackedRules, code: Small) -> Followed:
        """Lay out rules, of which those of one antecedent come together.

        Parameters
        ----------
        packed
            The table.
        rules
            The rules.
        code
            The packed codes of the table, in which all rows show what they will ever show.
        """
        is_new = np.ones(len(rules), dtype=bool)
        if len(rules):
            is_new[1:] = (np.diff(rules.antecedent, axis=0) != 0).any(axis=1)
        antecedent = np.ascontiguousarray(rules.antecedent[is_new])
        with refuse_more_members():
            member_start, member = find_members(code, packed.n_values, antecedent, MOST_MEMBERS)
        return cls(
            antecedent,
            np.append(np.flatnonzero(is_new), len(rules)).astype(np.int64),
            rules.found[:, 0].copy(),
            rules.found[:, 1].copy(),
            member_start,
            member,
        )
