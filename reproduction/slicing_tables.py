"""The shared parts of the experiments of [Slicing]: its two tables, its columns, descriptions.

The paper takes two tables from Adult: OCC-7 with seven attributes and OCC-15 with all of them;
occupation is sensitive. If there are two columns, sex, the attribute most correlated with
occupation, shares its column.

References
----------
[Slicing] (see `shoal.core.sliced`) Section 6.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reproduction.planned import Setting
from shoal.core.errors import InternalError
from shoal.core.schema import Schema
from shoal.datasets.adult import adult
from shoal.datasets.dataset import Dataset

SENSITIVE, NEAREST = "occupation", "sex"
TABLES = {"OCC-7": "occ-7", "OCC-15": "occ-15"}
"""The paper's names of its tables, and ours."""
N_QUICK = 1_000
"""The number of rows in a quick run."""


def adult_rows(setting: Setting, name: str, n_quick: int = N_QUICK) -> Dataset:
    """Read one of the two `TABLES`; a sample of `n_quick` rows in a quick run."""
    if setting.adult is None:
        raise InternalError("An experiment on Adult was run without it.")
    rows = adult(setting.adult, TABLES[name])
    if not setting.is_quick:
        return rows
    chosen = np.random.default_rng(setting.seed).permutation(rows.n_rows)[:n_quick]
    return rows.take(np.sort(chosen))


def all_known(rows: Dataset) -> Dataset:
    """Make every attribute quasi-identifying, for experiments that hide only membership."""
    schema = rows.schema
    known = Schema(quasi=list(rows.columns), types=schema.types, hierarchies=schema.hierarchies)
    return Dataset(rows.name, rows.columns, known)


def two_columns(attributes: Sequence[str], beside: str | None = NEAREST) -> list[list[str]]:
    """Separate the sensitive attribute, and one beside it, from all others.

    Examples
    --------
    >>> two_columns(["age", "sex", "occupation"])
    [['age'], ['sex', 'occupation']]
    >>> two_columns(["age", "sex", "occupation"], beside=None)
    [['age', 'sex'], ['occupation']]
    """
    inside = [SENSITIVE] if beside is None else [beside, SENSITIVE]
    return [[name for name in attributes if name not in inside], inside]


def setting_words(setting: Setting, what: str, rest: str, n_quick: int = N_QUICK) -> str:
    """Describe the setting of an experiment."""
    sample = f", samples of {n_quick:,} rows" if setting.is_quick else ""
    return f"{what}{sample}; seed {setting.seed}. {rest}"
