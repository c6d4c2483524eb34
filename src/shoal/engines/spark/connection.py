"""Find a Spark session, or start a private local one.

The session that Shoal starts binds no port outside the machine and writes its log and spilled data
into a private directory. All engines of the process share it, because a start takes seconds; the
last one to be closed stops it, and the Java process with it.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import re
import secrets
import shutil
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.core.errors import EngineError, ParameterError
from shoal.core.log import internal_log
from shoal.engines.engine import SEE_LOG
from shoal.engines.limits import bytes_of, free_memory
from shoal.engines.private_directory import PrivateDirectory

_JAVA_HINT = (
    "install Java 17 or later, for example with apt install openjdk-17-jre-headless or from "
    "https://adoptium.net, and let JAVA_HOME name its folder."
)
_LEAST_MEMORY = 10**9
_LATE_CANCELS = 20
_JOB_PROPERTIES = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")
_TALKATIVE = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""PySpark's loggers that write the text of every error to the console, including values. Py4J,
which forwards calls to Java, uses the root logger."""


@dataclass
class _Local:
    """The session that Shoal started, and how many engines use it."""

    session: Any
    memory: str | None
    directory: PrivateDirectory
    n_users: int = 0


_lock = threading.RLock()
_started: list[_Local] = []


def find_session(session: Any, memory: str | None) -> tuple[Any, bool]:
    """Return a session and whether it is Shoal's own, to be given back with `release_session`.

    Without a session of the user, the active one is used or, if there is none, a local one is
    started. Java gets half of `memory`, the memory limit of the run.
    """
    with quiet(), _lock:
        _require_pyspark()
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra

        if _started and not is_alive(_started[0].session):
            _stop(_started.pop())
        active = _running_session() if session is None else session
        if active is None or (_started and _is_same(active, _started[0].session)):
            return _local_session(memory), True
    if not isinstance(active, SparkSession):
        raise ParameterError(
            f"Shoal needs a classic SparkSession, not a {type(active).__name__} of "
            f"{type(active).__module__}.",
            hint="Spark Connect is not supported; create the session with a master.",
        )
    if memory is not None:
        raise ParameterError(
            "memory has no meaning for a Spark session that is already running.",
            hint="its own configuration decides: spark.driver.memory, spark.executor.memory.",
        )
    return active, False


def release_session() -> None:
    """Release Shoal's own session; it stops when no engine uses it any more."""
    with _lock:
        if _started:
            _started[0].n_users -= 1
            if _started[0].n_users <= 0:
                _stop(_started.pop())


def is_alive(session: Any) -> bool:
    """Return whether a session still answers."""
    try:
        return not session.sparkContext._jsc.sc().isStopped()  # noqa: SLF001 - no public way
    except Exception:  # noqa: BLE001 - the error depends on how the session died
        return False


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep PySpark from writing errors to the console, and from warning about pandas."""
    try:
        from pyspark.logger import PySparkLogger  # noqa: PLC0415 - an extra
    except ImportError:
        yield
        return
    loggers = [logging.getLogger(), *(PySparkLogger.getLogger(name) for name in _TALKATIVE)]
    for logger in loggers:
        logger.addFilter(_is_of_others)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"pyspark\.")
            yield
    finally:
        for logger in loggers:
            logger.removeFilter(_is_of_others)


@contextlib.contextmanager
def interruptible(session: Any) -> Iterator[None]:
    """Let an interruption cancel the jobs started within, including those yet to begin.

    PySpark's own handler cancels all running jobs of the application, and then waits for one that
    had not begun.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    context = session.sparkContext
    jobs = f"shoal-{secrets.token_hex(8)}"
    is_stopped, has_ended = threading.Event(), threading.Event()

    def cancel() -> None:
        # Repeatedly, and for a while longer: a query may be about to begin its next job.
        n_after = 0
        while n_after < _LATE_CANCELS:
            with contextlib.suppress(Exception):
                context._jsc.sc().cancelJobGroupAndFutureJobs(jobs)  # noqa: SLF001 - nothing public
            time.sleep(0.2)
            n_after += has_ended.is_set()

    def stop(*_: object) -> None:
        # In another thread: the connection of this one to Java may be waiting for an answer.
        if not is_stopped.is_set():
            is_stopped.set()
            threading.Thread(target=cancel, daemon=True).start()
        raise KeyboardInterrupt

    handler = signal.signal(signal.SIGINT, stop)
    try:
        before = {name: context.getLocalProperty(name) for name in _JOB_PROPERTIES}
        context.setJobGroup(jobs, "shoal", interruptOnCancel=True)
        try:
            yield
        finally:
            with contextlib.suppress(Exception):
                for name, value in before.items():
                    context.setLocalProperty(name, value)
    except Exception:
        # Cancelled jobs fail, and PySpark reports that instead of the interruption.
        if is_stopped.is_set():
            raise KeyboardInterrupt from None
        raise
    finally:
        has_ended.set()
        signal.signal(signal.SIGINT, handler)


def _is_of_others(record: logging.LogRecord) -> bool:
    return not {"py4j", "pyspark"} & set(Path(record.pathname).parts)


