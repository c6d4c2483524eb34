"""Attacks on a sample of people, if everybody would be too much work."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import pyarrow.parquet as parquet
import pytest

import shoal
from shoal.attacks import Belief, Foreground, SlicedLinkage
from shoal.core.attack import View
from shoal.core.progress import silent
from shoal.core.sampling import draw_sample
from shoal.workflow import staging as job
from shoal.workflow.gate import Outcome, gate_warnings, judge, pass_gate
from shoal.workflow.make import ConfiguredAttack
from shoal.workflow.people import locate_people, rows_in_buckets

N_ROWS = 900
METHODS = {
    "bucketized": shoal.Anatomy(ell=2),
    "generalized": shoal.Mondrian(k=6),
    "sliced": shoal.Slicing(
        ell=2,
        columns=[
            ["age", "postcode"],
            ["education", "marital_status", "employment", "income"],
            ["sex", "condition"],
        ],
    ),
}
ATTACK = Foreground(value="asthma", epsilon="1/5", r=4)


@pytest.fixture(scope="module")
def table():
    census = shoal.datasets.census(rows=N_ROWS, seed=5)
    given = census.schema
    schema = shoal.Schema(
        quasi=given.quasi,
        sensitive=given.sensitive,
        identifying=(*given.identifying, *given.insensitive),
        hierarchies=given.hierarchies,
        types=given.types,
        key=given.key,
    )
    return shoal.read(census, schema)


@pytest.fixture(scope="module", params=METHODS)
def release(request, table):
    return shoal.anonymize(table, METHODS[request.param], seed=2)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(job, "_FEWEST_SAMPLED", 100)


def work_for(release, attack, n_people):
    return attack.work_of(release.published, n_people)


def place_of(published, buckets):
    place = np.full(published.n_buckets, -1, dtype=np.int64)
    place[buckets] = np.arange(len(buckets))
    return place


def test_the_rows_of_some_buckets_are_those_of_all_in_them(release, table, tmp_path):
    """However the places of rows are known, and whichever buckets are asked for."""
    published = release.published
    written = shoal.open_release(release.write(tmp_path / "release"))
    everybody = locate_people(release, table)
    whole = rows_in_buckets(release, published, np.arange(published.n_buckets))
    bucket = dict(zip(whole.keys.tolist(), whole.place.tolist(), strict=True))
    assert len(bucket) == N_ROWS
    own = everybody.people.bucket[everybody.truth.cell]
    assert np.array_equal(whole.place, own)
    buckets = np.arange(0, published.n_buckets, 3)
    for known in (release, written):
        with contextlib.nullcontext(known.published) as counted:
            found = rows_in_buckets(known, counted, place_of(counted, buckets))
        expected = {key: at // 3 for key, at in bucket.items() if at % 3 == 0}
        assert dict(zip(found.keys.tolist(), found.place.tolist(), strict=True)) == expected
        assert (found.line is None) == (published.sliced is not None)
    sample = draw_sample(published.bucket_sizes, 200, np.random.default_rng(1))
    located = locate_people(release, table, sample)
    assert located.people.n_people == len(located.truth.cell) == sample.n_people
    assert set(located.people.bucket.tolist()) == set(sample.buckets.tolist())


def test_some_buckets_alone_are_a_release_of_their_own(release, table):
    published = release.published
    sample = draw_sample(published.bucket_sizes, 200, np.random.default_rng(1))
    place = sample.number(published.n_buckets)
    alone = published.only(place)
    assert np.array_equal(alone.bucket_sizes, sample.sizes)
    if published.sliced is not None:
        assert np.array_equal(alone.sliced.sizes, sample.sizes)
        return
    held = np.zeros((published.n_buckets, published.buckets.domain.size), dtype=int)
    held[published.buckets.bucket, published.buckets.value] = published.buckets.count
    left = np.zeros((alone.n_buckets, alone.buckets.domain.size), dtype=int)
    left[alone.buckets.bucket, alone.buckets.value] = alone.buckets.count
    assert np.array_equal(left, held[sample.buckets])
    whole = {
        tuple(line): n
        for line, n in zip(
            published.lines.codes.tolist(), published.lines.counts.tolist(), strict=True
        )
    }
    for (bucket, *quasi), n in zip(
        alone.lines.codes.tolist(), alone.lines.counts.tolist(), strict=True
    ):
        assert whole[(int(sample.buckets[bucket]), *quasi)] == n
    names = [published.lines.domains[0].text(int(bucket)) for bucket in sample.buckets]
    assert alone.lines.domains[0].texts.tolist() == names


def test_a_sample_is_attacked_as_its_buckets_alone_would_be(release, table):
    work = work_for(release, ATTACK, 300)
    (found,) = shoal.attack(release, ATTACK, work=work)
    assert found.sampled.n_all == N_ROWS
    assert 100 < found.n_people == found.sampled.n_people <= 300
    published = release.published
    sample = draw_sample(published.bucket_sizes, 300, release.making.secret.generator(job._LABEL))
    place = sample.number(published.n_buckets)
    located = locate_people(release, table, sample)
    people = replace(located.people, bucket=place[located.people.bucket])
    alone = ATTACK.run(View(published.only(place), people, work=work))
    expected = np.repeat(alone.posterior, alone.counts)
    attacked = np.repeat(found.posterior, found.counts)
    assert np.allclose(np.sort(attacked), np.sort(expected))
    # What the sample says holds for it: the interval is around its own number.
    assert found.n_breached == found.calibration.exposed
    least, most = found.sampled.at_risk.low, found.sampled.at_risk.high
    assert found.n_breached <= least <= found.sampled.at_risk.value <= most <= N_ROWS
    assert found.n_at_risk == most
    # Whoever was not attacked has no belief.
    nobody = found.counts == 0
    assert not found.posterior[nobody].any()
    assert not found.breached[nobody].any()


def test_the_same_work_attacks_the_same_people_and_more_work_more(release):
    few, again, more, all_ = (
        shoal.attack(release, ATTACK, work=work_for(release, ATTACK, n))["foreground"]
        for n in (200, 200, 500, N_ROWS)
    )
    assert few.to_dict() == again.to_dict()
    assert np.array_equal(few.counts, again.counts)
    assert np.all(few.counts <= more.counts)
    assert few.n_people < more.n_people < N_ROWS
    assert all_.sampled is None
    assert all_.n_people == N_ROWS
    assert not few.cut_short


@pytest.mark.parametrize("has_truth", [False, True])
def test_an_opened_release_is_sampled_too(release, table, tmp_path, has_truth):
    opened = shoal.open_release(release.write(tmp_path / "release"))
    work = work_for(release, ATTACK, 300)
    options = {"truth": table} if has_truth else {}
    (found,) = shoal.attack(opened, ATTACK, work=work, **options)
    assert 100 < found.sampled.n_people == found.n_people < N_ROWS
    assert (found.calibration is not None) == has_truth
    risk = parquet.read_table(tmp_path / "release.internal" / "risk.parquet").to_pylist()
    assert len(risk) == found.n_people
    assert len({line["row_key"] for line in risk}) == found.n_people
    assert sum(line["breached"] for line in risk) == found.n_breached


def test_linkage_of_slices_samples_people_and_keeps_the_release_whole(table):
    release = shoal.anonymize(table, METHODS["sliced"], seed=2)
    (whole,) = shoal.attack(release, SlicedLinkage())
    (found,) = shoal.attack(release, SlicedLinkage(), work=work_for(release, SlicedLinkage(), 300))
    is_there = found.counts > 0
    assert 100 < found.n_people <= 300
    assert np.allclose(found.posterior[is_there], whole.posterior[is_there])
    assert found.calibration is not None


def test_beliefs_of_a_sample_are_those_of_the_whole(table):
    release = shoal.anonymize(table, METHODS["bucketized"], seed=2)
    attack = Belief(max_posterior="1/2", prior=shoal.knowledge.prior_beliefs(table, 0.3))
    (whole,) = shoal.attack(release, attack)
    (found,) = shoal.attack(release, attack, work=work_for(release, attack, 300))
    is_there = found.counts > 0
    assert 100 < found.n_people <= 300
    assert np.allclose(found.posterior[is_there], whole.posterior[is_there])
    assert found.calibration is not None


def test_more_people_than_can_be_scored_are_sampled_and_not_left_unscored(release, monkeypatch):
    monkeypatch.setattr(job, "_MOST_SCORED", 400)
    (found,) = shoal.attack(release, ATTACK)
    assert found.sampled.n_people <= 400
    assert found.calibration is not None


def test_other_people_are_never_a_sample(release, table):
    if release.published.sliced is not None:
        return
    (found,) = shoal.attack(release, ATTACK, people=table, work=work_for(release, ATTACK, 200))
    assert found.sampled is None
    assert found.n_people == N_ROWS


def test_the_gate_judges_the_upper_end_and_says_so(release):
    entry = ConfiguredAttack(
        name="foreground", parameters={"value": ["asthma"], "epsilon": "1/5", "r": 4}
    )
    others = dict.fromkeys(["homogeneity", "linkage", "membership", "sliced_linkage"], "not here")
    work = work_for(release, ATTACK, 300)
    (judged, *_), _ = judge(release, [entry], others, silent, work)
    assert judged.outcome is Outcome.REPORTED
    high, value = judged.n_at_risk, int(judged.sampled.at_risk.value)
    assert value < high
    passing, failing = (replace(judged, max_people=most) for most in (high, high - 1))
    assert passing.outcome is Outcome.PASSED
    assert failing.outcome is Outcome.FAILED
    assert failing.is_only_limited
    assert not replace(judged, max_people=value - 1).is_only_limited
    assert "by a sample of" in str(failing)
    assert f"at most {high} (95 %)" in judged.line
    stated = judged.to_dict()
    assert stated["sampled"]["of"] == N_ROWS
    assert stated["at_risk"] == stated["sampled"]["at_risk"]["high"] == high
    assert any("attacked a sample of" in said for said in gate_warnings([passing]))
    with pytest.raises(shoal.errors.GuaranteeError) as caught:
        pass_gate([failing], release.manifest, None)
    assert "--attack-work" in caught.value.hint


def test_a_sampled_attack_is_published_with_its_sample(table, tmp_path):
    method = METHODS["generalized"]
    release = shoal.anonymize(table, method, seed=2)
    folder = tmp_path / "census"
    published = shoal.publish(
        table,
        method=method,
        folder=folder,
        attacks={
            "foreground": {"value": ["asthma"], "epsilon": "1/5", "r": 4, "max_people": N_ROWS}
        },
        attack_work=work_for(release, ATTACK, 300),
        measures=[],
    )
    (judged,) = [one for one in published.judgements if one.attack == "foreground"]
    assert judged.sampled.n_people < N_ROWS
    report = (published.internal / "report.html").read_text()
    assert "The attack looked at a sample:" in report
    risk = parquet.read_table(published.internal / "risk.parquet").to_pylist()
    n_lines = sum(line["attack"] == "foreground" for line in risk)
    assert n_lines == judged.sampled.n_people
    assert sum(line["attack"] == "linkage" for line in risk) == N_ROWS
    public = "".join(path.read_text() for path in folder.rglob("*.*"))
    assert "sample of" not in public
