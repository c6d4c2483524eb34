"""The steward's table, staged and coded inside an engine.

The source is read once, into the engine. Every quasi-identifying and sensitive column gets a
dictionary (`dictionary_0`, ...: code, text). The table `coded` holds for every row its key, the
codes (`c0`, ...), and the insensitive values (`x0`, ...) as they are. Of the identifying columns
only the key is staged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial

import numpy as np

from shoal.core.arrays import Counts, Flags, Texts
from shoal.core.cells import Cells, group
from shoal.core.display import Displayed, Section
from shoal.core.domain import (
    ColumnType,
    Domain,
    group_variants,
    most_frequent_spellings,
    variants_error,
)
from shoal.core.errors import DataError, ParameterError
from shoal.core.levels import Level
from shoal.core.private_cells import PrivateCells
from shoal.core.schema import ColumnDeclaration, Schema
from shoal.core.sharing import once
from shoal.core.table import Rows
from shoal.core.tree import Tree
from shoal.engines.engine import N_HASHES, Columns, Engine, Scan
from shoal.engines.sql.columns import (
    PART,
    Waiting,
    canonical_text,
    carried_expression,
    carried_kind,
    check_declared,
    count_times_of_day,
    dictionary_of,
    refuse_reserved_carried,
    refuse_unique,
    stage_coded,
    whole_row,
)
from shoal.engines.sql.domains import (
    build_domain,
    infer_type,
    plain_type,
    refuse_reserved,
    refuse_too_large,
    text_array,
    texts_of,
    type_of_engine,
)
from shoal.engines.sql.marking import mark_cells
from shoal.hierarchies.levels import levels_of_table

FEW_ROWS = 1 << 20
"""The most rows whose codes are fetched, to count them without the engine."""


class EngineTable(Displayed):
    """A table held by an engine; implements `shoal.core.table.Table`."""

    def __init__(self, engine: Engine, scan: Scan, schema: Schema) -> None:
        schema.check_columns(tuple(scan.types))
        self.engine = engine
        self.scan = scan
        self._schema = schema = schema.with_orders(scan.orders)
        self._types = {
            column: type_of_engine(column, scan.types[column]) for column in schema.coded
        }
        with scan.unchanged():
            self._stage()
        self._n_rows_of: dict[str, Counts] = {}
        self._variants: dict[str, str] = {}
        self._domains = {
            column: self._code_column(place, column) for place, column in enumerate(schema.coded)
        }
        self._stage_coded()
        self._n_releases = 0
        self._waiting: dict[int, Waiting] = {}
        self.parts: Domain | None = None
        """The parts of the table, if it is divided; see `shoal.engines.sql.columns.part_rows`."""

    @property
    def schema(self) -> Schema:
        """The roles, types and hierarchies of the columns."""
        return self._schema

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self._n_rows

    @property
    def domains(self) -> Mapping[str, Domain]:
        """The domain of every quasi-identifying and sensitive column."""
        return self._domains

    @property
    def variants(self) -> Mapping[str, str]:
        """The treatment of spelling variants, merge or distinct, of sensitive columns with any."""
        return self._variants

    @cached_property
    def trees(self) -> Mapping[str, Tree]:
        """The hierarchies of the schema over the domains of their columns."""
        return {
            column: hierarchy.over(self._domains[column], self.counts([column]).counts)
            for column, hierarchy in self._schema.hierarchies.items()
            if column in self._domains
        }

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The levels at which sensitive columns are protected and attacked."""
        counts_of = self._n_rows_of.__getitem__
        return levels_of_table(self._schema, self._domains, counts_of, self.trees)

    def counts(self, columns: Sequence[str]) -> Cells:
        """Count the distinct combinations of some coded columns."""
        if len(columns) == 1 and columns[0] != PART:
            # It was counted when its values were coded.
            domain = self._domains[columns[0]]
            codes = np.arange(domain.size, dtype=np.int64)[:, np.newaxis]
            return Cells((domain,), codes, self._n_rows_of[columns[0]].copy())
        names = [self.code_name(column) for column in columns]
        known = self._domains | ({} if self.parts is None else {PART: self.parts})
        domains = tuple(known[column] for column in columns)
        if names and self._n_rows <= FEW_ROWS and self.engine.publisher is self.engine:
            count = partial(self._counts_of_few, names, domains)
            return once((self, self.parts), ("counts", *names), count)
        listed = ", ".join(dict.fromkeys(names))
        counted = f"SELECT {listed}{', ' if names else ''}count(*) AS n FROM coded"
        fetched = self.engine.arrays(
            f"{counted} GROUP BY {listed} ORDER BY {listed}" if names else counted,
            dict.fromkeys(names, np.int32) | {"n": np.int64},
        )
        codes = np.empty((len(fetched["n"]), len(names)), dtype=np.int64)
        for place, name in enumerate(names):
            codes[:, place] = fetched[name]
        return Cells(domains, codes, fetched["n"])

    def _counts_of_few(self, names: Sequence[str], domains: tuple[Domain, ...]) -> Cells:
        """Count combinations of codes outside the engine, which takes longer to plan a query."""
        fetched = self.engine.rows(f"SELECT {', '.join(dict.fromkeys(names))} FROM coded")
        columns = [fetched[name] for name in names]
        first, cell = group(columns, [domain.size for domain in domains], self._n_rows)
        codes = np.empty((len(first), len(names)), dtype=np.int64)
        for place, column in enumerate(columns):
            codes[:, place] = column[first]
        return Cells(domains, codes, np.bincount(cell, minlength=len(first)))

    def rows(self, columns: Sequence[str], cap: int) -> Mapping[str, Texts]:
        """Return the texts of some coded columns, row by row, in the order of their keys."""
        rows = self.row_codes(cap)
        labels = {column: text_array(self._domains[column].labels()) for column in columns}
        place = {column: place for place, column in enumerate(rows.columns)}
        return {column: labels[column][rows.codes[:, place[column]]] for column in columns}

    def row_codes(self, cap: int) -> Rows:
        """Return the codes of all coded columns, row by row, in the order of their keys.

        A table with more than `cap` rows is refused, whichever engine holds it.
        """
        if self._n_rows > cap:
            raise ParameterError(
                f"The table has {self._n_rows} rows; work row by row, such as hiding single cells, "
                f"is done in memory, for at most {cap}, whichever engine holds the table.",
                hint="publish a sample of the rows, or parts of the table one by one.",
            )
        return once((self,), "row codes", lambda: self._fetch_codes("coded"))

    def codes_of_rows(self, keys: Texts) -> Rows:
        """Return the codes of all coded columns for some rows, in the order of their keys."""
        self.engine.push("asked", {"row_key": keys})
        rows = self._fetch_codes(
            "(SELECT t.* FROM coded t JOIN asked a ON a.row_key = t.row_key) c"
        )
        self.engine.drop("asked")
        return rows

    def sampled_codes(self, n_rows: int, key: bytes) -> Rows:
        """Return the codes of a sample of about `n_rows` rows, which `key` decides.

        If the table has no more rows than that, all are returned.
        """
        if self._n_rows <= n_rows:
            return self.row_codes(n_rows)
        number = self.engine.hash_number("concat(k.sample_key, ':', t.row_key)")
        self.engine.push("sampling", {"sample_key": np.array([key.hex()], dtype=object)})
        below = n_rows * N_HASHES // self._n_rows
        chosen = f"SELECT t.* FROM coded t CROSS JOIN sampling k WHERE {number} < {below}"
        rows = self._fetch_codes(f"({chosen}) c")
        self.engine.drop("sampling")
        return rows

    def _fetch_codes(self, relation: str) -> Rows:
        names = [self.code_name(column) for column in self._schema.coded]
        fetched = self.engine.rows(
            f"SELECT {', '.join(['row_key', *names])} FROM {relation} ORDER BY row_key"
        )
        codes = np.empty((len(fetched["row_key"]), len(names)), dtype=np.int32)
        for place, name in enumerate(names):
            codes[:, place] = fetched[name]
        keys = text_array(texts_of(fetched["row_key"]))
        return Rows(tuple(self._domains.values()), codes, keys, is_typed=not self.scan.is_text)

    def marked(self, cells: PrivateCells, cap: int) -> Flags:
        """Return which cells are private: one row per row of `row_codes`, in its order."""
        return mark_cells(self, cells, self.row_codes(cap))

    def codes_of_keys(self, keys: Sequence[str]) -> dict[str, dict[str, int]]:
        """Return the codes of the rows with some keys, by key and column."""
        self.engine.push("asked", {"row_key": text_array(dict.fromkeys(keys))})
        names = {column: self.code_name(column) for column in self._schema.coded}
        listed = ", ".join(f"t.{name}" for name in names.values())
        fetched = self.engine.rows(
            f"SELECT t.row_key, {listed} FROM coded t JOIN asked a ON a.row_key = t.row_key"
        )
        self.engine.drop("asked")
        return {
            str(key): {column: int(fetched[name][place]) for column, name in names.items()}
            for place, key in enumerate(fetched["row_key"])
        }

    @property
    def key_expression(self) -> str:
        """The expression of a row's key, over the source.

        Rows with the same content may share it; their keys in the table then have a number added.
        """
        if self._schema.key is not None:
            return self._text(self._schema.key)
        if self.scan.line is not None:
            return self.engine.cast(self.scan.line, "VARCHAR")
        return self.engine.hash(whole_row(self.engine, self.scan))

    @property
    def value_names(self) -> list[str]:
        """The names in `coded` of all codes, then of all insensitive values."""
        return [
            *(f"c{place}" for place in range(len(self._schema.coded))),
            *(f"x{place}" for place in range(len(self._schema.insensitive))),
        ]

    def code_name(self, column: str) -> str:
        """Return the name of a column's codes in the table `coded`."""
        if column == PART:
            return "part"
        return f"c{self._schema.coded.index(column)}"

    def shown_name(self, column: str) -> str:
        """Return the name in `published_N` of a column's codes, or of its insensitive values."""
        if column in self._schema.insensitive:
            return f"x{self._schema.insensitive.index(column)}"
        return f"p{self._schema.coded.index(column)}"

    def _overview(self) -> Section:
        rows = tuple(
            (name, str(role), str(self._types[name]) if name in self._types else None)
            for name, role in self._schema.roles.items()
        )
        return Section(repr(self), ("column", "role", "type"), rows, holds_values=False)

    def __repr__(self) -> str:
        return f"Table({self.scan.name}: {self._n_rows} rows, {len(self.scan.types)} columns)"

    def _stage(self) -> None:
        key = self._schema.key
        owner = self._schema.person
        person = f", {self._text(owner)} AS person" if owner else ""
        coded = "".join(
            f", {self._text_expression(column)} AS c{place}"
            for place, column in enumerate(self._schema.coded)
        )
        carried = "".join(
            f", {carried_expression(self.engine, column, self.scan.types[column])} AS x{place}"
            for place, column in enumerate(self._schema.insensitive)
        )
        columns = f"{person}{coded}{carried}"
        self.engine.stage(
            "source", f"SELECT {self.key_expression} AS row_key{columns} FROM {self.scan.relation}"
        )
        if key is None and self.scan.line is None:
            self._tell_equal_rows_apart()
        self._n_rows = int(self.engine.rows("SELECT count(*) AS n FROM source")["n"][0])
        if self._n_rows == 0:
            raise DataError(f"The table {self.scan.name} has no rows.")
        if key is not None:
            self._check_keys()
        self.n_people = self._count_people()
        for place, column in enumerate(self._schema.insensitive):
            kind = carried_kind(self.scan.types[column])
            refuse_reserved_carried(self.engine, f"x{place}", column, kind)
            check_declared(self.engine, f"x{place}", column, kind, self._schema)
            if not self._schema.confirms([column]):
                refuse_unique(self.engine, f"x{place}", column, self._n_rows)

    def _text(self, column: str) -> str:
        return self.engine.text(self.engine.quote(column), self.scan.types[column])

    def _tell_equal_rows_apart(self) -> None:
        """Add a number to the keys of rows that are equal in all columns."""
        found = self.engine.rows("SELECT count(*) - count(DISTINCT row_key) AS n FROM source")
        if int(found["n"][0]) == 0:
            return
        names = ", ".join((["person"] if self._schema.person else []) + self.value_names)
        number = self.engine.cast(
            "row_number() OVER (PARTITION BY row_key ORDER BY row_key)", "VARCHAR"
        )
        self.engine.stage(
            "numbered",
            f"SELECT concat(row_key, ':', {number}) AS row_key, {names} FROM source",
        )
        self.engine.stage("source", "SELECT * FROM numbered")
        self.engine.drop("numbered")

    def _text_expression(self, column: str) -> str:
        n_timed = count_times_of_day(self.engine, self.scan, column)
        if n_timed:
            raise DataError(
                f"Column {column!r} has {n_timed} values with a time of day, not only a date.",
                hint="truncate it to the date: a time of day is nearly unique.",
            )
        return canonical_text(self.engine, column, self.scan.types[column])

    def _check_keys(self) -> None:
        fetched = self.engine.rows(
            "SELECT count(DISTINCT row_key) AS n, count(row_key) AS given FROM source"
        )
        n_missing = self._n_rows - int(fetched["given"][0])
        n_repeated = int(fetched["given"][0]) - int(fetched["n"][0])
        if n_missing or n_repeated:
            what = f"{n_missing} rows have none" if n_missing else f"{n_repeated} rows repeat one"
            raise DataError(
                f"The key {self._schema.key!r} does not identify rows: {what}.",
                hint="name a column with a different value in every row, or leave key= out: the "
                "line number then serves.",
            )

    def _count_people(self) -> int:
        if self._schema.person is None:
            return self._n_rows
        fetched = self.engine.rows(
            "SELECT count(DISTINCT person) AS n, count(person) AS given FROM source"
        )
        return int(fetched["n"][0]) + self._n_rows - int(fetched["given"][0])

    def _code_column(self, place: int, column: str) -> Domain:
        fetched = self.engine.rows(
            f"SELECT c{place} AS v, count(*) AS n FROM source GROUP BY c{place}"
        )
        read, counts = texts_of(fetched["v"]), fetched["n"].astype(np.int64)
        refuse_reserved(column, text_array(v for v in read if v is not None))
        values = self._spelled(column, read, counts)
        distinct = values if values is read else list(dict.fromkeys(values))
        present = text_array(v for v in distinct if v is not None)
        declared = self._schema.types.get(column)
        if declared is None:
            column_type = infer_type(present) if self.scan.is_text else self._types[column]
            refuse_too_large(column, present)
            declared = ColumnDeclaration(column_type)
        domain, codes = build_domain(column, declared.type, distinct, order=declared.order)
        self._types[column] = declared.type
        if values is not read:
            code_of = dict(zip(distinct, codes.tolist(), strict=True))
            codes = np.array([code_of[value] for value in values], dtype=np.int64)
        self._n_rows_of[column] = np.zeros(domain.size, dtype=np.int64)
        np.add.at(self._n_rows_of[column], codes, counts)
        # A merged value has one entry per spelling, so that rows are found under each of them.
        self.engine.push(f"dictionary_{place}", dictionary_of(domain, read, codes))
        return domain

    def _spelled(
        self, column: str, texts: Sequence[str | None], counts: Counts
    ) -> Sequence[str | None]:
        """Return how each text of a column is spelled in the release.

        A sensitive column with spelling variants is refused unless the steward decides on them.
        """
        kind = self._types[column]
        if column not in self._schema.sensitive or kind is not ColumnType.CATEGORICAL:
            return texts
        present = [place for place, text in enumerate(texts) if text is not None]
        spelled = [str(texts[place]) for place in present]
        groups = group_variants(spelled)
        if not groups:
            return texts
        choice = self._schema.variants.get(column)
        if choice is None:
            raise variants_error(column, groups)
        self._variants[column] = choice
        if choice == "distinct":
            return texts
        merged = list(texts)
        for place, text in zip(
            present, most_frequent_spellings(spelled, counts[present], groups), strict=True
        ):
            merged[place] = text
        return merged

    def _stage_coded(self) -> None:
        # A missing value has no text; its code comes after those of all texts.
        codes = {
            place: f"coalesce(d{place}.code, {len(self._domains[column].texts)})"
            for place, column in enumerate(self._schema.coded)
        }
        joined_on = "LEFT JOIN dictionary_{place} d{place} ON d{place}.v = s.c{place}"
        carried = [f"x{place}" for place in range(len(self._schema.insensitive))]
        stage_coded(self.engine, codes, joined_on, ["row_key", *carried])
        for place, column in enumerate(self._schema.coded):
            is_merged = self._variants.get(column) == "merge"
            if is_merged or self.engine.publisher is not self.engine:
                # The publisher finds texts by code, so a code must have only one text there.
                domain = self._domains[column]
                codes_of_texts = np.arange(len(domain.texts))
                shown = dictionary_of(domain, domain.texts.tolist(), codes_of_texts)
                self.engine.publisher.push(f"dictionary_{place}", shown)

    def next_release(self) -> int:
        """Number the releases made of this table, so that each keeps its own staged tables."""
        self._n_releases += 1
        return self._n_releases

    def put_off(self, release: int, waiting: Waiting) -> None:
        """Keep a release that is laid out once its rows are asked for."""
        self._waiting[release] = waiting

    def waiting_lines(self, release: int) -> Columns | None:
        """Return the distinct lines of a release that waits to be laid out; otherwise None."""
        waiting = self._waiting.get(release)
        return None if waiting is None else waiting.lines

    def published_name(self, release: int) -> str:
        """Return the name of the staged rows of a release, which is laid out first if it waits."""
        waiting = self._waiting.pop(release, None)
        if waiting is not None:
            waiting.lay_out()
        return f"published_{release}"

    def type_of(self, column: str) -> ColumnType:
        """Return the type of a published column."""
        if column in self._domains:
            return self._domains[column].type
        return plain_type(self.scan.types[column]) or ColumnType.CATEGORICAL
