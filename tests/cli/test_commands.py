"""`publish`, `anonymize` and `demo`, and what all commands share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

CONFIGURATION = """
[table]
source = "people.csv"

[columns]
identifying = ["name"]
quasi = ["age", "zip"]
sensitive = "disease"

[method]
name = "mondrian"
k = 4
ell = 2
diversity = "frequency"

[attacks.homogeneity]
max_people = {max_people}
limit = "{limit}"
"""


@pytest.fixture
def configured(write_csv, tmp_path):
    def write(max_people: int = 0, limit: str = "1/2", more: str = "") -> Path:
        write_csv()
        path = tmp_path / "shoal.toml"
        path.write_text(CONFIGURATION.format(max_people=max_people, limit=limit) + more)
        return path

    return write


# publish


def test_publish_prints_the_gate_and_where_the_release_is(run, configured, marker):
    result = run("publish", configured())
    assert result.exit_code == 0, result.output
    for words in ("homogeneity", "passed", "not judged", "release.internal"):
        assert words in result.stdout
    assert "passed (at most 0)" not in result.stdout
    detailed = run("publish", configured(), "--details", "--replace").stdout
    for words in ("passed (at most 0)", "reported, not judged", "generalized loss"):
        assert words in detailed
    assert marker not in result.output + detailed


def test_publish_as_json(run, configured):
    document = json.loads(run("publish", configured(), "--json").stdout)
    assert document["sealed"] is True
    verdicts = {entry["attack"]: entry["verdict"] for entry in document["gate"]}
    assert verdicts.pop("homogeneity") == "passed"
    assert set(verdicts.values()) == {"reported, not judged"}


def test_failed_gate_leaves_nothing(run, configured, listing, marker):
    path = configured(limit="1/4")
    before = listing()
    result = run("publish", path)
    assert result.exit_code == 7
    assert listing() == before
    assert "✗ homogeneity  failed" in result.stdout
    assert "failed (at most 0)" in run("publish", path, "--details").stdout
    assert "people at risk, 0 allowed" in result.stderr
    assert marker not in result.output
    error = json.loads(run("publish", path, "--json").stdout)["error"]
    assert error["class"] == "GuaranteeError"
    assert error["gate"][0]["verdict"] == "failed"
    assert f"{error['gate'][0]['at_risk']} people at risk, 0 allowed" in error["fact"]


def test_a_limit_that_every_release_exceeds_is_said_to_mean_nothing(
    run, configured, listing, marker
):
    path = configured(limit="1/100")
    before = listing()
    result = run("publish", path)
    assert (result.exit_code, listing()) == (7, before)
    assert "its limit means nothing, because the column has 4 values" in result.stderr
    assert "protect" in result.stderr
    assert "failed" in result.stdout
    detailed = run("publish", path, "--details").stdout
    assert "failed: the limit means nothing" in " ".join(detailed.split())
    assert marker not in result.output
    (first, *_) = json.loads(run("publish", path, "--json").stdout)["error"]["gate"]
    assert (first["verdict"], first["at_risk"]) == ("failed: the limit means nothing", 40)
    assert "4 values" in first["meaningless"]


def test_an_attack_without_a_limit_is_not_judged_in_text_or_json(run, configured):
    path = configured()
    text = path.read_text()
    path.write_text(
        text.replace('name = "mondrian"\nk = 4\n', 'name = "anatomy"\n').replace(
            'diversity = "frequency"\n', ""
        )
    )
    shown = run("publish", path)
    assert shown.exit_code == 0, shown.output
    words = " ".join(shown.stdout.split())
    assert "0 of 40 people at risk; at worst" not in words
    gate = json.loads(run("publish", path, "--replace", "--json").stdout)["gate"]
    linkage = {entry["attack"]: entry for entry in gate}["linkage"]
    assert linkage["at_risk"] is None
    assert "anybody can see who is in the table" in linkage["found"]
    found = json.loads(run("attack", "release", "--json").stdout)["attacks"]
    assert {one["attack"]: one["at_risk"] for one in found}["linkage"] is None


def test_publish_warns_loudly_where_nothing_is_judged(run, configured):
    path = configured()
    path.write_text(path.read_text().split("[attacks.homogeneity]")[0])
    planned = run("publish", path, "--dry-run")
    assert "No attack is judged" in planned.stderr
    result = run("publish", path)
    assert result.exit_code == 0
    assert "Warning: No attack is judged" in result.stderr
    document = json.loads(run("publish", path, "--replace", "--json").stdout)
    assert any("No attack is judged" in warning for warning in document["warnings"])


def test_an_attack_is_left_out_with_a_reason_alone(run, configured, tmp_path):
    left_out = "[attacks.membership]\nrun = false\n"
    assert run("publish", configured(more=left_out)).exit_code == 3
    reason = 'reason = "no list of people exists"\n'
    planned = run("publish", configured(more=left_out + reason), "--dry-run")
    assert "'membership' would not be run" in planned.stderr
    result = run("publish", configured(more=left_out + reason))
    assert result.exit_code == 0, result.output
    assert "not run no list of people exists" in " ".join(result.stdout.split())
    record = json.loads((tmp_path / "release.internal" / "record.json").read_text())
    assert record["gate"]["not_run"] == {"membership": "no list of people exists"}
    assert "membership" not in record["attacks"]
    for path in (tmp_path / "release").rglob("*.*"):
        assert "no list of people" not in path.read_text()
    judged = run("publish", configured(more=left_out + reason + "limit = 0.6\n"))
    assert judged.exit_code == 3
    assert "cannot be left out" in judged.stderr


def test_accepted_risk_is_in_the_internal_record_only(run, configured, tmp_path):
    result = run("publish", configured(limit="1/4"), "--accept-risk", "approved by the board")
    assert result.exit_code == 0
    assert "Warning" in result.stderr
    record = (tmp_path / "release.internal" / "record.json").read_text()
    assert "approved by the board" in record
    assert "people at risk, 0 allowed" in record
    for path in (tmp_path / "release").rglob("*.*"):
        assert "approved" not in path.read_text()


def test_accepted_risk_needs_a_reason(run, configured, listing):
    path = configured(limit="1/100")
    before = listing()
    assert run("publish", path, "--accept-risk", " ").exit_code == 3
    assert listing() == before


def test_seed_is_refused_without_an_accepted_risk(run, configured, tmp_path):
    path = configured(more="[release]\nseed = 7\n")
    result = run("publish", path)
    assert result.exit_code == 3
    assert "--accept-risk" in result.stderr
    assert run("publish", path, "--accept-risk", "a test").exit_code == 0
    manifest = json.loads((tmp_path / "release" / "manifest.json").read_text())
    assert manifest["test"] is manifest["sealed"] is True


def test_publishing_the_same_table_again_warns(run, configured):
    path = configured()
    run("publish", path)
    result = run("publish", path, "--out", "second")
    assert result.exit_code == 0
    assert "'release' was made from this same table" in result.stderr
    again = json.loads(run("publish", path, "--replace", "--json").stdout)
    (warning,) = again["warnings"]
    assert "'release', 'second' were made from this same table" in warning


def test_dry_run_writes_nothing_and_says_what_would_be_done(run, configured, listing, marker):
    path = configured()
    before = listing()
    result = run("publish", path, "--dry-run")
    assert result.exit_code == 0, result.output
    assert listing() == before
    for words in (
        "mondrian",
        "every combination of quasi-identifiers is shared by at least 4 rows",
        "It does not hide who is in the table",
        "homogeneity",
        "release.internal",
        "Nothing was written",
    ):
        assert words in " ".join(result.stdout.split())
    assert marker not in result.output
    document = json.loads(run("publish", path, "--dry-run", "--json").stdout)
    assert document["rows"] == 40
    assert document["estimate"]["seconds"] > 0


def test_dry_run_finds_what_would_fail(run, configured):
    path = configured()
    path.write_text(path.read_text().replace('"zip"', '"zap"'))
    assert run("publish", path, "--dry-run").exit_code == 4


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"zip"', '"zap"'),
        ("k = 4", "k = 400"),
        ("k = 4", "kk = 4"),
        (
            "[attacks.homogeneity]",
            "[attacks.sliced_linkage]\nmax_people = 0\n[attacks.homogeneity]",
        ),
        ("[attacks.homogeneity]", "[attacks.homogenity]"),
        ("[attacks.homogeneity]", "[release]\nseed = 7\n[attacks.homogeneity]"),
        ("[attacks.homogeneity]", '[release]\nfolder = "taken"\n[attacks.homogeneity]'),
        ("[attacks.homogeneity]", '[release]\nformat = "word"\n[attacks.homogeneity]'),
        ("[attacks.homogeneity]", "[attacks.membership]\nmax_people = 0\n[attacks.homogeneity]"),
        ("[attacks.homogeneity]", "[repair]\nbelief_gain = 0.2\n[attacks.homogeneity]"),
        (
            "[attacks.homogeneity]",
            '[attacks.linkage]\npopulation = "none.csv"\n[attacks.homogeneity]',
        ),
    ],
)
def test_dry_run_fails_as_publish_would(run, configured, tmp_path, old, new):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "notes.txt").write_text("mine")
    path = configured()
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    planned = run("publish", path, "--dry-run")
    published = run("publish", path)
    assert planned.exit_code == published.exit_code != 0
    assert planned.stderr == published.stderr


def test_dry_run_lists_every_attack_with_its_time(run, configured):
    path = configured(more='[attacks.membership]\nrun = false\nreason = "no list"\n')
    document = json.loads(run("publish", path, "--dry-run", "--json").stdout)
    listed = {one["attack"]: one for one in document["attacks"]}
    assert listed["homogeneity"]["seconds"] > 0
    assert listed["membership"]["not_run"] == "no list"
    assert listed["membership"]["seconds"] == 0
    gate = json.loads(run("publish", path, "--json").stdout)["gate"]
    assert set(listed) == {one["attack"] for one in gate}


FULL_DOMAIN = """
[table]
source = "people.csv"

