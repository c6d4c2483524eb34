"""What a command prints, and where.

Results go to stdout: tables for people or, with `--json`, one JSON document and nothing else.
Progress, warnings and errors go to stderr; with `--json` an error is the JSON document.
Rich is imported when something is printed.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shoal.core.progress import Progress, silent
from shoal.core.shown import shown_list

if TYPE_CHECKING:
    from rich.console import Console
    from rich.tree import Tree

    from shoal.core.attack import Section

__all__ = ["SHOWS_VALUES", "Mark", "Output", "as_cell", "printable"]

SHOWS_VALUES = "What follows shows values of the table. It is for internal use."
"""The line above everything that shows values of the table."""

_WIDTH_OF_PIPES = 160


@dataclass(frozen=True)
class Mark:
    """A word that is green where it is good and red where it is not."""

    word: str
    is_good: bool

    def __str__(self) -> str:
        return self.word


@dataclass(frozen=True)
class Output:
    """Where a command prints.

    Parameters
    ----------
    is_quiet
        Whether only warnings and errors are printed.
    is_json
        Whether stdout holds one JSON document.
    is_debug
        Whether errors come with their traceback.
    """

    is_quiet: bool = False
    is_json: bool = False
    is_debug: bool = False

    @property
    def is_for_people(self) -> bool:
        """Whether tables and lines are printed."""
        return not (self.is_quiet or self.is_json)

    @cached_property
    def stdout(self) -> Console:
        """The console of results."""
        return _console(stderr=False)

    @cached_property
    def stderr(self) -> Console:
        """The console of progress, warnings and errors."""
        return _console(stderr=True)

    def document(self, result: Mapping[str, object]) -> None:
        """Print the JSON document, where one is wanted."""
        if self.is_json:
            # In ASCII, so that no terminal and no pipe can fail on it.
            sys.stdout.write(json.dumps(result, indent=2, default=str) + "\n")

    def line(self, text: str = "", style: str = "") -> None:
        """Print a line for people."""
        if self.is_for_people:
            self.stdout.print(printable(text), style=style, soft_wrap=True)

    def warn(self, text: str) -> None:
        """Print a warning; also where the command is quiet."""
        if not self.is_json:
            self.stderr.print(f"Warning: {printable(text)}", style="yellow", soft_wrap=True)

    def fail(self, fact: str, hint: str | None) -> None:
        """Print an error."""
        self.stderr.print(f"Error: {printable(fact)}", style="red", soft_wrap=True)
        if hint:
            self.stderr.print(f"Hint: {printable(hint)}", soft_wrap=True)

    def table(
        self, columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None
    ) -> None:
        """Print a table for people."""
        if not self.is_for_people:
            return
        from rich import box  # noqa: PLC0415 - see the module
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        listed = [tuple(row) for row in rows]
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        table.show_header = any(columns)
        for place, column in enumerate(columns):
            is_number = all(_is_number(row[place]) for row in listed)
            table.add_column(Text(printable(column)), justify="right" if is_number else "left")
        for row in listed:
            table.add_row(*(Text(as_cell(value), style=_style(value)) for value in row))
        if title is not None:
            self.line(title, style="bold")
        self.stdout.print(table)
        self.line()

    def section(self, section: Section) -> None:
        """Print a small table of results."""
        self.table(section.columns, section.rows, title=section.title)

    def facts(self, facts: Mapping[str, object], title: str | None = None) -> None:
        """Print names and values, one a line."""
        self.table(("", ""), list(facts.items()), title=title)

    def tree(self, nested: Mapping[str, Any]) -> None:
        """Draw nested labels."""
        if self.is_for_people:
            for label, below in nested.items():
                self.stdout.print(_grow(label, below))

    @contextlib.contextmanager
    def progress(self, *, in_logs: bool = False) -> Iterator[Progress]:
        """Show on a terminal which step runs and for how long.

        Parameters
        ----------
        in_logs
            Whether steps are told, one a line, also where stderr is a file or a pipe: for work of
            minutes, whose log somebody looks into.
        """
        if not (self.is_for_people and self.stderr.is_terminal):
            yield self._lines() if in_logs and self.is_for_people else silent
            return
        from rich import progress  # noqa: PLC0415 - see the module

        bars = progress.Progress(
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(bar_width=20),
            progress.TimeElapsedColumn(),
            console=self.stderr,
            transient=True,
        )
        with bars:
            task = bars.add_task("", total=None)
            yield lambda step: bars.update(task, description=printable(step))

    def _lines(self) -> Progress:
        """Tell each step on a line of its own, with the seconds that have passed."""
        begun = time.monotonic()

        def tell(step: str) -> None:
            passed = f"{time.monotonic() - begun:6.0f} s  "
            self.stderr.print(passed + printable(step), soft_wrap=True)

        return tell


def _console(*, stderr: bool) -> Console:
    from rich.console import Console  # noqa: PLC0415 - see the module

    console = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDTH_OF_PIPES
    return console


def _grow(label: str, below: Mapping[str, Any]) -> Tree:
    from rich.text import Text  # noqa: PLC0415 - see the module
    from rich.tree import Tree  # noqa: PLC0415

    tree = Tree(Text(printable(label)))
    for child, further in below.items():
        tree.add(_grow(child, further))
    return tree


def printable(text: str) -> str:
    r"""Write control characters as escapes: a column's name must not steer the terminal.

    Examples
    --------
    >>> printable("a" + chr(27) + "[2J")
    'a\\x1b[2J'
    """
    return "".join(
        character if character.isprintable() or character == "\n" else ascii(character)[1:-1]
        for character in text
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _style(value: object) -> str:
    if not isinstance(value, Mark):
        return ""
    return "green" if value.is_good else "red"


def as_cell(value: object) -> str:
    """Write a value into a cell of a table.

    Examples
    --------
    >>> [as_cell(value) for value in (None, True, 0.123456, 12, "flu", [0.5, 0.7])]
    ['-', 'yes', '0.1235', '12', 'flu', '0.5 to 0.7']
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return printable(shown_list(value))
    return f"{value:.4g}" if isinstance(value, float) else printable(str(value))
