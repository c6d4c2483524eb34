"""What a steward may give as a hierarchy, what is refused, and the trees that come of it."""

import datetime as dt
import logging
import os

import numpy as np
import pytest

from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import EngineError, ParameterError, SchemaError
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.hierarchies.rows import read_rows, write_rows

WORK = [
    ["Private", "Non-gov", "*"],
    ["Self-employed", "Non-gov", "*"],
    ["Federal", "Government", "*"],
    ["State", "Government", "*"],
]


def integers(*values, column="age", has_missing=False):
    return Domain.of_texts(
        column,
        [str(value) for value in values],
        type=ColumnType.INTEGER,
        numbers=[float(value) for value in values],
        has_missing=has_missing,
    )


def reals(*texts):
    return Domain.of_texts(
        "share", list(texts), type=ColumnType.REAL, numbers=[float(text) for text in texts]
    )


def dates(*texts):
    epoch = dt.date(1970, 1, 1)
    days = [float((dt.date.fromisoformat(text) - epoch).days) for text in texts]
    return Domain.of_texts("born", list(texts), type=ColumnType.DATE, numbers=days)


def paths(tree):
    return {row[0]: row[1:-1] for row in tree.rows()}


def labels_at(tree, level):
    return [tree.labels[node] for node in tree.ancestors_at(level)]


class TestRows:
    def test_a_top_level_is_added_where_no_row_ends_suppressed(self):
        bare = Hierarchy.from_rows([row[:-1] for row in WORK])
        assert bare == Hierarchy.from_rows(WORK)
        assert bare.rows[0] == ("Private", "Non-gov", "*")

    def test_repr_says_kind_height_and_leaves_and_no_value(self):
        assert repr(Hierarchy.from_rows(WORK)) == "Hierarchy(rows, height=2, 4 leaves)"
        assert repr(Hierarchy.intervals([18, 65])) == "Hierarchy(intervals)"
        assert repr(Hierarchy.dates(["day", "year"])) == "Hierarchy(dates, height=2)"
        assert repr(Hierarchy.flat()) == "Hierarchy(flat, height=1)"

    def test_identical_duplicates_are_one_leaf(self):
        assert Hierarchy.from_rows([*WORK, WORK[0]]) == Hierarchy.from_rows(WORK)

    def test_a_label_may_repeat_along_its_own_path(self):
        rows = [["White", "White", "*"], ["Irish", "European", "*"], ["Dane", "European", "*"]]
        assert Hierarchy.from_rows(rows).n_leaves == 3

    def test_repeated_stars_at_the_top_are_one_root(self):
        hierarchy = Hierarchy.from_rows([["a", "x", "*", "*"], ["b", "y", "*", "*"]])
        tree = hierarchy.over(Domain.of_texts("c", ["a", "b"]))
        assert hierarchy.height == tree.height == 2
        assert tree.common_ancestor(0, 1) == tree.root
        assert hierarchy.rows[0] == ("a", "x", "*", "*")

    def test_a_value_may_be_suppressed_at_a_lower_level_than_others(self):
        hierarchy = Hierarchy.from_rows([["a", "*", "*"], ["b", "x", "*"], ["c", "x", "*"]])
        tree = hierarchy.over(Domain.of_texts("c", ["a", "b", "c"]))
        assert labels_at(tree, 1) == ["*", "x", "x"]
        assert tree.parent[0] == tree.root
        assert tree.labels[tree.children(tree.root)].tolist() == ["a", "x"]

    def test_equal_hierarchies_have_one_hash(self):
        assert len({Hierarchy.from_rows(WORK), Hierarchy.from_rows(WORK)}) == 1

    def test_to_dict_has_what_from_config_reads(self):
        shown = Hierarchy.from_rows(WORK).to_dict()
        assert (shown["kind"], shown["height"], shown["n_leaves"]) == ("rows", 2, 4)
        assert Hierarchy.from_config(shown["config"]) == Hierarchy.from_rows(WORK)


