"""Witnesses: a release made against knowledge is verified with it, and with no other."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet
from tampering import reseal, stated_in

import shoal
from shoal.core.declared import changed
from shoal.core.errors import DataError, InfeasibleError, ParameterError
from shoal.core.manifest import Manifest
from shoal.injector.nodes import Node
from shoal.knowledge import Fact, Knowledge, NegativeRule
from shoal.release.witnesses import known_to_maker, read_witnesses, seal_witnesses

WHO, WHY, NODE = "Dr. Zqxv", "because of Yqxv", "Xqxv of working age"
"""What only the rules say, and no value of the table."""

DISEASES = ["flu", "cold", "ovarian", "prostate"]


def people(n_rows: int = 48) -> pyarrow.Table:
    """Make men without ovarian and women without prostate cancer, with values of every type."""
    sex = ["M" if number % 2 else "F" for number in range(n_rows)]
    own = {"M": ["flu", "cold", "prostate"], "F": ["flu", "cold", "ovarian"]}
    return pyarrow.table(
        {
            "id": [f"p{number}" for number in range(n_rows)],
            "sex": sex,
            "age": [None if number % 11 == 5 else 20 + number % 8 for number in range(n_rows)],
            "weight": [float(50 + number % 3) + 0.5 * (number % 2) for number in range(n_rows)],
            "smoker": [number % 4 == 1 for number in range(n_rows)],
            "disease": [own[sex[number]][number // 2 % 3] for number in range(n_rows)],
        }
    )


def read(n_rows: int = 48, **options: object):
    schema = shoal.Schema(
        quasi=["sex", "age", "weight", "smoker"], sensitive="disease", key="id", identifying=["id"],
        **options,
    )  # fmt: skip
    return shoal.read(people(n_rows), schema)


RULES = Knowledge(
    "disease",
    [
        NegativeRule(antecedent={"sex": "M"}, value="ovarian", who=WHO, why=WHY),
        NegativeRule(antecedent={"sex": "F", "age": NODE}, value="prostate", who=WHO, why=WHY),
    ],
    definitions={"age": [Node(NODE, interval=("18", "65"))]},
)
METHOD = shoal.Injector(ell=2, min_exp=0.98, rules=RULES)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("releases") / "release"
    # From a seed, so that the swaps below are there whenever the tests run.
    return shoal.anonymize(read(), METHOD, seed=1).write(folder)


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    """Copy the release, for a test to tamper with."""
    for name in ("release", "release.internal"):
        shutil.copytree(original.parent / name, tmp_path / name)
    return tmp_path / "release"


def internal_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.internal")


def status(folder: Path, internal: Path | None = None) -> str:
    return str(shoal.verify(folder, internal=internal).status)


def lines_of(folder: Path, name: str) -> tuple[str, list[list[str]]]:
    header, *lines = (folder / f"{name}.csv").read_text().splitlines()
    return header, [line.split(",") for line in lines]


def swap(folder: Path, first: tuple[str, str], second: tuple[str, str]) -> None:
    """Swap two values, given as (bucket, value), between their buckets."""
    header, lines = lines_of(folder, "sensitive")
    counts = Counter({(bucket, value): int(count) for bucket, value, count in lines})
    for (bucket, value), (_, other) in ((first, second), (second, first)):
        counts[bucket, value] -= 1
        counts[bucket, other] += 1
    body = [f"{b},{v},{n}" for (b, v), n in sorted(counts.items()) if n]
    (folder / "sensitive.csv").write_text("\n".join([header, *body]) + "\n")


def biting_swap(folder: Path) -> tuple[tuple[str, str], tuple[str, str]]:
    """Find a swap that leaves two values in every bucket and gives men a value they cannot have.

    A bucket of men who have flu and another value gets "ovarian" in place of the flu: then nobody
    in it can have that.
    """
    _, people = lines_of(folder, "quasi")
    _, values = lines_of(folder, "sensitive")
    sexes: dict[str, set[str]] = {}
    for bucket, sex, *_ in people:
        sexes.setdefault(bucket, set()).add(sex)
    held: dict[str, dict[str, int]] = {}
    for bucket, value, count in values:
        held.setdefault(bucket, {})[value] = int(count)
    for men in (b for b in held if sexes[b] == {"M"} and len(held[b]) == 2):
        for given in held[men]:
            for women, others in held.items():
                is_kept = given not in others and "ovarian" in others and held[men][given] == 1
                if is_kept and sexes[women] != {"M"}:
                    return (men, given), (women, "ovarian")
    pytest.fail("no swap would show")


# verified, partly, failed


def test_with_the_internal_folder_verified_and_without_it_partly(folder):
    assert status(folder) == "partly verified"
    found = shoal.verify(folder, internal=internal_of(folder))
    assert (str(found.status), found.problems) == ("verified", ())
    assert [verdict.is_partial for verdict in found.verdicts] == [False]


def test_the_release_of_the_maker_is_verified_with_what_it_was_made_against():
    release = shoal.anonymize(read(), shoal.Injector(ell=2, rules=RULES, mine=False), seed=1)
    assert str(shoal.verify(release).status) == "verified"
    assert len(known_to_maker(release)) == 2


def test_parquet_and_suppressed_rows_are_verified_too(tmp_path):
    method = changed(METHOD, on_infeasible="suppress")
    folder = shoal.anonymize(read(), method).write(tmp_path / "release", format="parquet")
    assert status(folder) == "partly verified"
    assert status(folder, internal_of(folder)) == "verified"


@pytest.mark.parametrize("place", [0, 200, -2])
def test_one_changed_byte_of_the_witness_fails(folder, place):
    path = internal_of(folder) / "knowledge.toml"
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(bytes(content))
    found = shoal.verify(folder, internal=internal_of(folder))
    assert str(found.status) == "failed"
    assert "knowledge.toml is not the one" in found.problems[0]
    assert status(folder) == "partly verified"


def test_a_struck_or_an_added_rule_fails(folder):
    path = internal_of(folder) / "knowledge.toml"
    text = path.read_text()
    path.write_text(text.replace(f'who = "{WHO}"', f'who = "{WHO}"\nstruck = true', 1))
    assert status(folder, internal_of(folder)) == "failed"
    path.write_text(text + '\n[[negative]]\nwhen = { sex = "M" }\nnever = "flu"\n')
    assert status(folder, internal_of(folder)) == "failed"
    path.write_text(text)
    assert status(folder, internal_of(folder)) == "verified"


def test_the_internal_folder_of_another_release_fails(folder, tmp_path):
    other = shoal.anonymize(read(), METHOD).write(tmp_path / "other")
    assert status(folder, internal_of(other)) == "failed"
    # The same rules, but another secret.
    own, foreign = (internal_of(one) / "knowledge.toml" for one in (folder, other))
    assert own.read_bytes() == foreign.read_bytes()
    foreign_record = (internal_of(other) / "record.json").read_bytes()
    (internal_of(folder) / "record.json").write_bytes(foreign_record)
    assert status(folder, internal_of(folder)) == "failed"


@pytest.mark.parametrize("name", ["knowledge.toml", "record.json"])
def test_a_missing_witness_or_record_fails(folder, name):
    (internal_of(folder) / name).unlink()
    found = shoal.verify(folder, internal=internal_of(folder))
    assert str(found.status) == "failed"
    assert name in found.problems[0]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"secret": "zz", "test": false}', "[" * 9999])
def test_a_record_that_cannot_be_read_fails(folder, content):
    (internal_of(folder) / "record.json").write_text(content)
    assert status(folder, internal_of(folder)) == "failed"


def test_an_internal_folder_that_is_not_there_is_an_error(folder, tmp_path):
    with pytest.raises(DataError, match="no internal folder"):
        shoal.verify(folder, internal=tmp_path / "nowhere")


@pytest.mark.parametrize("witnesses", [{}, {"other.toml": "0" * 64}])
def test_a_manifest_that_names_no_or_another_witness_fails(folder, witnesses):
    reseal(folder, lambda stated: stated.update(witnesses=witnesses))
    assert status(folder) == "partly verified"
    assert status(folder, internal_of(folder)) == "failed"


@pytest.mark.parametrize(
    "witnesses",
    [{"knowledge.toml": "00"}, {"../release/quasi.csv": "0" * 64}, {"a\0b": "0" * 64}],
)
def test_a_witness_is_named_as_a_file_and_has_a_digest(folder, witnesses):
    reseal(folder, lambda stated: stated.update(witnesses=witnesses))
    assert status(folder) == "failed"


def test_swapped_values_that_let_a_rule_bite_fail_with_the_witness_only(folder):
    swap(folder, *biting_swap(folder))
    reseal(folder)
    assert status(folder) == "partly verified"
    found = shoal.verify(folder, internal=internal_of(folder))
    assert str(found.status) == "failed"
    assert found.verdicts[0].n_failing >= 1
    assert "matching l-diversity" in found.problems[0]


def test_swapped_values_without_the_cheat_fail_anyway(folder):
    swap(folder, *biting_swap(folder))
    assert status(folder) == "failed"


# what is published


def test_nothing_of_the_rules_is_in_a_public_file(original, tmp_path):
    other = shoal.anonymize(read(), METHOD).write(tmp_path / "other", format="parquet")
    for folder in (original, other):
        kept = (internal_of(folder) / "knowledge.toml").read_text()
        for secret in (WHO, WHY, NODE):
            assert secret in kept
        for path in folder.rglob("*"):
            content = path.read_bytes() if path.is_file() else b""
            for secret in (WHO, WHY, NODE, "Zqxv", "Yqxv", "Xqxv", "[[negative]]"):
                assert secret.encode() not in content, path.name
            # The XML lists the values that enough rows of the data files carry.
            holds_values = path.stem in ("quasi", "sensitive") or path.name == "codebook.xml"
            assert b"ovarian" not in content or holds_values


def test_rules_that_are_listed_on_request_do_not_say_who_gave_them_and_why(tmp_path):
    facts = Knowledge("disease", facts=[Fact(person="p1", value="cold")])
    method = changed(METHOD, rules=RULES | facts, list_rules=True)
    folder = shoal.anonymize(read(), method).write(tmp_path / "release")
    codebook = (folder / "codebook.md").read_text()
    assert "ovarian" in codebook
    for secret in (WHO, WHY, "p1"):
        assert secret not in codebook
    # It is a remark, which stands in the manifest; the parameters do not list rules.
    assert "ovarian" not in json.dumps(stated_in(folder)["method"])
    assert status(folder, internal_of(folder)) == "verified"


def test_the_manifest_states_only_a_seal_of_the_witness(original):
    stated = json.loads((original / "manifest.json").read_text())
    assert set(stated["witnesses"]) == {"knowledge.toml"}
    assert len(stated["witnesses"]["knowledge.toml"]) == 64
    assert "rules" not in stated["method"]["parameters"]
    content = (internal_of(original) / "knowledge.toml").read_bytes()
    # Not a plain digest: by that, guesses of the rules could be confirmed.
    assert stated["witnesses"]["knowledge.toml"] != hashlib.sha256(content).hexdigest()


def test_seals_depend_on_the_secret_the_name_and_the_content():
    from shoal.core.secret import Secret

    one, other = Secret.from_seed(1), Secret.from_seed(2)
    seals = [
        *seal_witnesses(one, {"a": b"x", "b": b"x"}).values(),
        *seal_witnesses(one, {"a": b"y"}).values(),
        *seal_witnesses(other, {"a": b"x"}).values(),
    ]
    assert len(set(seals)) == 4
    assert seal_witnesses(one, {"a": b"x"}) == seal_witnesses(one, {"a": b"x"})


def test_a_release_without_witnesses_needs_no_internal_folder(tmp_path):
    folder = shoal.anonymize(read(), shoal.Anatomy(ell=2)).write(tmp_path / "release")
    manifest = Manifest.from_json((folder / "manifest.json").read_text())
    assert read_witnesses(tmp_path / "nowhere", manifest) == {}
    assert status(folder) == status(folder, internal_of(folder)) == "verified"


# labels of the table's hierarchies


def test_rules_about_nodes_of_the_hierarchy_are_kept_and_checked(tmp_path):
    """The release has no hierarchy, so the witness must say for which values a node stands."""
    hierarchy = shoal.Hierarchy.from_rows([["M", "grown man"], ["F", "grown woman"]])
    rules = Knowledge("disease", [NegativeRule(antecedent={"sex": "grown man"}, value="ovarian")])
    method = shoal.Injector(ell=2, rules=rules, mine=False)
    folder = shoal.anonymize(read(hierarchies={"sex": hierarchy}), method, seed=1).write(
        tmp_path / "release"
    )
    assert status(folder, internal_of(folder)) == "verified"
    swap(folder, *biting_swap(folder))
    reseal(folder)
    assert status(folder) == "partly verified"
    assert status(folder, internal_of(folder)) == "failed"


# facts about one person


def fact_release(folder: Path, facts: list[Fact], seed: int = 1, **options: object) -> Path:
    known = Knowledge("disease", facts=facts)
    method = shoal.Injector(ell=2, rules=known, mine=False)
    return shoal.anonymize(read(), method, seed=seed).write(folder, **options)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_facts_are_kept_by_the_method_and_checked_by_verify(tmp_path, ending):
    # Of all types, with and without missing values; p1 is a man with flu, p0 a woman with flu.
    facts = [
        Fact(person="p1", value="cold", who=WHO),
        Fact(person="p0", value="cold"),
        Fact(person="p5", value="flu"),
        Fact(person="p5", value="cold"),
    ]
    folder = fact_release(tmp_path / "release", facts, format=ending)
    assert status(folder) == "partly verified"
    assert status(folder, internal_of(folder)) == "verified"
    for path in folder.rglob("*"):
        assert WHO.encode() not in (path.read_bytes() if path.is_file() else b"")


def bucket_of(folder: Path, key: str) -> str:
    placement = parquet.read_table(internal_of(folder) / "placement.parquet").to_pydict()
    return str(placement["bucket"][placement["row_key"].index(key)])


def test_a_swap_that_breaks_a_fact_fails(tmp_path):
    """Give the person's bucket, of two values, the one that the person does not have."""
    for attempt in range(20):
        folder = fact_release(
            tmp_path / str(attempt), [Fact(person="p1", value="prostate")], seed=attempt
        )
        bucket = bucket_of(folder, "p1")
        _, values = lines_of(folder, "sensitive")
        own = {value: int(count) for b, value, count in values if b == bucket}
        given = next((v for v in own if v != "flu" and own[v] == 1), None)
        if len(own) != 2 or "flu" not in own or given is None or own["flu"] != 1:
            continue
        for other, value, _ in values:
            theirs = {v for b, v, _ in values if b == other}
            if other != bucket and value == "prostate" and given not in theirs:
                swap(folder, (bucket, given), (other, "prostate"))
                reseal(folder)
                assert status(folder) == "partly verified"
                assert status(folder, internal_of(folder)) == "failed"
                return
    pytest.fail("no swap would show")


