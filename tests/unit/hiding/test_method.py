from __future__ import annotations

import itertools
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from shoal.core.adversary_guarantees import RuleProtection
from shoal.core.declared import changed
from shoal.core.errors import ParameterError, SchemaError
from shoal.core.shapes import Shape
from shoal.datasets import papers
from shoal.release.verify import Status, verify

NAMES = ("a", "b", "c", "d")
MODES = ("public", "paper", "oblivious")


def release_of(columns, private, **more):
    table = shoal.read(columns, shoal.Schema(quasi=tuple(columns)))
    return shoal.anonymize(table, shoal.RuleHiding(private=private, **more), seed=1)


def lines(release):
    """Return the published lines as texts, None where missing."""
    frame = release.to_polars("table")
    return [tuple(row) for row in frame.cast(dict.fromkeys(frame.columns, str)).rows()]


def firing_rules(rows, private, *, delta, gamma):
    """Find by trying all: the antecedents of rules that fire at a private cell.

    A row is a tuple of texts, `*` where a cell is suppressed; `private` has (row, column).
    """
    n_columns = len(rows[0])
    found = set()
    for size in range(1, n_columns):
        for named in itertools.combinations(range(n_columns), size):
            for target in set(range(n_columns)) - set(named):
                shown = [tuple(row[c] for c in named) for row in rows]
                for row, column in private:
                    if column != target or "*" in shown[row]:
                        continue
                    public = [
                        other[target]
                        for other, key in zip(rows, shown, strict=True)
                        if key == shown[row] and other[target] != "*"
                    ]
                    most = max(map(public.count, set(public)), default=0)
                    if len(public) >= gamma and most >= delta * len(public):
                        found.add((named, shown[row], target))
    return found


@st.composite
def tables(draw):
    n_rows = draw(st.integers(1, 9))
    n_columns = draw(st.integers(2, 4))
    values = st.sampled_from(["x", "y", None])
    columns = {
        NAMES[c]: draw(st.lists(values, min_size=n_rows, max_size=n_rows)) for c in range(n_columns)
    }
    cells = [(row, column) for row in range(n_rows) for column in columns]
    private = draw(st.lists(st.sampled_from(cells), min_size=1, max_size=6, unique=True))
    return columns, private


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables(), st.sampled_from(MODES), st.sampled_from(["1/2", "2/3", "0.8", "1"]),
       st.integers(1, 3))  # fmt: skip
def test_no_rule_is_left_in_what_is_published(drawn, mode, delta, gamma):
    columns, private = drawn
    gamma = min(gamma, len(columns["a"]))
    named = [(row + 1, column) for row, column in private]
    release = release_of(columns, named, mode=mode, delta=delta, gamma=gamma)
    assert shoal.verify(release).status is Status.VERIFIED
    # Lines are not in the order of the table: the maker knows which is whose.
    keys = release.files.keys_of_lines.tolist()
    places = {(keys.index(str(row + 1)), list(columns).index(c)) for row, c in private}
    rows = lines(release)
    assert all(rows[row][column] == "*" for row, column in places)
    if mode != "paper":
        found = firing_rules(rows, places, delta=Fraction(delta), gamma=gamma)
        assert not found
    for row, key in enumerate(keys):
        for place, column in enumerate(columns):
            assert rows[row][place] in ("*", columns[column][int(key) - 1])


@settings(max_examples=40, deadline=None)
@given(tables(), st.sampled_from(["public", "oblivious"]), st.randoms(use_true_random=False))
def test_hidden_values_change_nothing_that_is_published(drawn, mode, random):
    columns, private = drawn
    named = [(row + 1, column) for row, column in private]
    swapped = {column: list(values) for column, values in columns.items()}
    for row, column in private:
        swapped[column][row] = random.choice(["x", "y", "z", None])
    parameters = {"mode": mode, "delta": "2/3", "gamma": 1}
    first = release_of(columns, named, **parameters)
    second = release_of(swapped, named, **parameters)
    assert lines(first) == lines(second)
    assert first.manifest.columns == second.manifest.columns


def test_hidden_numbers_do_not_move_the_cuts():
    ages = list(range(20, 60))
    other = ["x", "y"] * 20
    cut = {"age": {"bins": 4}}
    releases = [
        release_of(
            {"age": [*ages, hidden], "other": [*other, "x"]},
            [(41, "age")],
            discretise=cut,
            mode="oblivious",
            gamma=2,
        )
        for hidden in (30, 900, -5, None)
    ]
    assert len({tuple(lines(release)) for release in releases}) == 1
    assert all(release.meanings == releases[0].meanings for release in releases)


