"""The kit's answers about real releases against all linkings of what their files say."""

from __future__ import annotations

import csv
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from shoal.analyse import Analyst

LAYOUTS = [
    # The columns, and which attributes are sensitive.
    ([["age", "sex"], ["zip", "ill"]], ["ill"]),
    ([["age"], ["sex", "zip"], ["ill"]], ["ill"]),
    ([["age", "sex"], ["zip"], ["ill"]], ["ill", "zip"]),
    ([["age", "ill"], ["sex", "zip"]], []),
    # Overlapping: in both columns, in all three, and in two of three.
    ([["age", "sex", "ill"], ["zip", "ill"]], ["ill"]),
    ([["age", "ill"], ["sex", "ill"], ["zip", "ill"]], ["ill"]),
    ([["age", "sex"], ["sex", "zip"], ["ill"]], ["ill"]),
]
VALUES = {
    "age": [17, 40, 65, None],
    "sex": ["F", 'M"', None],
    "zip": ["é", "", "x,y"],
    "ill": ["flu", "cold", None],
}


def tables(layout):
    most = 5 if len(layout) == 3 else 6
    row = st.tuples(*(st.sampled_from(values) for values in VALUES.values()))
    return st.lists(row, min_size=1, max_size=most).map(
        lambda rows: dict(zip(VALUES, map(list, zip(*rows, strict=True)), strict=True))
    )


def released(columns, layout, sensitive, bucket_size):
    kinds = {"age": "integer"} | dict.fromkeys(["sex", "zip", "ill"], "categorical")
    schema = shoal.Schema(
        quasi=[name for name in VALUES if name not in sensitive], sensitive=sensitive, types=kinds
    )
    method = shoal.Slicing(
        ell=1 if sensitive else None,
        columns=layout,
        buckets="random",
        bucket_size=bucket_size,
        overlap=sum(map(len, layout)) > len(VALUES),
    )
    return shoal.anonymize(shoal.read(columns, schema), method, seed=7)


def entries_of(folder, layout):
    """Read for every bucket the rows of each column from the published files."""
    buckets = {}
    for place, names in enumerate(layout):
        with (folder / f"column_{place + 1}.csv").open(encoding="utf-8", newline="") as file:
            # A doubled quote is a quote, or all of an empty text; a missing value has none.
            text = file.read().replace('""', "\0")
        for line in csv.DictReader(text.splitlines()):
            row = {name: read_value(name, line[name]) for name in names}
            held = buckets.setdefault(int(line["bucket"]), [[] for _ in layout])
            held[place] += [row] * int(line["count"])
    return list(buckets.values())


def read_value(name, text):
    if text == "":
        return None
    return int(text) if name == "age" else text.replace("\0", "" if text == "\0" else '"')


def linkings_of(buckets):
    """Return every linking: a row has one entry of each column; shared attributes agree."""
    by_bucket = []
    for first, *others in buckets:
        found = [
            linked
            for orders in itertools.product(*map(itertools.permutations, others))
            if (linked := joined(first, orders)) is not None
        ]
        by_bucket.append(found)
    for chosen in itertools.product(*by_bucket):
        yield [row for rows in chosen for row in rows]


def joined(first, orders):
    rows = []
    for parts in zip(first, *orders, strict=True):
        row = {}
        for part in parts:
            if any(row.get(name, value) != value for name, value in part.items()):
                return None
            row |= part
        rows.append(row)
    return rows


def moments_of(numbers):
    numbers = [Fraction(number) for number in numbers]
    mean = sum(numbers) / len(numbers)
    return mean, sum((number - mean) ** 2 for number in numbers) / len(numbers)


def assert_estimates(estimate, mean, variance):
    assert estimate.value == pytest.approx(float(mean), abs=1e-9)
    assert estimate.standard_error == pytest.approx(math.sqrt(variance), abs=1e-7)


WHERES = [
    (
        {"age": (18, None), "ill": "flu"},
        lambda row: (row["age"] or 0) >= 18 and row["ill"] == "flu",
    ),
    ({"sex": None, "zip": ["é", ""]}, lambda row: row["sex"] is None and row["zip"] in ("é", "")),
    (
        "age > 30 or ill IS NULL",
        lambda row: (row["age"] or 0) > 30 or row["ill"] is None,
    ),
    ({"zip": "x,y"}, lambda row: row["zip"] == "x,y"),
    (None, lambda _: True),
]


@pytest.mark.parametrize(("layout", "sensitive"), LAYOUTS)
@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_answers_are_those_of_all_linkings_of_the_files(tmp_path, layout, sensitive, data):
    columns = data.draw(tables(layout))
    bucket_size = min(data.draw(st.integers(2, 3)), len(columns["age"]))
    release = released(columns, layout, sensitive, bucket_size)
    release.write(tmp_path / "release", replace=True)
    release.making.table.engine.close()
    opened = shoal.open_release(tmp_path / "release")
    linkings = list(linkings_of(entries_of(tmp_path / "release", layout)))
    analyst = Analyst(opened)
    for where, is_met in WHERES:
        check(analyst, linkings, where, is_met)
    sample = analyst.sample(np.random.default_rng(3))
    assert listed(rows_of(sample)) in [listed(rows) for rows in linkings]
    opened.files.engine.close()


def check(analyst, linkings, where, is_met):
    chosen = [[row for row in rows if is_met(row)] for rows in linkings]
    assert_estimates(analyst.count(where), *moments_of(map(len, chosen)))
    sums = [sum(row["age"] or 0 for row in rows) for rows in chosen]
    assert_estimates(analyst.sum("age", where), *moments_of(sums))
    ages = [[row["age"] for row in rows if row["age"] is not None] for rows in chosen]
    least = [min(found) for found in ages if found]
    bounds = analyst.least("age", where)
    assert bounds.possible == min(least, default=None)
    # The bound may be cautious, but it holds in every linking.
    assert bounds.guaranteed is None or (
        len(least) == len(ages) and max(least) <= bounds.guaranteed
    )
    n_there, _ = moments_of(map(len, ages))
    average = analyst.average("age", where)
    assert math.isnan(average.value) or average.value == pytest.approx(
        float(moments_of(map(sum, ages))[0] / n_there)
    )
    assert math.isnan(average.value) == (n_there == 0)
    table = analyst.table("sex", "ill", where={"zip": "é"})
    for place in np.ndindex(table.expected.shape):
        sex, ill = (values[code] for values, code in zip(table.values, place, strict=True))
        counts = [
            sum((row["sex"], row["ill"], row["zip"]) == (sex, ill, "é") for row in rows)
            for rows in linkings
        ]
        mean, variance = moments_of(counts)
        assert table.expected[place] == pytest.approx(float(mean), abs=1e-9)
        assert table.standard_error[place] == pytest.approx(math.sqrt(variance), abs=1e-7)


def rows_of(sample):
    values = {
        domain.column: [
            int(text) if domain.column == "age" and text is not None else text
            for text in domain.labels()
        ]
        for domain in sample.domains
    }
    return [
        {name: values[name][code] for name, code in zip(sample.columns, row, strict=True)}
        for row in sample.codes.tolist()
    ]


def listed(rows):
    return sorted(repr(sorted(row.items())) for row in rows)
