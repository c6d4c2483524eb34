from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

import shoal
from shoal.analyse import Analyst, Bounds, Estimate, Linked, LinkedColumn
from shoal.core.cells import Buckets, Cells
from shoal.core.domain import ColumnType, Domain, NumberedDomain
from shoal.core.errors import DataError, ParameterError
from shoal.core.manifest import Manifest
from shoal.core.release import Published
from shoal.core.shapes import Shape
from shoal.core.sliced import Layout, Sliced, SlicedColumn
from shoal.datasets import papers
from shoal.utility import estimates as moments
from shoal.utility.linked import columns_for

MARK = "Zqxv"


def column_of(bucket, **values):
    """Make a column from lists of values, one an entry; numbers are integers."""
    domains, codes = [], []
    for name, listed in values.items():
        there = sorted({value for value in listed if value is not None})
        is_number = all(isinstance(value, int) for value in there)
        domain = Domain.of_texts(
            name,
            list(map(str, there)),
            type=ColumnType.INTEGER if is_number else ColumnType.CATEGORICAL,
            numbers=list(map(float, there)) if is_number else None,
            has_missing=None in listed,
        )
        domains.append(domain)
        texts = [None if value is None else str(value) for value in listed]
        codes.append(domain.codes_of(texts))
    ones = np.ones(len(bucket), dtype=np.int64)
    return LinkedColumn(tuple(domains), np.array(bucket), np.array(codes).T, ones)


def sliced(*columns):
    """Return Table 1 of the paper with its attributes parted into columns."""
    patients = papers.slicing_patients().to_dict()
    bucket = [number - 1 for number in papers.slicing_buckets()]
    return Analyst(
        Linked.of_columns(
            [column_of(bucket, **{name: patients[name] for name in column}) for column in columns]
        )
    )


def test_table_1_sliced_into_two_columns():
    analyst = sliced(["age", "sex"], ["zipcode", "disease"])
    # Of bucket 1, 1 of 4 is 22 and male, 2 of 4 have flu.
    assert analyst.count({"age": 22, "sex": "M", "disease": "flu"}) == Estimate(0.5, 0.5)
    # A column keeps what belongs together.
    assert analyst.count({"zipcode": "47906", "disease": "flu"}) == Estimate(1, 0)
    assert analyst.count({"age": (50, None), "sex": "F"}) == Estimate(2, 0)
    assert analyst.count() == Estimate(8, 0)


def test_table_1_with_one_attribute_a_column():
    analyst = sliced(["age"], ["sex"], ["zipcode"], ["disease"])
    found = analyst.count({"age": 22, "sex": "M", "zipcode": "47906", "disease": "flu"})
    assert found.value == pytest.approx(4 * (1 / 2) * (1 / 4) * (1 / 2) * (1 / 2))


def test_bounds_say_what_every_linking_has_in_common():
    analyst = sliced(["age", "sex"], ["zipcode", "disease"])
    # Two of the four in bucket 1 have flu, and in bucket 2 one: those may be the oldest.
    assert analyst.least("age", {"disease": "flu"}) == Bounds(22, 33)
    assert analyst.largest("age", {"disease": "flu"}) == Bounds(64, 54)
    assert analyst.least("age", {"sex": "F"}) == Bounds(22, 22)
    assert analyst.least("age", {"disease": "flu", "sex": "M"}) == Bounds(22, None)
    assert analyst.least("age", {"disease": "plague"}) == Bounds(None, None)


def test_an_expression_is_taken_as_conditions_where_it_is_some():
    analyst = sliced(["age", "sex"], ["zipcode", "disease"])
    by_attribute = analyst.least("age", {"disease": ["flu"], "sex": "F"})
    assert analyst.least("age", "sex = 'F' AND disease = 'flu'") == by_attribute
    assert by_attribute.guaranteed is not None
    assert analyst.least("age", "sex = 'F' OR disease = 'flu'").guaranteed is None


def test_a_table_may_join_columns_and_keep_attributes_of_one():
    analyst = sliced(["age", "sex"], ["zipcode", "disease"])
    table = analyst.table("disease", "sex", where={"age": (0, 60)})
    assert table.values == (("bronchitis", "dyspepsia", "flu", "gastritis"), ("F", "M"))
    assert table.expected.sum() == pytest.approx(5)
    assert table.expected[2].tolist() == [pytest.approx(1.5), pytest.approx(0.75)]
    inside = analyst.table("zipcode", "disease")
    assert inside.standard_error.max() == 0
    assert inside.expected.sum() == 8
    assert repr(inside) == "ContingencyTable(zipcode (4) x disease (4): 8 rows)"
    assert inside.to_dict()["attributes"] == ["zipcode", "disease"]


