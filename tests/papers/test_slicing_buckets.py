"""[Slicing] Table 1 in all its parts, and sliced l-diversity on Adult as Section 6 sets it up."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import InfeasibleError
from shoal.core.secret import Secret
from shoal.core.sliced import Layout
from shoal.datasets import papers
from shoal.datasets.adult import adult
from shoal.datasets.dataset import Encoded
from shoal.slicing.beliefs import exact_sliced_beliefs, largest_belief
from shoal.slicing.check.sliced_diversity import check_sliced
from shoal.slicing.partition import (
    TuplePartition,
    confirm_diverse,
    largest_ell,
    partition_tuples,
    random_buckets,
)
from shoal.slicing.posteriors import posterior_of_one

PRINTED = Layout([["age", "sex"], ["zipcode", "disease"]], ["disease"])
BUCKETIZED = Layout([["age", "sex", "zipcode"], ["disease"]], ["disease"])
SINGLE = Layout([["age"], ["sex"], ["zipcode"], ["disease"]], ["disease"])
OVERLAPPING = Layout([["age", "sex", "disease"], ["zipcode", "disease"]], ["disease"])


def encode(dataset):
    """Return the domains and the codes of all rows."""
    domains, codes = [], []
    for name, column in dataset.columns.items():
        texts = column.decode() if isinstance(column, Encoded) else column
        values, places = np.unique(texts, return_inverse=True)
        is_number = values.dtype != object
        kind = ColumnType.INTEGER if is_number else ColumnType.CATEGORICAL
        numbers = values.astype(float).tolist() if is_number else None
        labels = [str(value) for value in values]
        domains.append(Domain.of_texts(name, labels, type=kind, numbers=numbers))
        codes.append(places)
    return domains, np.stack(codes, axis=1)


@pytest.fixture(scope="module")
def patients():
    domains, rows = encode(papers.slicing_patients())
    return Cells.of_rows(domains, rows)


@pytest.fixture(scope="module")
def printed_partition(patients):
    """The buckets of Table 1."""
    _, rows = encode(papers.slicing_patients())
    number = {tuple(codes): cell for cell, codes in enumerate(patients.codes.tolist())}
    cell = np.array([number[tuple(codes)] for codes in rows.tolist()])
    bucket = np.array(papers.slicing_buckets()) - 1
    return TuplePartition.of_pieces(patients, cell, bucket, np.ones(8, dtype=np.int64))


@pytest.fixture(scope="module")
def occ_7(adult_path):
    domains, rows = encode(adult(adult_path, "occ-7"))
    return Cells.of_rows(domains, rows)


OCC_7 = Layout(
    [["age", "workclass", "education", "marital_status", "race"], ["sex", "occupation"]],
    ["occupation"],
)
OCC_7_ALONE = Layout(
    [["age", "workclass", "education", "marital_status", "race", "sex"], ["occupation"]],
    ["occupation"],
)


def texts_of(column):
    """What a column says, as texts."""
    labels = [domain.labels() for domain in column.values.domains]
    codes = column.values.codes[column.value].tolist()
    rows = [tuple(text[c] for text, c in zip(labels, code, strict=True)) for code in codes]
    counts = column.count.tolist()
    return Counter(
        {
            (bucket + 1, row): n
            for bucket, row, n in zip(column.bucket.tolist(), rows, counts, strict=True)
        }
    )


@pytest.mark.parametrize(
    ("layout", "printed"),
    [
        (BUCKETIZED, papers.slicing_bucketized),
        (SINGLE, papers.slicing_one_attribute_per_column),
        (PRINTED, papers.slicing_sliced),
    ],
)
def test_a_sliced_table_says_what_the_paper_prints(printed_partition, layout, printed):
    published = printed()
    sliced = printed_partition.sliced(layout)
    names = [name for column in published.columns for name in column]
    for column in sliced.columns:
        places = [names.index(name) for name in column.attributes]
        assert texts_of(column) == Counter(
            (bucket, tuple(row[place] for place in places))
            for bucket, row in zip(published.buckets, published.rows, strict=True)
        )


def test_multisets_are_the_columns_of_one_attribute(printed_partition):
    by_name = {
        column.attributes[0]: texts_of(column)
        for column in printed_partition.sliced(SINGLE).columns
    }
    for bucket, row in zip(
        papers.slicing_multiset().buckets, papers.slicing_multiset().rows, strict=True
    ):
        for name, text in zip(("age", "sex", "zipcode"), row, strict=False):
            printed = dict(entry.split(":") for entry in text.split(","))
            found = {v: n for (b, (v,)), n in by_name[name].items() if b == bucket}
            assert found == {value: int(n) for value, n in printed.items()}


def known_tuple(patients, age, sex, zipcode):
    texts = {"age": age, "sex": sex, "zipcode": zipcode}
    return {name: int(patients.domain(name).codes_of([text])[0]) for name, text in texts.items()}


def test_the_first_patient_matches_the_first_bucket_by_an_eighth(patients, printed_partition):
    people = patients.select(["age", "sex", "zipcode"])
    first = known_tuple(patients, "22", "M", "47906")
    number = people.codes.tolist().index([first[name] for name in people.columns])
    sliced = printed_partition.sliced(PRINTED)
    beliefs = exact_sliced_beliefs(sliced, people)
    matches = {b: f for t, b, f in zip(*beliefs.matches, strict=True) if t == number}
    # f(t1, B1) = 1/8 and f(t1, B2) = 0.
    assert matches == {0: Fraction(1, 8)}
    disease = patients.domain("disease").codes_of(["dyspepsia", "flu"]).tolist()
    assert beliefs.candidates(number, 0) == dict.fromkeys(disease, Fraction(1, 2))
    assert beliefs.candidates(number, 1) == {}
    assert beliefs.distribution(number) == dict.fromkeys(disease, Fraction(1, 2))
    assert posterior_of_one(sliced, first, "disease") == dict.fromkeys(disease, Fraction(1, 2))


@pytest.mark.parametrize("layout", [PRINTED, BUCKETIZED, SINGLE])
def test_every_patient_is_believed_to_have_a_disease_with_one_half(
    patients, printed_partition, layout
):
    people = patients.select(["age", "sex", "zipcode"])
    sliced = printed_partition.sliced(layout)
    assert exact_sliced_beliefs(sliced, people).largest.tolist() == [Fraction(1, 2)] * 8
    # Figure 2, line 9, would refuse this tie.
    finding = check_sliced(sliced, 2)
    assert (finding.holds, finding.reached, finding.basis) == (True, 2, "values")
    assert not check_sliced(sliced, "2.001").holds


def test_a_shared_disease_gives_everyone_away(patients, printed_partition):
    people = patients.select(["age", "sex", "zipcode"])
    sliced = printed_partition.sliced(OVERLAPPING)
    assert exact_sliced_beliefs(sliced, people).largest.tolist() == [Fraction(1)] * 8
    finding = check_sliced(sliced, 2, people)
    assert (finding.holds, finding.reached, finding.basis) == (False, 1, "tuples")
    assert finding.n_failing == 8
    # As a bound too: some combination gives a disease away.
    assert check_sliced(sliced, 2).reached == 1
    with pytest.raises(InfeasibleError, match="l_max = 1 only"):
        partition_tuples(patients, OVERLAPPING, ell=Fraction(2))


# Beside the zip code those of 60 years, who stay together, cannot be parted from their neighbours.
@pytest.mark.parametrize(("layout", "sizes"), [(PRINTED, [2, 2, 4]), (BUCKETIZED, [2, 2, 2, 2])])
def test_strict_cuts_keep_what_the_papers_buckets_keep(patients, layout, sizes):
    found = partition_tuples(patients, layout, ell=Fraction(2))
    assert found.sizes.tolist() == sizes
    finding = check_sliced(found.sliced(layout), 2)
    assert (finding.holds, finding.reached) == (True, 2)


@pytest.mark.parametrize(("layout", "named"), [(OCC_7, "3.94"), (OCC_7_ALONE, "7.51")])
def test_an_infeasible_ell_names_the_largest_on_adult(occ_7, layout, named):
    beside = ["sex"] if layout is OCC_7 else []
    largest = largest_ell(occ_7, beside, "occupation")
    assert f"{float(largest):.2f}" == named
    with pytest.raises(InfeasibleError, match=f"l_max = {named} only") as caught:
        partition_tuples(occ_7, layout, ell=Fraction(8))
    assert Fraction(str(caught.value.best["ell"])) == largest
    # What is named is reached, and nothing above it.
    assert partition_tuples(occ_7, layout, ell=largest).n_buckets >= 1
    with pytest.raises(InfeasibleError):
        partition_tuples(occ_7, layout, ell=largest + Fraction(1, 10**9))


@pytest.mark.parametrize("diversity", ["frequency", "distinct"])
@pytest.mark.parametrize("cuts", ["strict", "relaxed"])
def test_adult_is_cut_as_far_as_three_values_allow(occ_7, cuts, diversity):
    found = partition_tuples(occ_7, OCC_7, ell=Fraction(3), cuts=cuts, diversity=diversity)
    assert found.n_buckets > 200
    sliced = found.sliced(OCC_7)
    finding = check_sliced(sliced, 3, occ_7, diversity=diversity)
    assert finding.holds
    assert finding.basis == ("values" if cuts == "strict" else "tuples")
    if diversity == "frequency":
        assert 1 / largest_belief(sliced, occ_7.select(OCC_7.known)) == finding.reached


def test_random_buckets_of_adult_are_checked_afterwards(occ_7):
    found = random_buckets(occ_7, 100, Secret.from_seed(1).generator("buckets"))
    with pytest.raises(InfeasibleError) as caught:
        confirm_diverse(found, OCC_7, Fraction(3), "frequency")
    reached = Fraction(str(caught.value.best["ell"]))
    assert check_sliced(found.sliced(OCC_7), 3, occ_7).reached == reached
    confirm_diverse(found, OCC_7, reached, "frequency")