REFUSED_ROWS = {
    "ragged": (
        [["secret", "x", "*"], ["b", "*"]],
        "rows of the same length; row 2 has 2 levels, row 1 has 3.",
    ),
    "cycle": (
        [["secret", "b", "*"], ["b", "secret", "*"]],
        "row 1 at level 0 and row 2 at level 0 are on a cycle of 2 labels.",
    ),
    "cycle in one row": (
        [["secret", "b", "secret", "*"]],
        "row 1 at level 0 and row 1 at level 1 are on a cycle of 2 labels.",
    ),
    "two parents": (
        [["a", "secret", "x", "*"], ["b", "secret", "y", "*"]],
        "row 1 at level 1 and row 2 at level 1 have the same label under different parents.",
    ),
    "one leaf, two rows": (
        [["secret", "x", "*"], ["b", "x", "*"], ["secret", "y", "*"]],
        "rows 1 and 3 have the same leaf and differ above it.",
    ),
    "some stars": (
        [["a", "*"], ["b", "secret"]],
        "must end in * in every row or in none; row 2 does not, 1 of 2 rows do.",
    ),
    "star below a label": (
        [["a", "*", "secret"], ["b", "x", "secret"]],
        "must not have * below another label or as a leaf; row 1 has it at level 1.",
    ),
    "star as a leaf": (
        [["a", "*"], ["*", "*"]],
        "must not have * below another label or as a leaf; row 2 has it at level 0.",
    ),
    "star alone": (
        [["*"]],
        "must not have * below another label or as a leaf; row 1 has it at level 0.",
    ),
    "group named like its member": (
        [["secret", "secret", "*"], ["b", "secret", "*"]],
        "the label of row 2 at level 1 stands for another set at another level.",
    ),
    "unequal depth": (
        [["a", "a", "secret", "*"], ["b", "secret", "secret", "*"]],
        "the label of row 1 at level 2 stands for another set at another level.",
    ),
    "empty label": (
        [["secret", None, "*"]],
        "must have a label at every level; row 1 has none at level 1.",
    ),
    "no rows": ([], "must have at least one row; got none."),
    "no labels": ([[]], "must have at least one row; got none."),
    "numbers": ([["1", "x"], [2, "x"]], "rows that are lists of texts; row 2 is not."),
    "texts": (["secret", "b"], "rows that are lists of texts; row 1 is not."),
}


@pytest.mark.parametrize(("rows", "fact"), REFUSED_ROWS.values(), ids=REFUSED_ROWS)
def test_unsound_rows_are_refused_without_quoting_them(rows, fact):
    with pytest.raises(SchemaError) as caught:
        Hierarchy.from_rows(rows, column="work")
    assert caught.value.fact.startswith("The hierarchy of column 'work' must ")
    assert caught.value.fact.endswith(fact)
    assert caught.value.hint
    assert "secret" not in str(caught.value)
    with pytest.raises(SchemaError, match=r"^The hierarchy must"):
        Hierarchy.from_rows(rows)


