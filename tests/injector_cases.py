"""Small tables with rules for Injector, and what is in the buckets that it plans."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.method import Problem
from shoal.core.schema import Schema
from shoal.core.secret import Secret
from shoal.knowledge import NegativeRule

CHOICES = ("balanced", "similar", "printed")
CITIES, VALUES = "abcd", "stuvwx"


@st.composite
def tables(draw, max_rows=24, n_values=5):
    """Rows of a city, a sex and a value, and rules that forbid nobody's own value."""
    row = st.tuples(
        st.sampled_from(CITIES), st.sampled_from("FM"), st.sampled_from(VALUES[:n_values])
    )
    rows = draw(st.lists(row, min_size=1, max_size=max_rows))
    conditions = [{"city": city} for city in CITIES] + [{"sex": sex} for sex in "FM"]
    conditions += [{"city": city, "sex": sex} for city in CITIES for sex in "FM"]
    chosen = draw(
        st.lists(
            st.tuples(st.sampled_from(conditions), st.sampled_from(VALUES[:n_values])), max_size=6
        )
    )
    rules = [
        NegativeRule(antecedent=when, value=value)
        for when, value in chosen
        if not any(holds(when, row) and row[2] == value for row in rows)
        and any(row[2] == value for row in rows)
        and all(any(row[at] == label for row in rows) for at, label in labels(when))
    ]
    return rows, rules


def labels(when):
    return [({"city": 0, "sex": 1}[column], label) for column, label in when.items()]


def holds(when, row):
    return all(row[at] == label for at, label in labels(when))


def forbidden_of(rules, row):
    return frozenset(rule.value for rule in rules if holds(rule.antecedent, row))


def problem_of(rows, cell_of_key=None):
    domains = [
        Domain.of_texts(column, sorted({row[at] for row in rows}))
        for at, column in enumerate(("city", "sex", "value"))
    ]
    codes = np.array([[int(d.codes_of([t])[0]) for d, t in zip(domains, row, strict=True)]
                      for row in rows])  # fmt: skip
    cells = Cells.of_rows(domains, codes)
    schema = Schema(quasi=["city", "sex"], sensitive="value")
    return Problem(cells, schema, {}, Secret.from_seed(1), cell_of_key or {})


def bucket_contents(plan):
    """Give the cells of the rows of each bucket, expanding ranks; ranks are interchangeable."""
    members = {}
    for cell, number in enumerate(plan.class_of_cell.tolist()):
        members.setdefault(number, []).extend([cell] * int(plan.classes.counts[cell]))
    buckets = {}
    for number, rank, bucket in zip(*(a.tolist() for a in plan.assign.expand()), strict=True):
        buckets.setdefault(bucket, []).append(members[number][rank])
    return buckets


def row_of(plan, cell):
    return tuple(
        domain.text(int(code))
        for domain, code in zip(plan.classes.domains, plan.classes.codes[cell], strict=True)
    )