@pytest.mark.parametrize("show", ["midpoint", "interval"])
def test_numbers_are_published_by_midpoint_or_interval(show):
    columns = {"age": [21, 29, 35, None], "sex": ["F", "F", "M", "M"]}
    cut = {"age": {"cuts": [20, 30, 40], "show": show}}
    release = release_of(columns, [(4, "sex")], discretise=cut, gamma=1, delta=1)
    ages = {line[0] for line in lines(release)}
    expected = {"25", "35", None} if show == "midpoint" else {"[20, 30[", "[30, 40[", None}
    assert ages <= expected | {"*"}
    assert release.manifest.parameters["discretise"] == {
        "age": {"cuts": [20, 30, 40]} | ({"show": "interval"} if show == "interval" else {})
    }


def test_a_column_that_is_private_as_a_whole_shows_no_label():
    columns = {"age": [21, 29, 35], "sex": ["F", "F", "M"]}
    release = release_of(columns, "age", discretise={"age": {"bins": 2}})
    assert {line[0] for line in lines(release)} == {"*"}
    assert not release.meanings.get("age")


def test_the_papers_employees_are_protected():
    table = shoal.read(papers.employees_shuffled())
    private = [(str(row), column) for row, column in papers.employees_private_cells()]
    for mode in MODES:
        method = shoal.RuleHiding(private=private, delta=0.6, gamma=2, mode=mode)
        release = shoal.anonymize(table, method)
        assert release.manifest.shape is Shape.SUPPRESSED
        assert shoal.verify(release).status is Status.VERIFIED
        assert sum(column.n_suppressed for column in release.manifest.columns) > len(private)


def test_blanks_are_counted_by_column_and_told_apart_only_inside():
    table = shoal.read(papers.employees_shuffled())
    private = [(str(row), column) for row, column in papers.employees_private_cells()]
    release = shoal.anonymize(table, shoal.RuleHiding(private=private, delta=0.6, gamma=2))
    text = release.manifest.to_json()
    assert '"suppressed"' in text
    assert "private" not in text.replace("private.parquet", "").replace("private cell", "")


def test_the_record_says_what_became_of_rules(tmp_path):
    table = shoal.read(papers.employees_shuffled())
    private = [(str(row), column) for row, column in papers.employees_private_cells()]
    release = shoal.anonymize(
        table, shoal.RuleHiding(private=private, delta=0.6, gamma=2, mode="paper")
    )
    folder = release.write(tmp_path / "release")
    internal = tmp_path / "release.internal"
    rules = duckdb.sql(f"SELECT * FROM '{internal / 'rules.parquet'}'").fetchall()
    assert len(rules) >= 8
    names = [c[0] for c in duckdb.sql(f"DESCRIBE FROM '{internal / 'rules.parquet'}'").fetchall()]
    fates = {rule[names.index("fate")] for rule in rules}
    assert fates <= {"invalidated", "marginalized"}
    cells = duckdb.sql(f"SELECT private, value FROM '{internal / 'private.parquet'}'").fetchall()
    assert sum(is_private for is_private, _ in cells) == len(private)
    assert not any("private" in path.name or "rules" in path.name for path in folder.iterdir())
    assert '"marginalized"' in (internal / "record.json").read_text()


