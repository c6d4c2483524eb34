"""Rule hiding: blank private cells, and few further ones, so that no rule reveals them.

People choose cell by cell what must not be known. Blanking only these cells is not enough: rules
that any reader can mine from the visible cells predict many of them. Here further cells are blanked
until no such rule is left. No public file says which of the blanks protect which.

References
----------
[Aggarwal06] (see `shoal.hiding`).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.core.adversary_guarantees import RuleProtection
from shoal.core.arrays import Flags, Small, Texts
from shoal.core.declared import declared
from shoal.core.errors import InternalError, ParameterError, SchemaError
from shoal.core.exact import Number, as_text, check_blank_per_round, check_gamma
from shoal.core.guarantees import Guarantee
from shoal.core.method import Method, Problem
from shoal.core.parameters import (
    Converted,
    Exact,
    amount,
    choice,
    exact_number,
    flag,
    parameter,
    whole_number,
)
from shoal.core.plan import Blank, Plan, Recode, Segments
from shoal.core.private_cells import HiddenCells, PrivateCells
from shoal.core.schema import Schema
from shoal.core.shapes import Shape
from shoal.core.table import Rows
from shoal.hiding.cells import BLANKED, PRIVATE, VISIBLE
from shoal.hiding.coded_rows import choice_warnings
from shoal.hiding.discretisation import (
    Discretisation,
    check_discretised,
    discretise_rows,
    plain_labels,
)
from shoal.hiding.hiding import Fate, Hiding, Mode, hide
from shoal.hiding.mining import base_rates
from shoal.hiding.rules import MOST_STEPS, CodedRules

RULES = "rules.parquet"


def _read_discretise(name: str, given: Any) -> dict[str, Discretisation]:
    if given is not None and not isinstance(given, Mapping):
        raise ParameterError(
            f"{name} says for each column how it is cut.",
            hint='for example discretise={"age": {"bins": 10}}.',
        )
    return {column: Discretisation.of(column, cut) for column, cut in (given or {}).items()}


@declared
class RuleHiding(Method):
    """Blank private cells, and few further cells that would give them away (FAiR, GraDeS).

    Notes
    -----
    Guarantee: no rule of enough support and confidence, mined from the visible cells, fires at a
    private cell (``paper``: is right about a share of delta of the private cells at which it
    fires). There is no guarantee against learners.

    Publishes: suppressed.

    All quasi-identifying and sensitive columns are mined alike. Rows are processed one by one, in
    memory: tables of more than a million rows are refused, whichever engine holds them.

    Examples
    --------
    >>> import shoal
    >>> columns = {"title": ["boss"] * 3 + ["clerk"] * 3, "car": ["yes"] * 3 + ["no"] * 3}
    >>> table = shoal.read(columns, shoal.Schema(quasi=["title", "car"]))
    >>> method = RuleHiding(private=[(1, "car")], delta=0.8, gamma=2)
    >>> shoal.anonymize(table, method, seed=1)
    Release(suppressed by rule_hiding: 6 rows, 2 cells suppressed, test)
    """

    private: Converted[object, PrivateCells] = parameter(
        "The cells that must not be known: a table of booleans, a list of (row key, column), "
        "columns, conditions such as `disease where age > 60`, or the path of a file. Default: "
        "none.",
        lambda _, given: PrivateCells.of(given),
        takes="columns, conditions, cells or a file",
        schema={"anyOf": [{"type": ["string", "object"]}, {"type": "array"}]},
        factory=PrivateCells,
        is_internal=True,
        place=PrivateCells.of,
    )
    delta: Exact = exact_number(
        "The minimum confidence of a rule.",
        default="0.8",
        above=0,
        at_most=1,
        hint="for example 0.8.",
    )
    gamma: Converted[Number, int | Fraction] = amount(
        "The minimum support of a rule: a number of rows if it is an integer, otherwise a share of "
        "them. Rules of lower support are left; with 1, none is.",
        check_gamma,
        default=Fraction(1, 1000),
    )
    mode: str = choice(
        "`public`: no rule fires at a private cell. `paper`: as published, a rule may fire at "
        "private cells if it is right about a share below delta of them, and the choice of blanks "
        "betrays some. `oblivious`: the same columns are blanked wherever a column is private, "
        "which hides most cells and reveals least.",
        (Mode.PUBLIC, Mode.PAPER, Mode.OBLIVIOUS),
        default=Mode.PUBLIC,
    )
    blank_per_round: Converted[Number, int | Fraction] = amount(
        "The cells that are blanked before weights are added up again: a number of cells, or a "
        "share of the table's cells. More is faster and blanks more.",
        check_blank_per_round,
        default=1,
    )
    shrink: Converted[bool | None, bool] = flag(
        "Whether needless blanks are shown again; impossible in mode `oblivious`, and in mode "
        "`paper` rules then fire at more private cells. Default: true in mode `public` only.",
        default=None,
        otherwise=lambda method: method.mode == Mode.PUBLIC,
    )
    discretise: Converted[Mapping[str, Any] | None, Mapping[str, Discretisation]] = parameter(
        "How numbers or dates are cut into intervals, by column: `bins`, `width`, `quantiles` or "
        "`cuts`, and `show`, which is `midpoint` or `interval`. Default: no column is cut.",
        _read_discretise,
        takes="a section for each column",
        schema={"type": "object", "additionalProperties": {"type": ["integer", "object"]}},
        factory=dict,
    )
    max_work: int = whole_number(
        "The most cells of the table that the searches for rules may look at, all together. If the "
        "first would take more, by its estimate, it is refused before it starts.",
        least=1,
        default=MOST_STEPS,
    )

    works_on_levels: ClassVar[bool] = False
    deviations: ClassVar[tuple[str, ...]] = (
        "Mining and blanking take turns until no rule is left; a single pass does not end safe.",
        "Hidden values decide nothing unless mode is paper: choosing by them betrays them.",
        "In mode public, blanked cells that turn out to be needless are shown again.",
    )
    example: ClassVar[Mapping[str, object]] = {
        "private": ("condition where age > 60",),
        "delta": "0.8",
        "gamma": 5,
    }

    def check_parameters(self) -> None:
        """Refuse shrinking in mode oblivious, in which nothing may be chosen by value."""
        if self.shrink and self.mode == Mode.OBLIVIOUS:
            raise ParameterError(
                "shrink is not possible in mode oblivious: choosing by value which cells to show "
                "again is the leak that this mode avoids.",
                hint="leave shrink out, or set it to False.",
            )

    @property
    def shape(self) -> Shape:
        """The shape that is published."""
        return Shape.SUPPRESSED

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """The guarantees of a release of this method."""
        return (RuleProtection(delta=self.delta, gamma=self.gamma, mode=self.mode),)

    @property
    def private_cells(self) -> PrivateCells:
        """The cells that must not be known."""
        return self.private

    def parameters(self) -> dict[str, object]:
        """Return the parameters as the manifest states them."""
        cuts = {column: cut.to_config() for column, cut in self.discretise.items()}
        (guarantee,) = self.guarantees
        gamma = guarantee.to_dict()["gamma"]
        return super().parameters() | {"discretise": cuts, "gamma": gamma}

    def class_columns(self, schema: Schema) -> tuple[str, ...]:  # noqa: ARG002 - rows are not grouped
        """Return no column: every row is planned separately."""
        return ()

    def check_schema(self, schema: Schema) -> None:
        """Refuse columns that would be published without being mined."""
        if len(schema.coded) < 2:
            raise SchemaError(
                "RuleHiding needs at least two columns: a rule predicts one by others.",
                hint="name them: quasi=[...]",
            )
        if schema.insensitive:
            raise SchemaError(
                f"The insensitive column {schema.insensitive[0]!r} would be published as it is, "
                "and rules over it might give private cells away.",
                hint="give it the role quasi, so that it is mined and can be blanked.",
            )
        check_discretised(self.discretise, schema.coded)

    def check_rows(self, rows: Rows, private: Flags) -> tuple[str, ...]:
        """Refuse cells that hide nothing or cannot be cut; warn if the choice is revealing.

        Raises
        ------
        ParameterError
            If no cell is private, or no rule could have the required support.
        SchemaError
            If a column that is to be cut has no numbers.
        """
        self._confirm(rows, private)
        return self._cut(rows, private)[2]

    def _cut(self, rows: Rows, private: Flags) -> tuple[Rows, tuple[Recode, ...], tuple[str, ...]]:
        """Cut the columns, and warn if the choice of private cells is revealing."""
        cut, recode = discretise_rows(rows, private, self.discretise)
        return cut, recode, choice_warnings(self.private, rows, private, self.delta)

    def _confirm(self, rows: Rows, private: Flags) -> None:
        if not private.any():
            raise ParameterError(
                "No cell is private, so there is nothing to hide.",
                hint="name the cells: private='disease where age > 60', or [(key, column), ...].",
            )
        if isinstance(self.gamma, int) and self.gamma > rows.n_rows:
            raise ParameterError(
                f"gamma requires a support of {self.gamma} rows; the table has {rows.n_rows}, so "
                "nothing would be protected.",
                hint="give a smaller number, or a share such as 0.001.",
            )

    def plan(self, problem: Problem) -> Plan:
        """Plan which cells are blanked.

        Raises
        ------
        ParameterError
            If no cell is private.
        """
        rows, private = problem.rows, problem.private
        if rows is None or private is None or rows.keys is None:
            raise InternalError("RuleHiding was given no rows.")
        self._confirm(rows, private)
        cut, recode, warnings = self._cut(rows, private)
        codes = cut.codes
        is_cut = {one.column for one in recode}
        # Which of equal rows are blanked must not follow from their order.
        order = problem.secret.permutation("order of hiding", rows.n_rows)
        state = np.where(private, PRIVATE, VISIBLE).astype(np.uint8)
        hiding = hide(
            codes[order],
            state[order],
            delta=self.delta,
            gamma=self.gamma,
            mode=self.mode,
            blank_per_round=self.blank_per_round,
            shrink=self.shrink,
            max_work=self.max_work,
        )
        state[order] = hiding.state
        hidden_of = (state != VISIBLE).any(axis=0)
        recode += tuple(
            plain_labels(rows, state != VISIBLE, place)
            for place, column in enumerate(rows.columns)
            if hidden_of[place] and column not in is_cut
        )
        texts = _texts(cut, recode)
        hidden = HiddenCells.of_rows(rows.keys, rows.columns, texts, codes, state == PRIVATE,
                                     state == BLANKED)  # fmt: skip
        rates = base_rates(codes, state, delta=self.delta, use_hidden=False)
        return Plan(
            problem.cells,
            1,
            Segments.whole_classes(np.zeros(1, dtype=np.int64), problem.cells.counts),
            recode=recode,
            blank=Blank(hidden.keys_by_column),
            tables={
                HiddenCells.FILE: hidden.to_columns(),
                RULES: _rule_table(hiding, rows.columns, texts),
            },
            warnings=(
                *_base_rate_warnings(rates, rows.columns, self.delta),
                *warnings,
            ),
            notes={"hiding": {"private": int(private.sum())} | hiding.to_dict()},
        )


def _texts(rows: Rows, recode: tuple[Recode, ...]) -> tuple[Texts, ...]:
    """Return, for each column, the published text of every code; None for the missing value."""
    labels = {one.column: [label.text for label in one.labels] for one in recode}
    return tuple(
        np.array([*labels.get(domain.column, domain.labels()), None], dtype=object)[:-1]
        for domain in rows.domains
    )


def _base_rate_warnings(
    rates: CodedRules, columns: tuple[str, ...], delta: Fraction
) -> tuple[str, ...]:
    return tuple(
        f"In column {columns[column]!r} one value makes up at least {as_text(delta)} of the "
        "visible cells: guessing it for a private cell is right about as often, and hiding other "
        "cells does not protect against that."
        for column in np.unique(rates.column).tolist()
    )


def _rule_table(
    hiding: Hiding, columns: tuple[str, ...], texts: tuple[Texts, ...]
) -> dict[str, npt.NDArray[Any]]:
    """List all rules that were found, and the fate of each."""
    rules = hiding.rules
    names: Texts = np.array([*columns, None], dtype=object)[:-1]
    value: Texts = np.empty(len(rules), dtype=object)
    for place in np.unique(rules.column).tolist():
        chosen = rules.column == place
        value[chosen] = texts[place][rules.value[chosen]]
    antecedents = {
        f"if {column}": _antecedent(rules.antecedent[:, place], texts[place])
        for place, column in enumerate(columns)
    }
    hits = {} if rules.hidden_hits is None else {"private_hits": rules.hidden_hits}
    fates = np.array([fate.name.lower() for fate in Fate], dtype=object)
    return antecedents | {
        "column": names[rules.column],
        "value": value,
        "support": rules.n_public,
        "hits": rules.public_hits,
        "private": rules.n_hidden,
        **hits,
        "found_in_pass": hiding.found_in,
        "fate": fates[hiding.fate],
    }


def _antecedent(codes: Small, texts: Texts) -> Texts:
    """Return the item of a rule in a column: its text, (missing), or None if it names nothing."""
    shown = np.array(
        [*("(missing)" if text is None else text for text in texts.tolist()), None], dtype=object
    )
    named: Texts = shown[codes]
    return named
