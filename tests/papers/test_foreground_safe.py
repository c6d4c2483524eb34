"""Foreground-safe buckets of Adult, attacked from the published files."""

from __future__ import annotations

import pytest

import shoal

LOW_EDUCATION = ("Preschool", "1st-4th", "5th-6th", "7th-8th")


@pytest.fixture(scope="module")
def table(adult_path):
    return shoal.read(shoal.datasets.adult(adult_path, "foreground-8"))


@pytest.mark.parametrize("r", [2, 10])
def test_nobody_is_found_in_published_files(table, r, tmp_path):
    release = shoal.anonymize(table, shoal.ForegroundSafe(value=LOW_EDUCATION, r=r), seed=1)
    folder = release.write(tmp_path / "release")
    attack = shoal.attacks.Foreground(value=LOW_EDUCATION, r=r, adversary="paper")
    (found,) = shoal.attack(folder, attack)
    assert found.n_breached == 0
    assert found.posterior.max() <= 1 / r + 1e-9
    # Anatomy, beside it, gives away nearly all who have the value.
    if r == 2:
        usual = shoal.anonymize(table, shoal.Anatomy(ell=r, protect=LOW_EDUCATION), seed=1)
        assert shoal.attack(usual, attack)["foreground"].n_breached > 1000
