"""`mine`, and the knowledge that it writes: in attacks, in methods and in the gate."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from shoal.knowledge import Knowledge

SECRET = "SECRETVALUE123"
ROLES = ("--identifying", "id", "--quasi", "sex,age", "--sensitive", "disease")
OPTIONS = (*ROLES, "--min-exp", "0.9")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Write 48 people; men have no ovarian cancer, women no prostate cancer, the young neither."""
    own = {"M": ["flu", "cold", "prostate"], "F": ["flu", "cold", "ovarian"]}
    path = tmp_path / "people.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "sex", "age", "disease"])
        for number in range(48):
            sex = "MF"[number % 2]
            disease = own[sex][number // 2 % 3]
            age = 30 + number % 5 if disease in ("prostate", "ovarian") else 20 + number % 15
            writer.writerow([f"p{number}", sex, age, disease])
    return path


CONFIGURATION = """
[table]
source = "people.csv"
key = "id"
[columns]
identifying = ["id"]
quasi = ["sex", "age"]
sensitive = "disease"
[hierarchies]
age = {{ width = 10 }}
[method]
name = "{method}"
ell = 2
{parameters}
{attacks}
"""


@pytest.fixture
def configure(source: Path, tmp_path: Path):
    """Write a configuration into a folder of its own, with the table beside it."""

    def write(method: str = "injector", parameters: str = "", attacks: str = "") -> Path:
        folder = tmp_path / "project"
        folder.mkdir(exist_ok=True)
        shutil.copy(source, folder)
        path = folder / "shoal.toml"
        path.write_text(CONFIGURATION.format(method=method, parameters=parameters, attacks=attacks))
        return path

    return write


def rules_of(path: Path | str) -> set[tuple[frozenset, str | None]]:
    return {rule.key for rule in Knowledge.from_file(path)}


def rule(value: str, **antecedent: str) -> tuple[frozenset, str]:
    return frozenset(antecedent.items()), value


MEN, WOMEN = rule("ovarian", sex="M"), rule("prostate", sex="F")
RULES = """
sensitive = "disease"

[nodes.age]
"of age" = { from = 30, to = 99 }

[[negative]]
when = { sex = "M" }
never = "ovarian"
who = "a physician"
why = "anatomy"

[[negative]]
when = { sex = "F", age = "of age" }
never = "prostate"
"""


# mining


def test_a_table_and_its_columns_are_enough(run, source):
    result = run("mine", source, *OPTIONS)
    assert result.exit_code == 0, result.output
    assert "The following shows values" in result.stdout
    assert "negative rules about disease: " in result.stdout
    rows = [line for line in result.stdout.splitlines() if line.startswith("sex M")]
    assert any("ovarian" in row and "24" in row for row in rows)


def test_a_configuration_says_it_all_with_its_hierarchies(run, configure):
    result = run("mine", configure(), "--min-exp", "0.8", "--out", "rules.toml")
    assert result.exit_code == 0, result.output
    known = Knowledge.from_file("rules.toml")
    assert {MEN, WOMEN} <= {one.key for one in known}
    (young,) = [node for node in known.defined_nodes["age"] if node.bounds == (20, 29)]
    assert rule("prostate", age=young.label) in {one.key for one in known}
    assert "shoal attack RELEASE --knowledge rules.toml" in result.stdout


def test_the_files_of_methods_and_attacks_need_not_be_there_yet(run, configure):
    path = configure(
        parameters='rules = "rules.toml"', attacks='[attacks.background]\nrules = "rules.toml"'
    )
    assert run("mine", path, "--out", path.parent / "rules.toml").exit_code == 0
    assert len(Knowledge.from_file(path.parent / "rules.toml"))


def test_hierarchies_may_be_given_on_the_command_line(run, source):
    options = (*ROLES, "--min-exp", "0.8", "--hierarchy", "age=width:10", "--out", "r.toml")
    assert run("mine", source, *options).exit_code == 0
    assert {node.bounds for node in Knowledge.from_file("r.toml").defined_nodes["age"]} >= {
        (20, 29)
    }


def test_a_file_is_replaced_only_where_that_is_asked_for(run, source, tmp_path):
    (tmp_path / "rules.toml").write_text("mine")
    result = run("mine", source, *OPTIONS, "--out", "rules.toml")
    assert result.exit_code == 3
    assert "--replace" in result.stderr
    assert (tmp_path / "rules.toml").read_text() == "mine"
    assert run("mine", source, *OPTIONS, "--out", "rules.toml", "--replace").exit_code == 0
    assert MEN in rules_of("rules.toml")


def test_given_rules_are_combined_and_struck_ones_stay_out(run, source, tmp_path):
    (tmp_path / "given.toml").write_text(
        RULES.replace('why = "anatomy"', 'why = "men can too"\nstruck = true')
    )
    options = (*OPTIONS, "--rules", "given.toml", "--out", "rules.toml")
    assert run("mine", source, *options).exit_code == 0
    known = Knowledge.from_file("rules.toml")
    assert MEN not in rules_of("rules.toml")
    assert WOMEN in rules_of("rules.toml")
    assert rule("prostate", sex="F", age="of age") in rules_of("rules.toml")
    assert [(one.key, one.why) for one in known.struck] == [(MEN, "men can too")]
    # Mined anew with the file that came of it, the rule stays out.
    again = (*OPTIONS, "--rules", "rules.toml", "--out", "again.toml")
    assert run("mine", source, *again).exit_code == 0
    assert rules_of("again.toml") == rules_of("rules.toml")


def test_labels_of_the_hierarchy_are_explained_in_the_file(run, configure, tmp_path):
    run("mine", configure(), "--min-exp", "0.8", "--out", "mined.toml")
    mined = Knowledge.from_file("mined.toml")
    (young,) = [node for node in mined.defined_nodes["age"] if node.bounds == (20, 29)]
    (tmp_path / "given.toml").write_text(
        f'sensitive = "disease"\n[[negative]]\nwhen = {{ age = "{young.label}", sex = "F" }}\n'
        'never = "ovarian"\n'
    )
    options = ("--min-exp", "0.999", "--rules", "given.toml", "--out", "rules.toml")
    assert run("mine", configure(), *options).exit_code == 0
    known = Knowledge.from_file("rules.toml")
    assert rule("ovarian", age=young.label, sex="F") in rules_of("rules.toml")
    assert known.defined_nodes["age"] == (young,)


def test_striking_a_rule_strikes_what_follows_from_it(run, source, tmp_path):
    options = (*ROLES, "--min-exp", "0.3", "--max-len", "any")
    run("mine", source, *options, "--out", "all.toml")
    run("mine", source, *options, "--most-general", "--out", "general.toml")
    assert MEN in rules_of("general.toml") < rules_of("all.toml")
    implied = {
        key for key in rules_of("all.toml") if key[1] == "ovarian" and ("sex", "M") in key[0]
    } - {MEN}
    assert implied
    assert not implied & rules_of("general.toml")
    (tmp_path / "struck.toml").write_text(
        'sensitive = "disease"\n[[negative]]\nwhen = { sex = "M" }\nnever = "ovarian"\n'
        "struck = true\n"
    )
    run(
        *("mine", source, *options, "--most-general"),
        *("--rules", "struck.toml", "--out", "rest.toml"),
    )
    assert MEN not in rules_of("rest.toml")
    assert not implied & rules_of("rest.toml")
    # A rule about somebody else stays, and so does one that somebody gave.
    assert rules_of("general.toml") - {MEN} <= rules_of("rest.toml")
    key, value = min(implied, key=str)
    when = ", ".join(f'{column} = "{label}"' for column, label in sorted(key))
    with (tmp_path / "struck.toml").open("a") as file:
        file.write(f'[[negative]]\nwhen = {{ {when} }}\nnever = "{value}"\nwho = "a physician"\n')
    run("mine", source, *options, "--rules", "struck.toml", "--out", "given.toml")
    assert implied & rules_of("given.toml") == {(key, value)}


def test_antecedents_may_name_more_columns(run, source):
    run("mine", source, *ROLES, "--min-exp", "0.3", "--max-len", "2", "--out", "r.toml")
    assert {len(key[0]) for key in rules_of("r.toml")} == {1, 2}
    run("mine", source, *ROLES, "--min-exp", "0.3", "--out", "one.toml")
    assert {len(key[0]) for key in rules_of("one.toml")} == {1}


def test_positive_rules_and_statistics_are_mined_where_asked_for(run, source):
    others = ("--positive", "--statistics", "--min-support", "2", "--show", "3")
    result = run("mine", source, *OPTIONS, *others, "--out", "rules.toml")
    assert result.exit_code == 0, result.output
    assert "positive rules: " in result.stdout
    assert "statistics: " in result.stdout
    known = Knowledge.from_file("rules.toml")
    assert known.positive
    assert known.statistics
    assert all(one.count >= 2 for one in (*known.positive, *known.statistics))
    plain = run("mine", source, *OPTIONS)
    assert "positive rules" not in plain.stdout
    assert "statistics" not in plain.stdout


def test_fuzzy_rules_count_numbers_nearby(run, source):
    options = (*ROLES, "--min-exp", "0.3", "--fuzzy", "product", "--width", "age=3")
    result = run("mine", source, *options, "--out", "rules.toml")
    assert result.exit_code == 0, result.output
    known = Knowledge.from_file("rules.toml")
    assert {node.width for node in known.defined_nodes["age"]} == {3.0}
    assert all(isinstance(one.count, float) for one in known)


def test_json_is_one_document_that_any_reader_understands(run, source):
    result = run("mine", source, *OPTIONS, "--positive", "--min-support", "1", "--json")
    assert result.exit_code == 0

    def refuse(text: str) -> None:
        pytest.fail(f"{text} is no JSON")

    stated = json.loads(result.stdout, parse_constant=refuse)
    assert stated["negative"] >= 2
    assert stated["positive"] > 0
    assert stated["sections"][0]["title"].startswith("negative rules about disease: ")
    assert "infinite" in result.stdout


def test_fewer_are_shown_than_are_written(run, source):
    result = run("mine", source, *OPTIONS, "--show", "1", "--json", "--out", "rules.toml")
    stated = json.loads(result.stdout)
    assert len(stated["sections"][0]["rows"]) == 1
    assert len(rules_of("rules.toml")) == stated["negative"] > 1


# refused


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--quasi", "sex,age"), 2, "--sensitive"),
        (("--sensitive", "disease"), 2, "--quasi"),
        ((*OPTIONS, "--max-len", "0"), 2, "--max-len"),
        ((*OPTIONS, "--max-len", "many"), 2, "--max-len"),
        ((*OPTIONS, "--show", "-1"), 2, "--show"),
        ((*OPTIONS, "--width", "age"), 2, "--width"),
        ((*OPTIONS, "--fuzzy", "product", "--width", "age=wide"), 2, "--width"),
        ((*OPTIONS, "--fuzzy", "product"), 3, "together"),
        ((*OPTIONS, "--width", "age=3"), 3, "together"),
        ((*OPTIONS, "--fuzzy", "odd", "--width", "age=3"), 3, "fuzzy"),
        ((*OPTIONS, "--fuzzy", "product", "--width", "sex=3"), 3, "width"),
        ((*OPTIONS, "--fuzzy", "product", "--width", "age=-3"), 3, "width"),
        ((*OPTIONS, "--fuzzy", "product", "--width", "age=nan"), 3, "width"),
        ((*ROLES, "--min-exp", "2"), 3, "min_exp"),
        ((*ROLES, "--min-exp", "much"), 3, "min_exp"),
        ((*OPTIONS, "--min-conf", "0"), 3, "min_conf"),
        ((*OPTIONS, "--positive", "--min-support", "2.5"), 3, "min_support"),
        ((*OPTIONS, "--rules", "nowhere.toml"), 3, "nowhere.toml"),
        (("--quasi", "sex,height", "--sensitive", "disease"), 4, "height"),
        (
            ("--quasi", "sex,age,disease", "--sensitive", "disease", "--identifying", "id"),
            4,
            "'disease' is both",
        ),
        (("--quasi", "sex,age", "--sensitive", "disease"), 4, "id"),
        ((*OPTIONS, "--out", "nowhere/rules.toml"), 8, "nowhere"),
    ],
)
def test_what_cannot_be_mined_is_refused(run, source, options, code, words):
    result = run("mine", source, *options)
    assert result.exit_code == code, result.output
    assert words in result.stderr


