"""Try methods in parallel processes, and keep finished results.

Every result is written, whole or not at all, to a file named by a digest of everything that it
depends on. If a comparison is interrupted, run it again: finished results are reused. The processes
end with the one that started them, however that ends.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from ctypes import c_int
from multiprocessing.connection import Connection
from multiprocessing.queues import SimpleQueue
from multiprocessing.util import Finalize
from pathlib import Path

from shoal.core.documents import read_whole_text, write_whole
from shoal.core.errors import EngineError, ParameterError
from shoal.core.method import Method
from shoal.core.progress import Progress, tell_share
from shoal.core.threads import share_cores
from shoal.engines.sql.table import EngineTable
from shoal.workflow.compare_trial import TrialResult, TrialSetup, staged_table, try_on

_MOMENT = 0.2
"""Seconds between two looks at the progress of the processes."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_shared: list[tuple[TrialSetup, SimpleQueue[str]]] = []
"""Of a worker process: what all methods have in common, and the queue that steps are put into."""
_staged: list[EngineTable] = []
"""Of a worker process: the table, once the first method has needed it."""


def try_all(
    table: EngineTable,
    trying: TrialSetup,
    methods: Mapping[str, Method],
    *,
    workers: int,
    folder: Path | None,
    progress: Progress,
) -> dict[str, TrialResult]:
    """Try methods on a table, in as many processes as there are workers; with one, in this process.

    Methods that hide single cells need the whole table, and always run in this process. Results are
    kept in `folder` and reused from it. Raises EngineError if a process dies.
    """
    keys = {name: trying.key(method) for name, method in methods.items()}
    done = {name: tried for name in methods if (tried := _kept(folder, keys[name])) is not None}
    open_ones = [name for name in methods if name not in done]
    if done:
        progress(f"{len(done)} of {len(methods)} were done already")
    apart = [name for name in open_ones if methods[name].private_cells is None]
    here = [name for name in open_ones if name not in apart]

    def tell(step: str) -> None:
        progress(f"{len(done)} of {len(methods)} done; {step}")
        tell_share(len(done) / len(methods))

    for name, text in _all_texts(table, trying, methods, apart, here, workers, tell):
        done[name] = TrialResult.from_json(text)
        key = keys[name]
        if folder is not None and key is not None:
            write_whole(_file(folder, key), [text])
        progress(f"{len(done)} of {len(methods)} done: {name}")
        tell_share(len(done) / len(methods))
    return {name: done[name] for name in methods}


def _all_texts(
    table: EngineTable,
    trying: TrialSetup,
    methods: Mapping[str, Method],
    apart: Sequence[str],
    here: Sequence[str],
    workers: int,
    progress: Progress,
) -> Iterator[tuple[str, str]]:
    if apart and (workers == 1 or len(apart) == 1):
        with staged_table(trying) as staged:
            for name in apart:
                yield name, try_on(staged, trying, methods[name], _telling(progress, name))
    elif apart:
        chosen = {name: methods[name] for name in apart}
        yield from _in_processes(trying, chosen, workers, progress)
    for name in here:
        yield name, try_on(table, trying, methods[name], _telling(progress, name))


def _telling(progress: Progress, name: str) -> Progress:
    """Report steps with the name of their method."""
    return lambda step: progress(f"{name}: {step}")


def _in_processes(
    trying: TrialSetup, methods: Mapping[str, Method], workers: int, progress: Progress
) -> Iterator[tuple[str, str]]:
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    steps = context.SimpleQueue()
    n_processes = min(workers, len(methods))
    n_at_work = context.RawValue("i", n_processes)
    pool = ProcessPoolExecutor(
        n_processes,
        mp_context=context,
        initializer=_start,
        initargs=(trying, reader, steps, n_at_work),
    )
    try:
        with _one_thread_each():
            futures: dict[Future[str], str] = {
                pool.submit(_try_here, name, method): name for name, method in methods.items()
            }
        waiting: set[Future[str]] = set(futures)
        while waiting:
            done, waiting = wait(waiting, timeout=_MOMENT, return_when=FIRST_COMPLETED)
            # Those that are still at work share the cores of those that have nothing left to do.
            n_at_work.value = min(n_processes, max(len(waiting), 1))
            while not steps.empty():
                progress(steps.get())
            for future in sorted(done, key=list(futures).index):
                yield futures[future], future.result()
        pool.shutdown()
    except BrokenProcessPool:
        raise EngineError(
            "A process that tried a method ended too early.",
            hint="memory may be short: try workers=1. In a script, call it under "
            "`if __name__ == '__main__':`, which new processes need.",
        ) from None
    except (AttributeError, TypeError) as error:
        if "pickle" not in str(error):
            raise
        raise ParameterError(
            "A method, an attack or a measure cannot be handed to another process.",
            hint="try workers=1.",
        ) from None
    finally:
        # Workers that are still busy are not waited for: each ends when its pipe is closed.
        writer.close()
        pool.shutdown(cancel_futures=True)
        reader.close()
        steps.close()


@contextlib.contextmanager
def _one_thread_each() -> Iterator[None]:
    """Limit numerical libraries to one thread per process, since there is one process per core."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _start(trying: TrialSetup, stop: Connection, steps: SimpleQueue[str], n_at_work: c_int) -> None:
    """Initialize a worker: the process that started it stops it, not the keyboard."""
    share_cores(lambda: n_at_work.value)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(stop,), daemon=True).start()
    _shared.append((trying, steps))


def _end_with(stop: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        stop.recv_bytes()
    os._exit(1)


def _try_here(name: str, method: Method) -> str:
    trying, steps = _shared[0]
    if not _staged:
        until_end = contextlib.ExitStack()
        # A table that is still referenced when Python ends makes DuckDB report leaks.
        until_end.callback(_staged.clear)
        _staged.append(until_end.enter_context(staged_table(trying)))
        # A worker process ends without running what `atexit` knows of.
        Finalize(None, until_end.close, exitpriority=0)
    return try_on(_staged[0], trying, method, _telling(steps.put, name))


def _file(folder: Path, key: str) -> Path:
    return folder / f"{key[:32]}.json"


def _kept(folder: Path | None, key: str | None) -> TrialResult | None:
    """Return a kept result; one that cannot be read is computed again."""
    if folder is None or key is None:
        return None
    try:
        return TrialResult.from_json(read_whole_text(_file(folder, key)))
    except (OSError, ValueError, TypeError, LookupError):
        return None
