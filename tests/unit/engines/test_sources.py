"""An order that the source itself states is kept, from the frame to the codebook."""

from __future__ import annotations

import json

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.core.domain import ColumnType
from shoal.engines.sources import frame_orders, parquet_orders

# Sorted as texts, the sizes would be large, middle, small.
SIZES = ("small", "middle", "large")
UNUSED = (*SIZES, "Wally")
N = 60


def values(names: tuple[str, ...] = SIZES) -> list[str]:
    return [names[place % len(names)] for place in range(N)]


def pandas_frame(*, ordered: bool = True) -> pd.DataFrame:
    size = pd.Categorical(values(), categories=UNUSED, ordered=ordered)
    return pd.DataFrame({"size": size, "disease": values(("flu", "cold"))})


def polars_frame(*, ordered: bool = True) -> pl.DataFrame:
    kind = pl.Enum(UNUSED) if ordered else pl.Categorical
    size = pl.Series(values(), dtype=kind)
    return pl.DataFrame({"size": size, "disease": values(("flu", "cold"))})


def arrow_table(*, ordered: bool = True) -> pa.Table:
    return pa.Table.from_pandas(pandas_frame(ordered=ordered))


FRAMES = {"pandas": pandas_frame, "polars": polars_frame, "arrow": arrow_table}
WRITERS = {
    "pandas.parquet": lambda path, **given: pandas_frame(**given).to_parquet(path),
    "polars.parquet": lambda path, **given: polars_frame(**given).write_parquet(path),
    "groups.parquet": lambda path, **given: pandas_frame(**given).to_parquet(
        path, row_group_size=7
    ),
    "pandas.feather": lambda path, **given: pandas_frame(**given).to_feather(path),
    "polars.arrow": lambda path, **given: polars_frame(**given).write_ipc(path),
    "stream.arrow": lambda path, **given: polars_frame(**given).write_ipc_stream(path),
}
SCHEMA = shoal.Schema(quasi="size", sensitive="disease")


def sources(tmp_path, *, ordered: bool = True):
    for name, frame in FRAMES.items():
        yield name, frame(ordered=ordered)
    for name, write in WRITERS.items():
        write(tmp_path / name, ordered=ordered)
        yield name, tmp_path / name


def test_the_order_of_every_source_is_the_order_of_the_domain(tmp_path):
    for name, source in sources(tmp_path):
        domain = shoal.read(source, SCHEMA).domains["size"]
        assert (domain.type, tuple(domain.texts)) == (ColumnType.ORDERED, SIZES), name


def test_categories_without_an_order_are_sorted_as_texts(tmp_path):
    for name, source in sources(tmp_path, ordered=False):
        domain = shoal.read(source, SCHEMA).domains["size"]
        assert (domain.type, list(domain.texts)) == (ColumnType.CATEGORICAL, sorted(SIZES)), name


def test_a_mapping_of_ordered_columns_is_ordered():
    columns = {"size": pandas_frame()["size"], "disease": values(("flu", "cold"))}
    assert tuple(shoal.read(columns, SCHEMA).domains["size"].texts) == SIZES


def test_a_declared_type_comes_before_that_of_the_source():
    declared = shoal.Schema(quasi="size", sensitive="disease", types={"size": "categorical"})
    assert shoal.read(pandas_frame(), declared).domains["size"].type is ColumnType.CATEGORICAL
    turned = shoal.Schema(quasi="size", sensitive="disease", types={"size": SIZES[::-1]})
    assert tuple(shoal.read(pandas_frame(), turned).domains["size"].texts) == SIZES[::-1]


def test_ordered_numbers_stay_numbers():
    numbers = pd.Categorical([3, 1, 2] * 20, categories=[3, 1, 2], ordered=True)
    frame = pandas_frame().assign(size=numbers)
    assert frame_orders(frame) == {}
    domain = shoal.read(frame, SCHEMA).domains["size"]
    assert (domain.type, list(domain.texts)) == (ColumnType.INTEGER, ["1", "2", "3"])


def test_a_parquet_file_without_dictionaries_has_lost_its_order(tmp_path):
    path = tmp_path / "plain.parquet"
    frame = pd.DataFrame({"size": pd.Categorical(values(SIZES[::-1]), SIZES, ordered=True)})
    frame.to_parquet(path, use_dictionary=False)
    # Arrow would have the values in the order in which they come.
    assert pq.read_table(path)["size"].chunk(0).dictionary.to_pylist() != list(SIZES)
    assert parquet_orders(path) == {}


def test_files_of_a_folder_must_agree(tmp_path):
    pandas_frame().to_parquet(tmp_path / "a.parquet")
    pandas_frame().to_parquet(tmp_path / "b.parquet")
    assert parquet_orders(tmp_path) == {"size": UNUSED}
    other = pd.Categorical(values(), categories=SIZES[::-1], ordered=True)
    pandas_frame().assign(size=other).to_parquet(tmp_path / "c.parquet")
    assert parquet_orders(tmp_path) == {}


