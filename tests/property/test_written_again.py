"""Whatever a table holds, what Shoal writes is what a stranger's `verify` writes again."""

from __future__ import annotations

import datetime as dt
import tempfile
from pathlib import Path
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.core.errors import InfeasibleError
from shoal.engines.files import digest
from shoal.engines.sql import kept_lines, sorting
from shoal.engines.sql.sorting import rewritten_digest, write_again

TEXTS = ["a", "B", "é", "e\u0301", "", " x", "(y", 'q"uo', "l\nb", "1", "10", "9", "-1", "a,b", "'"]
VALUES = {
    "texts": st.sampled_from(TEXTS),
    "whole": st.sampled_from([-3, 0, 5, 10, 9, 100]),
    "real": st.sampled_from([-0.5, 0.0, 1.5, 10.25, 3.0, 1e30, 1e-7]),
    "dates": st.sampled_from([dt.date(1999, 12, 31), dt.date(2020, 1, 1), dt.date(2020, 11, 2)]),
    "truths": st.booleans(),
    "many": st.integers(0, 90).map(lambda number: f"v{number}"),
}
METHODS = {
    "bucketized": shoal.Anatomy(ell=2),
    "generalized": shoal.Mondrian(k=2),
    "sliced": shoal.Slicing(ell=2, columns="bucketized"),
}


@st.composite
def tables(draw, *, has_insensitive):
    """Draw a table, its schema, and a source that may hold all of it as text."""
    n = draw(st.integers(4, 30))
    columns = {}
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=2, max_size=4))
    for place, kind in enumerate(kinds):
        value = st.one_of(st.none(), VALUES[kind]) if draw(st.booleans()) else VALUES[kind]
        columns[f"c{place}"] = draw(st.lists(value, min_size=n, max_size=n))
    columns["ill"] = [("x", "10", "9", "y")[row % 4] for row in range(n)]
    split = draw(st.integers(1, len(kinds))) if has_insensitive else len(kinds)
    names = [f"c{place}" for place in range(len(kinds))]
    types = {"ill": ["y", "9", "x", "10"]} if draw(st.booleans()) else {}
    schema = shoal.Schema(
        quasi=names[:split],
        insensitive=names[split:],
        sensitive="ill",
        meant=[names[split:]] if names[split:] else [],
        types=types,
    )
    return columns, schema


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    shape=st.sampled_from(sorted(METHODS)),
    ending=st.sampled_from(["csv", "parquet"]),
)
def test_a_release_is_verified_by_whoever_reads_it(data, shape, ending):
    columns, schema = data.draw(tables(has_insensitive=shape != "sliced"))
    with tempfile.TemporaryDirectory() as folder:
        source = columns
        if data.draw(st.booleans()):
            source = as_csv(columns, Path(folder) / "table.csv")
        try:
            release = shoal.anonymize(shoal.read(source, schema), METHODS[shape])
        except (InfeasibleError, shoal.errors.DataError):
            return
        written = release.write(Path(folder) / "release", ending)
        found = shoal.verify(written)
        assert not found.problems
        assert not [note for note in found.notes if "not checked" in note]
        assert found.status in ("verified", "partly verified")


@settings(max_examples=40, deadline=None)
@given(data=st.data(), shape=st.sampled_from(sorted(METHODS)), seed=st.integers(0, 99))
def test_lines_in_order_need_no_sorting_and_others_are_sorted(data, shape, seed):
    columns, schema = data.draw(tables(has_insensitive=shape != "sliced"))
    with tempfile.TemporaryDirectory() as folder:
        try:
            release = shoal.anonymize(shoal.read(columns, schema), METHODS[shape])
        except (InfeasibleError, shoal.errors.DataError):
            return
        written = release.write(Path(folder) / "release")
        for name in release.names:
            path = written / f"{name}.csv"
            before = path.read_bytes()
            opened = shoal.open_release(written)
            files, manifest, meanings = opened.files, opened.manifest, opened.meanings
            order = sorting._Order(files, name, manifest, meanings)
            assert order.is_staged == (shape == "generalized")
            assert not order.is_staged or order.is_kept()
            stated = manifest.files[path.name]
            assert rewritten_digest(files, name, manifest, meanings) == stated
            shuffled = write_shuffled(files, name, seed, Path(folder))
            path.write_bytes(shuffled.read_bytes())
            opened = shoal.open_release(written)
            order = sorting._Order(opened.files, name, manifest, meanings)
            assert not order.is_staged or order.is_kept() == (path.read_bytes() == before)
            # The slow twin sorts whatever it is given.
            write_again(opened.files, name, manifest, meanings, shuffled)
            assert digest(shuffled) == stated
            assert rewritten_digest(opened.files, name, manifest, meanings) == stated
            path.write_bytes(before)


def as_csv(columns, path):
    """Write a table as text, in which a missing value is empty and the empty text is quoted."""

    def cell(value):
        if value is None:
            return ""
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return '"' + text.replace('"', '""') + '"'

    lines = [",".join(columns)]
    lines += [",".join(map(cell, row)) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
    return path


@settings(max_examples=60, deadline=None)
@given(data=st.data(), shape=st.sampled_from(["bucketized", "generalized"]))
def test_kept_lines_lead_to_the_file_that_duckdb_writes(data, shape):
    columns, schema = data.draw(tables(has_insensitive=True))
    with tempfile.TemporaryDirectory() as folder:
        try:
            release = shoal.anonymize(shoal.read(columns, schema), METHODS[shape])
        except (InfeasibleError, shoal.errors.DataError):
            return
        written = release.write(Path(folder) / "release")
        for name in release.names:
            path = written / f"{name}.csv"
            before = path.read_bytes()
            assert digest_from_codes(written, name) == release_digest(written, name)
            opened = shoal.open_release(written)
            order = data.draw(st.permutations(range(3)))[0]
            shuffled = write_shuffled(opened.files, name, order, Path(folder))
            edits = [shuffled.read_bytes(), b"\xef\xbb\xbf" + before, before + b"\n"]
            edits.append(before.replace(b"\n", b"\r\n"))
            for edit in edits:
                path.write_bytes(edit)
                try:
                    found = digest_from_codes(written, name)
                except shoal.errors.ShoalError:
                    continue
                # Other bytes never have the digest of the content that they show.
                assert edit == before or found is None or found != digest(path)
            path.write_bytes(before)


def write_shuffled(files, name, seed, folder):
    """Write the lines of a data file in an order that the seed decides."""
    path = folder / "shuffled.csv"
    listed = ", ".join(map(files.engine.quote, files.columns(name)))
    query = f"SELECT * FROM ({files.queries[name]}) f ORDER BY hash({seed}, {listed})"
    files.engine.write(query, path, "csv")
    return path


def release_digest(folder, name):
    return shoal.open_release(folder).manifest.files[f"{name}.csv"]


def digest_from_codes(folder, name):
    """Return the digest that the kept lines of a file lead to, however small the parts."""
    opened = shoal.open_release(folder)
    found = set()
    with opened.files.keeper.keeping():
        opened.files.published(opened.manifest, opened.meanings)
        assert opened.files.keeper.find(name) is not None
        for part in (1, 2, 7, 1 << 18):
            with mock.patch.object(kept_lines, "_PART", part):
                found.add(
                    sorting._digest_from_codes(opened.files, name, opened.manifest, opened.meanings)
                )
    assert opened.files.keeper.find(name) is None
    (only,) = found
    return only
