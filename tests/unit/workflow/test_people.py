from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import shoal
from shoal.attacks import Foreground
from shoal.core.errors import DataError, ParameterError
from shoal.workflow.people import attack_and_score, locate_people


@pytest.fixture(scope="module")
def table():
    return shoal.read(shoal.datasets.census(rows=600, seed=5))


METHODS = [
    shoal.Anatomy(ell=2),
    shoal.Mondrian(k=6),
    shoal.Mondrian(ell=3, publish="bucketized"),
]


def rows_of(table):
    rows = table.row_codes(10**6)
    texts = [domain.labels() for domain in rows.domains]
    columns = {
        name: [texts[place][code] for code in rows.codes[:, place].tolist()]
        for place, name in enumerate(rows.columns)
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize(
    "method", METHODS, ids=lambda method: f"{method.shape} {type(method).__name__}"
)
@pytest.mark.parametrize("is_written", [False, True])
def test_everybody_is_put_into_their_own_bucket(method, is_written, table, tmp_path):
    release = shoal.anonymize(table, method, seed=2)
    if is_written:
        release = shoal.open_release(release.write(tmp_path / "release"))
    located = locate_people(release, table if is_written else None)
    published = release.published
    people = located.people
    assert people.n_people == 600
    # Every bucket has as many of each value as the release says.
    buckets = published.buckets
    held = np.zeros((buckets.n_buckets, buckets.domain.size), dtype=int)
    np.add.at(held, (people.bucket[located.truth.cell], located.truth.values[0]), 1)
    stated = np.zeros_like(held)
    stated[buckets.bucket, buckets.value] = buckets.count
    assert np.array_equal(held, stated)
    # And exactly the people of the table.
    labels = [domain.labels() for domain in people.quasi.domains]
    found = sorted(
        [label[code] for label, code in zip(labels, row, strict=True)]
        + [buckets.domain.text(value)]
        for row, value in zip(
            people.quasi.codes[located.truth.cell].tolist(),
            located.truth.values[0].tolist(),
            strict=True,
        )
    )
    schema = table.schema
    wanted = [*schema.quasi, *schema.sensitive]
    assert found == sorted([row[name] for name in wanted] for row in rows_of(table))


@pytest.mark.parametrize("method", METHODS[:2], ids=lambda method: str(method.shape))
def test_scores_are_what_the_truth_says(method, table):
    release = shoal.anonymize(table, method, seed=2)
    domain = release.published.buckets.domain
    value = domain.text(int(release.published.buckets.totals.argmin()))
    attack = Foreground(value=value, r=4, epsilon="1/8", adversary="paper")
    found = attack_and_score(release, attack)
    located = locate_people(release)
    has = located.truth.values[0] == domain.codes_of([value])[0]
    p = found.posterior[located.truth.cell]
    flagged = p > 1 / 4 + 1e-9
    assert found.calibration.believed == flagged.sum()
    assert found.n_breached == found.calibration.exposed
    assert found.headline["people who have it"] == has.sum()
    assert found.headline["recall"] == pytest.approx((flagged & has).sum() / has.sum())
    assert found.headline["false flags"] == pytest.approx((flagged & ~has).sum() / (~has).sum())
    assert found.headline["average probability"] == pytest.approx(p[has].mean())
    assert found.headline["mean relative error of chances"] >= 0
    titles = [section.title for section in found.sections]
    assert titles[-2:] == ["calibration", "recall by subgroup"]
    calibration = found.sections[-2]
    assert sum(row[1] for row in calibration.rows) == 600


def test_of_all_values_only_precision_and_calibration_are_said(table):
    release = shoal.anonymize(table, METHODS[0], seed=2)
    found = attack_and_score(release, Foreground(r=2, epsilon="1/8"))
    located = locate_people(release)
    right = located.truth.values[0] == found.value[located.truth.cell]
    flagged = found.posterior[located.truth.cell] > 1 / 2 + 1e-9
    assert found.headline["precision"] == pytest.approx((right & flagged).sum() / flagged.sum())
    assert "recall" not in found.headline


def test_an_opened_release_needs_the_table_and_the_internal_folder(table, tmp_path):
    folder = shoal.anonymize(table, METHODS[0], seed=2).write(tmp_path / "release")
    opened = shoal.open_release(folder)
    with pytest.raises(ParameterError, match="without the table"):
        locate_people(opened)
    opened = replace(opened, internal=None)
    with pytest.raises(DataError, match="internal folder, which has the places of people"):
        locate_people(opened, table)