@pytest.mark.parametrize(
    "text",
    [
        f'sensitive = "disease"\n"{SECRET}',
        f'sensitive = "{SECRET}"',
        f'sensitive = "disease"\n[[negative]]\nwhen = {{ sex = "{SECRET}" }}\nnever = "flu"\n',
        f'sensitive = "disease"\n[[negative]]\nwhen = {{ sex = "M" }}\nnever = "{SECRET}"\n',
        f'sensitive = "disease"\n[[negative]]\nwhen = {{ job = "{SECRET}" }}\nnever = "flu"\n',
    ],
)
def test_given_rules_that_do_not_fit_are_refused_and_not_shown(run, source, tmp_path, text):
    (tmp_path / "given.toml").write_text(text)
    result = run("mine", source, *OPTIONS, "--rules", "given.toml", "--out", "rules.toml")
    assert result.exit_code == 3
    # The column that knowledge is about is named; values are not.
    assert SECRET not in result.output.replace(f"'{SECRET}'", "a column")
    assert not (tmp_path / "rules.toml").exists()


@pytest.mark.parametrize(
    "options",
    [
        ("--quasi", "sex"),
        ("--sensitive", "age"),
        ("--identifying", "age"),
        ("--hierarchy", "age=flat"),
        ("--type", "age=categorical"),
        ("--delimiter", ";"),
        ("--memory", "1GB"),
    ],
)
def test_a_configuration_is_not_overruled_in_passing(run, configure, options):
    result = run("mine", configure(), *options)
    assert result.exit_code == 2
    assert "the configuration describes the table" in " ".join(result.stderr.split())


