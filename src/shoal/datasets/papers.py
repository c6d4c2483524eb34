"""The small tables in the papers, as printed.

Values are the papers' own; column names are written out in full and in lower case. An original
table is a `Dataset`. A published one is a `Published`: rows of text, the bucket of each row, and
which attributes stayed together.

References
----------
[Li08] Li, Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008.

[Li12] Li, Li, Zhang, Molloy: Slicing: A New Approach for Privacy Preserving Data Publishing.
TKDE 24(3), 2012; in a shortened form by Rafi and Ramanaiah: Protecting Attribute Disclosure for
High Dimensionality and Preserving Publishing of Microdata.

[Wong11] Wong, Fu, Wang, Xu, Yu: Can the Utility of Anonymized Data be used for Privacy Breaches?
TKDD 5(3), 2011.

[Aggarwal06] Aggarwal, Pei, Zhang: On Privacy Preservation against Adversarial Data Mining.
KDD 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shoal.core.errors import ParameterError
from shoal.core.schema import Schema
from shoal.datasets.dataset import Dataset


@dataclass(frozen=True, kw_only=True)
class Published:
    """A published table as a paper prints it.

    Parameters
    ----------
    columns
        The attributes, grouped by column: the values of a row within a group belong to one
        person, those of different groups need not.
    rows
        The printed rows, one text per attribute, in the order of `columns`.
    buckets
        The bucket of each row.
    """

    columns: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[str, ...], ...]
    buckets: tuple[int, ...]

    @property
    def attributes(self) -> tuple[str, ...]:
        """All attributes in the order of a row's values."""
        return tuple(attribute for column in self.columns for attribute in column)

    def __repr__(self) -> str:
        return (
            f"Published({len(self.rows)} rows, {len(self.columns)} columns, "
            f"{len(set(self.buckets))} buckets)"
        )

    def to_dict(self) -> dict[str, object]:
        """Return the table as plain lists."""
        return {
            "columns": [list(column) for column in self.columns],
            "rows": [list(row) for row in self.rows],
            "buckets": list(self.buckets),
        }


def _dataset(
    name: str, rows: Sequence[Sequence[Any]], columns: Sequence[str], schema: Schema
) -> Dataset:
    transposed = zip(*rows, strict=True)
    return Dataset(name, dict(zip(columns, map(list, transposed), strict=True)), schema)


# [Li08] Injector ---------------------------------------------------------------------------


def injector_patients() -> Dataset:
    """Return the original patients of [Li08], Table I: nine rows.

    Examples
    --------
    >>> injector_patients()
    Dataset('injector-patients', 9 rows, 4 columns: 3 quasi-identifying, 1 sensitive)
    """
    rows = [
        ("47677", 29, "F", "Ovarian Cancer"),
        ("47602", 22, "F", "Ovarian Cancer"),
        ("47678", 27, "M", "Prostate Cancer"),
        ("47905", 43, "M", "Flu"),
        ("47909", 52, "F", "Heart Disease"),
        ("47906", 47, "M", "Heart Disease"),
        ("47605", 30, "M", "Heart Disease"),
        ("47673", 36, "M", "Flu"),
        ("47607", 32, "M", "Flu"),
    ]
    schema = Schema(
        quasi=["zip_code", "age", "sex"],
        sensitive="disease",
        types={"zip_code": "categorical", "age": "integer"},
    )
    return _dataset("injector-patients", rows, ["zip_code", "age", "sex", "disease"], schema)


def injector_buckets() -> tuple[int, ...]:
    """Return the group of every patient in [Li08], Table II(a)."""
    return (1, 1, 1, 2, 2, 2, 3, 3, 3)


def injector_sensitive_table() -> tuple[tuple[int, str, int], ...]:
    """Return (group, disease, count) as printed in [Li08], Table II(b)."""
    return (
        (1, "Ovarian Cancer", 2),
        (1, "Prostate Cancer", 1),
        (2, "Flu", 1),
        (2, "Heart Disease", 2),
        (3, "Heart Disease", 1),
        (3, "Flu", 2),
    )


def injector_one_female(ell: int = 3) -> Dataset:
    """Return the group of [Li08], section V-A, with one woman among ``ell`` men.

    One value is ovarian cancer, the other ``ell`` (3 by default) are diseases of both sexes. Every
    row can take at least ``ell`` of the values, and yet the woman must have ovarian cancer, because
    nobody else can.

    Examples
    --------
    >>> injector_one_female(2).to_dict()
    {'sex': ['F', 'M', 'M'], 'disease': ['Ovarian Cancer', 'Disease 1', 'Disease 2']}
    """
    if ell < 1:
        raise ParameterError(f"ell must be at least 1; got {ell}.")
    rows = [("F", "Ovarian Cancer"), *(("M", f"Disease {man}") for man in range(1, ell + 1))]
    schema = Schema(quasi=["sex"], sensitive="disease")
    return _dataset("injector-one-female", rows, ["sex", "disease"], schema)


# [Li12] Slicing ----------------------------------------------------------------------------

