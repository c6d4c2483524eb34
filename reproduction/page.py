"""The results of running papers again, as one page and as Markdown with the same content.

Every figure has its setting, our plot, a table of the paper's statements with our results and the
verdicts, and a link to the numbers. The summary counts verdicts and lists the experiments that were
left out. All texts are escaped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

from reproduction.line_plot import draw
from reproduction.reproduced import Figure, Statement, Verdict
from shoal.report.markup import Markup, drawing, element, joined, listed, markdown_text, page, table

_TITLE = "Papers run again"
_VERDICTS: tuple[str, ...] = get_args(Verdict)
_COLUMNS = ("what", "printed", "ours", "verdict", "why")
_LONG_WORD = 24
_COMPARED = (
    "The figures of a paper are pictures, so only the statements of its text, its tables and the "
    "words in its figures are compared. If ours differ, the last column has our best explanation."
)
_QUICK = (
    "This was a quick run, on samples and with few repetitions, to see that everything runs. "
    "Its numbers are not those of the papers' experiments, so no statement is judged."
)


@dataclass(frozen=True)
class Paper:
    """The results of one paper."""

    name: str  # Its name on the command line and in file names.
    title: str  # Authors, title and year.
    figures: tuple[Figure, ...]
    # Experiments that were not run, each with the reason.
    left_out: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0

    @property
    def statements(self) -> list[Statement]:
        """The statements of all figures."""
        return [statement for figure in self.figures for statement in figure.statements]

    @property
    def verdicts(self) -> dict[str, int]:
        """The number of statements with each verdict."""
        counts = Counter(str(statement.verdict) for statement in self.statements)
        return {verdict: counts[verdict] for verdict in _VERDICTS}


@dataclass(frozen=True)
class Summary:
    """The text above all figures."""

    about: str  # A sentence with the version, the seed and the tables.
    is_quick: bool = False  # Whether only samples were run, so that nothing is judged.


def figure_name(paper: Paper, figure: Figure) -> str:
    """Return the relative path of the plot of a figure."""
    return f"figures/{paper.name}-{figure.name}.svg"


def data_name(paper: Paper, figure: Figure) -> str:
    """Return the relative path of the numbers of a figure."""
    return f"data/{paper.name}-{figure.name}.csv"


def html_page(papers: Sequence[Paper], summary: Summary) -> str:
    """Write the page.

    Examples
    --------
    >>> from reproduction.reproduced import Curve
    >>> curve = Curve("<rules>", (45, 44))
    >>> figure = Figure("figure-3", "Figure 3", "", "x", (1, 2), "rules", (curve,))
    >>> "&lt;rules&gt;" in html_page([Paper("injector", "Li", (figure,))], Summary("seed 0"))
    True
    """
    return page(
        _TITLE,
        *(element("p", words) for words in _opening(summary)),
        *([element("p", _QUICK, class_="note")] if summary.is_quick else []),
        element("figure", _summary_table(papers)),
        *_left_out(papers),
        *(part for paper in papers for part in _paper(paper)),
    )


def _opening(summary: Summary) -> tuple[str, str]:
    return f"Tables and figures of published papers, run again. {summary.about}", _COMPARED


def _summary_table(papers: Sequence[Paper]) -> Markup:
    return table(("paper", *_VERDICTS, "seconds"), _summary_rows(papers), "Statements by verdict")


def _summary_rows(papers: Sequence[Paper]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = [
        (paper.name, *paper.verdicts.values(), round(paper.seconds)) for paper in papers
    ]
    if len(papers) > 1:
        sums = [sum(paper.verdicts[verdict] for paper in papers) for verdict in _VERDICTS]
        rows.append(("all", *sums, round(sum(paper.seconds for paper in papers))))
    return rows


def _left_out(papers: Sequence[Paper]) -> Iterator[Markup]:
    said = [f"{paper.name}, {what}: {why}" for paper in papers for what, why in paper.left_out]
    if said:
        yield element("h2", "Left out")
        yield listed(said)


def _paper(paper: Paper) -> Iterator[Markup]:
    yield element("h2", paper.name)
    yield element("p", paper.title)
    if paper.figures:
        yield listed(
            element("a", figure.title, href=f"#{paper.name}-{figure.name}")
            for figure in paper.figures
        )
    for figure in paper.figures:
        yield element("h3", figure.title, id=f"{paper.name}-{figure.name}")
        yield element("p", figure.setting)
        yield element("div", drawing(draw(figure)), _statements(figure), class_="beside")
        numbers = data_name(paper, figure)
        yield element("p", "The numbers: ", element("a", numbers, href=numbers))


def _statements(figure: Figure) -> Markup:
    if not figure.statements:
        return element("p", "The paper states no number about it.")
    rows = [tuple(map(_words, _row(statement))) for statement in figure.statements]
    return table(_COLUMNS, rows)


def _row(statement: Statement) -> tuple[str, str, str, str, str]:
    printed = statement.printed or "not stated"
    return statement.what, printed, statement.ours, statement.verdict, statement.why


def _words(text: str) -> Markup:
    """Show a text in full; these texts are sentences, not values of a table."""
    is_long = any(len(word) > _LONG_WORD for word in text.split())
    return element("span", text, class_="long") if is_long else joined([text])


def markdown_page(papers: Sequence[Paper], summary: Summary) -> str:
    """Write the same content in Markdown, with links to plots and numbers."""
    lines = [f"# {_TITLE}", ""]
    for words in (*_opening(summary), *([f"**{_QUICK}**"] if summary.is_quick else [])):
        lines += [words, ""]
    lines += _markdown_table(("paper", *_VERDICTS, "seconds"), _summary_rows(papers))
    left_out = [(paper.name, *one) for paper in papers for one in paper.left_out]
    if left_out:
        lines += ["## Left out", "", *_markdown_table(("paper", "what", "why"), left_out)]
    for paper in papers:
        lines += [f"## {markdown_text(paper.name)}", "", markdown_text(paper.title), ""]
        for figure in paper.figures:
            lines += _markdown_figure(paper, figure)
    return "\n".join(lines).rstrip("\n") + "\n"


def _markdown_figure(paper: Paper, figure: Figure) -> list[str]:
    called = markdown_text(figure.title)
    lines = [f"### {called}", "", markdown_text(figure.setting), ""]
    lines += [f"![{called}]({figure_name(paper, figure)})", ""]
    if figure.statements:
        lines += _markdown_table(_COLUMNS, map(_row, figure.statements))
    else:
        lines += ["The paper states no number about it.", ""]
    numbers = data_name(paper, figure)
    return [*lines, f"The numbers: [{numbers}]({numbers})", ""]


def _markdown_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    lines += [f"| {' | '.join(markdown_text(str(entry)) for entry in row)} |" for row in rows]
    return [*lines, ""]
