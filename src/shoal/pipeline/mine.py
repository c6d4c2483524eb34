"""Mine from a table what an adversary may know about its people."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar, cast

from shoal.core.attack import Section
from shoal.core.exact import Number
from shoal.core.progress import Progress, silent
from shoal.engines.table import EngineTable
from shoal.knowledge.known import Knowledge
from shoal.knowledge.miners import (
    Fuzzy,
    mine_negative_rules,
    mine_positive_rules,
    mine_summary_statistics,
)
from shoal.pipeline.config import Configuration
from shoal.pipeline.read import read

__all__ = ["Mining", "mine", "sections_of"]

Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True)
class Mining:
    """What is to be mined.

    Parameters
    ----------
    min_exp, min_conf, max_len, fuzzy, width
        Which negative rules; see `shoal.knowledge.mine_negative_rules`.
    most_general
        Whether rules that follow from more general ones are left out.
    min_support, min_conviction
        Which positive rules and statistics.
    has_positive, has_statistics
        Whether they are mined too.
    given
        Knowledge that is combined with what is mined; what it strikes stays out.
    """

    min_exp: Number = "0.9"
    min_conf: Number = 1
    max_len: int | None = 1
    fuzzy: str | None = None
    width: Mapping[str, float] = field(default_factory=dict)
    most_general: bool = False
    min_support: Number = "0.01"
    min_conviction: Number = "1.1"
    has_positive: bool = False
    has_statistics: bool = False
    given: Knowledge | None = None

    def of(self, table: EngineTable) -> Knowledge:
        """Mine a table.

        Raises
        ------
        ParameterError
            Where the given rules name what the table does not have.
        """
        # The miner says which ways of being fuzzy there are.
        fuzzy = cast("Fuzzy | None", self.fuzzy)
        known = mine_negative_rules(
            table, self.min_exp, self.min_conf, self.max_len, fuzzy, self.width
        )
        if self.has_positive:
            known |= mine_positive_rules(table, self.min_support, self.min_conviction, self.max_len)
        if self.has_statistics:
            known |= mine_summary_statistics(table, self.min_support, self.max_len)
        if self.given is not None:
            # Refuses what names something that is not there.
            self.given.forbidden(table)
            known |= self.given.explained_by(table.domains, table.trees)
        return known.most_general() if self.most_general else known


def mine(
    configuration: Configuration,
    mine_table: Callable[[EngineTable], Found],
    *,
    progress: Progress = silent,
) -> tuple[Found, EngineTable]:
    """Read the table of a configuration and mine it.

    Parameters
    ----------
    mine_table
        What is mined: `Mining.of`, or `shoal.pipeline.mine_private.PrivateMining.of`.

    Returns
    -------
    found
        What was mined: knowledge, or rules about private cells.
    table
        The table; its engine is closed.
    """
    progress("read")
    table = read(
        configuration.source,
        configuration.schema(),
        limits=configuration.limits,
        **configuration.reading,
    )
    assert isinstance(table, EngineTable)
    with contextlib.closing(table.engine):
        progress("mine")
        return mine_table(table), table


def sections_of(knowledge: Knowledge, n_shown: int) -> tuple[Section, ...]:
    """Give knowledge as small tables, what concerns most people first."""
    rules = sorted(knowledge.strongest(n_shown), key=lambda rule: -(rule.count or 0))
    title = f"negative rules about {knowledge.sensitive}: {len(knowledge)}"
    if len(rules) < len(knowledge):
        title += f", of which the {len(rules)} that concern most people"
    sections = [
        Section(
            title,
            ("people with", "never have", "people", "expectation", "confidence"),
            tuple(
                (
                    _antecedent(rule.antecedent),
                    _shown(rule.value),
                    rule.count,
                    rule.expectation,
                    rule.confidence,
                )
                for rule in rules
            ),
        )
    ]
    if knowledge.positive:
        sections.append(
            Section(
                f"positive rules: {len(knowledge.positive)}",
                ("people with", "have", "people", "confidence", "conviction"),
                tuple(
                    (
                        _antecedent(rule.antecedent),
                        _shown(rule.value),
                        rule.count,
                        rule.confidence,
                        # JSON has no infinite number.
                        "infinite" if rule.conviction == math.inf else rule.conviction,
                    )
                    for rule in knowledge.positive[:n_shown]
                ),
            )
        )
    if knowledge.statistics:
        sections.append(
            Section(
                f"statistics: {len(knowledge.statistics)}",
                ("people with", "value", "share", "mean", "people"),
                tuple(
                    (
                        _antecedent(one.antecedent),
                        _shown(one.value) if one.mean is None else None,
                        one.share,
                        one.mean,
                        one.count,
                    )
                    for one in knowledge.statistics[:n_shown]
                ),
            )
        )
    return tuple(sections)


def _antecedent(antecedent: Mapping[str, str | None]) -> str:
    return " and ".join(f"{column} {_shown(label)}" for column, label in antecedent.items())


def _shown(label: str | None) -> str:
    return "(missing)" if label is None else label
