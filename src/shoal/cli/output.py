"""The output of a command.

Results go to stdout: tables for people or, with `--json`, one JSON document and nothing else.
Progress, warnings and errors go to stderr; with `--json` an error is the JSON document.
Rich is imported when something is printed.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shoal.core.display import shown_list
from shoal.core.progress import Progress, silent, watching

if TYPE_CHECKING:
    from rich.console import Console
    from rich.tree import Tree

    from shoal.core.display import Section

# The line above everything that shows values of the table.
SHOWS_VALUES = "The following shows values of the table; it is for internal use."

_WIDTH_OF_PIPES = 160
# The spaces between two columns of a table.
_BETWEEN = 3


@dataclass(frozen=True)
class Mark:
    """A word that is green if it is good, and red otherwise."""

    word: str
    is_good: bool

    def __str__(self) -> str:
        return self.word


@dataclass(frozen=True)
class Output:
    """The streams that a command prints to, and how much it prints."""

    # Only warnings and errors are printed.
    is_quiet: bool = False
    # Stdout holds one JSON document.
    is_json: bool = False
    # Errors come with their traceback.
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
        """Print the JSON document if `--json` asks for it."""
        if self.is_json:
            # In ASCII, so that no terminal and no pipe can fail to show it.
            sys.stdout.write(json.dumps(result, indent=2, default=str) + "\n")

    def line(self, text: str = "", style: str = "") -> None:
        """Print a line for people, wrapped between words on a terminal."""
        if self.is_for_people:
            _print(self.stdout, text, style)

    def place(self, words: str, place: object) -> None:
        """Print a label, then a path or a command on the same line or the next.

        The path is never wrapped, so that it can be copied.
        """
        if not self.is_for_people:
            return
        text = printable(str(place))
        room = self.stdout.width if _is_wrapped(self.stdout) else _WIDTH_OF_PIPES
        label = printable(words)
        if len(label) + len(text) >= room:
            label, text = label.rstrip(), f"\n{' ' * (_indent(words) + 2)}{text}"
        else:
            text = f" {text}"
        self.stdout.print(f"{label}{text}", soft_wrap=True)

    def warn(self, text: str) -> None:
        """Print a warning; also if the command is quiet."""
        if not self.is_json:
            _print(self.stderr, f"Warning: {text}", "yellow")

    def fail(self, fact: str, hint: str | None) -> None:
        """Print an error."""
        _print(self.stderr, f"Error: {fact}", "red")
        if hint:
            _print(self.stderr, f"Hint: {hint}")

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
        if title is not None:
            self.line(title, style="bold")
        widths = _widths(columns, listed, self.stdout.width)
        if widths is None:
            self._list(columns, listed)
            return
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        table.show_header = any(columns)
        for place, column in enumerate(columns):
            is_number = all(_is_number(row[place]) for row in listed)
            table.add_column(
                Text(printable(column)),
                justify="right" if is_number else "left",
                width=widths[place],
            )
        for row in listed:
            table.add_row(*(Text(as_cell(value), style=_style(value)) for value in row))
        self.stdout.print(table)
        self.line()

    def _list(self, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Print a table that is too wide as a list of rows, breaking no word."""
        for row in rows:
            named = [(printable(c), as_cell(v)) for c, v in zip(columns, row, strict=True)]
            for place, (column, value) in enumerate(named):
                indent = "  " if place else ""
                text = f"{indent}{column}: {value}" if column else f"{indent}{value}"
                for line in wrapped(text, self.stdout.width, indent + "  "):
                    self.line(line)
        self.line()

    def section(self, section: Section) -> None:
        """Print a small table of results."""
        self.table(section.columns, section.rows, title=section.title)

    def facts(self, facts: Mapping[str, object], title: str | None = None) -> None:
        """Print names and values, one pair per line."""
        self.table(("", ""), list(facts.items()), title=title)

    def tree(self, nested: Mapping[str, Any]) -> None:
        """Draw nested labels."""
        if self.is_for_people:
            for label, below in nested.items():
                self.stdout.print(_grow(label, below))

    @contextlib.contextmanager
    def progress(self, *, in_logs: bool = False) -> Iterator[Progress]:
        """Show on a terminal which step runs, which share of it is done, and for how long.

        With `in_logs`, steps are also printed, one per line, if stderr is a file or a pipe: for
        work of minutes whose log somebody reads.
        """
        if not (self.is_for_people and self.stderr.is_terminal):
            yield self._lines() if in_logs and self.is_for_people else silent
            return
        from rich import progress  # noqa: PLC0415 - see the module

        bars = progress.Progress(
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(bar_width=20),
            progress.TaskProgressColumn(),
            progress.TimeElapsedColumn(),
            console=self.stderr,
            transient=True,
        )
        with bars:
            bars.add_task("", total=None)
            (bar,) = bars.tasks

            def begin(step: str) -> None:
                # Without a total the bar only says that something is under way.
                bar.description, bar.total, bar.completed = printable(step), None, 0.0

            def tell(share: float) -> None:
                bar.total, bar.completed = 1.0, max(bar.completed, share)

            with watching(tell):
                yield begin

    def _lines(self) -> Progress:
        """Print each step on a line of its own, with the seconds that have passed."""
        begun = time.monotonic()

        def tell(step: str) -> None:
            passed = f"{time.monotonic() - begun:6.0f} s  "
            self.stderr.print(passed + printable(step), soft_wrap=True)

        return tell


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Break a line between words, never inside a word, a path or an option.

    Examples
    --------
    >>> wrapped("a long-winded /path/to/some-file", 13, "  ")
    ['a long-winded', '  /path/to/some-file']
    """
    return textwrap.wrap(
        text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _print(console: Console, text: str, style: str = "") -> None:
    lines = printable(text).split("\n")
    if _is_wrapped(console):
        lines = [
            part
            for line in lines
            for part in wrapped(line, console.width, " " * _indent(line)) or [""]
        ]
    for line in lines:
        console.print(line, style=style, soft_wrap=True)


def _is_wrapped(console: Console) -> bool:
    """Return whether somebody reads the lines on a screen; a pipe gets them whole."""
    return console.is_terminal or "COLUMNS" in os.environ


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def _console(*, stderr: bool) -> Console:
    from rich.console import Console  # noqa: PLC0415 - see the module

    console = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDTH_OF_PIPES
    return console


def _widths(
    columns: Sequence[str], rows: Sequence[Sequence[object]], room: int
) -> list[int] | None:
    """Return the width of each column of a table so that no word is broken; None if none is."""
    from rich.cells import cell_len  # noqa: PLC0415 - see the module

    cells = [[printable(column) for column in columns]]
    cells += [[as_cell(value) for value in row] for row in rows]
    longest, natural = [], []
    for place in range(len(columns)):
        texts = [line[place] for line in cells]
        longest.append(max((cell_len(word) for text in texts for word in text.split()), default=0))
        natural.append(max(cell_len(one) for text in texts for one in text.splitlines() or [""]))
    left = room - sum(longest) - _BETWEEN * (len(columns) - 1)
    wanted = [most - least for most, least in zip(natural, longest, strict=True)]
    if left < 0:
        return None
    share = min(1.0, left / max(sum(wanted), 1))
    return [least + int(more * share) for least, more in zip(longest, wanted, strict=True)]


def _grow(label: str, below: Mapping[str, Any]) -> Tree:
    from rich.text import Text  # noqa: PLC0415 - see the module
    from rich.tree import Tree  # noqa: PLC0415

    tree = Tree(Text(printable(label)))
    for child, further in below.items():
        tree.add(_grow(child, further))
    return tree


def printable(text: str) -> str:
    r"""Escape control characters: the name of a column must not control the terminal.

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
