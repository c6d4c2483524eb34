"""Synthetic tables of any size: a register of patients, and independent Zipf columns.

Columns of the register depend on one another as in a real one: education, marriage and work on age
and sex, income on work and education, the condition on age, sex and income, age on the region. Some
combinations never occur, whatever the seed and the size: `IMPOSSIBLE` lists what an adversary
could know about conditions (men do not have ovarian cancer), `NEVER_TOGETHER` what holds among the
other columns (nobody under 15 is married). Columns have all four roles, so that a demonstration can
show what happens to each. No person in it exists.

The rules of a table of independent Zipf columns arise by chance and from its skew, which makes it a
test of hiding them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Floats, Small
from shoal.core.errors import ParameterError
from shoal.core.schema import Schema
from shoal.datasets.dataset import Column, Dataset, Encoded
from shoal.hierarchies.hierarchy import Hierarchy

Pattern: TypeAlias = Mapping[str, frozenset[str | int]]
"""Values by column; a row fits if it has one of them in every column."""

_OLDEST = 99
_WORKING_AGE = 15
_SEXES = ("F", "M")
_EDUCATION_ROWS = (
    ("none", "basic", "school", "*"),
    ("primary", "basic", "school", "*"),
    ("lower secondary", "secondary", "school", "*"),
    ("upper secondary", "secondary", "school", "*"),
    ("vocational", "training", "after school", "*"),
    ("bachelor", "degree", "after school", "*"),
    ("master", "degree", "after school", "*"),
    ("doctorate", "degree", "after school", "*"),
)
_EDUCATIONS = tuple(row[0] for row in _EDUCATION_ROWS)
_MARITAL_ROWS = (
    ("single", "unmarried", "*"),
    ("married", "married", "*"),
    ("separated", "formerly married", "*"),
    ("divorced", "formerly married", "*"),
    ("widowed", "formerly married", "*"),
)
_MARITAL_STATUSES = tuple(row[0] for row in _MARITAL_ROWS)
_EMPLOYMENT_ROWS = (
    ("employee", "in work", "*"),
    ("self-employed", "in work", "*"),
    ("unemployed", "out of work", "*"),
    ("homemaker", "out of work", "*"),
    ("retired", "out of work", "*"),
    ("pupil or student", "in education", "*"),
    ("under school age", "in education", "*"),
)
_EMPLOYMENTS = tuple(row[0] for row in _EMPLOYMENT_ROWS)
_INCOME_ROWS = (
    ("none", "low", "*"),
    ("below 15000", "low", "*"),
    ("15000 to 29999", "middle", "*"),
    ("30000 to 49999", "middle", "*"),
    ("50000 and more", "high", "*"),
)
_INCOMES = tuple(row[0] for row in _INCOME_ROWS)
_WAVES = ("2023-1", "2023-2", "2024-1", "2024-2")

_AGE_CUTS = (
    (0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85),
    (0, 15, 25, 35, 45, 55, 65, 75),
    (0, 15, 35, 65),
)

_GIVEN_NAMES = (
    *("Ada", "Amir", "Bela", "Carla", "Chen", "Dana", "Elif", "Emil", "Farah", "Goran"),
    *("Hana", "Igor", "Ines", "Jonas", "Kofi", "Lena", "Malik", "Mila", "Nadia", "Noor"),
    *("Olga", "Otto", "Priya", "Rosa", "Sami", "Tariq", "Uma", "Vera", "Yusuf", "Zoe"),
)
_FAMILY_NAMES = (
    *("Abel", "Baker", "Costa", "Dahl", "Evans", "Fischer", "Garcia", "Haddad", "Ito"),
    *("Jansen", "Kaya", "Lopez", "Meyer", "Novak", "Okafor", "Park", "Quist", "Rossi"),
    *("Silva", "Tanaka", "Ueda", "Varga", "Weber", "Xu", "Yilmaz", "Zeman"),
)
_NAMES = tuple(f"{given} {family}" for given in _GIVEN_NAMES for family in _FAMILY_NAMES)

_N_REGIONS = 8
_N_DISTRICTS = 5
_N_OFFICES = 4
_POSTCODES = tuple(
    f"{region}{2 * district:02d}{3 * office + 1:02d}"
    for region in range(_N_REGIONS)
    for district in range(_N_DISTRICTS)
    for office in range(_N_OFFICES)
)

# Weight of each condition by age band; the bands begin at the ages in _CONDITION_AGES.
_CONDITION_AGES = (0, 15, 30, 45, 60, 75)
_CONDITION_WEIGHTS: Mapping[str, tuple[float, ...]] = {
    "influenza": (18, 12, 8, 6, 5, 4),
    "asthma": (18, 12, 7, 5, 4, 3),
    "allergy": (18, 13, 9, 6, 4, 2),
    "fracture": (16, 12, 8, 6, 7, 10),
    "gastritis": (12, 11, 11, 10, 8, 6),
    "migraine": (9, 13, 14, 10, 5, 3),
    "back pain": (2, 11, 15, 15, 11, 8),
    "depression": (3, 13, 13, 11, 9, 7),
    "diabetes": (4, 3, 6, 12, 14, 13),
    "hypertension": (0, 2, 8, 15, 17, 15),
    "heart disease": (0, 1, 3, 8, 14, 17),
    "dementia": (0, 0, 0, 2, 5, 20),
    "ovarian cancer": (0, 2, 5, 7, 7, 4),
    "prostate cancer": (0, 0, 2, 7, 12, 10),
    "pregnancy complication": (2, 14, 14, 4, 0, 0),
}
CONDITIONS = tuple(_CONDITION_WEIGHTS)
"""The values of the sensitive column; none has many more than one row in ten."""


def _pattern(**values: Iterable[str | int]) -> Pattern:
    return MappingProxyType({column: frozenset(allowed) for column, allowed in values.items()})


def _ages(first: int, last: int = _OLDEST) -> range:
    return range(first, last + 1)


IMPOSSIBLE: tuple[tuple[Pattern, str], ...] = (
    (_pattern(sex={"M"}), "ovarian cancer"),
    (_pattern(sex={"M"}), "pregnancy complication"),
    (_pattern(sex={"F"}), "prostate cancer"),
    (_pattern(age=_ages(0, 14)), "ovarian cancer"),
    (_pattern(age=_ages(0, 13)), "pregnancy complication"),
    (_pattern(age=_ages(51)), "pregnancy complication"),
    (_pattern(age=_ages(0, 40)), "prostate cancer"),
    (_pattern(age=_ages(0, 44)), "dementia"),
    (_pattern(age=_ages(0, 14)), "hypertension"),
    (_pattern(age=_ages(0, 14)), "heart disease"),
    (_pattern(sex={"F"}, age=_ages(0, 29)), "heart disease"),
)
"""Patterns that never occur with a condition. The last one needs two columns."""

NEVER_TOGETHER: tuple[Pattern, ...] = (
    _pattern(age=_ages(0, 14), marital_status=set(_MARITAL_STATUSES) - {"single"}),
    _pattern(age=_ages(0, 14), education=set(_EDUCATIONS) - {"none", "primary"}),
    _pattern(age=_ages(0, 14), employment=set(_EMPLOYMENTS[:5])),
    _pattern(age=_ages(0, 14), income=set(_INCOMES) - {"none"}),
    _pattern(age=_ages(0, 19), education={"bachelor", "master", "doctorate"}),
    _pattern(age=_ages(0, 24), education={"doctorate"}),
    _pattern(age=_ages(0, 49), employment={"retired"}),
    _pattern(age=_ages(6), employment={"under school age"}),
    _pattern(age=_ages(70), employment={"pupil or student", "unemployed"}),
    _pattern(employment={"employee"}, income={"none"}),
)
"""Combinations of values of the other columns that no row has."""


def census(rows: int = 1000, seed: int = 0, missing: float = 0.0) -> Dataset:
    """Generate a register of patients.

    Parameters
    ----------
    rows
        The number of rows, one per person; 1000 by default.
    seed
        The random seed; 0 by default. The same parameters give the same table, but a smaller table
        is not the beginning of a larger one.
    missing
        The share of values, 0 by default, that are missing at random in each of postcode,
        education, marital status, employment and income.

    Returns
    -------
    Dataset
        Identifying: person_no (the key), name. Quasi-identifying: age, sex, postcode (text, some
        begin with 0), education, marital_status, employment, income. Sensitive: condition.
        Insensitive: wave.

    Notes
    -----
    The most frequent condition has about a tenth of the rows. From 200 rows on, it has more than a
    fifth with a probability below 1 in 10,000, so that Anatomy is feasible up to l = 5.

    Examples
    --------
    >>> census(rows=200)
    Dataset('census', 200 rows, 11 columns: 2 identifying, 7 quasi-identifying, 1 sensitive, \
1 insensitive)
    """
    if rows < 0:
        raise ParameterError(f"rows must be at least 0; got {rows}.")
    if not 0 <= missing <= 1:
        raise ParameterError(f"missing must be a share from 0 to 1; got {missing}.")
    generator = np.random.default_rng(seed)
    region = _draw(generator, np.array([[24, 18, 14, 12, 11, 9, 7, 5]]), np.zeros(rows, np.int32))
    age = _draw(generator, _age_weights(), region)
    sex = _draw(generator, _sex_weights(), age)
    education = _draw(generator, _education_weights(), age * 2 + (region < 3))
    marital = _draw(generator, _marital_weights(), age * 2 + sex)
    employment = _draw(generator, _employment_weights(), (age * 2 + sex) * 8 + education)
    income = _draw(generator, _income_weights(), employment * 8 + education)
    income[age < _WORKING_AGE] = _INCOMES.index("none")
    condition = _draw(generator, _condition_weights(), (age * 2 + sex) * 2 + (income < 2))

    def encoded(codes: Small, labels: tuple[str, ...]) -> Encoded:
        if missing:
            codes = np.where(generator.random(rows) < missing, np.int32(-1), codes)
        return Encoded(codes, labels)

    columns: dict[str, Column] = {
        # Unique, in an order unrelated to that of the rows.
        "person_no": np.array(
            [f"P{number:08d}" for number in generator.permutation(rows).tolist()], dtype=object
        ),
        "name": Encoded(generator.integers(0, len(_NAMES), rows, dtype=np.int32), _NAMES),
        "age": age.astype(np.int64),
        "sex": Encoded(sex, _SEXES),
        "postcode": encoded(_postcode_codes(generator, region), _POSTCODES),
        "education": encoded(education, _EDUCATIONS),
        "marital_status": encoded(marital, _MARITAL_STATUSES),
        "employment": encoded(employment, _EMPLOYMENTS),
        "income": encoded(income, _INCOMES),
        "condition": Encoded(condition, CONDITIONS),
        "wave": Encoded(generator.integers(0, len(_WAVES), rows, dtype=np.int32), _WAVES),
    }
    return Dataset("census", columns, _schema())


def _schema() -> Schema:
    return Schema(
        key="person_no",
        identifying=["name"],
        quasi=["age", "sex", "postcode", "education", "marital_status", "employment", "income"],
        sensitive="condition",
        insensitive=["wave"],
        # Nobody else knows in which wave a person was asked.
        meant=["wave"],
        types={"age": "integer", "postcode": "categorical", "person_no": "categorical"},
        hierarchies={
            "age": Hierarchy.intervals(cuts=[list(cuts) for cuts in _AGE_CUTS]),
            "sex": Hierarchy.flat(),
            "postcode": Hierarchy.prefixes([5, 3, 1]),
            "education": Hierarchy.from_rows(_EDUCATION_ROWS),
            "marital_status": Hierarchy.from_rows(_MARITAL_ROWS),
            "employment": Hierarchy.from_rows(_EMPLOYMENT_ROWS),
            "income": Hierarchy.from_rows(_INCOME_ROWS),
        },
    )


def _draw(generator: np.random.Generator, weights: npt.ArrayLike, group: Small) -> Small:
    """Draw a value for every row with the weights of its group (one line per group)."""
    cumulated = np.cumsum(np.asarray(weights, dtype=np.float64), axis=1)
    bounds = cumulated[:, :-1] / cumulated[:, -1:]
    drawn = generator.random(len(group))
    value = np.zeros(len(group), dtype=np.int32)
    for bound in bounds.T:
        # A value with weight 0 has the same bound as the value before it, so it is never drawn.
        value += drawn >= bound[group]
    return value


def _age_weights() -> Floats:
    age = np.arange(_OLDEST + 1)
    pyramid = np.interp(age, (0, 20, 55, 70, 85, _OLDEST), (9, 10, 13, 9, 4, 0.2))
    students = 1 + 1.5 * np.exp(-(((age - 23) / 6) ** 2))
    pensioners = 1 + 1.2 * (age >= 65)
    shapes = [pyramid * students, pyramid, pyramid, pyramid * pensioners]
    return np.array([shapes[region % len(shapes)] for region in range(_N_REGIONS)])


def _sex_weights() -> Floats:
    female = np.interp(np.arange(_OLDEST + 1), (0, 60, _OLDEST), (0.49, 0.51, 0.72))
    return np.column_stack([female, 1 - female])


def _by_age(bands: Mapping[int, tuple[float, ...]]) -> Floats:
    """Return the weights at every age from those of age bands, by the first age of each."""
    starts = np.array(list(bands))
    lines = np.array(list(bands.values()), dtype=np.float64)
    return lines[np.searchsorted(starts, np.arange(_OLDEST + 1), side="right") - 1]


def _education_weights() -> Floats:
    """Return one line per age, outside and inside the three large regions."""
    by_age = _by_age(
        {
            0: (1, 0, 0, 0, 0, 0, 0, 0),
            7: (1, 3, 0, 0, 0, 0, 0, 0),
            11: (0, 1, 0, 0, 0, 0, 0, 0),
            15: (0, 3, 6, 1, 0, 0, 0, 0),
            18: (0, 1, 3, 6, 1, 0, 0, 0),
            20: (0, 1, 2, 6, 4, 2, 0, 0),
            25: (0, 1, 2, 4, 6, 5, 3, 0.2),
            40: (0, 1, 3, 4, 7, 4, 2, 0.4),
            65: (0.3, 4, 6, 4, 4, 1.5, 0.8, 0.2),
        }
    )
    in_large_region = np.array([1, 1, 1, 1, 0.8, 1.8, 2.2, 2.5])
    return _lines(np.stack([by_age, by_age * in_large_region], axis=1))


def _marital_weights() -> Floats:
    """Return one line per age and sex."""
    by_age = _by_age(
        {
            0: (1, 0, 0, 0, 0),
            18: (60, 2, 0.2, 0.1, 0),
            25: (10, 7, 0.5, 0.5, 0.02),
            35: (5, 12, 0.8, 2, 0.1),
            50: (2.5, 12, 0.7, 3, 0.7),
            65: (1, 11, 0.3, 2, 3),
            80: (0.6, 5, 0.1, 0.8, 8),
        }
    )
    woman, man = np.array([0.9, 1, 1, 1.1, 1.8]), np.array([1.1, 1, 1, 0.9, 0.5])
    return _lines(np.stack([by_age * woman, by_age * man], axis=1))


def _employment_weights() -> Floats:
    """Return one line per age, sex and education."""
    by_age = _by_age(
        {
            0: (0, 0, 0, 0, 0, 0, 1),
            6: (0, 0, 0, 0, 0, 1, 0),
            15: (1, 0, 0.3, 0, 0, 10, 0),
            19: (6, 0.3, 1, 0.3, 0, 5, 0),
            26: (12, 1.3, 1, 1, 0, 0.5, 0),
            50: (10, 2, 1, 1, 0.5, 0.05, 0),
            60: (5, 1.2, 0.5, 0.8, 6, 0.02, 0),
            70: (0.2, 0.3, 0, 0.5, 14, 0, 0),
        }
    )
    by_sex = np.array([[1, 0.7, 1, 3, 1, 1, 1], [1, 1.3, 1, 0.2, 1, 1, 1]])
    by_education = np.ones((len(_EDUCATIONS), len(_EMPLOYMENTS)))
    by_education[:3, 2:4] = 2
    by_education[5:, :2] = 2
    return _lines(by_age[:, None, None] * by_sex[:, None] * by_education)


def _income_weights() -> Floats:
    """Return one line per employment and education."""
    by_employment = np.array(
        [
            (0, 2, 6, 5, 2),
            (0.3, 3, 4, 4, 3),
            (4, 8, 1, 0.2, 0),
            (8, 4, 1, 0.2, 0.1),
            (0.2, 5, 7, 2, 0.5),
            (10, 4, 0.3, 0, 0),
            (1, 0, 0, 0, 0),
        ]
    )
    by_education = np.array([np.linspace(0, step, len(_INCOMES)) for step in np.linspace(-2, 2, 8)])
    return _lines(by_employment[:, None] * np.exp(by_education))


def _condition_weights() -> Floats:
    """Return one line per age, sex, and whether the income is low."""
    by_age = _by_age(
        {
            start: tuple(weights[band] for weights in _CONDITION_WEIGHTS.values())
            for band, start in enumerate(_CONDITION_AGES)
        }
    )
    by_income = np.ones((2, len(CONDITIONS)))
    by_income[1, [CONDITIONS.index(name) for name in ("depression", "diabetes", "asthma")]] = 1.5
    is_possible = np.ones((_OLDEST + 1, len(_SEXES), 1, len(CONDITIONS)))
    for pattern, condition in IMPOSSIBLE:
        for age, sex in product(pattern.get("age", _ages(0)), pattern.get("sex", _SEXES)):
            is_possible[int(age), _SEXES.index(str(sex)), 0, CONDITIONS.index(condition)] = 0
    return _lines(by_age[:, None, None] * by_income * is_possible)


def _lines(weights: Floats) -> Floats:
    """Return the weights of every combination of groups as one line of values."""
    return weights.reshape(-1, weights.shape[-1])


def _postcode_codes(generator: np.random.Generator, region: Small) -> Small:
    place = np.arange(_N_DISTRICTS * _N_OFFICES)
    weights = 1 / (1 + place // _N_OFFICES) / (1 + place % _N_OFFICES)
    within = _draw(generator, weights[None], np.zeros_like(region))
    return (region * len(place) + within).astype(np.int32)


def zipf(
    *,
    dimensions: int = 10,
    cardinality: int = 10,
    factor: float = 2.0,
    rows: int = 10_000,
    seed: int = 0,
) -> Dataset:
    """Generate a table of independent Zipf columns.

    The value of rank k has a probability proportional to ``1 / k ** factor``.

    Parameters
    ----------
    dimensions
        The number of columns, ``d1``, ``d2``, ..., all quasi-identifying; 10 by default.
    cardinality
        The number of values of a column, ``v1`` (the most frequent) to ``v<cardinality>``; 10 by
        default.
    factor
        The Zipf factor; 2 by default. With 0, all values are equally likely.
    rows
        The number of rows; 10,000 by default.
    seed
        The random seed; 0 by default. The same parameters give the same table.

    References
    ----------
    Aggarwal, Pei, Zhang (KDD 2006), section 6.1; the defaults are the paper's.

    Examples
    --------
    >>> zipf(rows=500)
    Dataset('zipf', 500 rows, 10 columns: 10 quasi-identifying)
    """
    for name, value, least in (
        ("dimensions", dimensions, 1),
        ("cardinality", cardinality, 1),
        ("factor", factor, 0),
        ("rows", rows, 0),
    ):
        if not value >= least:
            raise ParameterError(
                f"{name} must be at least {least}; got {value}.",
                hint="leave it out to use the value of the paper.",
            )
    weights = np.arange(1, cardinality + 1, dtype=np.float64) ** -factor
    bounds = np.cumsum(weights[:-1]) / weights.sum()
    generator = np.random.default_rng(seed)
    labels = tuple(f"v{rank}" for rank in range(1, cardinality + 1))
    columns = {
        f"d{place}": Encoded(
            np.searchsorted(bounds, generator.random(rows), side="right").astype(np.int32), labels
        )
        for place in range(1, dimensions + 1)
    }
    return Dataset("zipf", columns, Schema(quasi=list(columns)))
