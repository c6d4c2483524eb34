"""`verify` and `attack`: of releases, and of files of other tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def test_verify_a_release(run, released):
    result = run("verify", "release")
    assert result.exit_code == 0
    assert "Verified: 40 rows" in result.stdout
    assert "Checked as sensitive: 'disease'." in result.stdout
    assert "Checked as insensitive: no column." in result.stdout
    document = json.loads(run("verify", "release", "--json").stdout)
    assert document["status"] == "verified"
    assert document["roles"]["quasi-identifying"] == ["age", "zip"]


def test_verify_a_release_that_was_changed(run, released):
    table = Path("release/table.csv")
    table.write_text(table.read_text() + "x\n")
    result = run("verify", "release")
    assert result.exit_code == 7
    assert "table.csv was changed" in result.stdout
    assert json.loads(run("verify", "release", "--json").stdout)["status"] == "failed"


def test_verify_partly_has_an_exit_code_of_its_own(run, released, monkeypatch):
    from shoal.release import verify

    partly = verify.Verification(verify.Status.PARTLY, (), (), 40, 8)
    monkeypatch.setattr(verify, "verify", lambda *_, **__: partly)
    result = run("verify", "release")
    assert result.exit_code == 9
    assert "Partly verified" in result.stdout


def test_verify_what_is_no_release(run, tmp_path):
    assert run("verify", tmp_path).exit_code == 5
    assert run("verify", "nothing").exit_code == 5


def test_verify_a_file_of_another_tool(run, released):
    columns = ("--quasi", "age,zip", "--sensitive", "disease")
    assert run("verify", "release/table.csv", *columns, "--k", "4", "--ell", "2").exit_code == 0
    result = run("verify", "release/table.csv", *columns, "--k", "41")
    assert result.exit_code == 7
    assert "k=" in result.stdout


@pytest.mark.parametrize(
    "claims",
    [
        ["--ell", "2", "--diversity", "frequency"],
        ["--ell", "1.5", "--diversity", "entropy"],
        ["--ell", "2", "--diversity", "recursive", "--c", "4"],
        ["--t", "0.9"],
        ["--t", "0.9", "--distance", "ordered", "--order", "a,b,c,d"],
        ["--t", "0.9", "--distance", "hierarchical", "--hierarchy", "flat"],
        ["--alpha", "0.9", "--k", "2"],
    ],
    ids=" ".join,
)
def test_verify_every_guarantee_of_a_file(run, write_csv, claims):
    rows = [[i // 8, "abcd"[i % 4]] for i in range(40)]
    source = write_csv(rows, header=["age", "disease"])
    result = run("verify", source, "--quasi", "age", "--sensitive", "disease", *claims)
    assert result.exit_code == 0, result.output


def test_verify_a_file_at_levels(run, write_csv):
    rows = [[age, age * 1000 + step] for age in (30, 40) for step in range(1, 9)]
    source = write_csv(rows, header=["age", "income"])
    claim = ("verify", source, "--quasi", "age", "--sensitive", "income", "--ell", "2")
    assert run(*claim).exit_code == 0
    assert run(*claim, "--levels", "income=values").exit_code == 0
    apart = run(*claim, "--levels", "income=intervals:35000")
    assert apart.exit_code == 7
    assert "ell=1" in apart.stdout
    assert run(*claim, "--levels", "income=intervals:30005,40005").exit_code == 0
    tree = ("--hierarchy", "intervals:35000")
    assert run(*claim, *tree, "--levels", "income=node_level:1").exit_code == 7


def test_levels_of_a_file_that_make_no_sense(run, write_csv):
    claim = ("verify", write_csv(), "--quasi", "age", "--sensitive", "disease", "--ell", "2")
    assert run(*claim, "--levels", "disease").exit_code == 2
    assert run(*claim, "--levels", "age=quantiles:2").exit_code == 4
    assert run(*claim, "--levels", "disease=node_level:1").exit_code == 4


@pytest.mark.parametrize(
    "claims",
    [
        [],
        ["--k", "2"],
        ["--quasi", "age"],
        ["--quasi", "age", "--ell", "2"],
        ["--quasi", "age", "--k", "0"],
        ["--quasi", "age", "--sensitive", "disease", "--t", "2"],
        ["--quasi", "age", "--sensitive", "disease", "--c", "2"],
        ["--quasi", "age", "--sensitive", "disease", "--ell", "2", "--diversity", "odd"],
        ["--quasi", "age", "--sensitive", "disease", "--ell", "2", "--c", "2"],
        ["--quasi", "age", "--sensitive", "disease", "--ell", "2.5"],
        ["--quasi", "age", "--sensitive", "disease", "--alpha", "0", "--k", "2"],
    ],
    ids=" ".join,
)
def test_claims_that_make_no_sense(run, write_csv, claims, marker):
    result = run("verify", write_csv(), *claims)
    assert result.exit_code == 3
    assert marker not in result.output


def test_claims_about_a_release_are_refused(run, released):
    result = run("verify", "release", "--k", "2")
    assert result.exit_code == 3
    assert "states its own guarantees" in result.stderr
    result = run("verify", "release", "--levels", "disease=values")
    assert result.exit_code == 3
    assert "levels has no meaning" in result.stderr


# attack


def test_attack_says_that_it_shows_values(run, released, marker):
    result = run("attack", "release")
    assert result.exit_code == 0, result.output
    before, notice, after = result.stdout.partition("The following shows values of the table")
    assert notice
    assert marker not in before
    assert marker in after
    assert Path("release.internal/risk.parquet").exists()


def test_attack_with_parameters(run, released):
    document = run("attack", "release", "-a", "linkage", "-p", "limit=0.01", "--json").stdout
    (found,) = json.loads(document)["attacks"]
    assert found["at_risk"] == 40
    both = ("-a", "linkage", "-a", "homogeneity", "-p", "linkage.limit=0.01", "--json")
    found = json.loads(run("attack", "release", *both).stdout)["attacks"]
    assert [entry["limit"] for entry in found] == ["0.01", "anything short of certainty"]


def test_attack_says_how_right_it_is_where_the_table_is_named(run, write_csv, marker):
    source = write_csv()
    Path("shoal.toml").write_text(
        f'[table]\nsource = "{source}"\n[columns]\nidentifying = "name"\n'
        'quasi = ["age", "zip"]\n'
        'sensitive = "disease"\n[method]\nname = "anatomy"\nell = 2\n'
    )
    published = run("publish", "shoal.toml", "--details")
    assert published.exit_code == 0, published.output
    assert "calibration" in published.stdout
    assert marker not in published.output
    chosen = ("attack", "release", "-a", "foreground", "--json")
    (plain,) = json.loads(run(*chosen).stdout)["attacks"]
    (scored,) = json.loads(run(*chosen, "--truth", "shoal.toml").stdout)["attacks"]
    assert "precision" not in plain["figures"]
    assert 0 <= scored["figures"]["precision"] <= 1
    assert scored["sections"][-1]["title"] in ("calibration", "recall by subgroup")
    assert scored["people"] == plain["people"]


def test_attack_on_given_people_with_a_population(run, released, write_csv, marker):
    some = write_csv(
        [[20, f"{marker}0"], [21, f"{marker}1"]], header=["age", "zip"], name="some.csv"
    )
    everybody = write_csv(
        [[20 + i % 7, f"{marker}{i % 3}"] for i in range(400)], ["age", "zip"], "all.csv"
    )
    result = run("attack", "release", "--people", some, "--population", everybody, "--json")
    assert result.exit_code == 0, result.output
    found = {entry["attack"]: entry for entry in json.loads(result.stdout)["attacks"]}
    assert found["linkage"]["people"] == 2
    assert found["linkage"]["figures"]["k-map"] >= 4


def test_attack_parameter_without_its_attack(run, released):
    assert run("attack", "release", "-p", "limit=0.1").exit_code == 2


@pytest.mark.parametrize(
    "options",
    [["-a", "magic"], ["-a", "linkage", "-p", "limits=1"], ["-a", "linkage", "-p", "limit=2"]],
    ids=" ".join,
)
def test_attack_that_does_not_exist(run, released, options):
    assert run("attack", "release", *options).exit_code == 3