class TestFiles:
    def test_arx_files_are_read_as_they_are(self, tmp_path):
        path = tmp_path / "work.csv"
        path.write_bytes(
            b'\xef\xbb\xbfPrivate;Non-gov;*\r\nSelf-employed;"Non-gov";*\r\n'
            b"Federal;Government;*\r\nState;Government;*\r\n\r\n\n"
        )
        assert Hierarchy.from_csv(path) == Hierarchy.from_rows(WORK)
        assert Hierarchy.from_csv(str(path)) == Hierarchy.from_rows(WORK)

    def test_other_delimiters_and_encodings(self, tmp_path):
        path = tmp_path / "work.csv"
        path.write_bytes("Müller,Gewerbe\nSchäfer,Land".encode("latin-1"))
        read = Hierarchy.from_csv(path, delimiter=",", encoding="latin-1")
        assert read.rows == (("Müller", "Gewerbe", "*"), ("Schäfer", "Land", "*"))

    def test_an_empty_leaf_is_missing_and_a_quoted_one_is_the_empty_text(self, tmp_path):
        path = tmp_path / "work.csv"
        path.write_text(';Unknown;*\n"";Unknown;*\na;Known;*\n')
        hierarchy = Hierarchy.from_csv(path)
        assert [row[0] for row in hierarchy.rows] == [None, "", "a"]
        hierarchy.to_csv(path)
        assert path.read_text() == ';Unknown;*\n"";Unknown;*\na;Known;*\n'

    def test_quotes_within_a_bare_label_are_its_own(self, tmp_path):
        path = tmp_path / "pipes.csv"
        path.write_text('5" pipe;pipe;*\n"6"" pipe";pipe;*\n')
        assert [row[0] for row in Hierarchy.from_csv(path).rows] == ['5" pipe', '6" pipe']

    @pytest.mark.parametrize(
        ("content", "fact"),
        [
            (b"", "must have at least one row"),
            (b"\n\n", "must have at least one row"),
            (b"a;x\n\nb;x\n", "row 2 has 1 levels, row 1 has 2"),
            (b'a;x\n"secret;x\n', "must close a quote at the end of its label; row 2"),
            (b'"a"secret;x\n', "must close a quote at the end of its label; row 1"),
            (b"a;x\nsecret\xff;x\n", "must be utf-8 throughout; line 2 is not"),
        ],
    )
    def test_broken_files_are_refused_without_quoting_them(self, tmp_path, content, fact):
        path = tmp_path / "work.csv"
        path.write_bytes(content)
        with pytest.raises(SchemaError) as caught:
            Hierarchy.from_csv(path)
        assert fact in caught.value.fact
        assert caught.value.hint
        assert "secret" not in str(caught.value)
        assert caught.value.__context__ is None

    def test_a_file_that_is_not_there(self, tmp_path):
        with pytest.raises(EngineError, match="No such file"):
            Hierarchy.from_csv(tmp_path / "none.csv")

    @pytest.mark.parametrize("delimiter", ["", ";;", '"', "\n", "*"])
    def test_delimiters_that_cannot_be(self, tmp_path, delimiter):
        with pytest.raises(ParameterError, match="delimiter"):
            Hierarchy.from_csv(tmp_path / "work.csv", delimiter=delimiter)

    def test_encodings_that_cannot_be(self, tmp_path):
        with pytest.raises(ParameterError, match="encoding"):
            Hierarchy.from_csv(tmp_path / "work.csv", encoding="utf-9")

    def test_characters_that_the_encoding_lacks(self, tmp_path):
        with pytest.raises(SchemaError, match="first in line 1") as caught:
            Hierarchy.from_rows([["Ω"]]).to_csv(tmp_path / "x.csv", encoding="latin-1")
        assert "Ω" not in str(caught.value)
        assert list(tmp_path.iterdir()) == []

    def test_a_failed_write_leaves_the_old_file_and_nothing_else(self, tmp_path, monkeypatch):
        path = tmp_path / "work.csv"
        Hierarchy.from_rows(WORK).to_csv(path)

        def fail(descriptor):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(EngineError, match="No space left"):
            Hierarchy.from_rows([["a"]]).to_csv(path)
        assert Hierarchy.from_csv(path) == Hierarchy.from_rows(WORK)
        assert [file.name for file in tmp_path.iterdir()] == ["work.csv"]

    def test_a_folder_that_is_not_there(self, tmp_path):
        with pytest.raises(EngineError, match="No such file"):
            Hierarchy.from_rows(WORK).to_csv(tmp_path / "none" / "work.csv")

    def test_a_rule_has_no_rows_to_write(self, tmp_path):
        with pytest.raises(SchemaError, match=r"this one is a rule \(dates\)"):
            Hierarchy.dates().to_csv(tmp_path / "born.csv")

    def test_paths_of_published_labels_can_be_written(self, tmp_path):
        path = tmp_path / "age.csv"
        rows = [["[20, 30[", "[20, 30[", "*"], ["20", "[20, 30[", "*"], [None, None, "*"]]
        write_rows(path, rows)
        assert read_rows(path, ";", "utf-8") == rows


