"""Facts about single people in attacks on a release: while it is made and later."""

from __future__ import annotations

import duckdb
import pyarrow
import pytest

import shoal
from shoal.attacks import Background
from shoal.knowledge import Fact, Knowledge

COLUMNS = {
    "key": ["p1", "p2", "p3", "p4", "p5", "p6"],
    "sex": ["F", "F", "F", "M", "M", "M"],
    "disease": ["flu", "flu", "cold", "cold", "gout", "gout"],
}
SCHEMA = shoal.Schema(identifying="key", quasi="sex", sensitive="disease", key="key")
FACTS = [Fact(person="p1", value="cold"), Fact(person="p4", value="gout")]


@pytest.fixture(scope="module")
def table():
    return shoal.read(pyarrow.table(COLUMNS), SCHEMA)


@pytest.fixture
def release(table):
    """Two buckets, one for each sex."""
    return shoal.anonymize(table, shoal.Mondrian(k=3, ell=2, publish="bucketized"), seed=1)


@pytest.fixture
def known():
    return Knowledge("disease", facts=FACTS)


def check(found):
    """p1 has flu, so p2 and p3 share flu and cold; p4 has the cold, the others gout."""
    assert found.unresolved == ()
    assert found.n_people == 6
    assert found.headline["facts"] == 2
    assert found.headline["people certain"] == 4
    assert found.n_breached == 4


def test_facts_are_used_while_a_release_is_made(release, known):
    check(shoal.attack(release, Background(rules=known, ell=2))["background"])
    check(shoal.attack(release, Background(ell=2), knowledge=known)["background"])


def test_facts_are_used_on_a_folder_and_everybody_has_a_line_in_the_risk_file(
    release, known, tmp_path
):
    folder = release.write(tmp_path / "release")
    check(shoal.attack(folder, Background(ell=2), knowledge=known)["background"])
    risk = tmp_path / "release.internal" / "risk.parquet"
    query = f"SELECT row_key, value, posterior, breached FROM '{risk}' ORDER BY row_key"
    rows = duckdb.sql(query).fetchall()
    assert rows == [
        ("p1", "flu", 1.0, True),
        ("p2", None, 0.5, False),
        ("p3", None, 0.5, False),
        ("p4", "cold", 1.0, True),
        ("p5", "gout", 1.0, True),
        ("p6", "gout", 1.0, True),
    ]


def test_people_given_with_their_keys_are_named_by_facts(release, known, table, tmp_path):
    folder = release.write(tmp_path / "release")
    attack = Background(ell=2)
    check(shoal.attack(folder, attack, knowledge=known, people=table)["background"])
    frame = pyarrow.table({name: COLUMNS[name] for name in ("key", "sex")})
    by_key = shoal.attack(folder, attack, knowledge=known, people=frame, key="key")
    check(by_key["background"])
    without = shoal.attack(folder, attack, knowledge=known, people=frame)["background"]
    assert without.n_breached == 0
    assert len(without.unresolved) == 2


def test_the_internal_report_tells_further_facts_and_what_was_not_resolved(release, tmp_path):
    lost = Knowledge("disease", facts=[*FACTS, Fact(person="p9", value="flu")])
    report = shoal.attack(release, Background(rules=lost, ell=2))
    release.write(tmp_path / "release", findings=report)
    report = (tmp_path / "release.internal" / "report.html").read_text()
    assert "fact 3: no row has that key" in report
    assert "Further facts that would make her certain" in report