def _require_pyspark() -> None:
    try:
        import pyarrow  # noqa: F401, PLC0415 - extras
        import pyspark  # noqa: F401, PLC0415
    except ImportError as error:
        raise ParameterError(
            f"The engine 'spark' needs the extra 'spark' ({error.name} is missing).",
            hint="pip install 'shoal-privacy[spark]'",
        ) from None


def _running_session() -> Any:
    from pyspark import SparkContext  # noqa: PLC0415 - an extra
    from pyspark.sql import SparkSession  # noqa: PLC0415

    active = SparkSession.getActiveSession()
    if active is None and SparkContext._active_spark_context is not None:  # noqa: SLF001
        # It belongs to another thread.
        return SparkSession.builder.getOrCreate()
    return active


def _is_same(session: Any, other: Any) -> bool:
    return bool(session.sparkContext is other.sparkContext)


def _local_session(memory: str | None) -> Any:
    if not _started:
        _started.append(_start(memory))
    elif memory is not None and memory != _started[0].memory:
        raise ParameterError(
            "Shoal already runs Spark in this process with another memory limit.",
            hint="close the tables that use it first, or leave memory= out.",
        )
    _started[0].n_users += 1
    return _started[0].session


def _start(memory: str | None) -> _Local:
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - an extra
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    free = free_memory() or 4 * _LEAST_MEMORY
    heap = (free // 2 if memory is None else bytes_of(memory)) // 2
    _require_java()
    directory = PrivateDirectory()
    log = directory.path / "spark.log"
    settings = _settings(directory.path, max(heap, _LEAST_MEMORY))
    for stated in _stated_catalogs() & settings.keys():
        del settings[stated]
    # PySpark does not annotate it.
    launch: Any = launch_gateway
    configuration = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    try:
        with log.open("wb") as sink:
            gateway = launch(configuration, {"stdout": sink, "stderr": sink})
        context = SparkContext(conf=configuration, gateway=gateway)
        # Python functions run in this Python, not in whichever comes first on the path.
        context.pythonExec = sys.executable
        local = _Local(SparkSession(context), memory, directory)
    except Exception as error:  # noqa: BLE001 - any error means that it did not start
        internal_log.info("%s\n%s", error, log.read_text("utf-8", "replace"))
        directory.remove()
        raise EngineError(
            "Spark did not start.", hint=f"does Java work? If not, {_JAVA_HINT}"
        ) from None
    atexit.register(_stop_started)
    return local


def _settings(directory: Path, heap: int) -> dict[str, str]:
    n_cores = os.cpu_count() or 1
    return {
        "spark.master": "local[*]",
        "spark.app.name": "shoal",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": f"{heap // 2**20}m",
        "spark.driver.maxResultSize": "0",
        "spark.log.level": "ERROR",
        "spark.local.dir": str(directory),
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.shuffle.partitions": str(4 * n_cores),
        "spark.sql.session.timeZone": "UTC",
        # Both ends of every exchange are on this machine.
        "spark.shuffle.compress": "false",
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={directory} -XX:+UseParallelGC",
    }


def _stated_catalogs() -> set[str]:
    """Return the names of SQL settings in the user's `spark-defaults.conf`, which Spark reads.

    They may name the catalog, such as a metastore, in which tables are found.
    """
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (home and str(Path(home) / "conf"))
    if not folder:
        return set()
    try:
        text = (Path(folder) / "spark-defaults.conf").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return set()
    names = {re.split(r"[\s=]", line.strip(), maxsplit=1)[0] for line in text.splitlines()}
    return {name for name in names if name.startswith("spark.sql.")}


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if found is None:
        where = "in the folder that JAVA_HOME names" if home else "on this machine's path"
        raise EngineError(f"Spark needs Java, and there is none {where}.", hint=_JAVA_HINT)


def _stop_started() -> None:
    """Stop the session at the end of the process, if it was not given back."""
    while _started:
        _stop(_started.pop())


def _stop(local: _Local) -> None:
    """Stop the session and its Java process, so that the user can start their own."""
    from pyspark import SparkContext  # noqa: PLC0415 - an extra
    from pyspark.sql import SparkSession  # noqa: PLC0415

    gateway: Any = SparkContext._gateway  # noqa: SLF001 - nothing public ends the Java process
    # A session that is already dead need not be stopped.
    with quiet(), contextlib.suppress(Exception):
        local.session.stop()
    with contextlib.suppress(Exception):
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(timeout=30)
    # PySpark still remembers a session that died by itself.
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
    SparkContext._active_spark_context = None  # noqa: SLF001
    SparkSession._instantiatedSession = None  # noqa: SLF001
    local.directory.remove()


def translated(error: Exception, *, is_lost: bool) -> EngineError:
    """Return Shoal's error for an error of Spark, whose text may quote data."""
    if is_lost:
        return EngineError(
            "Spark lost its session.",
            hint="was it stopped, or did its Java process run out of memory? Start again with less "
            "data or more memory.",
        )
    condition = getattr(error, "getCondition", lambda: None)()
    java = getattr(error, "java_exception", None)
    if condition is None and java is not None:
        with contextlib.suppress(Exception):
            condition = java.getClass().getSimpleName()
    if not re.fullmatch(r"[A-Za-z_.0-9]{1,100}", str(condition or "")):
        condition = type(error).__name__
    return EngineError(f"Spark refused ({condition}).", hint=SEE_LOG)