def test_linkings_are_drawn_alike():
    """Of the six linkings of three rows each is drawn about as often."""
    analyst = Analyst(
        Linked.of_columns([column_of([0] * 3, x=[1, 2, 3]), column_of([0] * 3, y=[1, 2, 3])])
    )
    generator = np.random.default_rng(20_240_229)
    drawn = [tuple(analyst.sample(generator).codes[:, 1].tolist()) for _ in range(3_000)]
    counts = [drawn.count(linking) for linking in set(drawn)]
    assert len(counts) == 6
    # Chi-squared with five degrees of freedom passes 25 once in seven thousand times.
    assert sum((count - 500) ** 2 / 500 for count in counts) < 25


def test_a_bucketized_release_is_read_as_published():
    sex, disease = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("disease", ["cold", "flu"])
    bucket = NumberedDomain("bucket", np.array([3, 7]))
    lines = Cells.of_rows([bucket, sex], np.array([[0, 0], [0, 1], [1, 1], [1, 1]]))
    values = Buckets.of_pairs(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), disease)
    manifest = Manifest(
        shape=Shape.BUCKETIZED,
        method="anatomy",
        parameters={},
        guarantees=(),
        columns=(),
        n_rows=4,
        n_buckets=2,
    )
    analyst = Analyst(Published(manifest, lines, values))
    assert analyst.count({"sex": "M", "disease": "flu"}) == Estimate(2.5, 0.5)
    assert repr(analyst.linked) == "Linked((sex), (disease): 4 rows in 2 buckets)"
    assert Analyst(Published(manifest, lines, None)).count({"sex": "M"}) == Estimate(3, 0)


def test_a_suppressed_release_is_refused():
    manifest = Manifest(
        shape=Shape.SUPPRESSED,
        method="rule_hiding",
        parameters={},
        guarantees=(),
        columns=(),
        n_rows=0,
        n_buckets=1,
    )
    lines = Cells(
        (NumberedDomain("bucket", np.array([1])),), np.zeros((0, 1), int), np.zeros(0, int)
    )
    with pytest.raises(ParameterError, match="suppressed"):
        Analyst(Published(manifest, lines, None))


def test_a_release_without_rows_has_counts_of_zero():
    nobody = LinkedColumn(
        (Domain.of_texts("sex", ["F"]),),
        np.zeros(0, dtype=np.int64),
        np.zeros((0, 1), dtype=np.int64),
        np.zeros(0, dtype=np.int64),
    )
    analyst = Analyst(Linked.of_columns([nobody]))
    assert analyst.count({"sex": "F"}) == Estimate(0, 0)
    assert analyst.count("sex = 'F'") == Estimate(0, 0)
    assert analyst.table("sex").expected.tolist() == [0]
    assert analyst.sample(np.random.default_rng(1)).n_rows == 0


def test_a_large_offset_costs_no_precision():
    """Dates and incomes lie far from zero; what varies is small beside that."""
    far = 10**9
    near = Linked.of_columns([column_of([0] * 3, x=[1, 2, 4]), column_of([0] * 3, y=[1, 1, 2])])
    away = Linked.of_columns(
        [column_of([0] * 3, x=[far + 1, far + 2, far + 4]), column_of([0] * 3, y=[1, 1, 2])]
    )
    expected = Analyst(near).sum("x", {"y": 1}).standard_error
    assert Analyst(away).sum("x", {"y": 1}).standard_error == pytest.approx(expected, rel=1e-6)


def test_values_of_every_type_can_be_asked_for():
    column = LinkedColumn(
        (
            Domain.of_texts(
                "day",
                ["2020-02-28", "2020-02-29"],
                type=ColumnType.DATE,
                numbers=[18320.0, 18321.0],
                has_missing=True,
            ),
            Domain.of_texts("ill", ["false", "true"], type=ColumnType.BOOLEAN),
            Domain.of_texts("grade", ["low", "middle", "high"], type=ColumnType.ORDERED),
            Domain.of_texts("size", ["0.5", "1.5"], type=ColumnType.REAL, numbers=[0.5, 1.5]),
        ),
        np.zeros(3, dtype=np.int64),
        np.array([[0, 0, 0, 0], [1, 1, 1, 1], [2, 1, 2, 1]]),
        np.array([1, 2, 4]),
    )
    analyst = Analyst(Linked.of_columns([column]))

    def counted(**where):
        return analyst.count(where).value

    assert counted(day=dt.date(2020, 2, 29)) == counted(day="2020-02-29") == 2
    assert counted(day=(dt.date(2020, 1, 1), "2020-02-29")) == 1
    assert counted(day=None) == counted(day=[None]) == 4
    assert counted(day=(None, None)) == 3
    assert counted(ill=True) == counted(ill="true") == 6
    assert counted(grade=("middle", None)) == 6
    assert counted(grade=("low", "high")) == 3
    assert counted(size=1.5) == counted(size="1.5") == counted(size=np.array([1.5])) == 6
    with pytest.raises(ParameterError, match="type of its values"):
        counted(day="29 February")
    with pytest.raises(ParameterError, match="type of its values"):
        counted(ill="yes")
    assert counted(size=[]) == 0
    assert counted(size=7) == 0
    assert counted(size=(2, 1)) == 0
    assert analyst.largest("day") == Bounds(dt.date(2020, 2, 29), dt.date(2020, 2, 29))
    assert analyst.least("grade", {"ill": True}) == Bounds("middle", "middle")
    assert analyst.count("day IS NULL").value == 4
    assert analyst.count("ill and size > 1").value == 6


