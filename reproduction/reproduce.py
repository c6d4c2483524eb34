"""Run the experiments of the papers again, and compare the results with the papers' statements.

Every paper has a module in `reproduction` that lists its experiments. Some need the Adult table,
which is the user's own file; without it the other experiments are run, and the page lists those
left out.

The folder of results is written completely or not at all. It is filled under a temporary name next
to its final place and synced to disk. Then the folder that it replaces, if any, is moved aside, the
new one is moved into place, and the old one is removed. One process at a time does so: it holds the
lock `.NAME.lock`. The remains of a killed process are cleaned up by the next one.
"""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import math
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from reproduction import ALL, PAPERS
from reproduction.line_plot import draw
from reproduction.page import (
    Paper,
    Summary,
    data_name,
    figure_name,
    html_page,
    markdown_page,
)
from reproduction.reproduced import Figure, Planned, Setting, Statement
from shoal.core.documents import sync
from shoal.core.errors import DataError, EngineError, InternalError, ParameterError
from shoal.core.exact import whole
from shoal.core.progress import Progress, silent
from shoal.core.version import __version__
from shoal.engines.private_directory import FileLock

_PAGE, _TEXT = "reproduction.html", "reproduction.md"
_FIGURES, _DATA = "figures", "data"
_NAME = re.compile(r"[a-z0-9]+(?:[-_.][a-z0-9]+)*")
_NEEDS_ADULT = "it needs the Adult table, which was not given."


@dataclass(frozen=True)
class LeftOut:
    """An experiment that was not run, and the reason."""

    paper: str
    title: str
    why: str


@dataclass(frozen=True)
class Reproduction:
    """The results of running papers again."""

    folder: Path
    # By the name of the paper, as are `seconds` and `verdicts`.
    figures: Mapping[str, tuple[Figure, ...]]
    left_out: tuple[LeftOut, ...]  # The experiments that were not run.
    seconds: Mapping[str, float]
    verdicts: Mapping[str, Mapping[str, int]]  # The number of statements with each verdict.
    is_quick: bool = False  # Whether only samples were run, so that nothing is judged.

    @property
    def page(self) -> Path:
        """The page to open."""
        return self.folder / _PAGE

    def to_dict(self) -> dict[str, object]:
        """Return the reproduction as plain values for JSON."""
        return {
            "folder": str(self.folder),
            "quick": self.is_quick,
            "papers": {
                paper: {
                    "verdicts": dict(self.verdicts[paper]),
                    "seconds": round(self.seconds[paper], 3),
                    "figures": {figure.name: _statements(figure) for figure in figures},
                }
                for paper, figures in self.figures.items()
            },
            "left_out": [
                {"paper": one.paper, "title": one.title, "why": one.why} for one in self.left_out
            ],
        }

    def __repr__(self) -> str:
        n_figures = sum(map(len, self.figures.values()))
        return f"Reproduction({n_figures} figures of {', '.join(self.figures)})"


def reproduce(
    papers: str | Iterable[str],
    *,
    adult: str | os.PathLike[str] | None = None,
    folder: str | os.PathLike[str] = "reproduced",
    quick: bool = False,
    seed: int = 0,
    progress: Progress = silent,
) -> Reproduction:
    """Run the experiments of papers again, and compare the results with the papers' statements.

    Parameters
    ----------
    papers
        Some of ``injector``, ``slicing``, ``foreground``, ``adversarial``, or ``all``.
    adult
        The Adult table as a CSV file, as `shoal.datasets.adult` reads it. Default: none, and
        experiments that need it are left out.
    folder
        The folder of the results: ``reproduction.html`` and ``reproduction.md`` with the same
        content, ``figures`` and ``data``. Results of an earlier run are replaced; other files are
        not touched. Default: ``reproduced``.
    quick
        Whether to run only samples and few repetitions, to see that everything works. Nothing is
        judged then. Default: False.
    seed
        The seed of random draws. Default: 0.
    progress
        Called with the name of each experiment as it begins. Default: silent.

    Returns
    -------
    The figures with their statements, the experiments left out, and the seconds.

    Examples
    --------
    >>> reproduce("all", adult="adult.csv")  # doctest: +SKIP
    Reproduction(38 figures of injector, slicing, foreground, adversarial)
    """
    chosen = _chosen(papers)
    target = Path(folder)
    refuse_foreign(target, _is_own)
    setting = Setting(adult=_found(adult), is_quick=quick, seed=whole("seed", seed, least=0))
    run = [_run(paper, _planned(paper), setting, progress) for paper in chosen]
    progress("write the page")
    with whole_folder(target, _is_own) as new:
        _write(new, run, _summary(setting))
    return _result(target, run, is_quick=setting.is_quick)