def test_a_configuration_that_is_not_there(run):
    assert run("mine", "nowhere.toml").exit_code == 8


# used


@pytest.fixture
def anatomy(run, source) -> None:
    options = ("-m", "anatomy", "-p", "ell=2", "--seed", "1", "--out", "release")
    assert run("anonymize", source, *ROLES, *options).exit_code == 0


def test_attack_lists_what_it_could_not_resolve(run, anatomy, tmp_path):
    """A mistyped rule is no rule about nobody."""
    (tmp_path / "rules.toml").write_text(
        'sensitive = "disease"\n[[negative]]\nwhen = { sxe = "M" }\nnever = "ovarian"\n'
        '[[fact]]\nperson = "nobody"\nnever = "ovarian"\n'
    )
    options = ("attack", "release", "--knowledge", "rules.toml", "--attack", "background")
    result = run(*options, "--json")
    (found,) = json.loads(result.stdout)["attacks"]
    assert found["unresolved"] == [
        "negative rule 1: there is no quasi-identifier 'sxe'",
        "fact 1: no row has that key",
    ]
    shown = " ".join(run(*options).output.split())
    assert "background could not resolve what the adversary knows: negative rule 1" in shown


def test_attack_with_knowledge_from_a_file(run, anatomy, tmp_path):
    (tmp_path / "rules.toml").write_text(RULES)
    without = run("attack", "release", "--json")
    assert "background" not in without.stdout
    result = run("attack", "release", "--knowledge", "rules.toml", "--json")
    assert result.exit_code == 0, result.output
    found = {one["attack"]: one for one in json.loads(result.stdout)["attacks"]}
    assert "(2 rules)" in found["background"]["knows"]
    shown = run("attack", "release", "--knowledge", "rules.toml", "--attack", "background")
    assert "people at risk by the simple count" in shown.stdout


