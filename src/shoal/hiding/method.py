"""Rule hiding: blank private cells, and few further ones, so that no rule gives them away.

People choose cell by cell what must not be known. Blanking only that is not enough: rules that
anybody can mine from what is still visible predict much of it. Here further cells are blanked
until no such rule is left. Which of the blanks protect which, no public file says.

References
----------
[Aggarwal06] Aggarwal, Pei, Zhang: On Privacy Preservation against Adversarial Data Mining.
KDD 2006.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.core.discretisation import Discretisation
from shoal.core.discretised_rows import check_discretised, discretise_rows, plain_labels
from shoal.core.domain import Texts
from shoal.core.errors import InternalError, ParameterError, SchemaError
from shoal.core.exact import Number, as_text
from shoal.core.guarantees import Guarantee, RuleProtection
from shoal.core.hidden_cells import HiddenCells
from shoal.core.method import Method, Problem, Shape
from shoal.core.plan import Blank, Plan, Recode, Segments
from shoal.core.private_cells import Marks, PrivateCells
from shoal.core.private_choice import choice_warnings
from shoal.core.rows import RowCodes, Rows
from shoal.core.rule_thresholds import check_blank_per_round, check_gamma, read_delta
from shoal.core.schema import Schema
from shoal.knowledge.adversarial import (
    BLANKED,
    PRIVATE,
    VISIBLE,
    CodedRules,
    Fate,
    Hiding,
    Mode,
    base_rates,
    hide,
)

__all__ = ["RuleHiding"]

RULES = "rules.parquet"
_FATES = {
    Fate.REMAINING: "remaining",
    Fate.INVALIDATED: "invalidated",
    Fate.MARGINALIZED: "marginalized",
}


@dataclass(frozen=True, kw_only=True, init=False)
class RuleHiding(Method):
    """Blank private cells, and few further cells that would give them away (FAiR, GraDeS).

    Parameters
    ----------
    private
        The cells that must not be known: a table of booleans, a list of (row key, column), columns
        and conditions; see `shoal.core.private_cells.PrivateCells.of`.
    delta
        The least confidence of a rule, above 0 and at most 1.
    gamma
        Its least support: a number of rows if it is an integer, else a share of the rows. The
        default is that of the paper's experiments. Rules of lower support are left: with 1 none is.
    mode
        ``public``: no rule fires at a private cell. ``paper``: as published; a rule may fire at
        private cells if it is right about a share below delta of them, which may be just below,
        and the choice of blanks by hidden values betrays some of them.
        ``oblivious``: the same columns are blanked wherever a column is private, whatever the
        values are; most cells, and the least to learn from the pattern of blanks.
    blank_per_round
        How many cells to blank before weights are added up again: a number of cells, or a share of
        the table's. More is faster and blanks more.
    shrink
        Whether to show cells again that are needless in the end; default: in mode ``public``
        only. In mode ``paper`` shrinking lets rules fire at more private cells, and be right more
        often. In mode ``oblivious`` it is refused: choosing by value is the leak.
    discretise
        By column how numbers or dates are cut into intervals: ``{"bins": 10}``,
        ``{"width": 5}``, ``{"quantiles": 10}`` or ``{"cuts": [0, 18, 65]}``, published by
        mid-point or, with ``"show": "interval"``, by interval.

    Notes
    -----
    Guarantee: no rule of enough support and confidence, mined from what is visible, fires at a
    private cell (``paper``: is right about a share of delta of those that it fires at). Against
    learners it promises nothing.

    Publishes: suppressed.

    All quasi-identifying and sensitive columns are mined alike. Rows are worked on one by one, in
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

    private: PrivateCells = field(default_factory=PrivateCells)
    delta: Fraction = Fraction(4, 5)
    gamma: int | Fraction = Fraction(1, 1000)
    mode: str = Mode.PUBLIC
    blank_per_round: int | Fraction = 1
    shrink: bool = True
    discretise: Mapping[str, Discretisation] = field(default_factory=dict)

    internal_parameters: ClassVar[frozenset[str]] = frozenset({"private"})
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

    def __init__(
        self,
        *,
        private: object = None,
        delta: Number = "0.8",
        gamma: Number = "0.001",
        mode: str = Mode.PUBLIC,
        blank_per_round: Number = 1,
        shrink: bool | None = None,
        discretise: Mapping[str, Any] | None = None,
    ) -> None:
        if shrink is not None and not isinstance(shrink, bool):
            raise ParameterError("shrink must be true or false.")
        if discretise is not None and not isinstance(discretise, Mapping):
            raise ParameterError(
                "discretise says for each column how it is cut.",
                hint='for example discretise={"age": {"bins": 10}}.',
            )
        if shrink and mode == Mode.OBLIVIOUS:
            raise ParameterError(
                "shrink is not possible in mode oblivious: choosing by value which cells to show "
                "again is the leak that this mode avoids.",
                hint="leave shrink out, or set it to False.",
            )
        guarantee = RuleProtection(delta=delta, gamma=gamma, mode=mode)
        values: dict[str, object] = {
            "private": PrivateCells.of(private),
            "delta": read_delta(delta),
            "gamma": check_gamma(gamma),
            "mode": guarantee.mode,
            "blank_per_round": check_blank_per_round(blank_per_round),
            "shrink": mode == Mode.PUBLIC if shrink is None else bool(shrink),
            "discretise": {
                column: Discretisation.of(column, given)
                for column, given in (discretise or {}).items()
            },
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def shape(self) -> Shape:
        """The shape that is published."""
        return Shape.SUPPRESSED

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """What a release of this method promises."""
        return (RuleProtection(delta=self.delta, gamma=self.gamma, mode=self.mode),)

    @property
    def private_cells(self) -> PrivateCells:
        """The cells that must not be known."""
        return self.private

    def parameters(self) -> dict[str, object]:
        """Give the parameters as the manifest states them."""
        cuts = {column: cut.to_config() for column, cut in self.discretise.items()}
        (guarantee,) = self.guarantees
        gamma = guarantee.to_dict()["gamma"]
        return super().parameters() | {"discretise": cuts, "gamma": gamma}

    def class_columns(self, schema: Schema) -> tuple[str, ...]:  # noqa: ARG002 - rows are not grouped
        """Name no column: every row is planned for itself."""
        return ()

    def check_schema(self, schema: Schema) -> None:
        """Refuse columns that would be published without being looked at."""
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

    def check_rows(self, rows: Rows, private: Marks) -> tuple[str, ...]:
        """Refuse what hides nothing or cannot be cut; say where the choice itself tells.

        Raises
        ------
        ParameterError
            Where no cell is private, or no rule could have the support that is asked for.
        SchemaError
            Where a column that is to be cut has no numbers.
        """
        self._confirm(rows, private)
        return self._cut(rows, private)[2]

    def _cut(self, rows: Rows, private: Marks) -> tuple[Rows, tuple[Recode, ...], tuple[str, ...]]:
        """Cut the columns, and say where the choice of private cells tells."""
        cut, recode = discretise_rows(rows, private, self.discretise)
        return cut, recode, choice_warnings(self.private, rows, private, self.delta)

    def _confirm(self, rows: Rows, private: Marks) -> None:
        if not private.any():
            raise ParameterError(
                "No cell is private, so there is nothing to hide.",
                hint="name the cells: private='disease where age > 60', or [(key, column), ...].",
            )
        if isinstance(self.gamma, int) and self.gamma > rows.n_rows:
            raise ParameterError(
                f"gamma asks for rules that {self.gamma} rows bear out; the table has "
                f"{rows.n_rows}, so nothing would be protected.",
                hint="give a smaller number, or a share such as 0.001.",
            )

    def plan(self, problem: Problem) -> Plan:
        """Plan which cells are blanked.

        Raises
        ------
        ParameterError
            Where no cell is private.
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
    """Give for each column the published text of every code, None where that is missing."""
    labels = {one.column: [label.text for label in one.labels] for one in recode}
    return tuple(
        np.array([*labels.get(domain.column, domain.labels()), None], dtype=object)[:-1]
        for domain in rows.domains
    )


def _base_rate_warnings(
    rates: CodedRules, columns: tuple[str, ...], delta: Fraction
) -> tuple[str, ...]:
    return tuple(
        f"In column {columns[column]!r} one value makes up at least {as_text(delta)} of what is "
        "visible: whoever guesses it for a private cell is right about as often, and no hiding of "
        "other cells protects it."
        for column in np.unique(rates.column).tolist()
    )


def _rule_table(
    hiding: Hiding, columns: tuple[str, ...], texts: tuple[Texts, ...]
) -> dict[str, npt.NDArray[Any]]:
    """List all rules that were found, and what became of each."""
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
    fates = np.array([_FATES[Fate(fate)] for fate in range(len(_FATES))], dtype=object)
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


def _antecedent(codes: RowCodes, texts: Texts) -> Texts:
    """Give what a rule names in a column: its text, (missing), or None where it names nothing."""
    shown = np.array(
        [*("(missing)" if text is None else text for text in texts.tolist()), None], dtype=object
    )
    named: Texts = shown[codes]
    return named