def _chosen(papers: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names of the papers, in our order; `all` stands for every paper."""
    named = {papers} if isinstance(papers, str) else set(papers)
    unknown = sorted(str(one) for one in named - {ALL, *PAPERS})
    if unknown or not named:
        raise ParameterError(
            f"There is no paper {unknown[0]!r}." if unknown else "No paper is named.",
            hint=f"name some of {', '.join(PAPERS)}, or {ALL}.",
        )
    return tuple(name for name in PAPERS if ALL in named or name in named)


def _found(adult: str | os.PathLike[str] | None) -> Path | None:
    """Return the path of the Adult table; refuse a missing file before hours of work."""
    if adult is None:
        return None
    path = Path(adult)
    if not path.is_file():
        raise DataError(
            f"There is no file {str(path)!r} for the Adult table.",
            hint="leave it out to run only the experiments that do not need it.",
        )
    return path


def _planned(paper: str) -> Sequence[Planned]:
    planned: Sequence[Planned] = import_module(f"reproduction.{paper}").PLANNED
    return planned


def _run(paper: str, planned: Sequence[Planned], setting: Setting, progress: Progress) -> Paper:
    started = time.perf_counter()
    figures: list[Figure] = []
    left_out: list[tuple[str, str]] = []
    for one in planned:
        if one.needs_adult and setting.adult is None:
            left_out.append((one.title, _NEEDS_ADULT))
            continue
        progress(f"{paper}: {one.title}")
        figures += [
            _unjudged(figure) if setting.is_quick else figure for figure in one.run(setting)
        ]
        _check(paper, figures)
    seconds = time.perf_counter() - started
    return Paper(paper, PAPERS[paper], tuple(figures), tuple(left_out), seconds)


def _unjudged(figure: Figure) -> Figure:
    """Remove the verdicts: a sample says nothing about the paper's numbers."""
    return replace(
        figure,
        statements=tuple(
            one
            if one.verdict == "not stated in the paper"
            else Statement(one.what, one.printed, one.ours, "not judged")
            for one in figure.statements
        ),
    )


def _check(paper: str, figures: Sequence[Figure]) -> None:
    """Raise `InternalError` for figures that cannot be written, which are a bug in our code."""
    names = [figure.name for figure in figures]
    for figure in figures:
        if not _NAME.fullmatch(figure.name) or names.count(figure.name) > 1:
            raise InternalError(f"A figure of {paper} has a name that no file can have.")
        if any(len(curve.values) != len(figure.x) for curve in figure.curves):
            raise InternalError(f"A curve of {paper}, {figure.name} lacks numbers.")


def _summary(setting: Setting) -> Summary:
    adult = "the Adult table was given" if setting.adult else "without the Adult table"
    return Summary(f"Shoal {__version__}, seed {setting.seed}, {adult}.", setting.is_quick)


def _result(folder: Path, run: Sequence[Paper], *, is_quick: bool) -> Reproduction:
    return Reproduction(
        folder=folder,
        figures={paper.name: paper.figures for paper in run},
        left_out=tuple(
            LeftOut(paper.name, title, why) for paper in run for title, why in paper.left_out
        ),
        seconds={paper.name: paper.seconds for paper in run},
        verdicts={paper.name: paper.verdicts for paper in run},
        is_quick=is_quick,
    )


def _statements(figure: Figure) -> list[dict[str, str]]:
    return [
        {
            "what": one.what,
            "printed": one.printed,
            "ours": one.ours,
            "verdict": one.verdict,
            "why": one.why,
        }
        for one in figure.statements
    ]


def _write(folder: Path, run: Sequence[Paper], summary: Summary) -> None:
    for name in (_FIGURES, _DATA):
        (folder / name).mkdir()
    for name, text in _files(run, summary):
        (folder / name).write_text(text, encoding="utf-8", newline="")


def _files(run: Sequence[Paper], summary: Summary) -> Iterator[tuple[str, str]]:
    yield _PAGE, html_page(run, summary)
    yield _TEXT, markdown_page(run, summary)
    for paper in run:
        for figure in paper.figures:
            yield figure_name(paper, figure), draw(figure)
            yield data_name(paper, figure), _csv(figure)


def _csv(figure: Figure) -> str:
    """Write the numbers of a figure; a value that is not a number is left empty."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((figure.x_name, *(curve.name for curve in figure.curves)))
    for place, x in enumerate(figure.x):
        numbers = (curve.values[place] for curve in figure.curves)
        writer.writerow((x, *("" if math.isnan(number) else number for number in numbers)))
    return text.getvalue()


def _is_own(folder: Path) -> bool:
    """Return whether a folder holds only files that this module writes, so that nothing is lost."""
    files = [path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir()]
    kept = {Path(_PAGE), Path(_TEXT)}
    return kept <= set(files) and all(path in kept or _is_part(path) for path in files)


def _is_part(path: Path) -> bool:
    return (str(path.parent), path.suffix) in ((_FIGURES, ".svg"), (_DATA, ".csv"))


def refuse_foreign(target: Path, is_own: Callable[[Path], bool]) -> None:
    """Check that a folder can be written, before any other work; see `whole_folder`."""
    place = target.resolve()
    if not place.name:
        raise ParameterError("Results cannot be written to the root of a disk.")
    with _explained(target):
        if place.exists() and not _is_replaceable(place, is_own):
            raise ParameterError(
                f"{target} holds something else, so it is not replaced.",
                hint="choose another folder.",
            )
        above = next(path for path in place.parents if path.exists())
        if not above.is_dir() or not os.access(above, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@contextlib.contextmanager
def whole_folder(target: Path, is_own: Callable[[Path], bool]) -> Iterator[Path]:
    """Yield a new folder to fill; it is moved into place if no error is raised meanwhile.

    `is_own` returns whether a folder that is not empty was written like this one, so that it may be
    replaced. Raises `ParameterError` if anything else is in the place, and `EngineError` if another
    process is writing there or the file system refuses.
    """
    place = target.resolve()
    refuse_foreign(target, is_own)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_explained(target))
        place.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock.take(place.with_name(f".{place.name}.lock"))
        if lock is None:
            raise EngineError(
                f"Another process is writing {target}.",
                hint="wait until it is done, or choose another folder.",
            )
        stack.callback(lock.release)
        if lock.is_exclusive:
            _recover(place)
        new = _beside(place, "new")
        stack.callback(shutil.rmtree, new, ignore_errors=True)
        new.mkdir()
        yield new
        refuse_foreign(target, is_own)
        _move_in(new, place)


@contextlib.contextmanager
def _explained(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EngineError(
            f"{target} could not be written: {error.strerror}.",
            hint="check that you may write there and that there is enough space.",
        ) from None


def _is_replaceable(place: Path, is_own: Callable[[Path], bool]) -> bool:
    return place.is_dir() and (not any(place.iterdir()) or is_own(place))


def _beside(place: Path, word: str) -> Path:
    return place.with_name(f".{place.name}.{word}-{secrets.token_hex(4)}")


def _recover(place: Path) -> None:
    """Restore an old folder that a killed process moved aside, and remove its other remains."""
    pattern = re.compile(rf"\.{re.escape(place.name)}\.(new|old)-[0-9a-f]{{8}}")
    for path in list(place.parent.iterdir()):
        found = pattern.fullmatch(path.name)
        if found is None:
            continue
        if found.group(1) == "old" and not place.exists():
            path.rename(place)
        else:
            shutil.rmtree(path, ignore_errors=True)


def _move_in(new: Path, place: Path) -> None:
    for path in (*new.rglob("*"), new):
        sync(path)
    old = _beside(place, "old")
    if place.exists():
        place.rename(old)
    try:
        new.rename(place)
    except BaseException:
        if old.exists() and not place.exists():
            old.rename(place)
        raise
    with contextlib.suppress(OSError):
        sync(place.parent)
    shutil.rmtree(old, ignore_errors=True)
