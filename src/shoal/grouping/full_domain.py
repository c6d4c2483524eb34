"""Full-domain generalization: every column to one level of its hierarchy, with the least loss.

Problem: hide everybody among others who look alike, with labels of one level in each column, which
are easy to read and to analyse.
Idea: the levels of all columns form a lattice. Search it for the element with the least loss whose
buckets keep the requirements, with few rows left out.
Guarantee: any of k-anonymity, l-diversity, t-closeness and (alpha, k)-anonymity, in every bucket.
No other combination of levels that keeps it has a lower loss.

References
----------
[Samarati01] P. Samarati: Protecting Respondents' Identities in Microdata Release. TKDE 13(6), 2001.
[LeFevre05] K. LeFevre, D. DeWitt, R. Ramakrishnan: Incognito: Efficient Full-Domain K-Anonymity.
SIGMOD 2005.
[Kohlmayer12] F. Kohlmayer, F. Prasser, C. Eckert, A. Kemper, K. Kuhn: Flash: Efficient, Stable and
Optimal k-Anonymity. SocialCom/PASSAT 2012.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar, get_args

import numpy as np

from shoal.core.arrays import Codes
from shoal.core.cells import Cells
from shoal.core.declared import declared
from shoal.core.errors import InfeasibleError, InternalError, ParameterError
from shoal.core.exact import as_text
from shoal.core.guarantees import AlphaK, Guarantee, KAnonymity
from shoal.core.method import Problem
from shoal.core.parameters import (
    Exact,
    OptionalExact,
    OptionalValues,
    choice,
    exact_number,
    values,
)
from shoal.core.plan import Drop, Plan, Recode, Segments
from shoal.core.shapes import Shape
from shoal.grouping.lattice import Groups, Ladder, Lattice, Loss, measure_of
from shoal.grouping.lattice_search import Found, Judge, fewest_dropped, find_best
from shoal.grouping.requirements import Requirements, RequiringMethod
from shoal.hierarchies.intervals import label_node

_FEW_ELEMENTS = 1 << 12
_THOUSAND = 1000
_MOST_SUPPRESSED = Fraction(1, 2)
"""A release that leaves out more rows than this is of no use."""


@declared
class FullDomain(RequiringMethod):
    """Generalize every column to one level of its hierarchy, with the least loss.

    At least one of `k`, `ell`, `t` and `alpha` is needed; every bucket keeps all that are given.

    Notes
    -----
    Guarantee: the requirements that were given, in every bucket; see `guarantees`. No combination
    of levels that keeps them within the allowed suppression has a lower `loss`. Ties go to the
    combination that leaves out the fewest rows, then to the lowest sum of levels, then to the
    lowest levels in the order of the columns.

    Publishes: a generalized table. In each column all labels come from one level of the hierarchy;
    at level 0 values stay as they are. A column without a hierarchy is kept as it is or becomes
    ``*``. Rows that are left out are not published in any form, not even as a line of ``*``; the
    codebook says how many there are. Labels stand for the values of published rows only.

    Suppression: only buckets that break a requirement are left out. t-closeness compares with the
    published rows, so leaving buckets out may move others too far from the rest; these are left
    out in turn until none is too far. The result need not be the smallest set of buckets with this
    property. A generalization that publishes no row with a protected value is not chosen, because
    a promise about that value would be empty.

    Loss: for ``loss``, a label costs its number of leaves minus one, divided by the leaves of the
    hierarchy minus one; a row that is left out costs 1. This is the mean over columns of the
    measure that ARX calls Loss. The leaves are the rows of a hierarchy that is given as rows;
    otherwise they are the values that occur. For ``discernibility``, a row that is left out looks
    like all rows. ``class_size`` is the number of rows of the table divided by the number of
    published buckets. ``entropy`` is the number of bits needed to find each value among the rows
    of the table with its label, or among all rows if it is left out; the bits are divided by those
    of a table of ``*``, and compared to twelve digits.

    References
    ----------
    [Samarati01] the lattice, and suppression up to a limit.
    [LeFevre05] Section 2: full-domain generalization; generalization and rollup property.
    [Kohlmayer12] chains through the lattice that are searched by bisection.
    [Wong06] R. Wong, J. Li, A. Fu, K. Wang: (alpha, k)-Anonymity. KDD 2006.

    Examples
    --------
    >>> FullDomain(k=5, ell=3, suppress=0.05).guarantees
    (KAnonymity(k=5), DistinctDiversity(ell=3))
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> shoal.anonymize(table, FullDomain(k=2), seed=1)
    Release(generalized by full_domain: 9 rows in 2 buckets, test)
    """

    alpha: OptionalExact = exact_number(
        "The largest share of a sensitive value in a bucket; with k, (alpha, k)-anonymity. "
        "Default: no bound.",
        default=None,
        above=0,
        at_most=1,
    )
    protect: OptionalValues = values(
        "The sensitive values that are protected: as one value for frequency diversity and the "
        "equal distance, each on its own for alpha. Default: every value.",
        default=None,
    )
    loss: Loss = choice(
        "What is minimized: the mean share of a column's values that a label stands for (`loss`), "
        "the number of rows that each row looks like (`discernibility`), the mean number of rows "
        "of a bucket (`class_size`), or the bits that labels leave open (`entropy`).",
        get_args(Loss),
        default="loss",
    )
    suppress: Exact = exact_number(
        "The largest share of the rows that may be left out, in whole buckets.",
        default=0,
        at_least=0,
        below=1,
        hint="it is a share of the rows: 0.05 allows 5 % of them.",
    )

    deviations: ClassVar[tuple[str, ...]] = (
        "[Samarati01] takes the element of least height; here the one of least loss is taken.",
        "[Samarati01] publishes what is suppressed as rows of *; here such rows are left out.",
        (
            "[Kohlmayer12] follows chains down from every element; here the next chain begins at "
            "the element that loses least, and ends where too much is lost."
        ),
        "t-closeness is measured against the published rows, not against the table.",
    )
    example: ClassVar[Mapping[str, object]] = {"k": 5, "ell": 2}

    def check_parameters(self) -> None:
        """Raise `ParameterError` for requirements that lack a partner or contradict each other."""
        if all(one is None for one in (self.k, self.ell, self.t, self.alpha)):
            raise ParameterError(
                "FullDomain needs at least one of k, ell, t and alpha; got none.",
                hint="for example k=5, ell=3.",
            )
        super().check_parameters()

    def _check_protect(self) -> None:
        if self.alpha is None:
            super()._check_protect()
        elif self.ell is not None or self.t is not None:
            raise ParameterError(
                "alpha bounds each protected value on its own, ell and t all of them together; got "
                "both.",
                hint="leave out alpha, or ell and t.",
            )

    @property
    def shape(self) -> Shape:
        """The shape that is published."""
        return Shape.GENERALIZED

    @property
    def is_minimal(self) -> bool:
        """Whether buckets follow from the table alone; the search draws nothing."""
        return True

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """The guarantees of a release: all that were asked for."""
        found: list[Guarantee] = []
        if self.alpha is not None:
            k = 1 if self.k is None else self.k
            found.append(AlphaK(alpha=self.alpha, k=k, protect=self.protect or ()))
        elif self.k is not None:
            found.append(KAnonymity(k=self.k))
        return (*found, *self._value_guarantees())

    def plan(self, problem: Problem) -> Plan:
        """Search the levels, and plan the buckets and their labels.

        Raises `DataError` if the table has no rows, `InfeasibleError` if no combination of levels
        keeps the requirements, `ParameterError` if a protected value does not occur, and
        `SchemaError` if there are too many combinations.
        """
        requirements = Requirements.of_problem(self.guarantees, problem)
        limit = math.floor(self.suppress * problem.cells.n_rows)
        if limit == 0:
            requirements.confirm_reachable()
        quasi, cell = problem.cells.select_with_inverse(problem.schema.quasi)
        lattice = Lattice.of_problem(problem, quasi)
        judge = self._judge(problem, requirements, cell, limit)
        is_about = requirements.is_about_values
        value = requirements.value if is_about else np.zeros_like(requirements.value)
        n_values = len(requirements.reference) if is_about else 1
        groups = Groups.of_cells(cell, value, problem.cells.counts, n_values)
        measure = measure_of(self.loss, lattice, problem.cells.n_rows)
        search = find_best(lattice, groups, judge, measure)
        if search.best is None:
            raise _infeasible(lattice, groups, judge)
        notes: dict[str, object] = {
            "levels": dict(zip(problem.schema.quasi, search.best.levels, strict=True)),
            "loss": float(search.best.loss),
            "combinations": math.prod(lattice.shape),
            "combinations tried": search.n_evaluated,
        }
        return _plan(problem.cells, quasi, cell, lattice, search.best, notes)

    def _judge(
        self, problem: Problem, requirements: Requirements, cell: Codes, limit: int
    ) -> Judge:
        if self.protect is None:
            nothing = np.empty(0, dtype=np.int64)
            return Judge(requirements, limit, nothing, nothing)
        (sensitive,) = problem.schema.sensitive
        code = problem.cells.column(sensitive)
        is_protected = np.isin(code, problem.cells.domain(sensitive).codes_of(list(self.protect)))
        return Judge(requirements, limit, cell[is_protected], code[is_protected])


def _infeasible(lattice: Lattice, groups: Groups, judge: Judge) -> InfeasibleError:
    """Return an error that states reachable parameters, or how many rows would have to go."""
    n_rows = int(groups.sizes.sum())
    fact = f"With up to {judge.limit} of {n_rows} rows left out, no generalization reaches it."
    more = None
    if math.prod(lattice.shape) <= _FEW_ELEMENTS:
        more = fewest_dropped(lattice, groups, replace(judge, limit=n_rows - 1))
    hint = " Leaving out rows is no help: more than half of them would have to go."
    if more is not None and more <= _MOST_SUPPRESSED * n_rows:
        share = Fraction(math.ceil(Fraction(more * _THOUSAND, n_rows)), _THOUSAND)
        hint = f" Or allow more rows to be left out: suppress = {as_text(share)} is enough."
    try:
        judge.requirements.confirm_reachable()
    except InfeasibleError as error:
        return InfeasibleError(f"{error.fact} {fact}", hint=f"{error.hint}{hint}", best=error.best)
    raise InternalError("One bucket of all rows keeps everything, and was not found.")


def _plan(
    cells: Cells,
    quasi: Cells,
    cell: Codes,
    lattice: Lattice,
    found: Found,
    notes: Mapping[str, object],
) -> Plan:
    """Assign a bucket to every class, and labels to every bucket."""
    bucket_of_group = np.cumsum(found.kept) - 1
    group = found.groups.group[cell]
    is_kept = found.kept[group]
    kept, dropped = np.flatnonzero(is_kept), np.flatnonzero(~is_kept)
    zero = np.zeros(len(kept), dtype=np.int64)
    bucket = bucket_of_group[group[kept]]
    first = found.groups.first[found.kept]
    shown = quasi.codes[found.kept[found.groups.group]]
    recode = tuple(
        _recode(ladder, level, quasi, shown[:, place], first)
        for place, (ladder, level) in enumerate(zip(lattice.ladders, found.levels, strict=True))
        if level > 0
    )
    return Plan(
        cells,
        len(first),
        Segments(kept, zero, cells.counts[kept], bucket, zero, zero),
        recode,
        drop=Drop(
            dropped,
            np.zeros(len(dropped), dtype=np.int64),
            cells.counts[dropped],
            "their bucket does not keep what is required",
        ),
        remarks=_remarks(found.n_dropped, cells.n_rows),
        notes=notes,
    )


def _recode(ladder: Ladder, level: int, quasi: Cells, shown: Codes, first: Codes) -> Recode:
    """Return the label of every bucket in one column, from one cell of each."""
    domain = quasi.domain(ladder.tree.column)
    codes = np.unique(shown)
    nodes, index = np.unique(
        ladder.node[level][ladder.numbers_at(level, first)], return_inverse=True
    )
    node_of_code = ladder.node[level][ladder.number[level][codes]]
    labels = tuple(
        label_node(ladder.tree, domain, node, codes[node_of_code == node])
        for node in nodes.tolist()
    )
    return Recode(domain.column, "bucket", index, labels)


def _remarks(n_dropped: int, n_rows: int) -> tuple[str, ...]:
    if n_dropped == 0:
        return ()
    return (
        f"{n_dropped} of {n_rows} rows are left out: their buckets would break what is guaranteed.",
    )
