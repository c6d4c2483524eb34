"""Mine from a table what an adversary may know about its people.

The rules by which private cells can be guessed are mined from what would be published: if a
configuration cuts numbers into intervals, from the intervals. They contain values of private cells,
so what is shown and written of them is for internal use.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

from shoal.core.arrays import Flags
from shoal.core.display import Section
from shoal.core.documents import write_whole
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, as_text
from shoal.core.private_cells import PrivateCells
from shoal.core.progress import Progress, silent
from shoal.core.table import Rows, Table
from shoal.engines.sql.table import EngineTable
from shoal.hiding.adversarial_rules import (
    AdversarialRule,
    AdversarialRules,
    mine_adversarial_rules,
)
from shoal.hiding.discretisation import Discretisation, discretise_rows
from shoal.hiding.rules import MOST_STEPS
from shoal.injector.fuzzy_mining import Fuzzy
from shoal.injector.known import Knowledge
from shoal.injector.miners import (
    mine_negative_rules,
    mine_positive_rules,
    mine_summary_statistics,
)
from shoal.workflow.config import Configuration
from shoal.workflow.read import read

Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True)
class Mining:
    """What to mine from a table; see `shoal.mine` for the parameters."""

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
    # Combined with what is mined; what it strikes stays out.
    given: Knowledge | None = None

    def of(self, table: EngineTable) -> Knowledge:
        """Mine a table; given rules that name what the table does not have are refused."""
        # The miner itself refuses an unknown kind of fuzziness.
        fuzzy = cast("Fuzzy | None", self.fuzzy)
        known = mine_negative_rules(
            table, self.min_exp, self.min_conf, self.max_len, fuzzy, self.width
        )
        if self.has_positive:
            known |= mine_positive_rules(table, self.min_support, self.min_conviction, self.max_len)
        if self.has_statistics:
            known |= mine_summary_statistics(table, self.min_support, self.max_len)
        if self.given is not None:
            # Called only because it refuses rules about unknown columns, nodes and values.
            self.given.forbidden(table)
            known |= self.given.explained_by(table.domains, table.trees)
        return known.most_general() if self.most_general else known


def mine(
    table: Table,
    *,
    min_exp: Number = "0.9",
    min_conf: Number = 1,
    max_len: int | None = 1,
    fuzzy: str | None = None,
    width: Mapping[str, float] | None = None,
    most_general: bool = False,
    min_support: Number = "0.01",
    min_conviction: Number = "1.1",
    positive: bool = False,
    statistics: bool = False,
    given: Knowledge | None = None,
) -> Knowledge:
    """Mine from a table what an adversary may know about its people.

    Parameters
    ----------
    table
        The table, as `shoal.read` returns it.
    min_exp, min_conf, max_len, fuzzy, width
        Which negative rules to mine; see `shoal.knowledge.mine_negative_rules`. Default: those of
        one attribute that hold without exception, and by chance would not with a probability of
        0.9 or more.
    most_general
        Whether to leave out rules that follow from more general ones. Default: False.
    min_support, min_conviction
        Which positive rules and statistics to mine; see `shoal.knowledge.mine_positive_rules`.
        Default: a support of 0.01 and a conviction of 1.1.
    positive, statistics
        Whether to mine positive rules and summary statistics too. Default: False.
    given
        Knowledge to combine with what is mined; what it strikes stays out. Default: none.

    Returns
    -------
    The knowledge, which `shoal.attack(release, knowledge=...)` takes.

    Raises
    ------
    ParameterError
        If a parameter is out of its range, or `given` names what the table does not have.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> shoal.mine(table, min_exp=0.5)
    Knowledge(about disease: 2 negative rules, 0 positive rules, 0 statistics, 0 facts)
    """
    if not isinstance(table, EngineTable):
        raise ParameterError(
            f"mine takes a table, not a {type(table).__name__}.",
            hint="read it first: shoal.read(source, quasi=[...], sensitive=...).",
        )
    return Mining(
        min_exp=min_exp,
        min_conf=min_conf,
        max_len=max_len,
        fuzzy=fuzzy,
        width={} if width is None else width,
        most_general=most_general,
        min_support=min_support,
        min_conviction=min_conviction,
        has_positive=positive,
        has_statistics=statistics,
        given=given,
    ).of(table)


def mine_configured(
    configuration: Configuration,
    mine_table: Callable[[EngineTable], Found],
    *,
    progress: Progress = silent,
) -> tuple[Found, EngineTable]:
    """Read the table of a configuration and mine it with `Mining.of` or `PrivateMining.of`.

    Returns the result and the table, whose engine is closed.
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
    """Return knowledge as small tables, with the rules about most people first."""
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