class TestTree:
    def test_leaves_of_a_group_stand_side_by_side_in_the_order_of_the_domain(self):
        domain = Domain.of_texts("work", ["Federal", "Private", "Self-employed", "State"])
        tree = Hierarchy.from_rows(WORK).over(domain)
        assert tree.code.tolist() == [0, 3, 1, 2]
        assert tree.position.tolist() == [0, 2, 3, 1]
        assert tree.labels.tolist() == [
            *("Federal", "State", "Private", "Self-employed"),
            *("Government", "Non-gov", "*"),
        ]
        assert tree.parent.tolist() == [4, 4, 5, 5, 6, 6, -1]
        assert tree.first.tolist() == [0, 1, 2, 3, 0, 2, 0]
        assert tree.last.tolist() == [1, 2, 3, 4, 2, 4, 4]
        assert tree.level.tolist() == [0, 0, 0, 0, 1, 1, 2]
        assert (tree.height, tree.root, tree.n_leaves, tree.n_nodes) == (2, 6, 4, 7)
        assert tree.leaf_node.tolist() == [0, 1, 2, 3]
        assert tree.members(5).tolist() == [1, 2]
        assert tree.children(6).tolist() == [4, 5]
        assert tree.children(0).tolist() == []
        assert tree.ancestor([0, 2], 1).tolist() == [4, 5]
        assert tree.to_dict()["parent"] == tree.parent.tolist()

    def test_numbers_keep_their_order(self):
        rows = [[str(age), f"{age // 10}x"] for age in (31, 2, 25, 9, 30)]
        tree = Hierarchy.from_rows(rows).over(integers(2, 9, 25, 30, 31))
        assert tree.code.tolist() == [0, 1, 2, 3, 4]

    def test_the_common_ancestor_is_the_lowest_of_a_chain(self):
        rows = [["a", "x", "x", "top"], ["b", "x", "x", "top"], ["c", "y", "y", "top"]]
        tree = Hierarchy.from_rows(rows).over(Domain.of_texts("c", ["a", "b", "c"]))
        assert tree.common_ancestor(0, 0) == 0
        assert tree.level[tree.common_ancestor(0, 1)] == 1
        assert tree.labels[tree.common_ancestor(2, 0)] == "top"
        assert tree.common_ancestors([0, 0, 2], [0, 1, 0]).tolist() == [
            tree.common_ancestor(0, 0),
            tree.common_ancestor(0, 1),
            tree.common_ancestor(2, 0),
        ]

    def test_leaves_that_the_table_lacks_are_left_out(self):
        tree = Hierarchy.from_rows(WORK).over(Domain.of_texts("work", ["Private"]))
        assert tree.labels.tolist() == ["Private", "Non-gov", "*"]

    def test_missing_is_a_branch_of_its_own_under_the_root(self):
        domain = Domain.of_texts("work", ["Private", "State"], has_missing=True)
        tree = Hierarchy.from_rows(WORK).over(domain)
        missing = tree.position[2]
        assert missing == tree.n_leaves - 1
        assert [tree.labels[tree.ancestor(missing, level)] for level in range(3)] == [
            None,
            None,
            "*",
        ]
        assert tree.common_ancestor(int(missing), 0) == tree.root

    def test_a_row_for_missing_is_heeded(self):
        rows = [["a", "known"], ["b", "asked"], [None, "asked"]]
        domain = Domain.of_texts("c", ["a", "b"], has_missing=True)
        tree = Hierarchy.from_rows(rows).over(domain)
        assert labels_at(tree, 0) == ["a", "b", None]
        assert labels_at(tree, 1) == ["known", "asked", "asked"]
        without = Hierarchy.from_rows(rows).over(Domain.of_texts("c", ["a", "b"]))
        assert without.n_leaves == 2

    def test_lacking_values_are_counted_in_the_error_and_listed_in_the_internal_log(self):
        records = []
        handler = logging.Handler()
        handler.emit = lambda record: records.append(record.getMessage())
        log = logging.getLogger("shoal.internal")
        level = log.level
        log.setLevel(logging.INFO)
        log.addHandler(handler)
        try:
            domain = Domain.of_texts("work", ["Private", "secret one", "secret two"])
            with pytest.raises(SchemaError) as caught:
                Hierarchy.from_rows(WORK).over(domain)
        finally:
            log.removeHandler(handler)
            log.setLevel(level)
        assert str(caught.value) == (
            "The hierarchy of column 'work' must have a row for every value of the column; "
            "2 of 3 distinct values have none.\n\n"
            "Hint: run again with --log FILE (in Python: shoal.config.log_to(FILE)) to list them "
            "in the internal log"
        )
        assert "secret one" in records[0]
        assert "secret two" in records[0]

    def test_numbers_match_however_they_are_written(self):
        tree = Hierarchy.from_rows([["37.0", "x"], ["1e1", "y"]]).over(integers(10, 37))
        assert tree.rows() == [["10", "y", "*"], ["37", "x", "*"]]

    def test_leading_zeros_make_another_value(self):
        with pytest.raises(SchemaError, match="1 of 1 distinct"):
            Hierarchy.from_rows([["037", "x"]]).over(integers(37))

    def test_texts_match_to_the_letter(self):
        with pytest.raises(SchemaError, match="1 of 1 distinct"):
            Hierarchy.from_rows([["37.0", "x"]]).over(Domain.of_texts("c", ["37"]))

    def test_one_number_written_twice_must_not_have_two_parents(self):
        hierarchy = Hierarchy.from_rows([["37.0", "x"], ["37.00", "y"]])
        with pytest.raises(SchemaError, match="equal numbers the same labels"):
            hierarchy.over(integers(37))
        assert hierarchy.over(reals("37.0")).n_leaves == 1

    def test_published_nodes_have_rows_of_one_length_up_to_the_root(self):
        domain = Domain.of_texts("work", ["Federal", "Private", "State"], has_missing=True)
        tree = Hierarchy.from_rows(WORK).over(domain)
        government = int(tree.ancestors_at(1)[0])
        nodes = [tree.root, government, *tree.position[[1, 3]].tolist()]
        assert tree.restricted_rows(nodes) == [
            ["Private", "Non-gov", "*"],
            [None, None, "*"],
            ["Government", "Government", "*"],
        ]
        assert tree.restricted_rows([government]) == [["Government", "*"]]
        assert tree.restricted_rows([tree.root]) == tree.restricted_rows([]) == []
        assert Hierarchy.from_rows(tree.restricted_rows(nodes)).n_leaves == 3

    def test_levels_out_of_range_are_refused(self):
        tree = Hierarchy.flat().over(integers(1, 2))
        for level in (-1, 2):
            with pytest.raises(ParameterError, match="between 0 and 1"):
                tree.ancestors_at(level)

    def test_arrays_cannot_be_changed(self):
        tree = Hierarchy.flat().over(integers(1, 2))
        with pytest.raises(ValueError, match="read-only"):
            tree.parent[0] = 0

    @pytest.mark.parametrize("has_missing", [False, True])
    @pytest.mark.parametrize(
        "hierarchy",
        [
            Hierarchy.flat(),
            Hierarchy.from_rows(WORK),
            Hierarchy.intervals([1, 2]),
            Hierarchy.intervals([[1, 2], [1]]),
            Hierarchy.intervals(width=5),
            Hierarchy.intervals(quantiles=4),
            Hierarchy.dates(),
            Hierarchy.prefixes([2, 1]),
        ],
        ids=repr,
    )
    def test_a_column_without_values_has_a_tree(self, hierarchy, has_missing):
        tree = hierarchy.over(Domain.of_texts("c", [], has_missing=has_missing))
        assert tree.n_leaves == has_missing
        assert tree.labels[tree.root] == "*"

    @pytest.mark.parametrize("counts", [[1], [1, 2, 3], [1, -1]])
    def test_counts_must_fit_the_domain(self, counts):
        with pytest.raises(ParameterError, match="counts"):
            Hierarchy.intervals(quantiles=2).over(integers(1, 2), counts)