_SLICING_ATTRIBUTES = ("age", "sex", "zipcode", "disease")
_SLICING_BUCKETS = (1, 1, 1, 1, 2, 2, 2, 2)


def slicing_patients() -> Dataset:
    """Return the original table of [Li12], Table 1(a): eight rows.

    Examples
    --------
    >>> slicing_patients()
    Dataset('slicing-patients', 8 rows, 4 columns: 3 quasi-identifying, 1 sensitive)
    """
    rows = [
        (22, "M", "47906", "dyspepsia"),
        (22, "F", "47906", "flu"),
        (33, "F", "47905", "flu"),
        (52, "F", "47905", "bronchitis"),
        (54, "M", "47302", "flu"),
        (60, "M", "47302", "dyspepsia"),
        (60, "M", "47304", "dyspepsia"),
        (64, "F", "47304", "gastritis"),
    ]
    schema = Schema(
        quasi=["age", "sex", "zipcode"],
        sensitive="disease",
        types={"zipcode": "categorical", "age": "integer"},
    )
    return _dataset("slicing-patients", rows, _SLICING_ATTRIBUTES, schema)


def slicing_buckets() -> tuple[int, ...]:
    """Return the bucket of every row in all parts of [Li12], Table 1."""
    return _SLICING_BUCKETS


def slicing_generalized() -> Published:
    """Return [Li12], Table 1(b), the generalized table.

    The first age is printed as [20-52], although nobody in the table is younger than 22.
    """
    return _grouped(("[20-52]", "*", "4790*"), ("[54-64]", "*", "4730*"))


def slicing_bucketized() -> Published:
    """Return [Li12], Table 1(c), the bucketized table: diseases permuted within a bucket."""
    return Published(
        columns=(("age", "sex", "zipcode"), ("disease",)),
        rows=(
            ("22", "M", "47906", "flu"),
            ("22", "F", "47906", "dyspepsia"),
            ("33", "F", "47905", "bronchitis"),
            ("52", "F", "47905", "flu"),
            ("54", "M", "47302", "gastritis"),
            ("60", "M", "47302", "flu"),
            ("60", "M", "47304", "dyspepsia"),
            ("64", "F", "47304", "dyspepsia"),
        ),
        buckets=_SLICING_BUCKETS,
    )


def slicing_multiset() -> Published:
    """Return [Li12], Table 1(d), multiset-based generalization.

    The paper abbreviates the diseases (dysp., bron., gast.); they are written out here.
    """
    return _grouped(
        ("22:2,33:1,52:1", "M:1,F:3", "47905:2,47906:2"),
        ("54:1,60:2,64:1", "M:3,F:1", "47302:2,47304:2"),
    )


def _grouped(first: tuple[str, ...], second: tuple[str, ...]) -> Published:
    """Return [Li12], Table 1, with the same quasi-identifiers for all rows of a bucket."""
    diseases = ("dyspepsia", "flu", "flu", "bronchitis", "flu", "dyspepsia", "dyspepsia")
    shown = zip((first,) * 4 + (second,) * 4, (*diseases, "gastritis"), strict=True)
    return Published(
        columns=(_SLICING_ATTRIBUTES,),
        rows=tuple((*quasi, disease) for quasi, disease in shown),
        buckets=_SLICING_BUCKETS,
    )


def slicing_one_attribute_per_column() -> Published:
    """Return [Li12], Table 1(e), one-attribute-per-column slicing.

    The paper abbreviates the diseases (dysp., bron., gast.); they are written out here.
    """
    return Published(
        columns=(("age",), ("sex",), ("zipcode",), ("disease",)),
        rows=(
            ("22", "F", "47906", "flu"),
            ("22", "M", "47905", "flu"),
            ("33", "F", "47906", "dyspepsia"),
            ("52", "F", "47905", "bronchitis"),
            ("54", "M", "47302", "dyspepsia"),
            ("60", "F", "47304", "gastritis"),
            ("60", "M", "47302", "dyspepsia"),
            ("64", "M", "47304", "flu"),
        ),
        buckets=_SLICING_BUCKETS,
    )


def slicing_sliced() -> Published:
    """Return [Li12], Table 1(f), the sliced table: {age, sex} and {zipcode, disease}.

    The shortened form refers to part (f) without printing it. The pairs of each bucket follow from
    part (a) and are checked against it; which pair is next to which is a random linking without
    meaning.
    """
    return Published(
        columns=(("age", "sex"), ("zipcode", "disease")),
        rows=(
            ("22", "M", "47905", "flu"),
            ("22", "F", "47906", "dyspepsia"),
            ("33", "F", "47905", "bronchitis"),
            ("52", "F", "47906", "flu"),
            ("54", "M", "47304", "gastritis"),
            ("60", "M", "47302", "flu"),
            ("60", "M", "47302", "dyspepsia"),
            ("64", "F", "47304", "dyspepsia"),
        ),
        buckets=_SLICING_BUCKETS,
    )


# [Wong11] The foreground knowledge attack --------------------------------------------------