[columns]
identifying = ["name"]
quasi = ["age", "zip"]
sensitive = "disease"

[hierarchies]
age = {{ width = 2 }}

[method]
name = "full_domain"
k = {k}
t = 0.5
suppress = {suppress}
loss = "discernibility"
"""


def test_publish_with_rows_left_out(run, write_csv, tmp_path, rows, marker):
    # One more person, alone in their way.
    write_csv([*rows, [f"{marker}-x", 70, f"{marker}9", f"{marker}a"]])
    (tmp_path / "shoal.toml").write_text(FULL_DOMAIN.format(k=4, suppress=0.05))
    result = run("publish", "shoal.toml", "--json")
    assert result.exit_code == 0, result.output
    manifest = json.loads(Path("release/manifest.json").read_text())
    assert manifest["method"]["parameters"]["suppress"] == "0.05"
    assert manifest["rows"] == 40
    assert "1 of 41 rows are left out" in Path("release/codebook.md").read_text()
    record = json.loads(Path("release.internal/record.json").read_text())
    assert record["dropped"]["rows"] == 1
    assert "70" not in Path("release/table.csv").read_text()
    assert run("verify", "release").exit_code == 0
    assert run("attack", "release").exit_code == 0


def test_publish_names_what_full_domain_generalization_can_reach(run, write_csv, tmp_path, marker):
    write_csv()
    (tmp_path / "shoal.toml").write_text(FULL_DOMAIN.format(k=50, suppress=0.05))
    result = run("publish", "shoal.toml")
    assert result.exit_code == 6
    assert "k = 40 can be reached" in result.stderr
    assert marker not in result.output


# anonymize


def test_anonymize_with_seed_is_repeatable_and_not_sealed(run, write_csv, roles):
    options = ("-m", "anatomy", "-p", "ell=2", "--seed", "3")
    for name in ("first", "second"):
        result = run("anonymize", write_csv(), *roles, *options, "--out", name)
        assert result.exit_code == 0, result.output
        assert "Written as a test, not sealed" in result.stdout
    first, second = (Path(name, "quasi.csv").read_text() for name in ("first", "second"))
    assert first == second


def test_anonymize_takes_the_rest_from_a_configuration(run, configured):
    result = run("anonymize", "--config", configured(), "-p", "k=7", "--out", "other", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["method"]["parameters"]["k"] == 7
    assert document["guarantees"][1]["name"] == "frequency l-diversity"


def test_anonymize_with_a_configuration_that_is_none(run, tmp_path):
    (tmp_path / "shoal.toml").write_text('table = "people.csv"\n')
    result = run("anonymize", "--config", "shoal.toml", "--quasi", "age")
    assert result.exit_code == 4
    assert "[table] must be a section" in result.stderr


def test_anonymize_with_another_method_than_the_configuration(run, configured):
    result = run("anonymize", "--config", configured(), "-m", "anatomy", "-p", "ell=2", "--json")
    assert json.loads(result.stdout)["shape"] == "bucketized"


def test_roles_in_the_words_of_others(run, write_csv):
    roles = ("name=IDENTIFYING_ATTRIBUTE", "age=keyVars", "zip=QI", "disease=sensibleVar")
    options = [part for role in roles for part in ("--role", role)]
    method = ("-m", "mondrian", "-p", "k=2", "--out", "release")
    assert run("anonymize", write_csv(), *options, *method).exit_code == 0


def test_parquet(run, write_csv, roles):
    options = ("-m", "anatomy", "-p", "ell=2", "--out", "release", "--format", "parquet")
    assert run("anonymize", write_csv(), *roles, *options).exit_code == 0
    assert Path("release/quasi.parquet").exists()
    assert run("verify", "release").exit_code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["anonymize"],
        ["anonymize", "--quasi", "a"],
        ["anonymize", "people.csv", "-p", "k"],
        ["anonymize", "people.csv", "--role", "=quasi"],
        ["anonymize", "people.csv", "--seed", "abc"],
        ["verify"],
        ["publish"],
        ["publish", "a.toml", "b.toml"],
        ["swim"],
        ["profile", "people.csv", "--no-such-option"],
        ["hierarchy", "build", "width:5", "--out", "h.csv"],
        ["hierarchy", "build", "nonsense", "--values", "v.txt", "--out", "h.csv"],
        ["hierarchy", "check", "h.csv", "--column", "age"],
    ],
    ids=" ".join,
)
def test_usage_errors(run, arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


# demo


def test_demo_passes_its_own_gate(run, tmp_path):
    result = run("demo", "--rows", "400")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("passed  ") == 2
    assert run("verify", "shoal-demo/release").exit_code == 0
    assert run("demo", "--rows", "400").exit_code == 3
    assert run("demo", "--rows", "400", "--replace", "--quiet").exit_code == 0


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_demo_fits_on_one_screen(finish, monkeypatch, encoding):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    code, said, _ = finish("demo", "--rows", "400")
    assert code == 0
    assert len(said.splitlines()) <= 40
    assert max(map(len, said.splitlines())) <= 80
    assert ("+ homogeneity  passed" if encoding == "ascii" else "✓ homogeneity  passed") in said


# all commands


def test_quiet_prints_nothing(run, configured, write_csv):
    path = configured()
    assert run("publish", path, "--quiet").output == ""
    assert run("verify", "release", "-q").output == ""
    assert run("attack", "release", "-q").output == ""


def test_debug_shows_the_traceback(run, tmp_path):
    (tmp_path / "people.csv").write_bytes(b"")
    result = run(
        "anonymize", "people.csv", "--quasi", "a", "-m", "anatomy", "-p", "ell=2", "--debug"
    )
    assert "Traceback" in result.stderr
    assert result.exit_code == 5


def test_unexpected_exceptions_hide_their_text(run, configured, monkeypatch, marker, tmp_path):
    from shoal.workflow import config

    def fail(*_, **__):
        raise RuntimeError(marker)

    monkeypatch.setattr(config, "read", fail)
    result = run("publish", configured(), "--log", "internal.log")
    assert result.exit_code == 70
    assert marker not in result.output
    assert "RuntimeError" in result.stderr
    assert marker in (tmp_path / "internal.log").read_text()


def test_errors_of_the_system_are_explained(run, configured, monkeypatch):
    from shoal.workflow import config

    def fail(*_, **__):
        raise PermissionError(13, "Permission denied", "/data/people.csv")

    monkeypatch.setattr(config, "read", fail)
    result = run("publish", configured())
    assert result.exit_code == 8
    assert "Permission denied" in result.stderr


def test_version(run):
    result = run("--version")
    assert result.exit_code == 0
    assert "kernels: " in result.stdout
    assert "duckdb" in result.stdout