_CSV_COLUMNS = (
    "antecedent",
    "column",
    "value",
    "support",
    "confidence",
    "hidden_support",
    "hidden_confidence",
)


@dataclass(frozen=True, kw_only=True)
class PrivateMining:
    """Which rules about private cells to mine; see `shoal.knowledge.mine_adversarial_rules`."""

    private: PrivateCells
    delta: Number = "0.8"
    gamma: Number = "0.001"
    max_len: int | None = None
    # The most cells of the table that the search looks at.
    max_work: int = MOST_STEPS
    # The columns that are cut into intervals first.
    discretise: Mapping[str, Discretisation] = field(default_factory=dict)

    def of(self, table: Table) -> AdversarialRules:
        """Mine a table for rules about its private cells."""
        mined = _CutTable(table, self) if self.discretise else table
        return mine_adversarial_rules(
            mined, self.private, self.delta, self.gamma, self.max_len, max_work=self.max_work
        )


# --- intervals -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _CutTable:
    """A table with some columns cut into intervals."""

    table: Table
    mining: PrivateMining

    def row_codes(self, cap: int) -> Rows:
        rows, private = self.table.row_codes(cap), self.marked(self.mining.private, cap)
        return discretise_rows(rows, private, self.mining.discretise)[0]

    def marked(self, cells: PrivateCells, cap: int) -> Flags:
        return self.table.marked(cells, cap)


# --- showing -------------------------------------------------------------------------------------


def document_of_rules(rules: AdversarialRules) -> dict[str, object]:
    """Return the counts of rules as JSON holds them."""
    return {
        "adversarial": len(rules),
        "delta": as_text(rules.delta),
        "gamma": rules.gamma,
        "private_cells": rules.n_private,
        "predicted_cells": len(rules.cells),
        "base_rates": len(rules.base_rates),
    }


def sections_of_rules(rules: AdversarialRules, n_shown: int) -> tuple[Section, ...]:
    """Return rules as small tables, the worst first, and the columns that no hiding protects."""
    title = (
        f"adversarial rules: {len(rules)}, which predict {len(rules.cells)} of {rules.n_private} "
        "private cells"
    )
    if n_shown < len(rules):
        title += f"; the {n_shown} worst"
    sections = [
        Section(
            title,
            ("people with", "have", "people", "confidence", "private cells", "right"),
            tuple((_antecedent(rule.antecedent), *_numbers(rule)) for rule in rules[:n_shown]),
        )
    ]
    if rules.base_rates:
        sections.append(
            Section(
                "columns in which everybody can guess private cells, whatever else is hidden: "
                f"{len({rate.column for rate in rules.base_rates})}",
                ("most people have", "people", "confidence", "private cells", "right"),
                tuple(_numbers(rate) for rate in rules.base_rates[:n_shown]),
            )
        )
    return tuple(sections)


def _numbers(rule: AdversarialRule) -> tuple[object, ...]:
    return (
        f"{rule.column} {_shown(rule.value)}",
        rule.support,
        float(rule.public_confidence),
        rule.n_hidden,
        rule.hidden_hits,
    )


# --- writing -------------------------------------------------------------------------------------


def write_rules(rules: AdversarialRules, path: Path) -> None:
    """Write all rules as CSV, whole or not at all; only the owner may read the file.

    Antecedents are JSON, ``{"column": "value"}``. A missing value is null there, and elsewhere an
    empty field without quotes.
    """
    write_whole(path, _lines(rules))


def _lines(rules: AdversarialRules) -> Iterator[str]:
    yield ",".join(_CSV_COLUMNS) + "\n"
    for rule in rules:
        fields = (
            _quoted(json.dumps(dict(rule.antecedent), ensure_ascii=False)),
            _quoted(rule.column),
            "" if rule.value is None else _quoted(rule.value),
            str(rule.support),
            repr(float(rule.public_confidence)),
            str(rule.n_hidden),
            repr(float(rule.hidden_confidence)),
        )
        yield ",".join(fields) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