class TestIntervals:
    def test_cuts_with_values_beyond_both_ends(self):
        tree = Hierarchy.intervals([0, 18, 30, 45, 65]).over(integers(-1, 0, 17, 18, 64, 65))
        assert labels_at(tree, 1) == [
            *("]-inf, 0[", "[0, 18[", "[0, 18[", "[18, 30[", "[45, 65[", "[65, +inf["),
        ]
        assert labels_at(tree, 2) == [*["]-inf, 18["] * 3, "[18, 45[", *["[45, +inf["] * 2]
        assert labels_at(tree, 3) == [*["]-inf, 45["] * 4, *["[45, +inf["] * 2]
        assert tree.height == 4

    def test_without_values_below_the_first_cut_merging_begins_there(self):
        tree = Hierarchy.intervals([0, 18, 30, 45, 65]).over(integers(0, 18, 30, 65))
        assert labels_at(tree, 2) == ["[0, 30[", "[0, 30[", "[30, 65[", "[65, +inf["]

    def test_levels_limit_the_merging(self):
        tree = Hierarchy.intervals(width=5, levels=2).over(integers(*range(100)))
        assert tree.height == 3
        assert labels_at(tree, 2)[99] == "[90, 100["

    def test_merge_says_how_many_become_one(self):
        tree = Hierarchy.intervals(width=5, merge=4).over(integers(*range(100)))
        assert [labels_at(tree, level)[50] for level in (1, 2, 3)] == [
            *("[50, 55[", "[40, 60[", "[0, 80["),
        ]
        assert tree.height == 4

    def test_the_lowest_level_stays_where_it_is_one_interval(self):
        tree = Hierarchy.intervals(width=100).over(integers(1, 2))
        assert labels_at(tree, 1) == ["[0, 100[", "[0, 100["]

    def test_merging_ends_where_two_intervals_meet_at_the_origin(self):
        tree = Hierarchy.intervals(width=10).over(integers(-25, -1, 0, 9))
        assert tree.height == 4
        assert labels_at(tree, 3) == ["[-40, 0[", "[-40, 0[", "[0, 40[", "[0, 40["]

    def test_widths_are_exact_as_typed(self):
        domain = reals("0.1", "0.2", "0.3", "0.6", "0.7", "1.1")
        tree = Hierarchy.intervals(width=0.1, levels=1).over(domain)
        assert labels_at(tree, 1) == [
            *("[0.1, 0.2[", "[0.2, 0.3[", "[0.3, 0.4[", "[0.6, 0.7[", "[0.7, 0.8[", "[1.1, 1.2["),
        ]

    def test_an_origin_shifts_every_level(self):
        tree = Hierarchy.intervals(width=5, origin=18).over(integers(17, 18, 27, 28))
        assert labels_at(tree, 1) == ["[13, 18[", "[18, 23[", "[23, 28[", "[28, 33["]
        assert labels_at(tree, 2) == ["[8, 18[", "[18, 28[", "[18, 28[", "[28, 38["]

    def test_whole_numbers_beyond_floats_are_exact(self):
        large = 2**53
        domain = integers(large, large + 1, large + 2)
        tree = Hierarchy.intervals([large + 1]).over(domain)
        assert labels_at(tree, 1)[0] == f"]-inf, {large + 1}["
        assert labels_at(tree, 1)[1] == f"[{large + 1}, +inf["
        odd = Hierarchy.intervals(width=2, origin=1).over(domain)
        assert labels_at(odd, 1)[1] == f"[{large + 1}, {large + 3}["
        quantiles = Hierarchy.intervals(quantiles=3).over(domain)
        assert labels_at(quantiles, 1)[1] == f"[{large + 1}, {large + 2}["

    def test_a_width_too_narrow_to_number_its_intervals(self):
        with pytest.raises(SchemaError, match="width is too small"):
            Hierarchy.intervals(width=1e-300).over(reals("1e300"))

    def test_quantiles_by_distinct_values_and_by_counts(self):
        ages = integers(*range(10), has_missing=True)
        by_value = Hierarchy.intervals(quantiles=4).over(ages)
        assert labels_at(by_value, 1)[:10] == [
            *["]-inf, 3["] * 3,
            *["[3, 5["] * 2,
            *["[5, 8["] * 3,
            *["[8, +inf["] * 2,
        ]
        assert labels_at(by_value, 2)[:10] == [*["]-inf, 5["] * 5, *["[5, +inf["] * 5]
        counts = [30, 10, 10, 10, 0, 0, 0, 0, 0, 0, 999]
        by_count = Hierarchy.intervals(quantiles=2).over(ages, counts)
        assert labels_at(by_count, 1)[:2] == ["]-inf, 1[", "[1, +inf["]

    def test_more_quantiles_than_values_and_one_value_alone(self):
        tree = Hierarchy.intervals(quantiles=8).over(integers(1, 2))
        assert labels_at(tree, 1) == ["]-inf, 2[", "[2, +inf["]
        assert Hierarchy.intervals(quantiles=8).over(integers(1)).height == 1

    def test_dates_as_cuts(self):
        domain = dates("0999-01-01", "1999-12-31", "2000-01-01")
        expected = ["]-inf, 2000-01-01[", "]-inf, 2000-01-01[", "[2000-01-01, +inf["]
        for cut in ("2000-01-01", dt.date(2000, 1, 1)):
            assert labels_at(Hierarchy.intervals([cut]).over(domain), 1) == expected
        texts = Domain.of_texts("born", domain.texts.tolist())
        assert labels_at(Hierarchy.intervals(["2000-01-01"]).over(texts), 1) == expected

    def test_quantiles_of_dates(self):
        tree = Hierarchy.intervals(quantiles=2).over(dates("1999-12-31", "2000-01-01"))
        assert labels_at(tree, 1) == ["]-inf, 2000-01-01[", "[2000-01-01, +inf["]

    @pytest.mark.parametrize(
        ("below", "above", "cut"),
        [
            ("1987-03-02", "1992-07-01", "1990-01-01"),
            ("1991-03-02", "1993-07-01", "1993-01-01"),
            ("1991-03-02", "1993-01-01", "1992-01-01"),
            ("1991-03-02", "1991-07-21", "1991-07-01"),
            ("0001-01-01", "0009-07-21", "0009-01-01"),
            ("9999-12-30", "9999-12-31", "9999-12-31"),
        ],
    )
    def test_quantiles_of_dates_begin_decades_years_or_months(self, below, above, cut):
        tree = Hierarchy.intervals(quantiles=2).over(dates(below, above))
        assert labels_at(tree, 1) == [f"]-inf, {cut}[", f"[{cut}, +inf["]

    @pytest.mark.parametrize(
        ("below", "above", "cut"),
        [("0.1", "0.2", "0.15"), ("0.12", "0.34", "0.2"), ("-1.5", "2.5", "0"), ("7", "8", "7.5")],
    )
    def test_quantiles_of_reals_are_short_and_strictly_between(self, below, above, cut):
        tree = Hierarchy.intervals(quantiles=2).over(reals(below, above))
        assert labels_at(tree, 1) == [f"]-inf, {cut}[", f"[{cut}, +inf["]

    def test_quantiles_of_whole_numbers_are_round(self):
        tree = Hierarchy.intervals(quantiles=2).over(integers(17, 64))
        assert labels_at(tree, 1) == ["]-inf, 50[", "[50, +inf["]

    def test_cuts_for_every_level(self):
        hierarchy = Hierarchy.intervals([[0, 10, 20, 30], [0, 20], [20]])
        tree = hierarchy.over(integers(5, 15, 25, 35))
        assert hierarchy.height == tree.height == 4
        assert labels_at(tree, 1) == ["[0, 10[", "[10, 20[", "[20, 30[", "[30, +inf["]
        assert labels_at(tree, 2) == ["[0, 20[", "[0, 20[", "[20, +inf[", "[20, +inf["]
        assert labels_at(tree, 3)[0] == "]-inf, 20["

    def test_cuts_that_do_not_nest_are_refused(self):
        with pytest.raises(SchemaError, match="level 3 has 1 that are not"):
            Hierarchy.intervals([[0, 10, 20], [0, 20], [10]])

    def test_numbers_in_texts_are_numbers(self):
        tree = Hierarchy.intervals([10]).over(Domain.of_texts("c", ["037", "1.5e1", "9"]))
        assert labels_at(tree, 1) == ["[10, +inf[", "[10, +inf[", "]-inf, 10["]
        assert tree.code.tolist() == [0, 1, 2]

    @pytest.mark.parametrize(
        ("hierarchy", "domain", "fact"),
        [
            (Hierarchy.intervals([1]), Domain.of_texts("c", ["1", "nan", "1_0"]), "2 of its 3"),
            (Hierarchy.intervals(width=1), reals("1", "inf"), "1 of its 2"),
            (Hierarchy.intervals([1]), dates("2000-01-01"), "needs numbers; 1 of its 1"),
            (Hierarchy.intervals(["2000-01-01"]), integers(1), "needs dates"),
            (Hierarchy.dates(), Domain.of_texts("c", ["2000-02-30", "20000101"]), "2 of its 2"),
        ],
    )
    def test_values_of_another_kind_are_counted(self, hierarchy, domain, fact):
        with pytest.raises(SchemaError, match=fact) as caught:
            hierarchy.over(domain)
        assert "--log FILE" in str(caught.value)

    @pytest.mark.parametrize(
        ("arguments", "fact"),
        [
            ({}, r"got 0\."),
            ({"cuts": [1], "width": 2}, r"got 2\."),
            ({"cuts": []}, "cuts must be a list"),
            ({"cuts": "2000-01-01"}, "cuts must be a list"),
            ({"cuts": [1, 1]}, "ascending"),
            ({"cuts": [2, 1]}, "ascending"),
            ({"cuts": [1, "2000-01-01"]}, "all numbers or all dates"),
            ({"cuts": [float("nan")]}, "finite"),
            ({"cuts": [True]}, "finite"),
            ({"cuts": ["x"]}, "finite number or a date"),
            ({"cuts": [dt.datetime(2000, 1, 1)]}, "finite number or a date"),  # noqa: DTZ001
            ({"cuts": [[1], 2]}, "cuts must be a list"),
            ({"cuts": [[1]], "levels": 2}, "levels must not be given"),
            ({"cuts": [1], "merge": 1}, "merge"),
            ({"cuts": [1], "merge": 2.0}, "merge"),
            ({"cuts": [1], "levels": 0}, "levels"),
            ({"cuts": [1], "origin": 1}, "origin"),
            ({"width": 0}, "width"),
            ({"width": -1}, "width"),
            ({"width": float("inf")}, "width"),
            ({"width": "5"}, "width"),
            ({"width": 5, "origin": "0"}, "origin"),
            ({"quantiles": 1}, "quantiles"),
            ({"quantiles": True}, "quantiles"),
        ],
    )
    def test_parameters_out_of_range_are_refused(self, arguments, fact):
        with pytest.raises(ParameterError, match=fact):
            Hierarchy.intervals(**arguments)

    def test_cuts_may_come_as_a_range_or_an_array(self):
        expected = Hierarchy.intervals([0, 10, 20])
        assert Hierarchy.intervals(range(0, 30, 10)) == expected
        assert Hierarchy.intervals(np.array([0, 10, 20])) == expected
        assert Hierarchy.intervals([np.array([0, 10, 20])]).height == 2


