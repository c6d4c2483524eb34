"""Answers to many queries in one pass, against one query and one sum at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_releases import cells_of

import shoal
from shoal.core import kernels
from shoal.utility import answers
from shoal.utility.answers import Worth, answer, answer_truly
from shoal.utility.estimated import Estimated, Shares
from shoal.utility.workload import draw_workloads

VALUES = {
    "age": [17, 40, 41, 65, 70, None],
    "income": [0, 3, 1_000_000, None],
    "zip": ["é", "", "x,y"],
    "ill": ["flu", "cold", None],
}
LAYOUTS = [
    [["age", "income"], ["zip", "ill"]],
    [["age"], ["income", "zip"], ["ill"]],
    # In both columns, in all three, and in two of three.
    [["age", "income", "ill"], ["zip", "ill"]],
    [["age", "ill"], ["income", "ill"], ["zip", "ill"]],
    [["age", "income"], ["income", "zip"], ["ill"]],
]
ROWS = st.lists(
    st.tuples(*(st.sampled_from(values) for values in VALUES.values())), min_size=4, max_size=12
)
METHODS = st.one_of(
    st.builds(
        lambda layout, size: shoal.Slicing(
            ell=1,
            columns=layout,
            buckets="random",
            bucket_size=size,
            overlap=sum(map(len, layout)) > len(VALUES),
        ),
        st.sampled_from(LAYOUTS),
        st.integers(1, 4),
    ),
    st.builds(lambda k: shoal.Mondrian(k=k), st.integers(1, 3)),
)


def answer_plainly(shares, link, workload, worths):
    """Return the answers of one query after the other, each sum on its own."""
    lines = []
    for query in range(workload.n_queries):
        line = []
        for worth in (None, *worths):
            chosen = {name: marks[:, query] * 1.0 for name, marks in workload.marks.items()}
            if worth is not None:
                chosen[worth.attribute] = chosen.get(worth.attribute, 1.0) * worth.of_value
            of_label = {name: shares[name].matrix @ one for name, one in chosen.items()}
            linked = link(list(chosen))
            total = 0.0
            for bucket, size in enumerate(linked.sizes.tolist()):
                product = float(size)
                for column in linked.columns:
                    here = column.bucket == bucket
                    weight = column.count[here] * 1.0
                    for name in set(column.attributes) & set(chosen):
                        weight = weight * of_label[name][column.code_of(name)[here]]
                    product *= weight.sum() / size
                total += product
            line.append(total)
        lines.append(line)
    return np.array(lines).reshape(-1, 1 + len(worths))


def worths_of(truth):
    worths = []
    for name in ("age", "income"):
        domain = truth.domain(name)
        numbers = np.zeros(domain.size)
        numbers[: len(domain.texts)] = domain.numbers
        worths += [
            Worth(name, numbers),
            Worth(name, (np.arange(domain.size) < len(domain.texts)) * 1.0),
        ]
    return [*worths, Worth("zip", np.arange(truth.domain("zip").size) - 0.5)]


@given(ROWS, METHODS, st.integers(0, 3), st.integers(1, 140))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=40)
def test_one_pass_answers_as_one_query_and_one_sum_at_a_time(rows, method, dimension, number):
    columns = dict(zip(VALUES, map(list, zip(*rows, strict=True)), strict=True))
    kinds = {"age": "integer", "income": "integer", "zip": "categorical", "ill": "categorical"}
    schema = shoal.Schema(quasi=["age", "income", "zip"], sensitive=["ill"], types=kinds)
    table = shoal.read(columns, schema)
    published = shoal.anonymize(table, method, seed=3).published
    truth = cells_of(list(VALUES), rows)
    estimated = Estimated(published, truth)
    generator = np.random.default_rng(number)
    workloads = draw_workloads(
        truth, ["age", "income", "zip"], ["ill"], dimension, 0.2, number, generator
    )
    worths = worths_of(truth)
    plain = [answer_plainly(estimated.shares, estimated.linked, one, worths) for one in workloads]
    assert answer(estimated, workloads, worths) == pytest.approx(np.concatenate(plain), abs=1e-9)
    true = answer_truly(truth, workloads, worths)
    whole = [
        [
            (truth.counts * chosen * worth).sum()
            for worth in (
                1.0,
                *(worth.of_value[truth.column(worth.attribute)] for worth in worths),
            )
        ]
        for workload in workloads
        for query in range(workload.n_queries)
        for chosen in [
            np.prod(
                [marks[truth.column(name), query] for name, marks in workload.marks.items()], axis=0
            )
        ]
    ]
    assert np.array_equal(true, np.array(whole))


@given(ROWS, st.integers(1, 3))
@settings(max_examples=15, deadline=None)
def test_the_kernel_adds_up_the_same_as_plain_python(rows, bucket_size):
    columns = dict(zip(VALUES, map(list, zip(*rows, strict=True)), strict=True))
    kinds = {"age": "integer", "income": "integer", "zip": "categorical", "ill": "categorical"}
    schema = shoal.Schema(quasi=["age", "income", "zip"], sensitive=["ill"], types=kinds)
    table = shoal.read(columns, schema)
    truth = cells_of(list(VALUES), rows)
    plain = kernels.load_plain("shoal.utility._kernels").Adder
    for method in (
        shoal.Slicing(ell=1, columns=LAYOUTS[1], buckets="random", bucket_size=bucket_size),
        shoal.Mondrian(k=bucket_size),
    ):
        estimated = Estimated(shoal.anonymize(table, method, seed=3).published, truth)
        workloads = draw_workloads(
            truth, ["age", "income", "zip"], ["ill"], 2, 0.2, 70, np.random.default_rng(1)
        )
        compiled = answer(estimated, workloads, worths_of(truth))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(answers, "Adder", plain)
            assert np.array_equal(answer(estimated, workloads, worths_of(truth)), compiled)


SPANS = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 10)), min_size=1, max_size=30)


@given(SPANS, st.integers(1, 3), st.booleans())
def test_means_over_runs_of_values_are_means(spans, n_columns, is_scattered):
    n_values = 10
    parts = [np.arange(n_values)[low : low + length][:: 1 + is_scattered] for low, length in spans]
    shares = Shares(
        np.repeat(np.arange(len(parts)), [len(part) for part in parts]),
        np.concatenate(parts),
        np.concatenate([np.full(len(part), 1 / len(part)) for part in parts]),
        len(parts) + 1,
        n_values,
    )
    numbers = np.random.default_rng(len(spans)).integers(-5, 5, (n_values, n_columns)) * 1.0
    means = [numbers[part].mean(axis=0) for part in parts]
    expected = np.array([*means, np.zeros(n_columns)])
    assert shares.mean(numbers) == pytest.approx(expected)
    assert shares.mean(numbers[:, 0]) == pytest.approx(expected[:, 0])
