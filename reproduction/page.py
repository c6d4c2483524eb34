"""What running papers again gave, as one page and as Markdown with the same content.

Every figure has its setting, our drawing, a table with what the paper states beside ours and the
verdict, and a link to the numbers. The summary counts verdicts, and says what was left out. All
texts are escaped, whoever wrote them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

from shoal.report.html import Markup, drawing, element, joined, listed, page, table
from shoal.report.line_plot import draw
from shoal.report.markdown import markdown_text
from shoal.report.reproduced import Figure, Statement, Verdict

__all__ = ["Paper", "Summary", "data_name", "figure_name", "html_page", "markdown_page"]

_TITLE = "Papers run again"
_VERDICTS: tuple[str, ...] = get_args(Verdict)
_COLUMNS = ("what", "printed", "ours", "verdict", "why")
_LONG_WORD = 24
_COMPARED = (
    "The figures of a paper are pictures: what can be compared is what its text, its tables and "
    "the words in its figures state. Where ours differs, the last column has our best explanation."
)
_QUICK = (
    "This was a quick run, on samples and with few repetitions, to see that everything runs. "
    "Its numbers are not those of the papers' experiments, so no statement is judged."
)


@dataclass(frozen=True)
class Paper:
    """What running one paper again gave.

    Attributes
    ----------
    name
        What the paper is called on the command line and in names of files.
    title
        Its authors, title and year.
    figures
        What was run.
    left_out
        What was not: what it is and why.
    seconds
        How long it took.
    """

    name: str
    title: str
    figures: tuple[Figure, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0

    @property
    def statements(self) -> list[Statement]:
        """What it states, over all figures."""
        return [statement for figure in self.figures for statement in figure.statements]

    @property
    def verdicts(self) -> dict[str, int]:
        """How many statements have each verdict."""
        counts = Counter(str(statement.verdict) for statement in self.statements)
        return {verdict: counts[verdict] for verdict in _VERDICTS}


@dataclass(frozen=True)
class Summary:
    """What stands above all figures.

    Attributes
    ----------
    about
        A sentence: which version, seed and tables.
    is_quick
        Whether samples were run, so that nothing is judged.
    """

    about: str
    is_quick: bool = False


def figure_name(paper: Paper, figure: Figure) -> str:
    """Give where the drawing of a figure lies."""
    return f"figures/{paper.name}-{figure.name}.svg"


def data_name(paper: Paper, figure: Figure) -> str:
    """Give where the numbers behind a figure lie."""
    return f"data/{paper.name}-{figure.name}.csv"


def html_page(papers: Sequence[Paper], summary: Summary) -> str:
    """Write the page.

    Parameters
    ----------
    papers
        What was run.
    summary
        What stands above.

    Examples
    --------
    >>> from shoal.report.reproduced import Curve
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
    """Show a text whole; the texts here are sentences, not values of a table."""
    is_long = any(len(word) > _LONG_WORD for word in text.split())
    return element("span", text, class_="long") if is_long else joined([text])


def markdown_page(papers: Sequence[Paper], summary: Summary) -> str:
    """Write the same in Markdown; drawings and numbers are linked.

    Parameters
    ----------
    papers
        What was run.
    summary
        What stands above.
    """
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