def test_a_fact_about_an_unknown_key_is_refused_without_naming_it():
    known = Knowledge("disease", facts=[Fact(person="Zqxv", value="flu")])
    with pytest.raises(ParameterError, match="about 1 people whose keys") as caught:
        shoal.anonymize(read(), shoal.Injector(ell=2, rules=known))
    assert "Zqxv" not in f"{caught.value.fact} {caught.value.hint}"


def test_a_fact_that_contradicts_the_table_is_refused_without_naming_it():
    known = Knowledge("disease", facts=[Fact(person="p1", value="flu")])
    with pytest.raises(ParameterError, match="facts exclude the value that 1 people") as caught:
        shoal.anonymize(read(), shoal.Injector(ell=2, rules=known))
    assert "flu" not in f"{caught.value.fact} {caught.value.hint}"


def test_a_fact_about_a_value_that_the_table_lacks_is_refused_without_naming_it():
    known = Knowledge("disease", facts=[Fact(person="p1", value="Zqxv")])
    with pytest.raises(ParameterError, match="fact excludes a value") as caught:
        shoal.anonymize(read(), shoal.Injector(ell=2, rules=known))
    assert "Zqxv" not in f"{caught.value.fact} {caught.value.hint}"


def test_facts_that_leave_somebody_one_value_are_infeasible():
    facts = [Fact(person="p1", value=value) for value in DISEASES if value != "flu"]
    with pytest.raises(InfeasibleError):
        shoal.anonymize(
            read(), shoal.Injector(ell=2, rules=Knowledge("disease", facts=facts), mine=False)
        )


