"""Full-domain generalization: every column to one level of its hierarchy, at the least loss.

Problem: hide everybody among others who look alike, with labels of one kind in each column, which
are easy to read and to analyse.
Idea: the levels of all columns make a lattice; search it for the element whose buckets keep what
is required, with few rows left out, and that loses least.
Guarantee: any of k-anonymity, l-diversity, t-closeness and (alpha, k)-anonymity, in every bucket;
the loss is the least that any combination of levels has.

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar, get_args

import numpy as np

from shoal.core.cells import Cells, Codes
from shoal.core.errors import InfeasibleError, InternalError, ParameterError
from shoal.core.exact import Number, as_text, exact
from shoal.core.guarantees import AlphaK, Guarantee, KAnonymity, TCloseness
from shoal.core.method import Method, Problem, Shape
from shoal.core.plan import Drop, Plan, Recode, Segments
from shoal.core.schema import Schema
from shoal.knowledge.level_labels import label_node
from shoal.methods.lattice.groups import Groups
from shoal.methods.lattice.judging import Judge
from shoal.methods.lattice.levels import Ladder, Lattice
from shoal.methods.lattice.measures import Loss, measure_of
from shoal.methods.lattice.search import Found, fewest_dropped, find_best
from shoal.methods.requirements.parameters import (
    Distance,
    Diversity,
    check_choice,
    check_hierarchy,
    check_partners,
    check_protect,
    diversity_guarantee,
    read_ell,
)
from shoal.methods.requirements.table import Requirements, as_protect

__all__ = ["FullDomain"]

_FEW_ELEMENTS = 1 << 12
_TEN_THOUSAND = 10_000


@dataclass(frozen=True, kw_only=True)
class FullDomain(Method):
    """Generalize every column to one level of its hierarchy, so that least is lost.

    At least one of `k`, `ell`, `t` and `alpha` is needed; every bucket keeps all that are given.

    Parameters
    ----------
    k
        The fewest rows of a bucket.
    ell, diversity, c
        How diverse the sensitive values of a bucket are: at least `ell` values (``distinct``,
        the default), none with more than 1/ell of the rows (``frequency``), an entropy of at
        least log(ell) (``entropy``), or (c, ell)-diversity (``recursive``).
    t, distance
        How far a bucket's distribution of sensitive values may be from that of all published
        rows, with values equally far apart, by rank, or by the sensitive column's hierarchy.
    alpha
        The largest share of a sensitive value in a bucket; with `k`, (alpha, k)-anonymity.
    protect
        Sensitive values that are meant, while the others are not protected; None is the missing
        one. They count as one for ``frequency`` (then the default) and the ``equal`` distance,
        each for itself for `alpha`, which then stands without `ell` and `t`.
    loss
        What is made least: ``loss``, the mean share of a column's values that a label stands for;
        ``discernibility``, how many rows each row looks like; ``class_size``, the mean rows of a
        bucket; or ``entropy``, the bits that labels leave open.
    suppress
        The largest share of the rows that may be left out, in whole buckets.

    Notes
    -----
    Guarantee: what was asked for, in every bucket; see `guarantees`. No combination of levels that
    keeps it, with as many rows left out as allowed, has a lower `loss`. Among equal ones the one
    that leaves fewest rows out is taken, then the lowest sum of levels, then the lowest levels in
    the order of the columns.

    Publishes: a generalized table. In each column all labels come from one level of the hierarchy;
    at level 0 values stay as they are. A column without a hierarchy is kept as it is or becomes
    ``*``. Rows that are left out are not published in any form, not even as a line of ``*``; the
    codebook says how many there are. Labels stand for the values of published rows only.

    Leaving out: buckets that break a requirement are left out, and no others. t-closeness compares
    with the rows that are published: buckets that are too far from those left are left out
    together, which may bring others too far, until none is. That need not be the smallest set of
    buckets with this property. A generalization that leaves no row with a protected value is not
    taken, for a promise about that value would be empty.

    Loss: for ``loss`` a label of a column costs its leaves less one, divided by all leaves of the
    hierarchy less one; a row that is left out costs 1. That is the mean of columns of the measure
    that ARX calls Loss. Leaves are the rows of a hierarchy that is given as rows, and otherwise
    the values that occur. For ``discernibility`` a row that is left out looks like all, and
    ``class_size`` divides all rows of the table by the published buckets. For ``entropy`` a value
    is sought among the table's rows with its label, or among all where it is left out; the bits
    are divided by those of a table of ``*``, and compared to twelve digits.

    References
    ----------
    [Samarati01] the lattice, and suppression up to a limit.
    [LeFevre05] Section 2: full-domain generalization; generalization and rollup property.
    [Kohlmayer12] chains through the lattice that are searched by halves.
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

    k: int | None = None
    ell: Number | None = None
    diversity: Diversity | None = None
    c: Number | None = None
    t: Number | None = None
    distance: Distance = "equal"
    alpha: Number | None = None
    protect: Sequence[str | None] | None = field(default=None, repr=False)
    loss: Loss = "loss"
    suppress: Number = 0

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

    def __post_init__(self) -> None:
        for name, kind in (("diversity", Diversity), ("distance", Distance), ("loss", Loss)):
            is_optional = name == "diversity"
            check_choice(name, getattr(self, name), get_args(kind), is_optional=is_optional)
        object.__setattr__(self, "protect", as_protect(self.protect))
        if all(one is None for one in (self.k, self.ell, self.t, self.alpha)):
            raise ParameterError(
                "FullDomain needs at least one of k, ell, t and alpha; got none.",
                hint="for example k=5, ell=3.",
            )
        check_partners(
            ell=self.ell, diversity=self.diversity, c=self.c, t=self.t, distance=self.distance
        )
        if self.ell is not None:
            default = "distinct" if self.protect is None else "frequency"
            object.__setattr__(self, "diversity", self.diversity or default)
            object.__setattr__(self, "ell", read_ell(self.ell, self.diversity))
        for name in ("c", "t", "alpha", "suppress"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, exact(name, value))
        if self.protect is not None:
            self._check_protect()
        if not 0 <= self._suppress < 1:
            raise ParameterError(
                f"suppress must be at least 0 and below 1, not {as_text(self._suppress)}.",
                hint="it is a share of the rows: 0.05 allows 5 % of them.",
            )
        # Each guarantee checks its own parameters.
        assert self.guarantees

    def _check_protect(self) -> None:
        if self.alpha is None:
            check_protect(ell=self.ell, t=self.t, diversity=self.diversity)
        elif self.ell is not None or self.t is not None:
            raise ParameterError(
                "alpha bounds protected values each for itself, ell and t as one; got both.",
                hint="leave out alpha, or ell and t.",
            )

    @property
    def _suppress(self) -> Fraction:
        return exact("suppress", self.suppress)

    @property
    def shape(self) -> Shape:
        """The shape that is published."""
        return Shape.GENERALIZED

    @property
    def is_minimal(self) -> bool:
        """Whether buckets follow from the table alone: the search draws nothing."""
        return True

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """What a release promises: everything that was asked for."""
        found: list[Guarantee] = []
        protect = self.protect or ()
        if self.alpha is not None:
            found.append(
                AlphaK(alpha=self.alpha, k=1 if self.k is None else self.k, protect=protect)
            )
        elif self.k is not None:
            found.append(KAnonymity(k=self.k))
        if self.ell is not None:
            found.append(diversity_guarantee(self.ell, self.diversity, self.c, protect))
        if self.t is not None:
            found.append(TCloseness(t=self.t, distance=self.distance, protect=protect))
        return tuple(found)

    def class_columns(self, schema: Schema) -> tuple[str, ...]:
        """Name the columns whose values make rows interchangeable."""
        return schema.quasi + schema.sensitive

    def check_schema(self, schema: Schema) -> None:
        """Refuse a schema that the method cannot work on."""
        super().check_schema(schema)
        check_hierarchy(schema, self.distance)

    def plan(self, problem: Problem) -> Plan:
        """Search the levels, and plan the buckets and their labels.

        Raises
        ------
        DataError
            Where the table has no rows.
        InfeasibleError
            Where no combination of levels keeps what is asked for.
        ParameterError
            Where a protected value does not occur.
        SchemaError
            Where there are too many combinations.
        """
        requirements = Requirements.of_problem(self.guarantees, problem)
        limit = math.floor(self._suppress * problem.cells.n_rows)
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
    """Say what could be reached: other parameters, or with more rows left out."""
    n_rows = int(groups.sizes.sum())
    fact = f"With up to {judge.limit} of {n_rows} rows left out, no generalization reaches it."
    more = None
    if math.prod(lattice.shape) <= _FEW_ELEMENTS:
        more = fewest_dropped(lattice, groups, replace(judge, limit=n_rows - 1))
    hint = ""
    if more is not None:
        share = Fraction(math.ceil(Fraction(more * _TEN_THOUSAND, n_rows)), _TEN_THOUSAND)
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
    """Give every class its bucket, and every bucket its labels."""
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
    """Give every bucket its label in one column, by a cell of each."""
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