def test_a_value_that_nearly_all_have_is_warned_of():
    columns = {"a": ["x"] * 19 + ["y"], "b": ["p", "q"] * 10}
    table = shoal.read(columns, shoal.Schema(quasi=["a", "b"]))
    release = shoal.anonymize(table, shoal.RuleHiding(private=[(1, "a")], delta=0.9, gamma=1))
    assert release.making is not None
    (warning,) = release.making.plan.warnings
    assert "column 'a'" in warning
    assert "'x'" not in warning


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"mode": "oblivious", "shrink": True}, "shrink is not possible in mode oblivious"),
        ({"mode": "best"}, "mode must be one of public, paper, oblivious"),
        ({"delta": 0}, "delta must be above 0"),
        ({"delta": 1.1}, "delta must be above 0"),
        ({"gamma": 0}, "gamma must be a whole number of at least 1"),
        ({"gamma": 1.5}, "gamma must be"),
        ({"blank_per_round": 0}, "blank_per_round must be"),
        ({"blank_per_round": 0.0}, "blank_per_round must be"),
        ({"discretise": {"a": {"parts": 3}}}, "'a'"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        shoal.RuleHiding(private="a", **parameters)


def test_shrinking_is_the_default_where_no_rule_may_fire():
    assert shoal.RuleHiding(private="a").shrink
    assert not shoal.RuleHiding(private="a", mode="paper").shrink
    assert shoal.RuleHiding(private="a", mode="paper", shrink=True).shrink
    assert not shoal.RuleHiding(private="a", mode="oblivious").shrink
    assert not shoal.RuleHiding(private="a", shrink=False).shrink


def test_nothing_private_is_refused():
    for private in (None, []):
        with pytest.raises(ParameterError, match="No cell is private"):
            release_of({"a": [1, 2], "b": [1, 2]}, private, gamma=1)


def test_what_names_no_cell_is_refused_though_others_do():
    for private in ("a where a < 0", "a where a > 9", [[False, False]] * 2):
        with pytest.raises(ParameterError, match=r"Entry 2 of 2 of the private cells .* no cell"):
            release_of({"a": [1, 2], "b": [1, 2]}, ["b", private], gamma=1)


def test_more_support_than_there_are_rows_is_refused():
    with pytest.raises(ParameterError, match="gamma requires a support of 3 rows"):
        release_of({"a": [1, 2], "b": [1, 2]}, "a", gamma=3)


@pytest.mark.parametrize("private", ["a where a = 'x'", [(1, "a"), (2, "a")]])
def test_cells_that_are_private_for_what_they_hold_are_warned_of(private):
    columns = {"a": ["x"] * 6 + ["y", "z"] * 10, "b": list(range(26))}
    if isinstance(private, list):
        private = [(line, "a") for line in range(1, 7)]
    release = release_of(columns, private)
    assert release.making is not None
    (warning,) = release.making.plan.warnings
    assert "column 'a'" in warning
    assert "'x'" not in warning


def test_a_choice_that_does_not_follow_from_values_is_not_warned_of():
    columns = {"a": ["x", "y"] * 10, "b": ["p", "q", "q", "p"] * 5}
    release = release_of(columns, "a where b = 'p'", gamma=9)
    assert release.making is not None
    assert not release.making.plan.warnings


@pytest.mark.parametrize(
    ("visible", "hidden", "shown"),
    [
        ([1, 2], [3, 3.5, None], ["1", "2"]),
        ([1.5, 2], [3, 3.25, None], ["1.5", "2.0"]),
        ([Decimal(1), Decimal("2.5")], [Decimal(3), Decimal("3.125")], ["1.0", "2.5"]),
    ],
)
def test_numbers_are_written_by_what_is_visible(visible, hidden, shown):
    for other in hidden:
        columns = {"n": [*visible * 5, other], "b": ["x", "y"] * 5 + ["x"]}
        release = release_of(columns, [(11, "n")], gamma=11)
        assert {line[0] for line in lines(release)} == {"*", *shown}
        assert [c.type for c in release.manifest.columns] == [
            "integer" if shown == ["1", "2"] else "real",
            "categorical",
        ]


@pytest.mark.parametrize("hidden", ["9", "1.5", "n/a", "10.0", "2020-01-01", ""])
def test_no_type_and_no_order_follows_from_hidden_texts(tmp_path, hidden):
    path = tmp_path / "people.csv"
    path.write_text("n,b\n" + "9,x\n10,y\n" * 3 + f"{hidden},x\n")
    table = shoal.read(path, shoal.Schema(quasi=["n", "b"]))
    release = shoal.anonymize(table, shoal.RuleHiding(private=[(7, "n")], gamma=7))
    assert lines(release) == [("*", "x"), *[("10", "y")] * 3, *[("9", "x")] * 3]
    assert release.manifest.columns[0].type == "integer"


def test_blanked_numbers_do_not_move_the_cuts():
    """Where a row has a private cell, nothing of it decides how numbers are cut."""
    found = set()
    for age in (25, 90):
        columns = {
            "age": [*range(20, 30), *range(20, 30), age, 21],
            "sex": (["F"] * 5 + ["M"] * 5) * 2 + ["F", "M"],
        }
        release = release_of(
            columns,
            [(21, "sex"), (22, "sex")],
            discretise={"age": {"bins": 3}},
            gamma=2,
            mode="oblivious",
        )
        assert release.manifest.columns[0].n_suppressed == 2
        found.add(tuple(sorted(release.meanings["age"])))
    assert len(found) == 1


def test_shown_numbers_of_rows_with_a_private_cell_lie_in_their_intervals():
    """They may be in an interval of their own; those of other rows stay as they are."""
    found = {}
    for age in (25, 90):
        columns = {
            "age": [*range(20, 30), *range(20, 30), age, 25],
            "sex": ["F"] * 10 + ["M"] * 10 + ["F", "M"],
        }
        release = release_of(
            columns, [(21, "sex"), (22, "sex")], discretise={"age": {"bins": 3}}, gamma=2
        )
        assert release.manifest.columns[0].n_suppressed == 0
        found[age] = release.meanings["age"]
    (further,) = set(found[90]) - set(found[25])
    low, high = map(int, found[90][further].interval)
    assert low <= 90 < high
    assert {label: found[90][label] for label in found[25]} == found[25]


def test_columns_that_nobody_looks_at_are_refused():
    table = shoal.read(
        {"a": [1, 1, 2], "b": [1, 2, 2], "c": [5, 5, 5]},
        shoal.Schema(quasi=["a", "b"], insensitive="c"),
    )
    with pytest.raises(SchemaError, match="insensitive column 'c'"):
        shoal.anonymize(table, shoal.RuleHiding(private="a"))


def test_one_column_has_no_rules():
    table = shoal.read({"a": [1, 1, 2]}, shoal.Schema(quasi="a"))
    with pytest.raises(SchemaError, match="at least two columns"):
        shoal.anonymize(table, shoal.RuleHiding(private="a"))


@pytest.mark.parametrize("column", ["b", "nothing"])
def test_only_published_numbers_are_cut(column):
    table = shoal.read({"a": [1, 1, 2], "b": ["x", "y", "y"]}, shoal.Schema(quasi=["a", "b"]))
    method = shoal.RuleHiding(private="a", discretise={column: {"bins": 2}})
    with pytest.raises(SchemaError, match=f"'{column}'"):
        shoal.anonymize(table, method)


def test_several_sensitive_columns_are_published():
    columns = {"a": ["x", "x", "y"], "b": ["p", "p", "q"], "c": ["1", "1", "2"]}
    table = shoal.read(columns, shoal.Schema(quasi="a", sensitive=["b", "c"]))
    release = shoal.anonymize(table, shoal.RuleHiding(private=[(1, "b")], gamma=1))
    assert shoal.verify(release).status is Status.VERIFIED
    assert release.published.buckets is None


def test_the_guarantee_says_its_mode_in_words():
    statements = {
        mode: RuleProtection(delta=0.8, gamma=0.001, mode=mode).statement for mode in MODES
    }
    assert len(set(statements.values())) == 3
    assert all("at least 0.001 of the rows" in words for words in statements.values())
    assert "at least 2 rows" in RuleProtection(delta=0.8, gamma=2).statement
    assert "is right about a share of at least 0.8" in statements["paper"]


def test_which_of_equal_rows_is_blanked_is_drawn():
    """Two of six equal rows lose a cell: which, another secret decides otherwise."""
    columns = {"a": ["x"] * 13 + ["y"] * 4, "b": ["p"] * 13 + ["q"] * 4}
    private = [(line, "b") for line in range(1, 8)]
    blanked = set()
    for seed in range(8):
        table = shoal.read(columns, shoal.Schema(quasi=["a", "b"]))
        method = shoal.RuleHiding(private=private, gamma=5)
        release = shoal.anonymize(table, method, seed=seed)
        assert release.making is not None
        keys = release.making.plan.blank.keys
        blanked.add(tuple(sorted((c, k) for c, texts in keys.items() for k in texts)))
    assert {len(cells) for cells in blanked} == {9}
    assert len(blanked) > 1


def test_a_method_is_made_again_with_its_cuts():
    """The held-out test of membership publishes a part by the same method."""
    method = shoal.RuleHiding(private="a", discretise={"age": {"bins": 3}})
    assert changed(method, gamma=5).discretise == method.discretise


def test_max_work_is_a_whole_number_and_may_be_absent_from_a_manifest():
    method = shoal.RuleHiding(max_work=10**6)
    stated = method.parameters()
    assert stated["max_work"] == 10**6
    assert shoal.RuleHiding(**stated) == method
    # Earlier versions did not state it.
    del stated["max_work"]
    assert shoal.RuleHiding(**stated).max_work == 200_000_000_000
    for wrong in (0, -1, "many", 1.5):
        with pytest.raises(ParameterError, match="max_work"):
            shoal.RuleHiding(max_work=wrong)


def test_max_work_changes_whether_there_is_a_release_and_nothing_else():
    columns = {"title": ["boss"] * 3 + ["clerk"] * 3, "car": ["yes"] * 3 + ["no"] * 3}
    chosen = {"private": [(1, "car")], "delta": 0.8, "gamma": 2}
    with pytest.raises(ParameterError) as caught:
        release_of(columns, max_work=1, **chosen)
    assert "raise max_work" in caught.value.hint
    default, enough = release_of(columns, **chosen), release_of(columns, max_work=10**6, **chosen)
    assert lines(default) == lines(enough)


def test_a_manifest_without_max_work_is_verified_like_any_other():
    columns = {"title": ["boss"] * 3 + ["clerk"] * 3, "car": ["yes"] * 3 + ["no"] * 3}
    release = release_of(columns, [(1, "car")], delta=0.8, gamma=2)
    parameters = dict(release.manifest.parameters)
    assert parameters.pop("max_work") == 200_000_000_000
    earlier = replace(release, manifest=replace(release.manifest, parameters=parameters))
    found = verify(earlier)
    assert found.problems == ()
    assert found.status == verify(release).status