def test_chunks_whose_orders_contradict_each_other_have_none():
    chunks = [
        pa.DictionaryArray.from_arrays([0, 1], pa.array(order), ordered=True)
        for order in (["low", "high"], ["high", "low"])
    ]
    assert frame_orders(pa.table({"size": pa.chunked_array(chunks)})) == {}
    agreeing = [chunks[0], pa.DictionaryArray.from_arrays([0], pa.array(["high"]), ordered=True)]
    table = pa.table({"size": pa.chunked_array(agreeing)})
    assert frame_orders(table) == {"size": ("low", "high")}


def test_a_file_that_cannot_be_read_has_no_order(tmp_path):
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and nothing else")
    assert parquet_orders(tmp_path / "broken.parquet") == {}
    (tmp_path / "table.csv").write_text("size\nsmall\n")
    assert parquet_orders(tmp_path / "table.csv") == {}


@pytest.mark.parametrize("source", [pandas_frame, polars_frame])
def test_mondrian_cuts_along_the_order_and_the_codebook_lists_it(tmp_path, source):
    # Every size has one disease, so that it takes several of them to make two.
    sizes = ("a few", "9", "some", "10", "many", "lots")
    frame = source()
    if isinstance(frame, pd.DataFrame):
        frame["size"] = pd.Categorical(values(sizes), categories=sizes, ordered=True)
    else:
        frame = frame.with_columns(size=pl.Series(values(sizes), dtype=pl.Enum(sizes)))
    release = shoal.anonymize(shoal.read(frame, SCHEMA), shoal.Mondrian(k=5, ell=2), seed=1)
    assert sorted(release.meanings["size"]) == ["{10, many, lots}", "{a few, 9, some}"]
    codebook = (release.write(tmp_path / "release") / "codebook.md").read_text()
    low, high = (codebook.index(f"{', '.join(part)} |") for part in (sizes[:3], sizes[3:]))
    assert low < high
    described = (tmp_path / "release" / "codebook.xml").read_text()
    assert described.index("a few, 9, some<") < described.index("10, many, lots<")


@pytest.mark.parametrize("source", [pandas_frame, polars_frame])
def test_what_is_published_as_it_is_keeps_its_order_and_no_unused_category(tmp_path, source):
    release = shoal.anonymize(shoal.read(source(), SCHEMA), shoal.Anatomy(ell=2), seed=1)
    folder = release.write(tmp_path / "release")
    stated = json.loads((folder / "manifest.json").read_text())["columns"]
    assert [column.get("order") for column in stated] == [list(SIZES), None]
    opened = shoal.open_release(folder).published
    assert [tuple(one.texts) for one in opened.quasi if one.column == "size"] == [SIZES]
    assert [tuple(one.texts) for one in release.published.quasi] == [SIZES]
    described = (folder / "codebook.xml").read_text()
    places = [described.index(f"<catValu>{size}<") for size in SIZES]
    assert places == sorted(places)
    for path in folder.iterdir():
        assert b"Wally" not in path.read_bytes()
    assert shoal.verify(folder).holds


def test_a_sliced_release_keeps_orders_too(tmp_path):
    frame = pandas_frame()
    frame["age"] = [20 + place % 5 for place in range(N)]
    schema = shoal.Schema(quasi=["size", "age"], sensitive="disease")
    method = shoal.Slicing(ell=2, columns=[["size"], ["age", "disease"]])
    release = shoal.anonymize(shoal.read(frame, schema), method, seed=1)
    (size,) = (one for one in release.manifest.columns if one.name == "size")
    assert (size.type, size.order) == (ColumnType.ORDERED, SIZES)
    assert shoal.verify(release.write(tmp_path / "release")).holds


def test_a_sensitive_category_is_measured_along_its_order():
    frame = pandas_frame().rename(columns={"size": "disease", "disease": "size"})
    method = shoal.Mondrian(k=2, t=0.5, distance="ordered")
    release = shoal.anonymize(shoal.read(frame, SCHEMA), method, seed=1)
    assert release.manifest.columns[-1].order == SIZES


def test_the_record_states_the_order_so_that_replay_needs_no_frame_with_one(tmp_path):
    release = shoal.anonymize(shoal.read(pandas_frame(), SCHEMA), shoal.Anatomy(ell=2), seed=1)
    release.write(tmp_path / "release")
    record = json.loads((tmp_path / "release.internal" / "record.json").read_text())
    assert record["replay"]["columns"]["types"] == {"size": list(UNUSED)}


def test_a_profile_calls_an_ordered_column_ordered():
    found = {column.name: column.type for column in shoal.profile(pandas_frame()).columns}
    assert found["size"] is ColumnType.ORDERED