def test_lines_serve_as_keys_where_the_table_has_none():
    table = shoal.read(shoal.datasets.papers.injector_patients())
    known = Knowledge("disease", facts=[Fact(person="3", value="Flu")])
    release = shoal.anonymize(table, shoal.Injector(ell=2, rules=known, mine=False), seed=1)
    assert str(shoal.verify(release).status) == "verified"


@pytest.mark.parametrize("change", ["missing", "no parquet", "other lines", "other buckets"])
def test_facts_cannot_be_checked_without_their_placement(tmp_path, change):
    folder = fact_release(tmp_path / "release", [Fact(person="p1", value="cold")])
    path = internal_of(folder) / "placement.parquet"
    if change == "missing":
        path.unlink()
    elif change == "no parquet":
        path.write_bytes(b"x")
    else:
        placement = parquet.read_table(path).to_pydict()
        name = "line" if change == "other lines" else "bucket"
        placement[name] = [number + 1000 for number in placement[name]]
        parquet.write_table(pyarrow.table(placement), path)
    assert status(folder, internal_of(folder)) == "failed"
    assert status(folder) == "partly verified"


# attacks


def test_an_attack_on_an_opened_release_uses_the_internal_knowledge_by_itself(folder):
    report = shoal.attack(folder)
    assert report["background"].n_breached == 0
    known = known_to_maker(shoal.open_release(folder))
    assert {rule.who for rule in known} >= {WHO}
    assert f"({len(known)} rules)" in report["background"].knows


def test_without_the_internal_folder_there_is_no_background_attack(folder, tmp_path):
    shutil.move(internal_of(folder), tmp_path / "away")
    assert "background" not in {found.attack for found in shoal.attack(folder)}
    assert known_to_maker(shoal.open_release(folder)) is None
    with pytest.raises(ParameterError, match="needs negative rules"):
        shoal.attack(folder, shoal.attacks.Background())


def test_other_knowledge_may_be_given_to_an_attack(folder):
    rules = [
        NegativeRule(antecedent={"sex": sex}, value=value)
        for sex, value in [("M", "flu"), ("F", "flu")]
    ]
    found = shoal.attack(folder, knowledge=Knowledge("disease", rules))["background"]
    assert found.headline["rules"] == 2
    assert found.headline["people whose bucket contradicts the rules"] > 0


def test_an_attack_refuses_knowledge_that_was_changed(folder):
    path = internal_of(folder) / "knowledge.toml"
    path.write_text(path.read_text() + "\n")
    with pytest.raises(DataError, match="not the one"):
        shoal.attack(folder)