class TestDates:
    def test_every_level(self):
        names = ["day", "month", "quarter", "year", "decade", "century"]
        tree = Hierarchy.dates(names).over(dates("0001-01-01", "1899-12-31", "2024-05-17"))
        assert paths(tree) == {
            "0001-01-01": ["0001-01", "0001-Q1", "0001", "0001-0009", "0001-0099"],
            "1899-12-31": ["1899-12", "1899-Q4", "1899", "1890-1899", "1800-1899"],
            "2024-05-17": ["2024-05", "2024-Q2", "2024", "2020-2029", "2000-2099"],
        }
        assert tree.height == Hierarchy.dates(names).height == 6

    def test_the_default_levels(self):
        tree = Hierarchy.dates().over(dates("9999-12-31"))
        assert tree.rows() == [["9999-12-31", "9999-12", "9999-Q4", "9999", "*"]]

    def test_years_beyond_four_digits_are_refused(self):
        domain = Domain.of_texts("born", ["x"], type=ColumnType.DATE, numbers=[3e6])
        with pytest.raises(SchemaError, match="1 of its 1"):
            Hierarchy.dates().over(domain)

    @pytest.mark.parametrize(
        "levels", [[], ["week"], ["year", "month"], ["year", "year"], "year", None]
    )
    def test_levels_that_do_not_nest_are_refused(self, levels):
        with pytest.raises(ParameterError, match="levels"):
            Hierarchy.dates(levels)


