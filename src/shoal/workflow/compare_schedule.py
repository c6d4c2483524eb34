"""Try methods side by side in processes of their own, and keep what is done.

Every result is written, whole or not at all, to a file named by a digest of all that it depends on.
Who was stopped starts again: what is there is read, the rest is tried. Processes end with the one
that started them, however that ends.
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
from multiprocessing.connection import Connection
from multiprocessing.queues import SimpleQueue
from pathlib import Path

from shoal.core.errors import EngineError, ParameterError
from shoal.core.method import Method
from shoal.core.progress import Progress
from shoal.core.reading import read_whole_text
from shoal.core.writing import write_whole
from shoal.engines.table import EngineTable
from shoal.pipeline.compare_trial import Tried, Trying, try_on, try_on_rows

__all__ = ["try_all"]

_MOMENT = 0.2
"""For how many seconds nothing is told of what processes do."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_shared: list[tuple[Trying, SimpleQueue[str]]] = []
"""In a process of its own: what all methods have in common, and where steps are told."""


def try_all(
    table: EngineTable,
    trying: Trying,
    methods: Mapping[str, Method],
    *,
    workers: int,
    folder: Path | None,
    progress: Progress,
) -> dict[str, Tried]:
    """Try methods on a table.

    Parameters
    ----------
    table
        The table; methods that hide single cells need all of it, and are tried in this process.
    trying
        What all methods have in common.
    methods
        The methods by their names.
    workers
        How many processes to start; with one, nothing is started.
    folder
        Where results are kept, and found after a stop.
    progress
        Called with the name of each step.

    Raises
    ------
    EngineError
        Where a process ended that should not have, or the folder cannot be written.
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

    for name, text in _all_texts(table, trying, methods, apart, here, workers, tell):
        done[name] = Tried.from_json(text)
        key = keys[name]
        if folder is not None and key is not None:
            write_whole(_file(folder, key), [text])
        progress(f"{len(done)} of {len(methods)} done: {name}")
    return {name: done[name] for name in methods}


def _all_texts(
    table: EngineTable,
    trying: Trying,
    methods: Mapping[str, Method],
    apart: Sequence[str],
    here: Sequence[str],
    workers: int,
    progress: Progress,
) -> Iterator[tuple[str, str]]:
    if workers == 1 or len(apart) <= 1:
        for name in apart:
            yield name, try_on_rows(trying, methods[name], _telling(progress, name))
    else:
        chosen = {name: methods[name] for name in apart}
        yield from _in_processes(trying, chosen, workers, progress)
    for name in here:
        yield name, try_on(table, trying, methods[name], _telling(progress, name))


def _telling(progress: Progress, name: str) -> Progress:
    """Tell steps with the name of the method that they are of."""
    return lambda step: progress(f"{name}: {step}")


def _in_processes(
    trying: Trying, methods: Mapping[str, Method], workers: int, progress: Progress
) -> Iterator[tuple[str, str]]:
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    steps = context.SimpleQueue()
    pool = ProcessPoolExecutor(
        min(workers, len(methods)),
        mp_context=context,
        initializer=_start,
        initargs=(trying, reader, steps),
    )
    try:
        with _one_thread_each():
            futures: dict[Future[str], str] = {
                pool.submit(_try_here, name, method): name for name, method in methods.items()
            }
        waiting: set[Future[str]] = set(futures)
        while waiting:
            done, waiting = wait(waiting, timeout=_MOMENT, return_when=FIRST_COMPLETED)
            while not steps.empty():
                progress(steps.get())
            for future in sorted(done, key=list(futures).index):
                yield futures[future], future.result()
        pool.shutdown()
    except BrokenProcessPool:
        raise EngineError(
            "A process that tried a method ended before it was done.",
            hint="memory may be short: try workers=1. In a script, call it under "
            "`if __name__ == '__main__':`, which starting processes demands.",
        ) from None
    except (AttributeError, TypeError) as error:
        if "pickle" not in str(error):
            raise
        raise ParameterError(
            "A method, an attack or a measure cannot be handed to another process.",
            hint="try workers=1.",
        ) from None
    finally:
        # Whoever still works is not waited for: it ends when the other end is closed.
        writer.close()
        pool.shutdown(cancel_futures=True)
        reader.close()
        steps.close()


@contextlib.contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let processes that are started compute in one thread: there are as many as cores."""
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


def _start(trying: Trying, stop: Connection, steps: SimpleQueue[str]) -> None:
    """Begin a process: it is stopped by the one that started it, not by the keyboard."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(stop,), daemon=True).start()
    _shared.append((trying, steps))


def _end_with(stop: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        stop.recv_bytes()
    os._exit(1)


def _try_here(name: str, method: Method) -> str:
    trying, steps = _shared[0]
    return try_on_rows(trying, method, _telling(steps.put, name))


def _file(folder: Path, key: str) -> Path:
    return folder / f"{key[:32]}.json"


def _kept(folder: Path | None, key: str | None) -> Tried | None:
    """Read what was kept; what cannot be read is tried again."""
    if folder is None or key is None:
        return None
    try:
        return Tried.from_json(read_whole_text(_file(folder, key)))
    except (OSError, ValueError, TypeError, LookupError):
        return None
