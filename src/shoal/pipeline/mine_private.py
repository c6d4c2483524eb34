"""Mine the rules by which private cells of a table can be guessed, show them and write them down.

They are mined from what would be published: where a configuration cuts numbers into intervals, from
the intervals. What is shown and written holds values of private cells: it is for internal use.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shoal.core.attack import Section
from shoal.core.discretisation import Discretisation
from shoal.core.discretised_rows import discretise_rows
from shoal.core.exact import Number, as_text
from shoal.core.private_cells import Marks, PrivateCells
from shoal.core.rows import Rows
from shoal.core.table import Table
from shoal.core.writing import write_whole
from shoal.knowledge.adversarial_rules import (
    AdversarialRule,
    AdversarialRules,
    mine_adversarial_rules,
)

__all__ = ["PrivateMining", "document_of_rules", "sections_of_rules", "write_rules"]

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
    """Which rules about private cells are to be mined.

    Parameters
    ----------
    private, delta, gamma, max_len
        See `shoal.knowledge.mine_adversarial_rules`.
    discretise
        The columns that are cut into intervals first.
    """

    private: PrivateCells
    delta: Number = "0.8"
    gamma: Number = "0.001"
    max_len: int | None = None
    discretise: Mapping[str, Discretisation] = field(default_factory=dict)

    def of(self, table: Table) -> AdversarialRules:
        """Mine a table.

        Raises
        ------
        ParameterError
            Where cells are named that the table does not have, or it has too many rows.
        SchemaError
            Where a column is cut that is not there, or has no numbers.
        """
        mined = _CutTable(table, self) if self.discretise else table
        return mine_adversarial_rules(mined, self.private, self.delta, self.gamma, self.max_len)


# --- intervals -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _CutTable:
    """A table some columns of which are cut into intervals."""

    table: Table
    mining: PrivateMining

    def row_codes(self, cap: int) -> Rows:
        rows, private = self.table.row_codes(cap), self.marked(self.mining.private, cap)
        return discretise_rows(rows, private, self.mining.discretise)[0]

    def marked(self, cells: PrivateCells, cap: int) -> Marks:
        return self.table.marked(cells, cap)


# --- showing -------------------------------------------------------------------------------------


def document_of_rules(rules: AdversarialRules) -> dict[str, object]:
    """Give the counts of rules as JSON holds them."""
    return {
        "adversarial": len(rules),
        "delta": as_text(rules.delta),
        "gamma": rules.gamma,
        "private_cells": rules.n_private,
        "predicted_cells": len(rules.cells),
        "base_rates": len(rules.base_rates),
    }


def sections_of_rules(rules: AdversarialRules, n_shown: int) -> tuple[Section, ...]:
    """Give rules as small tables, the worst first, and the columns that no hiding protects."""
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
            tuple((_antecedent(rule), *_numbers(rule)) for rule in rules[:n_shown]),
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


def _antecedent(rule: AdversarialRule) -> str:
    return " and ".join(f"{column} {_shown(value)}" for column, value in rule.antecedent.items())


def _shown(value: str | None) -> str:
    return "(missing)" if value is None else value


# --- writing -------------------------------------------------------------------------------------


def write_rules(rules: AdversarialRules, path: Path) -> None:
    """Write all rules as CSV, whole or not at all; only the owner may read the file.

    Parameters
    ----------
    rules
        The rules; the worst comes first.
    path
        The file. Antecedents stand in it as JSON, ``{"column": "value"}``; a missing value is null
        there, and an empty field, without quotes, elsewhere.

    Raises
    ------
    EngineError
        Where the file system refuses.
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