@pytest.mark.parametrize(
    ("where", "fault"),
    [
        ({"height": 3}, "no attribute 'height'"),
        ({"sex": ("F", "M")}, "no order"),
        ({"age": (1, 2, 3)}, "pair"),
        ({"age": float("nan")}, "type of its values"),
        ({"age": ("a", "b")}, "type of its values"),
        ({"age": True}, "type of its values"),
        ({"age": "twenty"}, "type of its values"),
        ({"sex": 3}, "type of its values"),
        ({"age": dt.date(2020, 1, 1)}, "type of its values"),
        (["age"], "mapping"),
        ("age +", "ends too early"),
        ("height > 3", "no attribute 'height'"),
    ],
)
def test_a_condition_that_cannot_be_met_is_refused(where, fault):
    analyst = sliced(["age", "sex"], ["zipcode", "disease"])
    with pytest.raises(ParameterError, match=fault):
        analyst.count(where)


def test_errors_show_no_value():
    column = column_of([0, 0], name=[MARK + "a", MARK + "b"], age=[1, 2])
    analyst = Analyst(Linked.of_columns([column, column_of([0, 0], x=[MARK, MARK])]))
    for ask in (
        lambda: analyst.count({"name": (MARK, None)}),
        lambda: analyst.count({"age": (MARK, None)}),
        lambda: analyst.sum("name"),
        lambda: analyst.least("name"),
        lambda: analyst.count("name > 3"),
    ):
        with pytest.raises(ParameterError) as raised:
            ask()
        assert MARK not in str(raised.value)
    assert MARK not in repr(analyst.linked) + repr(column)


def test_what_has_no_sum_or_table_is_refused():
    analyst = sliced(["age", "sex"], ["zipcode", "disease"])
    with pytest.raises(ParameterError, match="no sum"):
        analyst.sum("sex")
    with pytest.raises(ParameterError, match="no order"):
        analyst.largest("sex")
    with pytest.raises(ParameterError, match="once"):
        analyst.table("sex", "sex")
    with pytest.raises(ParameterError, match="once"):
        analyst.table()
    with pytest.raises(ParameterError, match="each column"):
        analyst.table("age", where="sex = 'F' OR disease = 'flu'")


def test_columns_that_disagree_about_sizes_are_refused():
    with pytest.raises(DataError, match="1 buckets"):
        Linked.of_columns([column_of([0, 1, 1], x=[1, 2, 3]), column_of([0, 1], y=[1, 2])])
    with pytest.raises(DataError, match="at least one"):
        Linked.of_columns([])


def test_an_attribute_in_some_columns_only_is_refused():
    one, other, third = (column_of([0], **{name: [1]}) for name in ("x", "x", "y"))
    with pytest.raises(DataError, match="not in all"):
        Linked.of_columns([one, other, third])


def test_buckets_may_be_numbered_with_gaps():
    linked = Linked.of_columns(
        [column_of([5, 2, 5], x=[1, 2, 3]), column_of([2, 5, 5], y=[1, 2, 2])]
    )
    assert linked.sizes.tolist() == [1, 2]
    assert Analyst(linked).count({"x": 2, "y": 1}) == Estimate(1, 0)


def test_answers_do_not_depend_on_how_many_buckets_are_taken_at_once(monkeypatch):
    columns = [["age"], ["sex"], ["zipcode", "disease"]]
    condition = "sex = 'F' OR age > 40 AND disease = 'flu'"

    def answers():
        analyst = sliced(*columns)
        table = analyst.table("age", "disease", where={"sex": "F"})
        return (
            table.expected.tolist(),
            table.standard_error.tolist(),
            analyst.count(condition),
            analyst.average("age", condition),
            analyst.least("age", condition),
        )

    whole = answers()
    monkeypatch.setattr(moments, "_MOST_COMBINATIONS", 1)
    monkeypatch.setattr(moments, "_MOST_NUMBERS", 1)
    monkeypatch.setattr("shoal.utility.analyst._MOST_NUMBERS", 1)
    assert answers() == whole


