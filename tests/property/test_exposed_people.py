"""`exposed` covers the people who truly are, on tables whose law is known.

The full study is `benchmarks/calibration.py --tables 500`; here is a small part of it.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
N_TABLES = 8


@pytest.fixture(scope="module")
def study():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        yield importlib.import_module("calibration")
    finally:
        sys.path.remove(str(BENCHMARKS))


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["bucketized", "generalized", "sliced"])
def test_those_truly_above_the_raised_limit_are_at_most_the_exposed(study, shape):
    results = {
        law: np.array([study.try_one(shape, law, seed) for seed in range(N_TABLES)])
        for law in study.LAWS
    }
    covered = np.concatenate([found[:, 0] <= found[:, 2] for found in results.values()])
    assert covered.mean() >= 0.9
    for found in results.values():
        _, above, exposed, _ = found.T
        assert np.median(exposed / (2 * above + 20)) <= 1.1


@pytest.mark.slow
def test_beliefs_alone_alarm_falsely_where_nothing_depends_on_anything(study):
    """The study itself can tell: what is believed is far more than what is exposed."""
    found = np.array([study.try_one("bucketized", "independent", seed) for seed in range(N_TABLES)])
    truly, _, exposed, believed = found.T
    assert not truly.any()
    assert np.median(exposed) <= 20
    assert np.median(believed) >= np.median(exposed)
