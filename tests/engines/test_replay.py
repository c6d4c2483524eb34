"""A table is known again by its content on every engine, and replays to the same bytes."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import shoal
from shoal.core.errors import DataError
from shoal.core.schema import Schema
from shoal.engines.sql.survey import content_digest
from shoal.engines.sql.table import EngineTable

ROLES = {
    "quasi": ["age", "zip"], "insensitive": ["note", "seen"], "sensitive": "disease", "key": "name",
}  # fmt: skip


def people(n_rows: int = 120) -> dict[str, list[object]]:
    return {
        "name": [f"n{number}" for number in range(n_rows)],
        "age": [None if number % 11 == 0 else 20 + number % 7 for number in range(n_rows)],
        "zip": [("Łódź", "", "a:b", "🐟")[number % 4] for number in range(n_rows)],
        "note": [(1.5, -0.0, None)[number % 3] for number in range(n_rows)],
        "seen": [dt.date(2024, 2, 1 + number % 3) for number in range(n_rows)],
        "disease": [f"d{number % 5}" for number in range(n_rows)],
    }


def expected_digest(columns: dict[str, list[object]]) -> str:
    """Give the digest by its definition, row by row."""
    coded = {
        "age": sorted({age for age in columns["age"] if age is not None}),
        "zip": sorted(set(columns["zip"])),
        "disease": sorted(set(columns["disease"])),
    }
    sums = [0, 0]
    for row in zip(*columns.values(), strict=True):
        name, age, postcode, note, seen, disease = row
        codes = [
            len(coded["age"]) if age is None else coded["age"].index(age),
            coded["zip"].index(postcode),
            coded["disease"].index(disease),
        ]
        carried = [None if note is None else str(note + 0.0), seen.isoformat()]
        parts = [name, *map(str, codes), *carried]
        text = "".join("-" if part is None else f"{len(part)}:{part}" for part in parts)
        number = int(hashlib.sha256(text.encode()).hexdigest()[:15], 16)
        sums = [sums[0] + number % 2**30, sums[1] + number % (2**30 - 1)]
    has_missing = [None] if None in columns["age"] else []
    labels = [
        ["age", "integer", [*map(str, coded["age"]), *has_missing]],
        ["zip", "categorical", coded["zip"]],
        ["disease", "categorical", coded["disease"]],
    ]
    stated = {
        "coded": labels,
        "carried": [["note", "real"], ["seen", "date"]],
        "is_text": False,
        "rows": len(columns["name"]),
        "sums": sums,
    }
    return hashlib.sha256(json.dumps(stated).encode()).hexdigest()


def test_the_digest_is_that_of_its_definition_whatever_the_order(engine):
    columns = people()
    turned = {name: values[::-1] for name, values in columns.items()}
    table = EngineTable(engine, engine.scan(turned), Schema(**ROLES))
    assert content_digest(table) == expected_digest(columns)
    swapped = columns | {"zip": [columns["zip"][1], columns["zip"][0], *columns["zip"][2:]]}
    assert expected_digest(swapped) != expected_digest(columns)


def replayed(folder: Path, **options: object) -> None:
    """Replay a release, and compare the bytes of every public file."""
    made = shoal.replay(folder.with_name(f"{folder.name}.internal"), **options)
    for path in folder.rglob("*"):
        again = made.folder / path.relative_to(folder)
        assert path.is_dir() or again.read_bytes() == path.read_bytes()
    assert set(made.sealed.values()) == {"identical"}


@pytest.mark.xdist_group("spark")
def test_spark_replays_what_it_read(spark, tmp_path):
    folder = tmp_path / "people"
    folder.mkdir()
    parquet.write_table(pa.table(people()), folder / "part.parquet")
    roles = ROLES | {"key": None, "identifying": "name"}
    table = shoal.read(folder, Schema(**roles), engine="spark")
    shoal.anonymize(table, shoal.Anatomy(ell=3)).write(tmp_path / "release")
    table.engine.close()
    replayed(tmp_path / "release")


def test_postgres_replays_its_tables(postgres_server, tmp_path):
    psycopg = pytest.importorskip("psycopg")
    address = postgres_server.address()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS replayed")
        connection.execute(
            "CREATE TABLE replayed (name text, age int, zip text, note float, seen date, "
            "disease text)"
        )
        try:
            rows = list(zip(*people().values(), strict=True))
            connection.cursor().executemany(
                "INSERT INTO replayed VALUES (%s, %s, %s, %s, %s, %s)", rows
            )
            named = address.replace("steward@", "steward:pa55word@")
            for key in ("name", None):
                roles = ROLES | {"key": key, "identifying": "name"}
                table = shoal.read(named, Schema(**roles), table="replayed")
                folder = tmp_path / f"release-{key}"
                shoal.anonymize(table, shoal.Anatomy(ell=3)).write(folder, "parquet")
                table.engine.close()
                replayed(folder)
            assert "pa55word" not in (tmp_path / "release-name.internal/record.json").read_text()
            connection.execute("UPDATE replayed SET zip = 'x' WHERE name = 'n7'")
            with pytest.raises(DataError, match="content"):
                shoal.replay(tmp_path / "release-name.internal", to=tmp_path / "other")
        finally:
            connection.execute("DROP TABLE replayed")
