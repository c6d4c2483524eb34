"""Verification: what was tampered with is found, whatever it is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tampering import reseal, state, stated_in

import shoal
from shoal.core.guarantees import (
    AlphaK,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    KAnonymity,
    RecursiveDiversity,
    TCloseness,
)
from shoal.release.verify import verify_file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table = shoal.read(shoal.datasets.census(rows=300, seed=2))
    return shoal.anonymize(table, shoal.Anatomy(ell=3)).write(tmp_path / "release")


def read_entries(folder: Path) -> list[list[str]]:
    lines = (folder / "sensitive.csv").read_text().splitlines()
    return [line.split(",") for line in lines[1:]]


def write_entries(folder: Path, entries: list[list[str]]) -> None:
    """Write (bucket, value, count), one line a bucket and value."""
    path = folder / "sensitive.csv"
    header = path.read_text().splitlines()[0]
    counts: Counter[tuple[str, str]] = Counter()
    for bucket, value, count in entries:
        counts[bucket, value] += int(count)
    body = [f"{bucket},{value},{count}" for (bucket, value), count in counts.items()]
    path.write_text("\n".join([header, *body]) + "\n")


def swap_two_values(folder: Path) -> None:
    """Swap values of two buckets so that the first bucket holds one of its values twice."""
    entries = read_entries(folder)
    bucket = entries[0][0]
    kept, given = (entry[1] for entry in entries[:2])
    other = next(e[0] for e in entries if e[0] != bucket and e[1] == kept)
    for entry in entries:
        if entry[:2] == [bucket, given]:
            entry[1] = kept
        elif entry[:2] == [other, kept]:
            entry[1] = given
    write_entries(folder, entries)


def test_an_untouched_release_is_verified(folder: Path) -> None:
    assert shoal.verify(folder).status == "verified"


def test_a_changed_file_is_found_by_its_digest(folder: Path) -> None:
    path = folder / "codebook.md"
    path.write_text(path.read_text() + " ")
    found = shoal.verify(folder)
    assert found.status == "failed"
    assert found.problems == ("codebook.md was changed after it was sealed",)


@pytest.mark.parametrize("name", ["sensitive.csv", "codebook.md"])
def test_a_missing_file_is_found(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert shoal.verify(folder).problems == (f"{name} is missing",)


def test_a_stray_file_is_found(folder: Path) -> None:
    (folder / "names.csv").write_text("who\n")
    assert shoal.verify(folder).problems == ("names.csv is not in the manifest",)


def test_a_broken_guarantee_is_found_even_where_the_digests_fit(folder: Path) -> None:
    entries = read_entries(folder)
    bucket, value, _ = entries[0]
    for entry in entries:
        if entry[0] == bucket:
            entry[1] = value
    write_entries(folder, entries)
    reseal(folder)
    found = shoal.verify(folder)
    assert found.status == "failed"
    assert any("frequency l-diversity" in problem for problem in found.problems)


def test_a_count_that_does_not_fit_the_lines_is_found(folder: Path) -> None:
    path = folder / "sensitive.csv"
    header, first, *lines = path.read_text().splitlines()
    bucket, value, count = first.split(",")
    path.write_text("\n".join([header, f"{bucket},{value},{int(count) + 1}", *lines]) + "\n")
    reseal(folder)
    assert shoal.verify(folder).status == "failed"


def test_a_line_that_was_taken_out_is_found(folder: Path) -> None:
    path = folder / "quasi.csv"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")
    reseal(folder)
    assert shoal.verify(folder).status == "failed"


def test_a_column_that_was_added_is_found(folder: Path) -> None:
    path = folder / "quasi.csv"
    header, *lines = path.read_text().splitlines()
    path.write_text("\n".join([f"{header},name", *(f"{line},x" for line in lines)]) + "\n")
    reseal(folder)
    found = shoal.verify(folder)
    assert found.status == "failed"
    assert "name" in found.problems[0]


def test_a_stronger_claim_than_the_data_keep_is_found(folder: Path) -> None:
    def claim(stated: dict[str, object]) -> None:
        stronger = FrequencyDiversity(ell=5)
        stated["guarantees"] = [stronger.to_dict() | {"statement": stronger.statement}]
        stated["method"]["parameters"]["ell"] = 5

    reseal(folder, claim)
    report = shoal.verify(folder)
    assert report.status == "failed"
    assert report.verdicts[0].n_failing >= 1


def test_a_guarantee_that_the_parameters_contradict_is_found(folder: Path) -> None:
    def claim(stated: dict[str, object]) -> None:
        weaker = FrequencyDiversity(ell=2)
        stated["guarantees"] = [weaker.to_dict() | {"statement": weaker.statement}]

    reseal(folder, claim)
    (problem,) = shoal.verify(folder).problems
    assert problem == "the parameters of the method contradict frequency l-diversity"


def test_a_guarantee_in_other_words_than_its_own_is_found(folder: Path) -> None:
    stated = stated_in(folder)
    stated["guarantees"][0]["statement"] = "nobody learns anything"
    state(folder, stated)
    report = shoal.verify(folder)
    assert report.status == "failed"
    assert "in words what its guarantees do not promise" in report.problems[0]


def test_swapped_values_that_break_a_bucket_are_found(folder: Path) -> None:
    swap_two_values(folder)
    reseal(folder)
    report = shoal.verify(folder)
    assert report.status == "failed"
    assert report.verdicts[0].n_failing >= 1


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format_version": 99}', "not json"])
def test_a_broken_manifest_is_a_clear_error(folder: Path, text: str) -> None:
    (folder / "manifest.json").write_text(text)
    with pytest.raises(shoal.errors.DataError, match=r"manifest\.json"):
        shoal.verify(folder)


OTHER_TOOLS = """age,zip,disease
[20-30],476**,flu
[20-30],476**,cold
[20-30],476**,ulcer
[30-40],479**,flu
[30-40],479**,flu
[30-40],479**,cold
"""


@pytest.mark.parametrize(
    ("guarantee", "holds"),
    [
        (KAnonymity(k=3), True),
        (KAnonymity(k=4), False),
        (DistinctDiversity(ell=2), True),
        (DistinctDiversity(ell=3), False),
        (FrequencyDiversity(ell=1.5), True),
        (FrequencyDiversity(ell=2), False),
        (EntropyDiversity(ell=1.8), True),
        (EntropyDiversity(ell=2), False),
        (RecursiveDiversity(c=3, ell=2), True),
        (RecursiveDiversity(c=2, ell=2), False),
        (TCloseness(t="1/6"), True),
        (TCloseness(t=0.16), False),
        (AlphaK(alpha="2/3", k=3), True),
        (AlphaK(alpha=0.6, k=3), False),
    ],
)
def test_files_of_other_tools_are_checked_too(
    tmp_path: Path, guarantee: object, holds: bool
) -> None:
    path = tmp_path / "theirs.csv"
    path.write_text(OTHER_TOOLS)
    found = verify_file(path, quasi=["age", "zip"], sensitive="disease", guarantees=[guarantee])
    assert found.holds is holds


def test_ordered_and_hierarchical_distances_on_files_of_other_tools(tmp_path: Path) -> None:
    path = tmp_path / "theirs.csv"
    path.write_text("zip,salary\na,3\na,4\na,5\nb,6\nb,11\nb,8\nc,7\nc,9\nc,10\n")
    ordered = TCloseness(t=0.375, distance="ordered")
    found = verify_file(path, quasi=["zip"], sensitive="salary", guarantees=[ordered])
    assert found.holds
    assert found.verdicts[0].reached["t"] == "0.375"
    flat = shoal.Hierarchy.flat()
    tree = TCloseness(t="2/3", distance="hierarchical")
    found = verify_file(path, quasi=["zip"], sensitive="salary", guarantees=[tree], hierarchy=flat)
    assert found.holds


@pytest.mark.parametrize("as_frame", [False, True])
def test_levels_of_a_file_count_in_the_place_of_its_values(tmp_path: Path, as_frame: bool) -> None:
    rows = [("a", 1000), ("a", 1001), ("a", 1002), ("b", 1000), ("b", 2500), ("b", 3900)]
    path = tmp_path / "theirs.csv"
    path.write_text("zip,salary\n" + "".join(f"{place},{pay}\n" for place, pay in rows))
    source = {"zip": [one for one, _ in rows], "salary": [one for _, one in rows]}
    given = source if as_frame else path
    asked = {"quasi": ["zip"], "sensitive": "salary", "guarantees": [DistinctDiversity(ell=3)]}
    assert verify_file(given, **asked).holds
    found = verify_file(given, **asked, levels={"salary": {"intervals": [2000, 3000]}})
    assert (found.holds, found.verdicts[0].n_failing) == (False, 1)
    found = verify_file(given, **asked, levels={"salary": {"quantiles": 2, "k": 2}})
    assert found.verdicts[0].n_failing == 2
    paths = {(str(pay), f"about {pay // 1000}", "*") for _, pay in rows}
    tree = shoal.Hierarchy.from_rows(sorted(paths))
    found = verify_file(given, **asked, levels={"salary": {"node_level": 1}}, hierarchy=tree)
    assert found.verdicts[0].n_failing == 1
    with pytest.raises(shoal.errors.SchemaError, match="not sensitive"):
        verify_file(given, **asked, levels={"zip": {"intervals": [1]}})


def test_a_column_that_the_file_lacks_is_named(tmp_path: Path) -> None:
    path = tmp_path / "theirs.csv"
    path.write_text(OTHER_TOOLS)
    with pytest.raises(shoal.errors.SchemaError, match="'sex'"):
        verify_file(path, quasi=["sex"], guarantees=[KAnonymity(k=2)])
