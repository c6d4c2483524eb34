"""Spark as an engine: the user's own session, or a local one, under the same portable SQL.

A staged table is computed once and cut off from its origin, so that neither a source that changes
nor a lost task can mix two states of it. Pushed data travel as Arrow data: the plans that Spark
logs name columns, never values. Sources that Spark would read differently (CSV, Python frames,
DuckDB files) are read by the embedded DuckDB, which also writes what is published, so that a
release has the same bytes whichever engine made it.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.errors import DataError, EngineError, ShoalError
from shoal.core.log import internal_log
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.engine import Columns, RemoteEngine, Scan
from shoal.engines.files import LAKE_HINT, LAKE_MARKS
from shoal.engines.private_directory import PrivateDirectory
from shoal.engines.sources import check_column_names, refuse_options
from shoal.engines.spark.connection import (
    find_session,
    interruptible,
    is_alive,
    quiet,
    release_session,
    translated,
)
from shoal.engines.spark.types import (
    PLAIN,
    REFLECTION_PROBE,
    TEXT_FUNCTIONS,
    as_arrow,
    text_of_plain,
    text_of_real,
    word_of,
)

_SETTINGS = {
    # The date of a timestamp must not depend on where the machine is, and a timestamp without a
    # time zone stays without.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    # Numbers that do not fit raise errors; keywords can be names without quotes; variables in
    # statements are not substituted.
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.variable.substitute": "false",
    # Pushed data never become part of a plan: plans are logged.
    "spark.sql.execution.arrow.localRelationThreshold": "0",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.execution.arrow.pyspark.selfDestruct.enabled": "true",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.parquet.compression.codec": "lz4_raw",
}
_BROADCAST_BYTES = 64 * 2**20
"""Pushed tables up to this size are broadcast, so that the rows they join are not moved."""
_SLICE_ROWS = 1_000_000
_SPARK_READS = ("sources that Spark reads itself", "give the name of a table as the source.")


class Spark(RemoteEngine):
    """Spark as Shoal's engine.

    The user's session is neither stopped nor reconfigured. Default: the active one or, if there is
    none, a local one. `memory` is the memory limit of the run if Shoal starts the session. Default:
    half the free memory. Java gets half of it.
    """

    def __init__(self, session: Any = None, *, memory: str | None = None) -> None:
        self._base, self._is_own = find_session(session, memory)
        try:
            with self._guarded():
                self._session: Any = self._base.newSession()
                for setting, value in _SETTINGS.items():
                    self._session.conf.set(setting, value)
                self._is_local = str(self._base.sparkContext.master).startswith("local")
                self._version = str(self._base.version)
            self._embedded = DuckDB(memory if self._is_own else None)
            self._directory = PrivateDirectory()
        except BaseException:
            if self._is_own:
                release_session()
            raise
        self._is_open = True
        self._kept: dict[str, Any] = {}
        self._names = itertools.count()
        self._can_reflect: bool | None = None

    @property
    def name(self) -> str:
        """The name and version of the engine."""
        return f"spark {self._version}"

    def close(self) -> None:
        """Free staged tables, give the session back and remove spilled files."""
        if not self._is_open:
            return
        self._is_open = False
        for name in list(self._kept):
            with contextlib.suppress(EngineError):
                self.drop(name)
        self._embedded.close()
        self._directory.remove()
        if self._is_own:
            release_session()

    def quote(self, identifier: str) -> str:
        """Return an identifier in quotes, so that any name is safe."""
        return "`" + identifier.replace("`", "``") + "`"

    def has_nul(self, expression: str) -> str:
        """Return the test of a text for NUL characters."""
        return f"instr({expression}, chr(0)) > 0"

    def hash(self, expression: str) -> str:
        """Return the expression of a text's SHA-256 in hexadecimal."""
        return f"sha2({expression}, 256)"

    def hash_number(self, expression: str) -> str:
        """Return the expression of the first 15 hexadecimal digits of a SHA-256, as a BIGINT."""
        return f"CAST(conv(left(sha2({expression}, 256), 15), 16, 10) AS BIGINT)"

    def cast(self, expression: str, kind: str) -> str:
        """Return an expression cast to another type."""
        return f"CAST({expression} AS {'STRING' if kind == 'VARCHAR' else kind})"

    def text(self, expression: str, kind: str) -> str:
        """Return the canonical text of an expression: equal values have one text."""
        if kind in ("DOUBLE", "FLOAT"):
            if self._can_reflect is None:
                self._can_reflect = self._try_reflection()
            return text_of_real(expression, kind, can_reflect=self._can_reflect)
        return text_of_plain(expression, kind)

    def stage(self, name: str, query: str) -> None:
        """Keep the result of a query under a name."""
        with self._guarded(query):
            self._keep(name, self._run(query))

    def push(self, name: str, columns: Columns) -> None:
        """Keep arrays as the columns of a table."""
        import pyarrow as pa  # noqa: PLC0415 - an extra
        from pyspark.sql.functions import broadcast  # noqa: PLC0415 - an extra

        table = pa.table({column: as_arrow(array) for column, array in columns.items()})
        with self._guarded():
            frame = self._frame_of(table)
            is_small = table.nbytes <= _BROADCAST_BYTES
            self._replace(name, broadcast(frame) if is_small else frame, None)

    def drop(self, name: str) -> None:
        """Drop a table, if there is one of that name."""
        with self._guarded():
            self._session.catalog.dropTempView(name)
            self._free(self._kept.pop(name, None))

    def rows(self, query: str) -> dict[str, npt.NDArray[Any]]:
        """Run a query and return its result by column."""
        with self._guarded(query):
            table = self._run(query).toArrow()
        return self._embedded.from_arrow(table).fetchnumpy()

    def bring(self, query: str) -> str:
        """Bring the result of a query to the embedded DuckDB."""
        with self._guarded(query), self._parts(self._run(query)) as relation:
            self._embedded.stage("brought", f"SELECT * FROM {relation}")
        return "brought"

    @contextlib.contextmanager
    def _parts(self, frame: Any) -> Iterator[str]:
        """Bring a frame to the driver part by part; yield the relation that DuckDB reads."""
        name = self._new_name()
        if self._is_local:
            folder = self._directory.path / name
            frame.write.parquet(str(folder))
            files = ", ".join(f"'{file}'" for file in sorted(map(str, folder.glob("*.parquet"))))
            try:
                yield f"read_parquet([{files}])"
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            return
        from pyspark.sql.functions import spark_partition_id  # noqa: PLC0415 - an extra

        kept = self._checkpoint(frame.withColumn("part", spark_partition_id()))
        try:
            for part, slice_ in enumerate(self._slices(kept)):
                relation = self._embedded.from_arrow(slice_)
                if part == 0:
                    relation.create(name)
                else:
                    relation.insert_into(name)
            yield name
        finally:
            self._free(kept)
            self._embedded.drop(name)

    def _slices(self, frame: Any) -> Iterator[Any]:
        """Yield a frame whose column `part` ascends, not too many rows at a time."""
        counted = frame.groupBy("part").count().toArrow().sort_by("part")
        parts, counts = counted["part"].to_numpy(), counted["count"].to_numpy()
        number = np.cumsum(counts) // _SLICE_ROWS
        for chosen in [parts[number == n] for n in np.unique(number)] or [np.zeros(1, np.int64)]:
            first, last = int(chosen.min()), int(chosen.max())
            yield frame.where(f"part BETWEEN {first} AND {last}").drop("part").toArrow()

    def scan(self, source: object, **options: object) -> Scan:
        """Make a source readable.

        It may be a Spark frame, the name of a table or view, the address of Parquet files such as
        ``s3a://...``, or any source of the embedded DuckDB.
        """
        if _is_frame(source):
            refuse_options(options, *_SPARK_READS)
            return self._adopt(source, "Spark frame")
        if isinstance(source, str) and not _is_path(source):
            with self._guarded():
                if "://" in source:
                    refuse_options(options, *_SPARK_READS)
                    self._refuse_lake_address(source)
                    return self._adopt(self._session.read.parquet(source), source)
                if self._has_table(source):
                    refuse_options(options, *_SPARK_READS)
                    return self._adopt(self._base.table(source), source)
        scan = self._embedded.scan(source, **options)
        is_parquet = isinstance(source, (str, Path)) and scan.relation.startswith("read_parquet(")
        if is_parquet and self._is_local and all(map(PLAIN.fullmatch, scan.types.values())):
            return self._read_parquet(Path(str(source)), scan)
        return self._convert(scan)

    def _refuse_lake_address(self, address: str) -> None:
        """Refuse files of a lake table: given files, Spark does not read the log of their table.

        The folders above count as well; a pattern stands for everything that it matches.
        """
        jvm: Any = self._base.sparkContext._jvm  # noqa: SLF001 - nothing public asks Hadoop
        settings = self._base.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001
        place = jvm.org.apache.hadoop.fs.Path(address)
        files = place.getFileSystem(settings)
        while place is not None:
            for mark, kind in (*LAKE_MARKS.items(), ("metadata/*.metadata.json", "Iceberg")):
                pattern = jvm.org.apache.hadoop.fs.Path(f"{place.toString().rstrip('/')}/{mark}")
                if files.globStatus(pattern):
                    raise DataError(
                        f"The address belongs to a {kind} table, whose log says which of its files "
                        "count; deleted rows would come back.",
                        hint=LAKE_HINT,
                    )
            place = place.getParent()

    def _has_table(self, name: str) -> bool:
        # An invalid name may still be a path, for which DuckDB has a better error.
        try:
            return bool(self._base.catalog.tableExists(name))
        except Exception:  # noqa: BLE001
            return False

    def _adopt(self, frame: Any, name: str) -> Scan:
        """Make a frame readable, whichever session of the application it belongs to."""
        view = self._new_name()
        with self._guarded():
            types = {field.name: word_of(field.dataType) for field in frame.schema.fields}
            check_column_names(name, frame.columns)
            if frame.sparkSession is not self._session:
                frame.createOrReplaceGlobalTempView(view)
                frame = self._session.table(f"global_temp.{view}")
                self._session.catalog.dropGlobalTempView(view)
            # The cast is for texts with a collation, and for columns without a type.
            frame = frame.select(
                *(
                    frame[self.quote(column)].cast("string").alias(column)
                    if types[column] in ("VARCHAR", '"NULL"')
                    else frame[self.quote(column)]
                    for column in frame.columns
                )
            )
            frame.createOrReplaceTempView(view)
        return Scan(relation=view, types=types, line=None, is_text=False, name=name)

    def _read_parquet(self, path: Path, scan: Scan) -> Scan:
        """Let Spark read a file itself, through a link: its name might be taken for a pattern."""
        view = self._new_name()
        link = self._directory.path / f"{view}.parquet"
        link.symlink_to(path.resolve())
        with self._guarded():
            frame = self._session.read.parquet(str(link))
            frame.toDF(*scan.types).createOrReplaceTempView(view)
        return replace(scan, relation=view, line=None)

    def _convert(self, scan: Scan) -> Scan:
        """Hand over a source that the embedded DuckDB reads, with the line number as a column."""
        line = "shoal_line"
        while line in map(str.lower, scan.types):
            line += "_"
        columns = [
            quoted if PLAIN.fullmatch(kind) else f"CAST({quoted} AS VARCHAR)"
            for quoted, kind in ((self._embedded.quote(c), k) for c, k in scan.types.items())
        ]
        names = [*scan.types, line]
        selected = ", ".join(
            f"{expression} AS {place}"
            for expression, place in zip([*columns, scan.line], _positions(names), strict=True)
        )
        query = f"SELECT {selected} FROM {scan.relation}"
        view = self._new_name()
        path = self._directory.path / f"{view}.parquet"
        with self._guarded(), scan.unchanged():
            if self._is_local:
                self._embedded.write(query, path, "parquet")
            frame = (
                self._session.read.parquet(str(path))
                if self._is_local
                else self._frame_of(self._embedded.relation(query).to_arrow_table())
            )
            frame.toDF(*names).createOrReplaceTempView(view)
        return replace(scan, relation=view, line=self.quote(line))

    def _try_reflection(self) -> bool:
        """Return whether SQL may call Java's methods; if not, Python functions are registered."""
        try:
            with quiet():
                if self._session.sql(REFLECTION_PROBE).toArrow()["v"][0].as_py() == "0.002":
                    return True
        except Exception as error:  # noqa: BLE001 - anything that a cluster may forbid
            internal_log.info("%s", error)
        self._register_texts()
        return False

    def _register_texts(self) -> None:
        with self._guarded():
            for name, function in TEXT_FUNCTIONS.items():
                self._session.udf.register(name, function)

    def _run(self, statement: str) -> Any:
        return self._session.sql(statement)

    def _frame_of(self, table: Any) -> Any:
        return self._session.createDataFrame(table)

    def _checkpoint(self, frame: Any) -> Any:
        from pyspark import StorageLevel  # noqa: PLC0415 - an extra

        return frame.localCheckpoint(True, StorageLevel.MEMORY_AND_DISK_DESER)

    def _keep(self, name: str, frame: Any) -> None:
        kept = self._checkpoint(frame)
        self._replace(name, kept, kept)

    def _replace(self, name: str, frame: Any, kept: Any) -> None:
        frame.createOrReplaceTempView(name)
        self._free(self._kept.pop(name, None))
        if kept is not None:
            self._kept[name] = kept

    def _free(self, frame: Any) -> None:
        if frame is not None:
            # A checkpoint has no public handle.
            frame._jdf.logicalPlan().rdd().unpersist(False)  # noqa: SLF001

    def _new_name(self) -> str:
        return f"shoal_source_{id(self):x}_{next(self._names)}"

    @contextlib.contextmanager
    def _guarded(self, statement: str = "") -> Iterator[None]:
        """Turn errors of Spark, which may quote data, into Shoal's own; their text is logged."""
        try:
            with quiet(), interruptible(self._base):
                yield
        except ShoalError:
            raise
        except Exception as error:  # noqa: BLE001 - of Spark, Py4J, sockets
            internal_log.info("%s\n%s", error, statement)
            raise translated(error, is_lost=not is_alive(self._base)) from None


def _positions(names: Mapping[str, object] | list[str]) -> list[str]:
    return [f"c{place}" for place in range(len(names))]


def _is_frame(source: object) -> bool:
    return type(source).__module__.split(".")[0] == "pyspark" and hasattr(source, "sparkSession")


def _is_path(source: str | Path) -> bool:
    try:
        return Path(source).exists()
    except (OSError, ValueError):
        return False
