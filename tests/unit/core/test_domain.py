"""Values and their codes, and texts that a reader takes for one word."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.domain import (
    ColumnType,
    Domain,
    group_variants,
    most_frequent_spellings,
    spelling_key,
    variants_error,
)

ODD = ["", " ", "*", "None", "nan", "a\nb", "\U0001f41f", "0", "00"]


@pytest.mark.parametrize("has_missing", [False, True])
def test_codes_and_texts_are_each_others_inverse(has_missing):
    domain = Domain.of_texts("odd", ODD, has_missing=has_missing)
    expected = [*ODD, None] if has_missing else ODD
    assert domain.labels() == expected
    assert [domain.text(code) for code in range(domain.size)] == expected
    assert domain.codes_of(expected).tolist() == list(range(domain.size))


def test_the_missing_value_is_a_value_of_its_own_with_the_last_code():
    domain = Domain.of_texts("odd", ODD, has_missing=True)
    assert (domain.size, domain.missing_code) == (len(ODD) + 1, len(ODD))
    assert domain.codes_of([None, ""]).tolist() == [len(ODD), 0]


def test_without_missing_values_missing_is_unknown():
    domain = Domain.of_texts("sex", ["F", "M"])
    assert domain.missing_code is None
    assert domain.codes_of([None, "M", "X", "None"]).tolist() == [-1, 1, -1, -1]


@pytest.mark.parametrize("has_missing", [False, True])
def test_a_domain_may_be_empty(has_missing):
    domain = Domain.of_texts("void", [], has_missing=has_missing)
    assert domain.size == has_missing
    assert domain.labels() == [None] * has_missing
    assert domain.codes_of([]).dtype == np.int64


def test_codes_index_arrays_even_where_no_text_is_known():
    domain = Domain.of_texts("sex", ["F", "M"])
    assert domain.codes_of(["M", "?"]).dtype == np.int64
    assert isinstance(domain.size, int)
    assert not isinstance(domain.size, bool)


def test_numbers_are_floats_in_the_order_of_the_texts():
    domain = Domain.of_texts("age", ["9", "10"], type=ColumnType.INTEGER, numbers=[9, 10])
    assert domain.numbers.dtype == np.float64
    assert domain.numbers.tolist() == [9.0, 10.0]


def test_a_repr_names_no_value():
    shown = repr(Domain.of_texts("disease", ["HIV", "flu"], has_missing=True))
    assert shown == "Domain(column='disease', type=categorical, 2 values and missing)"


def test_numbers_and_dates_have_a_distance_and_ordered_values_an_order():
    numeric = {kind for kind in ColumnType if kind.is_numeric}
    assert numeric == {ColumnType.INTEGER, ColumnType.REAL, ColumnType.DATE}
    assert {kind for kind in ColumnType if kind.has_order} == numeric | {ColumnType.ORDERED}


SAME = [
    pytest.param("HIV", "hiv", id="case"),
    pytest.param("HIV", "HIV ", id="a space behind"),
    pytest.param("type  2", " type\t2\n", id="white space"),
    pytest.param("type 2", "type\u00a02", id="a space that does not break"),
    pytest.param("HIV", "H\u200bIV", id="a space of no width"),
    pytest.param("HIV", "\ufeffHIV", id="a byte order mark"),
    pytest.param("HIV", "HI\u00adV", id="a soft hyphen"),
    pytest.param("HIV", "HIV\ufe0f", id="a selector of a variant"),
    pytest.param("HIV", "HIV\u034f", id="a joiner that is a mark"),
    pytest.param("HIV", "HIV\x07", id="a control character"),
    pytest.param("caf\u00e9", "cafe\u0301", id="composed or not"),
    pytest.param("HIV", "\uff28\uff29\uff36", id="wide letters"),
    pytest.param("Stra\u00dfe", "STRASSE", id="letters that fold into two"),
    pytest.param("\u01c6", "\u01c4", id="letters of two letters"),
    pytest.param("\u0390", "\u0399\u0308\u0301", id="folding that leaves another form"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spellings_of_one_word_have_one_key(one, other):
    assert spelling_key(one) == spelling_key(other)
    assert group_variants([one, "other", other]) == [[0, 2]]


@pytest.mark.parametrize(("one", "other"), [("HIV", "HIV1"), ("a b", "ab"), ("e", "\u00e9")])
def test_different_words_have_different_keys(one, other):
    assert spelling_key(one) != spelling_key(other)
    assert group_variants([one, other]) == []


@given(st.text(max_size=8))
def test_a_key_is_its_own_key_whatever_the_form(text):
    key = spelling_key(text)
    assert spelling_key(key) == key
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert spelling_key(unicodedata.normalize(form, text)) == key
    assert spelling_key(f" \u200b{text}\ufeff ") == key


@given(
    st.dictionaries(st.text("aA\u00c4\u00e4 ", max_size=3), st.integers(1, 9), min_size=1),
    st.randoms(use_true_random=False),
)
def test_a_group_becomes_its_most_frequent_spelling_in_any_order(counted, chance):
    texts = list(counted)
    chance.shuffle(texts)
    counts = np.array([counted[text] for text in texts])
    merged = most_frequent_spellings(texts, counts, group_variants(texts))
    for text, shown in zip(texts, merged, strict=True):
        alike = [one for one in texts if spelling_key(one) == spelling_key(text)]
        assert shown == min(alike, key=lambda one: (-counted[one], one))


def test_the_error_counts_and_names_no_value():
    error = variants_error("disease", group_variants(["HIV", "hiv", "flu", "Flu", "FLU"]))
    assert "5 different texts are spellings of 2 values" in error.fact
    assert "HIV" not in str(error)
    assert 'disease = "merge"' in error.hint