def test_many_combinations_are_refused_before_they_are_made():
    many = list(range(1_100))
    linked = Linked.of_columns([column_of([0] * 1_100, x=many), column_of([0] * 1_100, y=many)])
    with pytest.raises(ParameterError, match="1210000 combinations"):
        Analyst(linked).count("x > y")
    big = Linked.of_columns([column_of([0] * 1_100, **{name: many}) for name in ("x", "y", "z")])
    with pytest.raises(ParameterError, match="cells"):
        Analyst(big).table("x", "y", "z")


def test_a_release_is_asked_as_it_is(tmp_path):
    census = shoal.datasets.census(rows=300, seed=1)
    release = shoal.anonymize(shoal.read(census), shoal.Anatomy(ell=3))
    folder = release.write(tmp_path / "release")
    opened = Analyst(shoal.open_release(folder))
    n_women = sum(sex == "F" for sex in census.to_dict()["sex"])
    for analyst in (Analyst(release), Analyst(release.published), opened):
        assert analyst.count() == Estimate(300, 0)
        assert analyst.count({"sex": "F"}) == Estimate(n_women, 0)
        found = analyst.count({"sex": "F", "condition": "influenza"})
        assert 0 < found.value < n_women
        assert found.standard_error > 0


def test_other_things_are_not_asked():
    with pytest.raises(ParameterError, match="Analyst takes a release, not a str"):
        Analyst("release")


def overlapping(*columns):
    """Return an analyst of columns of a small table in one bucket, as a sliced release has them."""
    rows = {"a": [1, 1, 2, 3], "s": ["x", "x", "y", "y"], "b": [5, 6, 7, 8], "c": [0, 0, 1, 1]}
    columns = [column_of([0] * 4, **{name: rows[name] for name in names}) for names in columns]
    values = [
        Cells.of_rows(
            [NumberedDomain("bucket", np.array([1])), *column.domains],
            np.column_stack([column.bucket, column.codes]),
        )
        for column in columns
    ]
    layout = Layout([column.attributes for column in columns])
    slices = tuple(
        SlicedColumn(
            cells.select(cells.columns[1:]),
            cells.codes[:, 0],
            np.arange(cells.n_cells),
            cells.counts,
        )
        for cells in values
    )
    manifest = Manifest(
        shape=Shape.SLICED,
        method="slicing",
        parameters={},
        guarantees=(),
        columns=(),
        n_rows=4,
        n_buckets=1,
        slices=layout.columns,
    )
    sizes = np.array([4])
    lines = Cells((NumberedDomain("bucket", np.array([1])),), np.zeros((1, 1), int), sizes)
    return Analyst(Published(manifest, lines, None, sliced=Sliced(layout, slices, sizes)))


def test_columns_that_share_attributes_unevenly_are_asked_by_what_a_query_needs():
    analyst = overlapping(["a", "s"], ["s", "b"], ["c"])
    assert analyst.count({"a": 1, "b": 5}) == Estimate(1, 0)
    assert analyst.count({"a": 2, "b": 7}) == Estimate(0.5, 0.5)
    assert analyst.count({"a": 1, "c": 1}).value == pytest.approx(1)
    assert analyst.sum("b", {"s": "x"}) == Estimate(11, 0)
    assert analyst.sample(np.random.default_rng(1)).columns == ("a", "s", "b", "c")
    with pytest.raises(ParameterError, match="needs 3 columns"):
        analyst.count("a = 1 AND b = 5 AND c = 0")
    with pytest.raises(ParameterError, match="no attribute 'd'"):
        analyst.count({"d": 1})
    with pytest.raises(DataError, match="not in all"):
        _ = analyst.linked


def test_a_column_that_joins_two_others_is_kept():
    """What a and b have to do with each other, the column between them says."""
    assert columns_for([["a", "s"], ["s", "t"], ["t", "b"]], ["a", "b"]) == (0, 1, 2)
    assert columns_for([["a", "s"], ["s", "t"], ["t", "b"]], ["a", "t"]) == (0, 1)
    assert columns_for([["a", "s"], ["s", "t"], ["t", "b"]], ["s"]) == (0,)
    assert columns_for([["a"], ["b"]], []) == (0,)


def test_columns_that_number_a_shared_attribute_differently_are_refused():
    one, other = column_of([0, 0], s=[1, 2], a=[1, 1]), column_of([0, 0], s=[1, 3], b=[1, 1])
    with pytest.raises(DataError, match="different values"):
        Linked.of_columns([one, other])
