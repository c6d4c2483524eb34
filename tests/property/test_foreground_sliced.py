"""Sliced releases as the foreground attack sees them, against a direct reading of rows."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import DataError, ParameterError
from shoal.core.release import People
from shoal.core.sliced import Layout, Sliced
from shoal.foreground.additive import fit_additive
from shoal.foreground.expectation_maximization import Target
from shoal.slicing.matches import expose_sliced

SEX = Domain.of_texts("sex", ["F", "M"])
TOWN = Domain.of_texts("town", ["a", "b", "c"])
AGE = Domain.of_texts("age", ["20", "30"])
DISEASE = Domain.of_texts("disease", ["cold", "flu"])
DOMAINS = [SEX, TOWN, AGE, DISEASE]
LAYOUTS = [
    [["sex", "town", "age"], ["disease"]],
    [["sex", "age"], ["town", "disease"]],
    [["sex"], ["town"], ["age", "disease"]],
]


def sliced_of(rows, bucket, layout):
    codes = np.array(rows)
    cells, inverse = Cells(
        tuple(DOMAINS), codes, np.ones(len(codes), np.int64)
    ).select_with_inverse([domain.column for domain in DOMAINS])
    return Sliced.of_pieces(
        cells, Layout(layout, ["disease"]), inverse, bucket, np.ones(len(codes), np.int64)
    )


def people_of(rows, bucket):
    codes = np.array(rows)[:, :3]
    return People(Cells(tuple(DOMAINS[:3]), codes, np.ones(len(codes), np.int64)), bucket)


@settings(max_examples=200, deadline=None)
@given(
    rows=st.lists(
        st.tuples(*(st.integers(0, domain.size - 1) for domain in DOMAINS)), min_size=1, max_size=14
    ),
    layout=st.sampled_from(LAYOUTS),
    n_buckets=st.integers(1, 3),
)
def test_a_bucket_is_parted_by_what_is_known_in_the_sensitive_column(rows, layout, n_buckets):
    bucket = np.arange(len(rows)) % min(n_buckets, len(rows))
    exposed, entry = expose_sliced(
        sliced_of(rows, bucket, layout), people_of(rows, bucket), "disease"
    )
    names = [domain.column for domain in DOMAINS]
    known = [names.index(name) for name in layout[-1][:-1]]
    values, members = defaultdict(Counter), defaultdict(set)
    for place, (row, number) in enumerate(zip(rows, bucket.tolist(), strict=True)):
        key = (number, *(row[column] for column in known))
        values[key][row[3]] += 1
        members[key].add(int(exposed.bucket[entry[place]]))
    carrying = exposed.n_carrying([1])
    assert exposed.buckets.n_buckets == len(values)
    for key, own in members.items():
        (number,) = own
        assert carrying[number] == values[key][1]
        assert exposed.buckets.sizes[number] == values[key].total()
    _, found = fit_additive(Target.of(exposed, [1]))
    assert np.allclose(np.bincount(exposed.bucket, found.p * exposed.count), carrying)


def test_people_of_another_table_are_refused():
    rows, bucket = [(0, 0, 0, 0), (1, 1, 0, 1)], np.array([0, 0])
    sliced = sliced_of(rows, bucket, LAYOUTS[1])
    with pytest.raises(DataError, match="not those of the sliced release"):
        expose_sliced(sliced, people_of([(0, 0, 0, 0), (1, 2, 0, 1)], bucket), "disease")
    with pytest.raises(DataError, match="as many rows as sensitive values"):
        expose_sliced(sliced, people_of([(0, 0, 0, 0), (1, 0, 0, 1)], bucket), "disease")
    with pytest.raises(ParameterError, match="must be known"):
        expose_sliced(sliced, People(people_of(rows, bucket).quasi), "disease")
    with pytest.raises(ParameterError, match="no attribute 'salary'"):
        expose_sliced(sliced, people_of(rows, bucket), "salary")
