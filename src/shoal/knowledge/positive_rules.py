"""Positive association rules: what a person's quasi-identifiers suggest of the sensitive value.

A rule ``X => s`` says that people of whom X holds tend to have s. How much it says is its
conviction: how often X would occur without s if the two were independent, over how often it does.
X is a conjunction of hierarchy nodes at any level but the root. Such rules re-weigh what an
adversary believes and forbid nothing.

References
----------
[Li08] Li, Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008. Section
VIII-A; conviction as in section VI-B.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter

import numpy as np

from shoal.core.cells import Cells, Counts
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, as_text, exact
from shoal.core.tree import Label, Tree
from shoal.knowledge.mining.capacity import bounded
from shoal.knowledge.statistics import (
    Antecedent,
    check_columns,
    frequent_antecedents,
    least_count,
)

__all__ = ["PositiveRule", "mine_positive"]

_FEWER = "let antecedents name fewer columns (max_len), or raise min_support or min_conviction."


@dataclass(frozen=True, kw_only=True, repr=False)
class PositiveRule:
    """People of whom the antecedent holds tend to have the value.

    What is None was not told: the rule was given, not mined.

    Parameters
    ----------
    antecedent
        X: for each of its columns the label of a hierarchy node; None for the missing value.
    value
        s, the sensitive value; None where it is missing.
    confidence
        The share of s among the rows that X holds for.
    count
        How many rows that are.
    conviction
        P(X) P(not s) / P(X and not s): 1 where X says nothing about s, infinite where the
        confidence is 1.
    support
        The share of rows of the table with X and s.
    who, why
        Who added the rule, and for what reason.

    Examples
    --------
    >>> PositiveRule(antecedent={"smoker": "yes"}, value="bronchitis", confidence=0.3)
    PositiveRule(smoker: confidence 0.3)
    """

    antecedent: Mapping[str, Label]
    value: Label
    confidence: float
    count: int | None = None
    conviction: float | None = None
    support: float | None = None
    who: str = ""
    why: str = ""

    def __post_init__(self) -> None:
        if not self.antecedent or not 0 <= self.confidence <= 1:
            raise ParameterError(
                "A positive rule needs an antecedent, and a confidence between 0 and 1.",
                hint="what holds of everybody is no rule: give the share as a statistic.",
            )

    def __hash__(self) -> int:
        return hash((frozenset(self.antecedent.items()), self.value, self.confidence))

    def to_dict(self) -> dict[str, object]:
        """Give the rule as plain values; an infinite conviction, which JSON lacks, as a text."""
        is_infinite = self.conviction == math.inf
        return {
            "antecedent": dict(self.antecedent),
            "value": self.value,
            "count": self.count,
            "confidence": self.confidence,
            "conviction": "infinite" if is_infinite else self.conviction,
            "support": self.support,
            "who": self.who,
            "why": self.why,
        }

    def __repr__(self) -> str:
        rows = "" if self.count is None else f"{self.count} rows, "
        conviction = "" if self.conviction is None else f", conviction {self.conviction:.3g}"
        columns = ", ".join(self.antecedent)
        return f"PositiveRule({columns}: {rows}confidence {self.confidence:.3g}{conviction})"


def mine_positive(
    cells: Cells,
    sensitive: str,
    trees: Mapping[str, Tree],
    *,
    min_support: Number,
    min_conviction: Number = 1.1,
    max_len: int | None = 1,
) -> tuple[PositiveRule, ...]:
    """Find the positive rules of a table.

    Parameters
    ----------
    cells
        The table; every column but the sensitive one may be in X.
    sensitive
        The sensitive column.
    trees
        The hierarchies of the other columns. One without is taken value by value. A node is not
        used where it stands for every value that occurs; of nodes that stand for the same ones
        the highest is used.
    min_support
        How many rows must have X and s: a count if it is a whole number, else a share.
    min_conviction
        The least conviction, taken exactly as it is written.
    max_len
        How many columns X may have; None for any number.

    Returns
    -------
    The rules, the highest conviction first; of equal ones that with more rows of X and s, then
    the shorter one, then by columns, nodes and values.

    Examples
    --------
    >>> job = Domain.of_texts("job", ["clerk", "nurse"])
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> rows = np.array([[0, 0], [0, 1], [0, 1], [0, 1], [1, 0]])
    >>> cells = Cells.of_rows([job, disease], rows)
    >>> mine_positive(cells, "disease", {}, min_support=0.4)
    (PositiveRule(job: 4 rows, confidence 0.75, conviction 1.6),)
    """
    check_columns(cells, sensitive)
    least = least_count(min_support, cells.n_rows)
    bound = exact("min_conviction", min_conviction)
    if bound < 0:
        raise ParameterError(
            f"min_conviction must be at least 0, not {as_text(bound)}.",
            hint="1 is the conviction of what has nothing to do with each other.",
        )
    domain = cells.domain(sensitive)
    totals = np.zeros(domain.size, dtype=np.int64)
    np.add.at(totals, cells.column(sensitive), cells.counts)
    antecedents = frequent_antecedents(
        cells, sensitive, trees, least=least, max_len=max_len, support_of=np.max
    )
    listed = (
        ((-conviction, -hits, antecedent.rank, code), rule)
        for antecedent in antecedents
        for conviction, hits, code, rule in _rules(antecedent, domain, totals, least, bound)
    )
    found = sorted(bounded(listed, _FEWER), key=itemgetter(0))
    return tuple(rule for _, rule in found)


def _rules(
    antecedent: Antecedent, domain: Domain, totals: Counts, least: int, bound: Fraction
) -> Iterator[tuple[float, int, int, PositiveRule]]:
    """Give the rules of one antecedent, and what they are sorted by."""
    n_rows, count = int(totals.sum()), antecedent.count
    frequent = np.flatnonzero(antecedent.hits >= least)
    for code, hits in zip(
        antecedent.values[frequent].tolist(), antecedent.hits[frequent].tolist(), strict=True
    ):
        # Python's own integers, for the products of counts of a large table exceed 64 bits.
        expected, seen = count * (n_rows - int(totals[code])), n_rows * (count - hits)
        if expected * bound.denominator < seen * bound.numerator:
            continue
        conviction = expected / seen if seen else math.inf
        rule = PositiveRule(
            antecedent=antecedent.labels,
            value=domain.text(code),
            count=count,
            confidence=hits / count,
            conviction=conviction,
            support=hits / n_rows,
        )
        yield conviction, hits, code, rule
