"""The foreground attack on sliced releases: everybody in their own bucket."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pyarrow.parquet as parquet
import pytest

import shoal
from shoal.attacks import Foreground
from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import DataError, ParameterError
from shoal.foreground.additive import fit_additive
from shoal.foreground.expectation_maximization import Target
from shoal.foreground.pieces import Pieces
from shoal.locating.exposed import Exposed
from shoal.workflow.people import attack_and_score, locate_people

N_ROWS = 240
QUASI = ["town", "sex", "job"]


def columns_of(seed=3):
    """Draw a table in which women of one job have the flu more often than others."""
    drawn = np.random.default_rng(seed)
    town = drawn.choice(["a", "b"], N_ROWS)
    sex = drawn.choice(["F", "M"], N_ROWS)
    job = drawn.choice(["nurse", "clerk", "smith"], N_ROWS)
    chance = np.where((sex == "F") & (job == "nurse"), 0.8, 0.2)
    disease = np.where(drawn.random(N_ROWS) < chance, "flu", drawn.choice(["cold", "gout"], N_ROWS))
    return {
        "key": [f"p{row:03}" for row in range(N_ROWS)],
        "town": town,
        "sex": sex,
        "job": job,
        "disease": disease,
        "salary": drawn.choice(["low", "high"], N_ROWS),
    }


COLUMNS = columns_of()
SCHEMA = shoal.Schema(quasi=QUASI, sensitive=["disease", "salary"], key="key")
# Rows at a median are drawn apart, so that people of one kind are in several.
METHOD = shoal.Slicing(
    columns=[["sex", "job"], ["town", "disease"], ["salary"]], ell="1.1", cuts="relaxed"
)


@pytest.fixture(scope="module")
def table():
    return shoal.read({name: list(map(str, given)) for name, given in COLUMNS.items()}, SCHEMA)


@pytest.fixture(scope="module")
def written(table, tmp_path_factory):
    release = shoal.anonymize(table, METHOD, seed=4)
    return release.write(tmp_path_factory.mktemp("sliced") / "release", accept_risk="a test")


@pytest.fixture(scope="module")
def placement(written):
    """Say in which bucket everybody is, by the maker's own file."""
    folder = written.parent / "release.internal"
    read = parquet.read_table(folder / "placement.parquet").to_pydict()
    return dict(zip(read["row_key"], read["bucket"], strict=True))


def slow_beliefs(placement, value, attribute, beside):
    """Give everybody's p(t:x), from the rows of the table.

    A bucket is parted by what is known in the sensitive column.
    """
    numbers = {}
    bucket = [
        numbers.setdefault((placement[key], *(COLUMNS[name][row] for name in beside)), len(numbers))
        for row, key in enumerate(COLUMNS["key"])
    ]
    domains = [Domain.of_texts(name, sorted(set(COLUMNS[name]))) for name in (*QUASI, attribute)]
    codes = np.column_stack(
        [domain.codes_of(list(map(str, COLUMNS[domain.column]))) for domain in domains]
    )
    known = Cells(tuple(domains[:3]), codes[:, :3], np.ones(N_ROWS, dtype=np.int64))
    exposed = Exposed.of_rows(
        known.domains, codes[:, :3], np.array(bucket), codes[:, 3], domains[3]
    )
    _, found = fit_additive(Target.of(exposed, domains[3].codes_of([value])))
    looks = {tuple(row): number for number, row in enumerate(exposed.looks.codes.tolist())}
    entry = {
        (int(exposed.bucket[place]), int(exposed.look[place])): place
        for place in range(len(exposed.look))
    }
    return {
        key: found.p[entry[bucket[row], looks[tuple(codes[row, :3].tolist())]]]
        for row, key in enumerate(COLUMNS["key"])
    }


CASES = [("flu", "disease", ["town"]), ("low", "salary", [])]


@pytest.mark.parametrize(("value", "attribute", "beside"), CASES)
@pytest.mark.parametrize("has_truth", [False, True])
def test_everybody_is_attacked_in_their_own_bucket(
    written, placement, table, value, attribute, beside, has_truth
):
    attack = Foreground(value=value, r=2, epsilon="1/8")
    (found,) = shoal.attack(written, attack, truth=table if has_truth else None)
    slow = slow_beliefs(placement, value, attribute, beside)
    folder = written.parent / "release.internal"
    risk = parquet.read_table(folder / "risk.parquet").to_pylist()
    lines = {line["row_key"]: line for line in risk if line["attack"] == "foreground"}
    assert len(lines) == N_ROWS
    assert {key: line["posterior"] for key, line in lines.items()} == pytest.approx(slow, abs=1e-6)
    flagged = [line for line in lines.values() if line["breached"]]
    assert found.n_breached == len(flagged) > 0
    assert {line["value"] for line in flagged} == {f"{attribute}: {value}"}
    assert found.n_people == N_ROWS


