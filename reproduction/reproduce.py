"""Run the experiments of the papers again, and write down what came out beside what they state.

Every paper has a module in `shoal.pipeline.papers` that says what can be run. Some of it needs the
Adult table, which is the user's own file; without it the rest is run, and the page says what was
left out. The folder of results is written whole or not at all.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from shoal.core.errors import DataError, InternalError, ParameterError
from shoal.core.exact import whole
from shoal.core.progress import Progress, silent
from shoal.pipeline.papers import ALL, PAPERS
from shoal.pipeline.papers.planned import Planned, Setting
from shoal.pipeline.whole_folder import refuse_foreign, whole_folder
from shoal.report.line_plot import draw
from shoal.report.reproduced import Figure, Statement
from shoal.report.reproduction_page import (
    Paper,
    Summary,
    data_name,
    figure_name,
    html_page,
    markdown_page,
)

__all__ = ["LeftOut", "Reproduction", "reproduce"]

_PAGE, _TEXT = "reproduction.html", "reproduction.md"
_FIGURES, _DATA = "figures", "data"
_NAME = re.compile(r"[a-z0-9]+(?:[-_.][a-z0-9]+)*")
_NEEDS_ADULT = "it runs on the Adult table, which was not given."


@dataclass(frozen=True)
class LeftOut:
    """An experiment that was not run.

    Attributes
    ----------
    paper, title
        Which one it is.
    why
        Why it was left out.
    """

    paper: str
    title: str
    why: str


@dataclass(frozen=True)
class Reproduction:
    """What running papers again gave.

    Attributes
    ----------
    folder
        Where it was written.
    figures
        The figures of each paper, by its name.
    left_out
        What was not run, and why.
    seconds
        How long each paper took, by its name.
    verdicts
        For each paper, by its name, how many statements have each verdict.
    is_quick
        Whether samples were run, so that nothing is judged.
    """

    folder: Path
    figures: Mapping[str, tuple[Figure, ...]]
    left_out: tuple[LeftOut, ...]
    seconds: Mapping[str, float]
    verdicts: Mapping[str, Mapping[str, int]]
    is_quick: bool = False

    @property
    def page(self) -> Path:
        """The page to look at."""
        return self.folder / _PAGE

    def to_dict(self) -> dict[str, object]:
        """Give the reproduction as JSON holds it."""
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
    folder: str | os.PathLike[str] = "reproduction",
    quick: bool = False,
    seed: int = 0,
    progress: Progress = silent,
) -> Reproduction:
    """Run the experiments of papers again, and compare with what the papers state.

    Parameters
    ----------
    papers
        Some of ``injector``, ``slicing``, ``foreground``, ``adversarial``, or ``all``.
    adult
        The Adult table as a CSV file, as `shoal.datasets.adult` reads it. Without it, what needs
        it is left out.
    folder
        Where the results go: ``reproduction.html`` and ``reproduction.md`` with the same content,
        ``figures`` and ``data``. Results of an earlier run are replaced, nothing else is.
    quick
        Whether samples and few repetitions are run, to see that everything works. Nothing is
        judged then.
    seed
        What random draws start from.
    progress
        Called with the name of each experiment as it begins.

    Returns
    -------
    The figures with the statements, what was left out, and the seconds.

    Examples
    --------
    >>> shoal.reproduce("all", adult="adult.csv")  # doctest: +SKIP
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
    """Give the names of the papers, in our order; `all` stands for every one."""
    named = {papers} if isinstance(papers, str) else set(papers)
    unknown = sorted(str(one) for one in named - {ALL, *PAPERS})
    if unknown or not named:
        raise ParameterError(
            f"There is no paper {unknown[0]!r}." if unknown else "No paper is named.",
            hint=f"name some of {', '.join(PAPERS)}, or {ALL}.",
        )
    return tuple(name for name in PAPERS if ALL in named or name in named)


def _found(adult: str | os.PathLike[str] | None) -> Path | None:
    """Refuse a table that is not there before hours of work, not after them."""
    if adult is None:
        return None
    path = Path(adult)
    if not path.is_file():
        raise DataError(
            f"The Adult table {str(path)!r} is not there.",
            hint="leave it out to run what needs none.",
        )
    return path


def _planned(paper: str) -> Sequence[Planned]:
    planned: Sequence[Planned] = import_module(f"shoal.pipeline.papers.{paper}").PLANNED
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
    """Take the verdicts off: a sample says nothing about the paper's numbers."""
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
    """Refuse what cannot be written: figures are made by programs, which have bugs."""
    names = [figure.name for figure in figures]
    for figure in figures:
        if not _NAME.fullmatch(figure.name) or names.count(figure.name) > 1:
            raise InternalError(f"A figure of {paper} has a name that no file can have.")
        if any(len(curve.values) != len(figure.x) for curve in figure.curves):
            raise InternalError(f"A curve of {paper}, {figure.name} lacks numbers.")


def _summary(setting: Setting) -> Summary:
    from shoal import __version__  # noqa: PLC0415 - the package imports this module

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
    """Write the numbers behind a figure; what is not a number is left empty."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((figure.x_name, *(curve.name for curve in figure.curves)))
    for place, x in enumerate(figure.x):
        numbers = (curve.values[place] for curve in figure.curves)
        writer.writerow((x, *("" if math.isnan(number) else number for number in numbers)))
    return text.getvalue()


def _is_own(folder: Path) -> bool:
    """Say whether a folder holds what this module writes, and nothing that would be lost."""
    files = [path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir()]
    kept = {Path(_PAGE), Path(_TEXT)}
    return kept <= set(files) and all(path in kept or _is_part(path) for path in files)


def _is_part(path: Path) -> bool:
    return (str(path.parent), path.suffix) in ((_FIGURES, ".svg"), (_DATA, ".csv"))
