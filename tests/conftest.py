"""What all tests share: hypothesis profiles and the Adult table."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

PROJECT = Path(__file__).parents[1]

settings.register_profile("default", deadline=None)
# Hypothesis has a profile `ci` of its own that always draws the same examples; this one looks
# for new ones.
settings.register_profile("ci", max_examples=400, deadline=None, derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_report_header() -> str:
    from shoal.core import kernels

    return kernels.describe()


@pytest.fixture(scope="session")
def adult_path() -> Path:
    """Return where the Adult table lies; it is not ours to distribute."""
    path = Path(os.environ.get("SHOAL_ADULT") or PROJECT.parent / "shared" / "data" / "adult.csv")
    if not path.is_file():
        pytest.skip("the Adult table is not there; SHOAL_ADULT=adult.csv names it")
    return path