def test_a_kind_of_people_in_several_buckets_has_a_belief_in_each(written):
    (found,) = shoal.attack(written, Foreground(value="flu", epsilon="1/8"))
    n_kinds = len(set(zip(*(COLUMNS[name] for name in QUASI), strict=True)))
    assert len(found.posterior) > n_kinds
    assert found.is_by_place
    (mixed,) = shoal.attack(written, Foreground(value="flu", epsilon="1/8", locate="matching"))
    assert mixed.worst < found.worst
    # The mean over everybody is what all buckets hold, wherever people are sought.
    means = [(one.posterior * one.counts).sum() for one in (found, mixed)]
    assert means == pytest.approx([np.sum(COLUMNS["disease"] == "flu")] * 2)


def test_people_who_are_given_are_any_of_those_like_them(written, placement):
    people = {"town": ["a", "b"], "sex": ["F", "M"], "job": ["nurse", "pilot"]}
    (found,) = shoal.attack(written, Foreground(value="flu", epsilon="1/8"), people=people)
    slow = slow_beliefs(placement, "flu", "disease", ["town"])
    alike = [
        slow[key]
        for row, key in enumerate(COLUMNS["key"])
        if [COLUMNS[name][row] for name in QUASI] == ["a", "F", "nurse"]
    ]
    assert found.posterior.tolist() == pytest.approx([np.mean(alike), 0.0], abs=1e-6)
    assert found.headline["people not found"] == 1


def test_without_the_internal_folder_buckets_are_not_known(written):
    opened = replace(shoal.open_release(written), internal=None)
    people = {"town": ["a"], "sex": ["F"], "job": ["nurse"]}
    assert "foreground" not in {found.attack for found in shoal.attack(opened, people=people)}
    with pytest.raises(ParameterError, match="A sliced release does not say"):
        shoal.attack(opened, Foreground(), people=people)


@pytest.mark.parametrize("is_written", [False, True])
def test_the_truth_is_joined_person_by_person(table, written, is_written):
    release = shoal.anonymize(table, METHOD, seed=4)
    if is_written:
        release = shoal.open_release(written)
    attack = Foreground(value="flu", r=2, epsilon="1/8")
    located = locate_people(release, table)
    found = attack_and_score(release, attack, table)
    flu = release.published.sliced.domain("disease").codes_of(["flu"])[0]
    has = located.truth.values[0] == flu
    assert has.sum() == np.sum(COLUMNS["disease"] == "flu")
    p = found.posterior[located.truth.cell]
    flagged = p > 0.5 + 1e-9
    assert found.headline["recall"] == pytest.approx((flagged & has).sum() / has.sum())
    assert found.headline["precision"] == pytest.approx((flagged & has).sum() / flagged.sum())
    assert found.headline["average probability"] == pytest.approx(p[has].mean())
    # Exactly the people of the table, each with their own values.
    quasi = located.people.quasi
    shown = Counter(
        tuple(
            domain.text(code)
            for domain, code in zip(quasi.domains, quasi.codes[cell].tolist(), strict=True)
        )
        for cell in located.truth.cell.tolist()
    )
    wanted = zip(*(map(str, COLUMNS[name]) for name in quasi.columns), strict=True)
    assert shown == Counter(wanted)
    by_bucket = defaultdict(int)
    for cell in located.truth.cell.tolist():
        by_bucket[int(located.people.bucket[cell])] += 1
    assert [by_bucket[number] for number in range(release.published.n_buckets)] == (
        release.published.sliced.sizes.tolist()
    )


def test_another_table_is_refused(written, table):
    fewer = {name: list(map(str, given))[:-1] for name, given in COLUMNS.items()}
    with pytest.raises(DataError, match="not the one that the release was made from"):
        shoal.attack(written, Foreground(), truth=shoal.read(fewer, SCHEMA))
    with pytest.raises(ParameterError, match="everybody in the release"):
        shoal.attack(written, Foreground(), truth=table, people=table)


def test_of_too_many_sets_the_shortest_are_looked_at_and_it_is_said(written, placement):
    # People of one bucket who are alike are one entry.
    alike = {
        (placement[key], *(COLUMNS[column][row] for column in QUASI))
        for row, key in enumerate(COLUMNS["key"])
    }
    work = Pieces(3, 4).cost(len(alike))
    (found,) = shoal.attack(written, Foreground(epsilon="1/4"), work=work)
    assert found.cut_short == "3 attribute sets were left out"
    assert found.headline["values attacked"] == "3 of 3"
    assert found.headline["attribute sets"] == 4
    assert found.headline["attribute sets left out"] == 3
    (named,) = shoal.attack(written, Foreground(value="flu", epsilon="1/4"))
    assert named.headline["attribute sets"] == 7
