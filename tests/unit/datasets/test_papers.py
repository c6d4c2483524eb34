from __future__ import annotations

from collections import Counter

import pytest

from shoal.core.errors import ParameterError
from shoal.datasets import papers


def counted(published: papers.Published, attributes: tuple[str, ...]) -> Counter:
    places = [published.attributes.index(attribute) for attribute in attributes]
    return Counter(
        (bucket, *(row[place] for place in places))
        for bucket, row in zip(published.buckets, published.rows, strict=True)
    )


def original(attributes: tuple[str, ...]) -> Counter:
    columns = papers.slicing_patients().to_dict()
    rows = zip(*(map(str, columns[attribute]) for attribute in attributes), strict=True)
    return Counter(
        (bucket, *row) for bucket, row in zip(papers.slicing_buckets(), rows, strict=True)
    )


def test_injector_sensitive_table_counts_the_patients():
    diseases = papers.injector_patients().to_dict()["disease"]
    counts = Counter(zip(papers.injector_buckets(), diseases, strict=True))
    assert counts == {
        (bucket, disease): count for bucket, disease, count in papers.injector_sensitive_table()
    }


def test_injector_first_group_betrays_the_man():
    patients = papers.injector_patients().to_dict()
    first = [place for place, bucket in enumerate(papers.injector_buckets()) if bucket == 1]
    assert [patients["sex"][place] for place in first] == ["F", "F", "M"]
    assert patients["disease"][first[-1]] == "Prostate Cancer"


@pytest.mark.parametrize("ell", [1, 2, 5])
def test_one_female_stands_among_ell_males(ell):
    group = papers.injector_one_female(ell).to_dict()
    assert group["sex"] == ["F"] + ["M"] * ell
    assert len(set(group["disease"])) == ell + 1


def test_one_female_needs_a_male():
    with pytest.raises(ParameterError, match="ell must be at least 1"):
        papers.injector_one_female(0)


@pytest.mark.parametrize(
    "published",
    [
        papers.slicing_bucketized(),
        papers.slicing_one_attribute_per_column(),
        papers.slicing_sliced(),
    ],
)
def test_published_columns_keep_what_the_original_bucket_has(published):
    for column in published.columns:
        assert counted(published, column) == original(column)


@pytest.mark.parametrize("published", [papers.slicing_generalized(), papers.slicing_multiset()])
def test_generalized_tables_keep_the_diseases_of_each_row(published):
    diseases = papers.slicing_patients().to_dict()["disease"]
    assert [row[-1] for row in published.rows] == diseases


def test_multisets_count_the_values_of_their_bucket():
    published = papers.slicing_multiset()
    for place, attribute in enumerate(("age", "sex", "zipcode")):
        for bucket, row in zip(published.buckets, published.rows, strict=True):
            printed = dict(item.split(":") for item in row[place].split(","))
            in_bucket = {
                value: str(count)
                for (number, value), count in original((attribute,)).items()
                if number == bucket
            }
            assert printed == in_bucket


def test_published_has_a_repr_of_its_shape_and_plain_lists():
    published = papers.slicing_sliced()
    assert repr(published) == "Published(8 rows, 2 columns, 2 buckets)"
    assert published.attributes == ("age", "sex", "zipcode", "disease")
    assert published.to_dict()["columns"] == [["age", "sex"], ["zipcode", "disease"]]


def test_foreground_buckets_are_two_diverse():
    diseases = papers.foreground_patients().to_dict()["disease"]
    pairs = set(zip(papers.foreground_buckets(), diseases, strict=True))
    assert len(pairs) == 6


def test_foreground_distribution_covers_the_nationalities():
    nationalities = set(papers.foreground_patients().to_dict()["nationality"])
    assert set(papers.foreground_distribution()) == nationalities


def test_foreground_signatures_have_the_shares_of_example_2():
    columns = papers.foreground_signatures().to_dict()
    counts = Counter(zip(columns["signature"], columns["value"], strict=True))
    assert counts == {("s1", "x"): 2, ("s1", "other"): 1, ("s2", "other"): 3}


def test_shuffled_employees_are_the_employees():
    attributes = list(papers.employees().schema.quasi)

    def rows(dataset):
        columns = dataset.to_dict()
        return sorted(zip(*(columns[attribute] for attribute in attributes), strict=True))

    assert rows(papers.employees()) == rows(papers.employees_shuffled())


def test_rules_of_example_1_have_the_support_and_confidence_printed():
    columns = papers.employees_shuffled().to_dict()
    for row, column in papers.employees_private_cells():
        columns[column][columns["id"].index(row)] = "#"
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values())]  # noqa: B905

    def rule(antecedent, column, value):
        fit = [row for row in rows if antecedent.items() <= row.items() and row[column] != "#"]
        return len(fit), sum(row[column] == value for row in fit)

    assert rule({"title": "Assistant"}, "salary_level", "SL-3") == (2, 2)
    assert rule({"title": "Manager", "salary_level": "SL-5"}, "education", "Univ.") == (3, 2)
    assert rule({"title": "Manager", "gender": "F"}, "marital_status", "Married") == (3, 2)


def test_private_cells_hold_what_example_1_says():
    columns = papers.employees_shuffled().to_dict()
    hidden = [columns[column][int(row) - 1] for row, column in papers.employees_private_cells()]
    assert hidden == ["Univ.", "F", "SL-3", "Married", "M"]