class TestPrefixes:
    def test_values_shorter_than_a_prefix_are_kept(self):
        domain = Domain.of_texts("postcode", ["", "1", "101", "10115", "10117", "9"])
        assert paths(Hierarchy.prefixes([3, 1]).over(domain)) == {
            "": ["", ""],
            "1": ["1", "1"],
            "101": ["101", "1…"],
            "10115": ["101…", "1…"],
            "10117": ["101…", "1…"],
            "9": ["9", "9"],
        }

    def test_levels_that_change_nothing_are_left_out(self):
        domain = Domain.of_texts("postcode", ["101", "102"])
        assert Hierarchy.prefixes([5, 3, 1]).over(domain).height == 2

    def test_combining_marks_stay_with_their_letter(self):
        accented = "e\u0301a"
        domain = Domain.of_texts("name", ["ea", accented, "e\u0301", "😀😀"])
        assert paths(Hierarchy.prefixes([1]).over(domain)) == {
            "ea": ["e…"],
            accented: ["e\u0301…"],
            "e\u0301": ["e\u0301"],
            "😀😀": ["😀…"],
        }

    def test_a_value_that_reads_like_a_prefix_is_refused(self):
        with pytest.raises(SchemaError, match="got 1 such labels") as caught:
            Hierarchy.prefixes([1]).over(Domain.of_texts("name", ["ab", "ac", "a…"]))
        assert "…" not in str(caught.value)

    @pytest.mark.parametrize("lengths", [[], [0], [1, 2], [2, 2], [1.5], ["1"], 3])
    def test_lengths_that_do_not_fall_are_refused(self, lengths):
        with pytest.raises(ParameterError, match="prefix lengths"):
            Hierarchy.prefixes(lengths)