def test_attack_with_knowledge_that_does_not_fit(run, anatomy, tmp_path):
    assert run("attack", "release", "--knowledge", "nowhere.toml").exit_code == 3
    (tmp_path / "rules.toml").write_text(f'sensitive = "disease"\n"{SECRET}')
    result = run("attack", "release", "--knowledge", "rules.toml")
    assert result.exit_code == 3
    assert SECRET not in result.output
    (tmp_path / "rules.toml").write_text('sensitive = "income"')
    result = run("attack", "release", "--knowledge", "rules.toml", "--attack", "background")
    assert result.exit_code == 3
    assert "'income'" in result.stderr


def test_publish_with_given_rules_and_a_gate(run, configure):
    path = configure(
        parameters='rules = "rules.toml"\nmin_exp = 0.95',
        attacks="[attacks.background]\nmax_people = 0",
    )
    (path.parent / "rules.toml").write_text(RULES)
    result = run("publish", path, "--json")
    assert result.exit_code == 0, result.output
    gate = {one["attack"]: one for one in json.loads(result.stdout)["gate"]}
    assert (gate["background"]["verdict"], gate["background"]["at_risk"]) == ("passed", 0)
    folder = path.parent / "release"
    kept = (path.parent / "release.internal" / "knowledge.toml").read_text()
    assert "a physician" in kept
    partly = run("verify", folder)
    assert partly.exit_code == 9
    assert "Verified in part: the witness of matching l-diversity" in partly.stdout
    assert "--internal FOLDER" in partly.stdout
    fully = run("verify", folder, "--internal", f"{folder}.internal")
    assert fully.exit_code == 0
    assert "Verified in part" not in fully.stdout
    attacked = run("attack", folder, "--json")
    assert "background" in {one["attack"] for one in json.loads(attacked.stdout)["attacks"]}


