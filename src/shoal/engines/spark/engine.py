"""Spark as an engine: the user's own session, or a local one, under the same portable SQL.

What is staged is computed once and cut off from where it came from, so that neither a source that
changes nor a task that is lost can mix two states of it. What is pushed travels as Arrow data: a
plan that Spark writes into its logs names columns, never values. Files that Spark cannot read as
Shoal means them (CSV, frames of Python, DuckDB's own) are read by the embedded DuckDB, which also
writes what is published, so that a release has the same bytes whichever engine made it.
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

from shoal.core.errors import DataError, EngineError, ParameterError, ShoalError
from shoal.core.log import internal_log
from shoal.engines.duckdb import DuckDB
from shoal.engines.engine import Columns, Scan
from shoal.engines.parquet_sources import LAKE_HINT, LAKE_MARKS
from shoal.engines.private_directory import PrivateDirectory
from shoal.engines.remote import RemoteEngine
from shoal.engines.sources import check_column_names
from shoal.engines.spark_session import (
    find_session,
    interruptible,
    is_alive,
    quiet,
    release_session,
    translated,
)
from shoal.engines.spark_types import (
    PLAIN,
    REFLECTION_PROBE,
    TEXT_FUNCTIONS,
    as_arrow,
    text_of_plain,
    text_of_real,
    word_of,
)

__all__ = ["Spark"]

_SETTINGS = {
    # A moment's date must not depend on where the machine stands, and one without a time zone
    # stays without.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    # Numbers that do not fit are errors, not something else; names need no quotes for being words
    # of SQL, and nothing in them is replaced.
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.variable.substitute": "false",
    # Pushed data never become a part of the plan: plans are logged.
    "spark.sql.execution.arrow.localRelationThreshold": "0",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.execution.arrow.pyspark.selfDestruct.enabled": "true",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.parquet.compression.codec": "lz4_raw",
}
_BROADCAST_BYTES = 64 * 2**20
"""Pushed tables up to this size go to every task, so that the rows they are joined to stay."""
_SLICE_ROWS = 1_000_000


class Spark(RemoteEngine):
    """Spark as Shoal's engine.

    Parameters
    ----------
    session
        The user's session; it is neither stopped nor configured otherwise. By default the active
        one, or a local one where there is none.
    memory
        The memory that a run is to stay within where Shoal starts the session, such as ``"4GB"``;
        by default half of what is free. Java gets half of it.
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
        """The engine and its version."""
        return f"spark {self._version}"

    def close(self) -> None:
        """Free what was staged, hand the session back and remove what was spilled."""
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
        """Write an identifier so that any name is safe."""
        return "`" + identifier.replace("`", "``") + "`"

    def has_nul(self, expression: str) -> str:
        """Give the test of a text for NUL characters."""
        return f"instr({expression}, chr(0)) > 0"

    def hash(self, expression: str) -> str:
        """Give the expression of a text's SHA-256 in hexadecimal."""
        return f"sha2({expression}, 256)"

    def hash_number(self, expression: str) -> str:
        """Give the expression of the first 15 hexadecimal digits of a text's SHA-256, a BIGINT."""
        return f"CAST(conv(left(sha2({expression}, 256), 15), 16, 10) AS BIGINT)"

    def cast(self, expression: str, kind: str) -> str:
        """Give an expression as another type."""
        return f"CAST({expression} AS {'STRING' if kind == 'VARCHAR' else kind})"

    def text(self, expression: str, kind: str) -> str:
        """Give the canonical text of an expression: equal values have one text."""
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
        """Keep arrays under a name, as columns."""
        import pyarrow as pa  # noqa: PLC0415 - an extra
        from pyspark.sql.functions import broadcast  # noqa: PLC0415 - an extra

        table = pa.table({column: as_arrow(array) for column, array in columns.items()})
        with self._guarded():
            frame = self._frame_of(table)
            is_small = table.nbytes <= _BROADCAST_BYTES
            self._replace(name, broadcast(frame) if is_small else frame, None)

    def drop(self, name: str) -> None:
        """Forget what a name stands for."""
        with self._guarded():
            self._session.catalog.dropTempView(name)
            self._free(self._kept.pop(name, None))

    def rows(self, query: str) -> dict[str, npt.NDArray[Any]]:
        """Run a query and fetch its result by column."""
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
        """Bring a frame to the driver part by part; give what DuckDB reads it from."""
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
        """Fetch a frame whose column `part` ascends, not too many rows at a time."""
        counted = frame.groupBy("part").count().toArrow().sort_by("part")
        parts, counts = counted["part"].to_numpy(), counted["count"].to_numpy()
        number = np.cumsum(counts) // _SLICE_ROWS
        for chosen in [parts[number == n] for n in np.unique(number)] or [np.zeros(1, np.int64)]:
            first, last = int(chosen.min()), int(chosen.max())
            yield frame.where(f"part BETWEEN {first} AND {last}").drop("part").toArrow()

    def scan(self, source: object, **options: object) -> Scan:
        """Make a source readable.

        Parameters
        ----------
        source
            A frame of Spark, the name of a table or view, an address such as ``s3a://...`` of
            Parquet files, or whatever the embedded DuckDB reads.
        """
        if _is_frame(source):
            _refuse_options(options)
            return self._adopt(source, "Spark frame")
        if isinstance(source, str) and not _is_path(source):
            with self._guarded():
                if "://" in source:
                    _refuse_options(options)
                    self._refuse_lake_address(source)
                    return self._adopt(self._session.read.parquet(source), source)
                if self._has_table(source):
                    _refuse_options(options)
                    return self._adopt(self._base.table(source), source)
        scan = self._embedded.scan(source, **options)
        is_parquet = isinstance(source, (str, Path)) and scan.relation.startswith("read_parquet(")
        if is_parquet and self._is_local and all(map(PLAIN.fullmatch, scan.types.values())):
            return self._read_parquet(Path(str(source)), scan)
        return self._convert(scan)

    def _refuse_lake_address(self, address: str) -> None:
        """Refuse files of a table whose log Spark does not read when it is given files.

        The folders above count too; a pattern stands for all that it matches.
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
                        f"The address belongs to a table of {kind}, whose log says which of its "
                        "files count; deleted rows would come back.",
                        hint=LAKE_HINT,
                    )
            place = place.getParent()

    def _has_table(self, name: str) -> bool:
        # A name that is none at all may still be a path, which DuckDB refuses in better words.
        try:
            return bool(self._base.catalog.tableExists(name))
        except Exception:  # noqa: BLE001
            return False

    def _adopt(self, frame: Any, name: str) -> Scan:
        """Take over a frame, of whichever session of the application it is."""
        view = self._new_name()
        with self._guarded():
            types = {field.name: word_of(field.dataType) for field in frame.schema.fields}
            check_column_names(name, frame.columns)
            if frame.sparkSession is not self._session:
                frame.createOrReplaceGlobalTempView(view)
                frame = self._session.table(f"global_temp.{view}")
                self._session.catalog.dropGlobalTempView(view)
            # Texts that compare otherwise than by code points, or a column without a type.
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
        """Let Spark read a file itself; a link keeps its name from being taken for a pattern."""
        view = self._new_name()
        link = self._directory.path / f"{view}.parquet"
        link.symlink_to(path.resolve())
        with self._guarded():
            frame = self._session.read.parquet(str(link))
            frame.toDF(*scan.types).createOrReplaceTempView(view)
        return replace(scan, relation=view, line=None)

    def _convert(self, scan: Scan) -> Scan:
        """Hand over what the embedded DuckDB reads, with the number of the line as a column."""
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
        """Tell whether Java's methods may be called; where not, Python's are registered."""
        try:
            with quiet():
                if self._session.sql(REFLECTION_PROBE).toArrow()["v"][0].as_py() == "0.002":
                    return True
        except Exception as error:  # noqa: BLE001 - whatever the cluster forbids
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
            # What was checkpointed has no public handle.
            frame._jdf.logicalPlan().rdd().unpersist(False)  # noqa: SLF001

    def _new_name(self) -> str:
        return f"shoal_source_{id(self):x}_{next(self._names)}"

    @contextlib.contextmanager
    def _guarded(self, statement: str = "") -> Iterator[None]:
        """Keep Spark's own errors, which quote the data they stumble over, to the internal log."""
        try:
            with quiet(), interruptible(self._base):
                yield
        except ShoalError:
            raise
        except Exception as error:  # noqa: BLE001 - Spark, Py4J, sockets: all of them
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


def _refuse_options(options: Mapping[str, object]) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise ParameterError(
            f"{', '.join(given)} has no meaning for what Spark reads itself.",
            hint="give the name of a table as the source.",
        )