class TestConfig:
    @pytest.mark.parametrize(
        ("config", "hierarchy"),
        [
            ({"intervals": [0, 18, 30]}, Hierarchy.intervals([0, 18, 30])),
            ({"intervals": [0, 18], "merge": 3}, Hierarchy.intervals([0, 18], merge=3)),
            ({"intervals": [[0, 9], [9]]}, Hierarchy.intervals([[0, 9], [9]])),
            ({"intervals": ["2000-01-01"]}, Hierarchy.intervals([dt.date(2000, 1, 1)])),
            ({"width": 5}, Hierarchy.intervals(width=5)),
            (
                {"width": 0.5, "origin": 1, "levels": 2},
                Hierarchy.intervals(width=0.5, origin=1, levels=2),
            ),
            ({"quantiles": 8, "merge": 4}, Hierarchy.intervals(quantiles=8, merge=4)),
            ({"prefix": [5, 3, 1]}, Hierarchy.prefixes([5, 3, 1])),
            ({"dates": ["month", "year"]}, Hierarchy.dates(["month", "year"])),
            ({"flat": True}, Hierarchy.flat()),
            ({"rows": [["a", "x", "*"]]}, Hierarchy.from_rows([["a", "x"]])),
        ],
    )
    def test_every_kind_is_read_and_given_back(self, config, hierarchy):
        assert Hierarchy.from_config(config) == hierarchy
        assert hierarchy.to_config() == config

    def test_a_date_of_toml_is_a_cut(self):
        config = {"intervals": [dt.date(2000, 1, 1)]}
        assert Hierarchy.from_config(config) == Hierarchy.intervals(["2000-01-01"])

    @pytest.mark.parametrize(
        ("config", "fact"),
        [
            ("work.csv", r"must be a table such as \{ width = 5 \}"),
            ([1, 2], "must be a table"),
            (
                {},
                "one of the keys intervals, width, quantiles, prefix, dates, flat, rows",
            ),
            ({"secret": 1}, "it has none of them"),
            ({"width": 5, "flat": True}, "it has 2 of them"),
            ({"width": 5, "secret": 1}, "1 unknown keys; allowed beside width: origin,"),
            ({"dates": ["year"], "merge": 2}, "allowed beside dates: none"),
            ({"flat": False}, "flat of column 'work' must be true"),
            ({"rows": [["a"], ["secret", "b"]]}, "rows of the same length"),
        ],
    )
    def test_what_cannot_be_understood_is_refused_without_quoting_it(self, config, fact):
        with pytest.raises(SchemaError, match=fact) as caught:
            Hierarchy.from_config(config, column="work")
        assert "'work'" in caught.value.fact
        assert "secret" not in str(caught.value)

    @pytest.mark.parametrize(
        "config", [{"width": "5"}, {"prefix": 3}, {"dates": "month"}, {"quantiles": 2, "merge": 0}]
    )
    def test_values_out_of_range_are_parameter_errors(self, config):
        with pytest.raises(ParameterError):
            Hierarchy.from_config(config)
