"""Injector: buckets that stay diverse for an adversary who knows negative rules.

A man cannot have ovarian cancer, so a bucket in which he is the only man and all others have it
discloses his disease. Injector mines such negative rules from the table itself, and groups rows
that could have each other's values: everybody in a bucket keeps at least ell values that some
assignment of the bucket's values to its rows allows (matching l-diversity).

References
----------
[Li08] T. Li, N. Li, Injector: mining background knowledge for data anonymization, 2008.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from shoal.core.adversary_guarantees import MatchingDiversity, WeightedMatchingDiversity
from shoal.core.arrays import Flags
from shoal.core.cells import Cells
from shoal.core.declared import changed, declared
from shoal.core.errors import InfeasibleError, ParameterError
from shoal.core.exact import whole
from shoal.core.guarantees import Guarantee
from shoal.core.method import Method, Problem, confirm_countable
from shoal.core.parameters import Exact, choice, exact_number, flag, parameter, whole_number
from shoal.core.plan import Drop, Plan, Segments
from shoal.core.prior_knowledge import ForbiddenSets
from shoal.core.progress import DEFAULT_MAX_WORK, TooMuchWork, Work
from shoal.core.release import Vocabulary
from shoal.core.shapes import Shape
from shoal.injector.bucketization import (
    Choose,
    Classes,
    Grouping,
    bucketize,
    feasible_sets,
    largest_reachable,
    merge_weighted,
)
from shoal.injector.fuzzy_mining import Fuzzy
from shoal.injector.known import Knowledge, OptionalKnowledge, knowledge_parameter
from shoal.injector.miners import negative_knowledge
from shoal.injector.resolving import Setting, resolve

_MANY_RULES = 10_000
_MOST_WORK = DEFAULT_MAX_WORK // 40
"""The work limit of weighing: far below that of the checker, so that it can check the claim."""
_NOT_WEIGHTED = "weighted guarantee not claimed"


def _read_max_len(name: str, given: Any) -> int | Literal["any"] | None:
    # TOML has no None.
    return given if given in (None, "any") else whole(name, given, least=1)


@declared
class Injector(Method):
    """Group rows so that everybody keeps `ell` possible values, whatever the rules exclude.

    Notes
    -----
    Guarantee: matching l-diversity against the negative rules and facts, mined and given. They
    are kept in the internal folder; the manifest never states them. A fact about one person is
    applied to all rows equal to theirs, which may exclude more than is known. A given rule
    forbids its value whatever its confidence; `min_conf` applies to mined rules only.

    With `weighted`, also weighted matching l-diversity. It is claimed only if the assignments of
    every bucket could be counted within 5e7 operations, and if no fact is about a person whose row
    equals others: the plan applies the fact to all of them, which may lower a posterior. Otherwise
    the release does not claim it, and a warning says so.

    Publishes: a bucketized table, quasi-identifiers as they are. Readers can see who is in the
    table.

    References
    ----------
    [Li08] Sections IV and V; Figure 2 is `choose="printed"`.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> shoal.anonymize(table, Injector(ell=2), seed=1)
    Release(bucketized by injector: 9 rows in 4 buckets, test)
    """

    ell: int = whole_number(
        "How many values each person must still be able to have.", default=6, least=2
    )
    min_exp: Exact = exact_number(
        "The minimum expectation of a mined rule.",
        default="0.9",
        at_least=0,
        at_most=1,
        hint="for example 0.9.",
    )
    min_conf: Exact = exact_number(
        "The minimum confidence of a mined rule.",
        default=1,
        above=0,
        at_most=1,
        hint="1 finds rules without exception.",
    )
    max_len: int | Literal["any"] | None = parameter(
        "The largest number of columns that the antecedent of a mined rule names; `any` sets no "
        "bound.",
        _read_max_len,
        takes="a whole number of at least 1, or any",
        schema={"anyOf": [{"type": "integer", "minimum": 1}, {"const": "any"}]},
        default=1,
    )
    fuzzy: Fuzzy | None = choice(
        "How numbers near an interval support a mined rule about it: by the product or the minimum "
        "over the columns. Default: not at all.",
        get_args(Fuzzy),
        default=None,
    )
    width: Mapping[str, float] = parameter(
        "For fuzzy rules, the distance from an interval at which a number no longer counts, by "
        "column. Default: 0.",
        lambda _, given: dict(given),
        takes="a number for each column",
        schema={"type": "object", "additionalProperties": {"type": "number"}},
        factory=dict,
    )
    choose: Choose = choice(
        "How the next row of a bucket is chosen: with the most frequent compatible value "
        "(`balanced`); of the rows with that value, one with similar forbidden values (`similar`); "
        "or as in [Li08] Figure 2, which uses up rare values first (`printed`).",
        get_args(Choose),
        default="balanced",
    )
    on_infeasible: Literal["error", "suppress"] = choice(
        "What happens to rows that no release can give ell values: the request is refused "
        "(`error`), or they are left out (`suppress`).",
        ("error", "suppress"),
        default="error",
    )
    rules: OptionalKnowledge = knowledge_parameter(
        "Rules and facts that are known, beside those that are mined. Default: none.",
        is_internal=True,
    )
    mine: bool = flag("Whether rules are mined from the table.", default=True)
    weighted: bool = flag(
        "Whether no value may be more likely than 1/ell for anybody, if all assignments that the "
        "rules allow are equally likely; buckets are merged until that holds.",
        default=False,
    )
    list_rules: bool = flag(
        "Whether the public codebook names the rules that hold without exception.", default=False
    )

    deviations: ClassVar[tuple[str, ...]] = (
        (
            "Figure 1 never tests that a row can take a value, and rejects every group of exactly "
            "ell rows: valid values are found by matching and components instead."
        ),
        "Figure 2 line 9 also restores the row that is set aside, which would count it twice.",
        (
            "Figure 2 line 22 takes any values that a bucket lacks: only those that the row can "
            "take count here."
        ),
        (
            "Rows that cannot have ell values even in one bucket of all rows are found first; the "
            "figure would merge without end."
        ),
        (
            "Figure 2 line 13 minimizes the rows that clash with the bucket, which uses up the "
            "rarest values first and leaves a quarter of Adult's rows over; choose='balanced', the "
            "default, takes the most frequent compatible value instead."
        ),
        "Antecedents name one column unless max_len says otherwise: that is what Figure 3 counts.",
    )
    example: ClassVar[Mapping[str, object]] = {"ell": 2}

    def check_parameters(self) -> None:
        """Raise `ParameterError` if there would be no rule at all."""
        if not self.mine and self.rules is None:
            raise ParameterError(
                "mine=False leaves Injector without any rule.",
                hint="give rules, or let it mine them.",
            )

    @property
    def shape(self) -> Shape:
        """The shape that is published."""
        return Shape.BUCKETIZED

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """The guarantees of a release."""
        matching = MatchingDiversity(ell=self.ell)
        return (matching, WeightedMatchingDiversity(ell=self.ell)) if self.weighted else (matching,)

    def settled(self, notes: Mapping[str, object]) -> Injector:
        """Return the method without the weighted guarantee if a plan could not claim it."""
        return changed(self, weighted=False) if _NOT_WEIGHTED in notes else self

    @property
    def keys_asked(self) -> tuple[str, ...]:
        """The keys of the people that facts are about."""
        return () if self.rules is None else tuple({fact.person: None for fact in self.rules.facts})

    def for_parts(self, problem: Problem) -> Injector:
        """Return the method with the knowledge of the whole table; parts are not mined."""
        return changed(self, rules=self._knowledge(problem), mine=False, list_rules=False)

    def plan(self, problem: Problem) -> Plan:
        """Plan the buckets.

        Raises `DataError` if the table has no rows, `InfeasibleError` if a row that may not be
        suppressed cannot have `ell` values even in one bucket of all rows, and `ParameterError` if
        a given rule contradicts the table or names something that it does not have.
        """
        confirm_countable(problem.cells)
        self._refuse_contradiction(problem)
        knowledge = self._knowledge(problem)
        forbidden = _forbidden(problem, knowledge)
        sensitive = problem.schema.sensitive[0]
        value, domain = problem.cells.column(sensitive), problem.cells.domain(sensitive)
        classes, class_of_cell = Classes.of_cells(value, forbidden, problem.cells.counts, domain)
        is_kept = self._feasible(classes)
        kept = replace(
            classes,
            value=classes.value[is_kept],
            which=classes.which[is_kept],
            counts=classes.counts[is_kept],
        )
        grouping = bucketize(kept, self.ell, self.choose)
        unclaimed = ""
        if self.weighted:
            grouping, unclaimed = self._weigh(problem, kept, grouping)
        numbers = np.flatnonzero(is_kept)
        dropped = np.flatnonzero(~is_kept)
        return Plan(
            problem.cells,
            grouping.n_buckets,
            Segments.of_pairs(numbers[grouping.row_class], grouping.bucket, grouping.n_buckets),
            drop=Drop(
                dropped,
                np.zeros(len(dropped), dtype=np.int64),
                classes.counts[dropped],
                f"the rules exclude their value, or leave fewer than {self.ell} in any release",
            ),
            merged=class_of_cell,
            witnesses={"knowledge.toml": knowledge.to_toml().encode()},
            remarks=self._remarks(problem, knowledge) if self.list_rules else (),
            warnings=(f"Weighted matching l-diversity is not claimed: {unclaimed}.",)
            if unclaimed
            else (),
            notes={_NOT_WEIGHTED: unclaimed} if unclaimed else {},
        )

    def _weigh(
        self, problem: Problem, classes: Classes, grouping: Grouping
    ) -> tuple[Grouping, str]:
        """Merge buckets until no value is too likely; return why that is not claimed, or "".

        Raises `InfeasibleError` if a value is too frequent in the whole table, or if merging did
        not reach the bound.
        """
        best = largest_reachable(classes)
        if best < self.ell:
            raise InfeasibleError(
                f"More than one row in {self.ell} has the most frequent value, so that it is too "
                "likely for somebody in any release.",
                hint=(f"ell = {best} may be reached; otherwise " if best >= 2 else "")
                + "leave out weighted=True.",
                best={"ell": best} if best >= 2 else {},
            )
        named = set() if self.rules is None else {fact.person for fact in self.rules.facts}
        if any(problem.cells.counts[problem.cell_of_key[person]] > 1 for person in named):
            return grouping, "a fact is about somebody whose row equals others"
        try:
            merged = merge_weighted(classes, grouping, self.ell, Work(_MOST_WORK))
        except TooMuchWork:
            return grouping, "the assignments of a bucket are too many to be counted"
        if merged is None:
            raise InfeasibleError(
                f"Merging buckets did not bring every posterior down to 1/{self.ell}; another "
                "release may.",
                hint="ask for a lower ell, take fewer rules (a higher min_exp), or leave out "
                "weighted=True.",
            )
        return merged, ""

    def _knowledge(self, problem: Problem) -> Knowledge:
        sensitive = problem.schema.sensitive[0]
        known = Knowledge(sensitive)
        if self.mine:
            known = negative_knowledge(
                problem.cells,
                sensitive,
                problem.trees,
                min_exp=self.min_exp,
                min_conf=self.min_conf,
                max_len=None if self.max_len == "any" else self.max_len,
                fuzzy=self.fuzzy,
                width=self.width,
            )
            if len(known) > _MANY_RULES:
                # Rules that follow from more general ones forbid nothing more.
                known = known.most_general()
        if self.rules is None:
            return known
        # The release is checked by these rules without the hierarchies, so labels are defined.
        domains = {domain.column: domain for domain in problem.cells.domains}
        return known | self.rules.explained_by(domains, problem.trees)

    def _remarks(self, problem: Problem, knowledge: Knowledge) -> tuple[str, ...]:
        """List the rules without exceptions, except those about too few people or a rare value."""
        rules = knowledge.negative
        certain = knowledge.with_rules(rules.take(rules.confidences == 1)).most_general()
        people = problem.cells.select(problem.schema.quasi)
        n_people = resolve(certain, _setting(problem, people)).holding() @ people.counts
        values = problem.cells.select(problem.schema.sensitive)
        n_of_value = {
            values.domains[0].text(int(code)): int(count)
            for code, count in zip(values.codes[:, 0], values.counts, strict=True)
        }
        return tuple(
            certain.state(rule)
            for rule, n_meant in zip(certain, n_people.tolist(), strict=True)
            if min(n_meant, n_of_value.get(rule.value, 0)) >= self.ell
        )

    def _refuse_contradiction(self, problem: Problem) -> None:
        """Raise `ParameterError` if a certain given rule or fact excludes the value of some row.

        Mined rules without exceptions never do.
        """
        if self.rules is None:
            return
        cells, sensitive = problem.cells, problem.schema.sensitive[0]
        value, domain = cells.column(sensitive), cells.domain(sensitive)
        quasi, quasi_of_cell = cells.select_with_inverse(problem.schema.quasi)
        found = resolve(self.rules, _setting(problem, quasi)).confirm().certain_sets
        excludes_own = found.sets[found.which[quasi_of_cell], value]
        n_wrong = int(cells.counts[excludes_own].sum())
        n_facts = sum(
            domain.text(int(value[problem.cell_of_key[fact.person]])) == fact.value
            for fact in self.rules.facts
        )
        if n_wrong or n_facts:
            what = f"rules exclude the value that {n_wrong} rows have"
            if not n_wrong:
                what = f"facts exclude the value that {n_facts} people have"
            raise ParameterError(
                f"The given {what}.",
                hint="correct or strike what is not true of this table.",
            )

    def _feasible(self, classes: Classes) -> Flags:
        """Mark the classes whose rows can have `ell` values, once the others are left out.

        Leaving rows out takes their values away from the others, so this is repeated.
        """
        is_kept = np.ones(classes.n_classes, dtype=bool)
        while True:
            kept = replace(classes, counts=np.where(is_kept, classes.counts, 0))
            n_valid = feasible_sets(kept)[classes.which]
            fails = is_kept & (n_valid < self.ell)
            if not fails.any():
                return is_kept
            wrong = is_kept & classes.forbids_own
            is_contradicted = not n_valid[is_kept].any() and bool(wrong.any())
            if self.on_infeasible == "error" and is_contradicted:
                raise _contradicted(int(classes.counts[wrong].sum()))
            if is_contradicted:
                # Without any assignment, nobody has a valid value. If the rows whose own value is
                # excluded are left out, there is one: everybody has their own value.
                fails = wrong
            if self.on_infeasible == "error" or fails[is_kept].all():
                raise self._infeasible(classes, fails, int(n_valid[is_kept].min()))
            is_kept &= ~fails

    def _infeasible(self, classes: Classes, fails: Flags, best: int) -> InfeasibleError:
        n_rows = int(classes.counts[fails].sum())
        suppress = "suppress such rows (on_infeasible='suppress'), or "
        return InfeasibleError(
            f"Of {int(classes.counts.sum())} rows {n_rows} could have fewer than {self.ell} "
            "different values even in one bucket of all rows, given the rules.",
            hint=(f"ell = {best} can be reached; otherwise " if best >= 2 else "")
            + (suppress if self.on_infeasible == "error" else "")
            + "take fewer rules (a higher min_exp, a lower max_len).",
            best={"ell": best} if best >= 2 else {},
        )


def _contradicted(n_wrong: int) -> InfeasibleError:
    return InfeasibleError(
        f"The rules exclude the value that {n_wrong} rows have, and no assignment of all values "
        "satisfies them.",
        hint="suppress such rows (on_infeasible='suppress'), or take fewer rules (a higher "
        "min_conf or min_exp).",
    )


def _setting(problem: Problem, quasi: Cells) -> Setting:
    """Return the setting that knowledge about the table is resolved against."""
    domains = {domain.column: domain for domain in problem.cells.domains}
    words = Vocabulary(domains, problem.trees, problem.schema.hierarchies)
    return Setting(quasi, domains[problem.schema.sensitive[0]], vocabulary=words)


def _forbidden(problem: Problem, knowledge: Knowledge) -> ForbiddenSets:
    """Return the values that the rows of each cell cannot have."""
    cells = problem.cells
    quasi, quasi_of_cell = cells.select_with_inverse(problem.schema.quasi)
    domain = cells.domain(problem.schema.sensitive[0])
    found = resolve(knowledge, _setting(problem, quasi)).confirm().sets
    which = found.which[quasi_of_cell]
    if not knowledge.facts:
        return ForbiddenSets(which, found.sets)
    marks = found.sets[which]
    for fact in knowledge.facts:
        # Equal rows cannot be distinguished here, so all rows equal to that person's are assumed to
        # lack the value: the plan never assumes less than what is known.
        marks[problem.cell_of_key[fact.person], _code(domain.labels(), fact.value)] = True
    return ForbiddenSets.of_marks(marks)


def _code(labels: list[str | None], value: str | None) -> int:
    if value not in labels:
        raise ParameterError(
            "A fact excludes a value that the sensitive column does not have.",
            hint="correct it in the file of knowledge.",
        )
    return labels.index(value)
