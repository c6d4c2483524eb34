"""The table that Shoal and its peers are measured on, as files that all of them read."""

from __future__ import annotations

import csv
from dataclasses import asdict, dataclass
from pathlib import Path

import shoal
from shoal.datasets.dataset import Dataset

OCC_7_ROWS = 45_222
"""The rows of Adult that are complete in all its columns."""


@dataclass(frozen=True, kw_only=True)
class MeasuredTable:
    """A table on disk."""

    name: str  # For a heading.
    path: str  # The CSV file: quasi-identifying columns, then the sensitive one.
    adult: str | None  # Its source: a file with Adult, or None for Shoal's census generator.
    quasi: list[str]
    sensitive: str
    integers: list[str]  # The columns of whole numbers.
    hierarchies: dict[str, str]  # A file for each quasi-identifying column, in ARX's format.
    n_rows: int

    def to_dict(self) -> dict[str, object]:
        """Return the table as in a request to a worker."""
        return asdict(self)


def load(adult: str | None, n_rows: int = OCC_7_ROWS, seed: int = 1) -> Dataset:
    """Return OCC-7, or a generated census with only quasi-identifying and sensitive columns."""
    if adult is not None:
        return shoal.datasets.adult(adult, "occ-7")
    whole = shoal.datasets.census(rows=n_rows, seed=seed)
    schema = whole.schema
    kept = schema.coded
    return Dataset(
        "census",
        {column: whole.columns[column] for column in kept},
        shoal.Schema(
            quasi=schema.quasi,
            sensitive=schema.sensitive,
            types={"age": "integer", "postcode": "categorical"},
            hierarchies=schema.hierarchies,
        ),
    )


def prepare(adult: Path | None, folder: Path) -> MeasuredTable:
    """Write the table and its hierarchies into a folder."""
    dataset = load(None if adult is None else str(adult))
    schema = dataset.schema
    path = folder / "table.csv"
    dataset.to_csv(path)
    trees = shoal.read(dataset).trees
    hierarchies = {}
    for column in schema.quasi:
        target = folder / f"hierarchy-{column}.csv"
        with target.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream, delimiter=";").writerows(trees[column].rows())
        hierarchies[column] = str(target)
    return MeasuredTable(
        name="OCC-7 of Adult" if adult else "a generated census",
        path=str(path),
        adult=None if adult is None else str(adult.resolve()),
        quasi=list(schema.quasi),
        sensitive=schema.sensitive[0],
        integers=["age"],
        hierarchies=hierarchies,
        n_rows=dataset.n_rows,
    )
