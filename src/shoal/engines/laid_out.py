"""A release that is still in the engine that made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes, Counts, smallest_type
from shoal.core.domain import ColumnType, Texts
from shoal.core.method import Shape
from shoal.core.plan import Plan, Segments
from shoal.core.release import BUCKET, Manifest, Meaning, Published, PublishedColumn
from shoal.core.schema import Role
from shoal.engines.assembling import (
    Coded,
    Counted,
    assemble,
    count_runs,
    recoded,
    room_for,
    sliced_release,
    suppressed,
)
from shoal.engines.carried import carried_type
from shoal.engines.domains import SQL_TYPES
from shoal.engines.layout import published_queries, tuple_query
from shoal.engines.published import PublishedFiles
from shoal.engines.slicing import placement_query, slice_table
from shoal.engines.sorting import shown_texts
from shoal.engines.table import EngineTable
from shoal.engines.texts import texts_of

__all__ = ["LaidOut", "without_places"]


def without_places(plan: Plan) -> Plan:
    """Give a plan without the places of rows, which are as many as rows in some plans.

    Once it is applied the engine has them.
    """
    nothing = np.empty(0, dtype=np.int64)
    return replace(plan, assign=Segments(*[nothing] * 6))


class LaidOut(PublishedFiles):
    """The data files of a release before they are written.

    What they will show is counted by code, without writing it out as texts.

    Parameters
    ----------
    table, plan, shape
        What was applied to what.
    release
        The number that `apply_plan` gave.
    """

    def __init__(self, table: EngineTable, plan: Plan, shape: Shape, release: int) -> None:
        super().__init__(table.engine.publisher, published_queries(table, plan, shape, release))
        self._table, self._plan, self._release = table, plan, release
        self._shape = shape

    def written_query(self, name: str, manifest: Manifest, ending: str) -> str:
        """Give the query of a file as it is written in a format: in CSV, texts are canonical."""
        quote, types = self.engine.quote, self._table.scan.types
        reals = [c for c in self._table.schema.insensitive if types[c] in ("DOUBLE", "FLOAT")]
        columns = self.columns(name) if reals and ending == "csv" else ()
        if not set(columns) & set(reals):
            return super().written_query(name, manifest, ending)
        selected = ", ".join(
            f"{self.engine.text(quote(column), types[column])} AS {quote(column)}"
            if column in reals
            else quote(column)
            for column in columns
        )
        return f"SELECT {selected} FROM ({self.queries[name]}) f"

    def carried_type(self, column: str) -> ColumnType:
        """Return the type of the values that an undeclared insensitive column shows."""
        table = self._table
        name = f"x{table.schema.insensitive.index(column)}"
        return carried_type(self.engine, table.scan, column, name, f"published_{self._release}")

    def shown_codes(self, column: str) -> Codes:
        """Return the codes that some line shows of a column that is published as it is."""
        name = f"p{self._table.schema.coded.index(column)}"
        place = next((i for i, one in enumerate(self._plan.slices) if column in one), None)
        lines = f"published_{self._release}"
        if place is not None:
            lines = slice_table(self._release, place)
        found = self.engine.rows(f"SELECT DISTINCT {name} AS code FROM {lines} ORDER BY {name}")
        return found["code"].astype(np.int64)

    def _has_type(self, column: PublishedColumn) -> bool:
        # What a CSV file holds are texts; other sources have types of their own.
        if column.role is not Role.INSENSITIVE:
            return True
        return self._table.scan.is_text and self._is_written_plainly(column)

    def _is_written_plainly(self, column: PublishedColumn) -> bool:
        """Whether the values of an insensitive column sort as its texts do, as texts themselves.

        Otherwise they stay texts: lines are sorted by them. A real number without decimals may be
        written without a point, which changes no order if all are.
        """
        name = f"x{self._table.schema.insensitive.index(column.name)}"
        kind = SQL_TYPES[column.type]
        value = self.engine.cast(name, kind)
        text = self.engine.text(value, kind)
        found = self.engine.rows(
            f"SELECT count(CASE WHEN {text} NOT IN ({name}, concat({name}, '.0')) THEN 1 END) "
            f"AS n, count(DISTINCT {name}) - count(DISTINCT {value}) AS n_alike "
            f"FROM published_{self._release}"
        )
        return not int(found["n"][0]) and not int(found["n_alike"][0])

    @property
    def placement_query(self) -> str:
        """The query of which row stands in which line, in the order of lines.

        In a sliced release nobody has a line, but everybody is of a kind; see `tuple_query`.
        """
        if self._plan.slices:
            return placement_query(self._table, self._release)
        return f"SELECT row_key, bucket, line FROM published_{self._release}"

    @property
    def tuple_query(self) -> str:
        """The query of what is known of the people of a sliced release, in the order of kinds."""
        return tuple_query(self._table, self._plan, self._release)

    def shown_of_keys(self, keys: Sequence[str]) -> dict[str, dict[str, str | None]]:
        """Give the bucket and the quasi-identifiers that are published of rows, by their keys."""
        schema = self._table.schema
        names = {column: f"p{schema.coded.index(column)}" for column in schema.quasi}
        asked: Texts = np.array([*keys, None], dtype=object)[:-1]
        self.engine.push("asked", {"row_key": asked})
        fetched = self.engine.rows(
            f"SELECT p.row_key, p.bucket, {', '.join(f'p.{name}' for name in names.values())} "
            f"FROM published_{self._release} p JOIN asked a USING (row_key)"
        )
        self.engine.drop("asked")
        texts = {column: shown_texts(self._table, self._plan, column) for column in schema.quasi}
        return {
            str(key): {BUCKET: str(fetched["bucket"][place])}
            | {column: texts[column][fetched[name][place]] for column, name in names.items()}
            for place, key in enumerate(fetched["row_key"])
        }

    def shown_of_everybody(self) -> tuple[Texts, dict[str, tuple[Codes, list[str | None]]]]:
        """Return what buckets are known by, for every row: their numbers, or quasi-identifiers.

        Returns
        -------
        keys
            The keys of the rows.
        shown
            For each published column that buckets are known by the code of every row, and the
            texts of the codes.
        """
        table, plan = self._table, self._plan
        has_numbers = self._shape is Shape.BUCKETIZED
        named = {column: f"p{table.schema.coded.index(column)}" for column in table.schema.quasi}
        names = ["bucket"] if has_numbers else list(named.values())
        fetched = self.engine.rows(
            f"SELECT row_key, {', '.join(names)} FROM published_{self._release}"
        )
        keys: Texts = np.array([*texts_of(fetched["row_key"]), None], dtype=object)[:-1]
        if not has_numbers:
            shown = {
                column: (fetched[name].astype(np.int64), shown_texts(table, plan, column))
                for column, name in named.items()
            }
            return keys, shown
        used, code = np.unique(fetched["bucket"].astype(np.int64), return_inverse=True)
        return keys, {BUCKET: (code, [str(number) for number in used.tolist()])}

    def published(
        self, manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]]
    ) -> Published:
        """Count lines and buckets as any reader of the files will."""
        self.engine.make_room(room_for(manifest))
        if manifest.shape is Shape.SLICED:
            slices = [
                self._slice(manifest, place, names) for place, names in enumerate(manifest.slices)
            ]
            return sliced_release(manifest, meanings, slices)
        if manifest.shape is Shape.BUCKETIZED:
            lines = self._grouped(manifest, Role.QUASI)
            return assemble(manifest, meanings, lines, self._grouped(manifest, Role.SENSITIVE))[0]
        if manifest.shape is Shape.SUPPRESSED:
            return suppressed(manifest, meanings, self._columns(manifest))[0]
        return assemble(manifest, meanings, self._grouped(manifest, Role.QUASI, Role.SENSITIVE))[0]

    def _count_alike(self, manifest: Manifest, columns: Sequence[str]) -> Counts:  # noqa: ARG002
        """Count for every line, in their order, those that agree with it in some columns."""
        schema = self._table.schema
        names = [
            f"x{schema.insensitive.index(column)}"
            if column in schema.insensitive
            else f"p{schema.coded.index(column)}"
            for column in columns
        ]
        return self._alike_in(f"published_{self._release}", names)

    @property
    def keys_of_lines(self) -> Texts:
        """The key of the row that stands in each line."""
        query = f"SELECT row_key FROM published_{self._release} ORDER BY line"
        keys: Texts = np.array([*texts_of(self.engine.rows(query)["row_key"]), None], dtype=object)
        return keys[:-1]

    def _columns(self, manifest: Manifest) -> list[Coded]:
        """Give the coded columns, line by line."""
        coded = self._table.schema.coded
        names = [f"p{place}" for place in range(len(coded))]
        fetched = self.engine.arrays(
            f"SELECT {', '.join(names)} FROM published_{self._release} ORDER BY line",
            dict.fromkeys(names, np.int32),
        )
        return [
            self._shown_as(manifest, column, fetched[name])
            for column, name in zip(coded, names, strict=True)
        ]

    def _shown_as(self, manifest: Manifest, column: str, codes: Codes) -> Coded:
        texts = shown_texts(self._table, self._plan, column)
        # A blank is -1: the last text.
        codes[codes < 0] = len(texts) - 1
        return recoded(manifest, column, codes, texts)

    def _slice(self, manifest: Manifest, place: int, attributes: Sequence[str]) -> Counted:
        """Give the counts of a column's values by bucket."""
        names = [f"p{self._table.schema.coded.index(name)}" for name in attributes]
        listed = ", ".join(["bucket", *names])
        kinds: dict[str, npt.DTypeLike] = {
            "bucket": smallest_type(self._plan.n_buckets + 1),
            **dict.fromkeys(names, np.int32),
            "n": np.int64,
        }
        counts = slice_table(self._release, place)
        fetched = self.engine.arrays(f"SELECT {listed}, n FROM {counts} ORDER BY {listed}", kinds)
        coded = [
            self._shown_as(manifest, attribute, fetched[name])
            for attribute, name in zip(attributes, names, strict=True)
        ]
        return Counted(fetched["bucket"], coded, fetched["n"])

    def _grouped(self, manifest: Manifest, *roles: Role) -> Counted:
        columns = [column for role in roles for column in manifest.columns_of(role)]
        has_bucket = manifest.shape is Shape.BUCKETIZED
        names = [f"p{self._table.schema.coded.index(column)}" for column in columns]
        listed = ", ".join([*(["bucket"] if has_bucket else []), *names])
        kinds: dict[str, npt.DTypeLike] = {**dict.fromkeys(names, np.int32), "n": np.int64}
        kinds |= {"bucket": smallest_type(self._plan.n_buckets + 1)} if has_bucket else {}
        if has_bucket and Role.QUASI in roles:
            # Sorted by what they show, so that equal lines stand together.
            del kinds["n"]
            fetched = count_runs(self.engine.columns(f"published_{self._release}", kinds))
        else:
            counted = f"count(*) AS n FROM published_{self._release} GROUP BY {listed}"
            if has_bucket and Role.SENSITIVE in roles:
                counted = f"n FROM values_{self._release}"
            fetched = self.engine.arrays(f"SELECT {listed}, {counted} ORDER BY {listed}", kinds)
        coded = [
            self._shown_as(manifest, column, fetched.pop(name))
            for column, name in zip(columns, names, strict=True)
        ]
        return Counted(fetched["bucket"] if has_bucket else None, coded, fetched["n"])
