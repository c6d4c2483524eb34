"""All worlds of releases of one table, from the written files and one by one."""

from __future__ import annotations

import csv
from collections import Counter

import shoal


def lines_of(folder, name):
    """Return the lines of a data file."""
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def placement_of(folder):
    """Return who is where, by the internal folder."""
    internal = folder.with_name(folder.name + ".internal")
    engine = shoal.open_release(folder).files.engine
    fetched = engine.rows(f"SELECT * FROM '{internal}/placement.parquet'")
    rows = zip(*(column.tolist() for column in fetched.values()), strict=True)
    return [dict(zip(fetched, row, strict=True)) for row in rows]


def buckets_of(folder, rows):
    """Return for each key the bucket, and its published values, from the written files alone."""
    known = {row["no"]: row for row in rows}
    if (folder / "sensitive.csv").exists():
        place = {str(row["row_key"]): str(row["bucket"]) for row in placement_of(folder)}
        held = {}
        for line in lines_of(folder, "sensitive"):
            held.setdefault(line["bucket"], Counter())[line["illness"]] += int(line["count"])
        return place, held
    if (folder / "table.csv").exists():
        lines = lines_of(folder, "table")
        shown = [(line["age"], line["town"]) for line in lines]
        place = {str(row["row_key"]): shown[row["line"] - 1] for row in placement_of(folder)}
        held = {}
        for line, look in zip(lines, shown, strict=True):
            held.setdefault(look, Counter())[line["illness"]] += 1
        return place, held
    (name,) = [
        path.stem for path in folder.glob("column_*.csv") if "illness" in path.read_text()[:80]
    ]
    lines = lines_of(folder, name)
    beside = [column for column in ("age", "town") if column in lines[0]]
    held = {}
    for line in lines:
        key = (line["bucket"], *(line[column] for column in beside))
        held.setdefault(key, Counter())[line["illness"]] += int(line["count"])
    place = {
        str(row["row_key"]): (
            str(row["bucket"]),
            *(str(known[str(row["row_key"])][column]) for column in beside),
        )
        for row in placement_of(folder)
    }
    return place, held


def enumerate_worlds(keys, views):
    """Count in how many worlds each person has each value, by trying all of them."""
    n_worlds, counted = 0, {key: Counter() for key in keys}
    left = [{place: Counter(values) for place, values in held.items()} for _, held in views]
    world = {}

    def go_on(position):
        nonlocal n_worlds
        if position == len(keys):
            n_worlds += 1
            for key, value in world.items():
                counted[key][value] += 1
            return
        key = keys[position]
        own = [left[which][place[key]] for which, (place, _) in enumerate(views) if key in place]
        for value in list(own[0]):
            if all(bucket[value] > 0 for bucket in own):
                for bucket in own:
                    bucket[value] -= 1
                world[key] = value
                go_on(position + 1)
                for bucket in own:
                    bucket[value] += 1

    go_on(0)
    return n_worlds, counted