def foreground_patients() -> Dataset:
    """Return [Wong11], Table 1: six patients, of whom the paper names two.

    Examples
    --------
    >>> foreground_patients().columns["nationality"].tolist()
    ['American', 'Japanese', 'Japanese', 'Japanese', 'French', 'Japanese']
    """
    rows = [
        ("Alex", "American", "Heart Disease"),
        ("Bob", "Japanese", "Flu"),
        (None, "Japanese", "Flu"),
        (None, "Japanese", "Stomach Virus"),
        (None, "French", "HIV"),
        (None, "Japanese", "Diabetes"),
    ]
    schema = Schema(identifying=["name"], quasi=["nationality"], sensitive="disease")
    return _dataset("foreground-patients", rows, ["name", "nationality", "disease"], schema)


def foreground_buckets() -> tuple[int, ...]:
    """Return the group (L1, L2, L3) of every row in [Wong11], Table 2, and likewise Table 8."""
    return (1, 1, 2, 2, 3, 3)


def foreground_distribution() -> dict[str, float]:
    """Return [Wong11], Table 3: the probability of heart disease by nationality."""
    return {"American": 0.1, "Japanese": 0.003, "French": 0.05}


def foreground_signatures() -> Dataset:
    """Return the table of [Wong11], Example 2: Table 7 in the order of the groups of Table 8.

    There are two signatures and a value ``x``; every other value is written ``other``. In the
    paper, the two others of group L3 are different values. The global distribution that solves the
    equations is 2/3 for ``s1`` and 0 for ``s2``.

    Examples
    --------
    >>> foreground_signatures().to_dict()["signature"]
    ['s1', 's2', 's1', 's1', 's2', 's2']
    """
    rows = [
        ("s1", "x"),
        ("s2", "other"),
        ("s1", "x"),
        ("s1", "other"),
        ("s2", "other"),
        ("s2", "other"),
    ]
    schema = Schema(quasi=["signature"], sensitive="value")
    return _dataset("foreground-signatures", rows, ["signature", "value"], schema)


# [Aggarwal06] Adversarial rules ------------------------------------------------------------

_EMPLOYEE_ATTRIBUTES = ("title", "gender", "marital_status", "education", "salary_level")
_EMPLOYEES = (
    ("Alice", "Assistant", "F", "Unmarr.", "Coll.", "SL-3"),
    ("Bob", "Assistant", "M", "Married", "Coll.", "SL-3"),
    ("Cathy", "Assistant", "F", "Married", "Univ.", "SL-3"),
    ("Daniel", "Manager", "F", "Unmarr.", "Univ.", "SL-5"),
    ("Elena", "Manager", "F", "Married", "Univ.", "SL-5"),
    ("Frank", "Manager", "M", "Married", "Univ.", "SL-5"),
    ("Grace", "Manager", "F", "Married", "MBA", "SL-7"),
    ("Helen", "Manager", "F", "Married", "Ph.D.", "SL-5"),
    ("Ian", "Accountant", "F", "Unmarr.", "MBA", "SL-5"),
    ("Janet", "Accountant", "M", "Married", "Univ.", "SL-4"),
)
_SHUFFLED_NAMES = (
    *("Elena", "Alice", "Helen", "Bob", "Frank"),
    *("Ian", "Daniel", "Cathy", "Grace", "Janet"),
)


def employees() -> Dataset:
    """Return the table Employee of [Aggarwal06], Table 1: ten rows with names.

    Examples
    --------
    >>> employees()
    Dataset('employees', 10 rows, 6 columns: 1 identifying, 5 quasi-identifying)
    """
    schema = Schema(identifying=["name"], quasi=_EMPLOYEE_ATTRIBUTES)
    return _dataset("employees", _EMPLOYEES, ["name", *_EMPLOYEE_ATTRIBUTES], schema)


def employees_shuffled() -> Dataset:
    """Return the employees in the order of [Aggarwal06], Table 2, with row ids and nothing hidden.

    `employees_private_cells` lists the cells that the table prints as ``#``.

    Examples
    --------
    >>> employees_shuffled().columns["id"].tolist()[:3]
    ['1', '2', '3']
    """
    by_name = {name: attributes for name, *attributes in _EMPLOYEES}
    rows = [(str(place), *by_name[name]) for place, name in enumerate(_SHUFFLED_NAMES, start=1)]
    schema = Schema(quasi=_EMPLOYEE_ATTRIBUTES, key="id", types={"id": "categorical"})
    return _dataset("employees-shuffled", rows, ["id", *_EMPLOYEE_ATTRIBUTES], schema)


def employees_private_cells() -> tuple[tuple[str, str], ...]:
    """Return the cells that [Aggarwal06], Table 2, hides, as (row id, column).

    Cathy hides her salary level, Frank his education, Grace her marital status, Ian and Janet
    their gender (Example 1).
    """
    return (
        ("5", "education"),
        ("6", "gender"),
        ("8", "salary_level"),
        ("9", "marital_status"),
        ("10", "gender"),
    )