def test_publish_refuses_rules_that_are_not_there_or_not_true(run, configure):
    path = configure(parameters='rules = "rules.toml"')
    result = run("publish", path)
    assert result.exit_code == 3
    assert "rules.toml" in result.stderr
    (path.parent / "rules.toml").write_text(
        'sensitive = "disease"\n[[negative]]\nwhen = { sex = "M" }\nnever = "flu"\n'
        f'why = "{SECRET}"\n'
    )
    result = run("publish", path)
    assert result.exit_code == 3
    assert "exclude the value that" in result.stderr
    assert SECRET not in result.output
    assert not (path.parent / "release").exists()


def test_rules_in_the_gate_of_a_method_that_has_none(run, configure):
    attacks = '[attacks.background]\nrules = "rules.toml"\nmax_people = {}'
    path = configure("anatomy", attacks=attacks.format(0))
    assert run("publish", path).exit_code == 3
    # Whatever the buckets are: nobody can have anything but flu, so whoever has a bucket with it
    # and another value is certain, or their bucket contradicts the rules.
    rules = "".join(
        f'[[negative]]\nwhen = {{ sex = "{sex}" }}\nnever = "{value}"\n'
        for sex in "MF"
        for value in ("cold", "ovarian")
    )
    (path.parent / "rules.toml").write_text(f'sensitive = "disease"\n{rules}')
    result = run("publish", path, "--json")
    judged = json.loads(result.stdout)
    gate = {one["attack"]: one for one in judged.get("gate", judged.get("error", {}).get("gate"))}
    assert gate["background"]["max_people"] == 0
    assert (result.exit_code == 7) is (gate["background"]["at_risk"] > 0)
    (path.parent / "rules.toml").write_text(RULES)
    configure("anatomy", attacks=attacks.format(48))
    assert run("publish", path, "--replace").exit_code == 0


def test_partly_verified_is_said_in_json_too(run, configure):
    assert run("publish", configure(parameters="min_exp = 0.95")).exit_code == 0
    result = run("verify", "project/release", "--json")
    assert result.exit_code == 9
    stated = json.loads(result.stdout)
    assert stated["status"] == "partly verified"
    assert [one["partial"] for one in stated["guarantees"]] == [True]


def test_a_changed_witness_fails_on_the_command_line(run, configure):
    assert run("publish", configure(parameters="min_exp = 0.95")).exit_code == 0
    path = Path("project/release.internal/knowledge.toml")
    path.write_text(path.read_text() + "# struck nothing\n")
    result = run("verify", "project/release", "--internal", "project/release.internal")
    assert result.exit_code == 7
    assert "is not the one that the release was made with" in result.stdout
