"""Run the examples of the documentation, and compare what they print with what the pages show.

An HTML comment before a fenced block says what to do with it:

    <!-- run -->           console: run each command and compare its output; python: execute it
    <!-- run quietly -->   console: run each command, which must succeed; its output is not shown
    <!-- file NAME -->     write the block to this file first

The blocks of a page run in order, in one empty folder, 80 columns wide, and share their Python
names. A line `...` in an output stands for any lines. The secret of every release is fixed here,
so that releases come out the same whenever the pages are run.

Usage: python docs/run_pages.py [PAGE ...]   write the outputs of these pages anew (default: all)
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import shoal

__all__ = ["PROJECT", "Block", "MismatchError", "blocks_of", "pages_with_examples", "run_page"]

PROJECT = Path(__file__).parents[1]
_BLOCK = re.compile(
    r"^<!-- (?P<task>run|run quietly|file [\w./-]+) -->\n+"
    r"```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_SHOAL = """#!{python}
from shoal.core.secret import Secret
Secret.fresh = classmethod(lambda kind: kind(bytes(32)))
from shoal.cli import main
main()
"""


class MismatchError(AssertionError):
    """An example printed something else than its page shows."""


@dataclass(frozen=True)
class Block:
    """One fenced block of a page that is run.

    Parameters
    ----------
    task
        What the comment before the block says.
    language
        The word behind the fence.
    text
        The block.
    start, end
        Where the text stands in the page.
    """

    task: str
    language: str
    text: str
    start: int
    end: int


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page that are run, in order."""
    return [
        Block(one["task"], one["language"], one["text"], one.start("text"), one.end("text"))
        for one in _BLOCK.finditer(page)
    ]


def pages_with_examples() -> list[Path]:
    """Return the pages of the project that have a block to run."""
    pages = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
    return [page for page in pages if blocks_of(page.read_text(encoding="utf-8"))]


def run_page(page: Path) -> str:
    """Run the examples of a page; return the page with the outputs as they came out.

    Raises
    ------
    MismatchError
        If a quiet command fails, or an output with `...` does not match.
    """
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {}
    pieces, done = [], 0
    with (
        tempfile.TemporaryDirectory() as name,
        tempfile.TemporaryDirectory() as programs,
        contextlib.chdir(name),
    ):
        terminal = _Terminal(Path(name), Path(programs))
        for block in blocks_of(text):
            pieces += [text[done : block.start], _run(block, terminal, names)]
            done = block.end
    return "".join([*pieces, text[done:]])


def _run(block: Block, terminal: _Terminal, names: dict[str, object]) -> str:
    task, _, name = block.task.partition(" ")
    if task == "file":
        target = terminal.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.text, encoding="utf-8")
        return block.text
    if block.language == "python":
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(block.text, "<page>", "exec"), names)  # noqa: S102 - our own pages
        return block.text
    outputs = [_shown(terminal, *one, name == "quietly") for one in _commands(block.text)]
    return "".join(outputs)


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block with the output that the page shows."""
    for one in re.split(r"^(?=\$ )", text, flags=re.MULTILINE):
        command, _, output = one.partition("\n")
        if command:
            yield command, output


def _shown(terminal: _Terminal, command: str, expected: str, is_quiet: bool) -> str:
    output, code = terminal.run(command.removeprefix("$ ").partition("  #")[0])
    if is_quiet:
        if code:
            raise MismatchError(f"{command} ended with exit code {code}:\n{output}")
        return f"{command}\n{expected}"
    if re.search(r"^\.\.\.$", expected, re.MULTILINE):
        if not _matches(expected, output):
            raise MismatchError(f"{command} printed:\n{output}\nwhere the page shows:\n{expected}")
        return f"{command}\n{expected}"
    return f"{command}\n{output}"


def _matches(expected: str, output: str) -> bool:
    parts = re.split(r"^\.\.\.\n", expected, flags=re.MULTILINE)
    return re.fullmatch(r"(?:.*\n)*?".join(map(re.escape, parts)), output) is not None


class _Terminal:
    """A shell with the Shoal that is imported here, in an empty folder."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder = self._here = folder
        program = programs / "shoal"
        program.write_text(_SHOAL.format(python=sys.executable), encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self._environment = os.environ | {
            "COLUMNS": "80",
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(Path(shoal.__file__).parents[1]),
        }

    def run(self, command: str) -> tuple[str, int]:
        """Run a command; return what it prints, without blanks at line ends, and its exit code."""
        if command.startswith("cd "):
            self._here = self._here / command.removeprefix("cd ").strip()
            return "", 0
        done = subprocess.run(  # noqa: S603 - the commands are those of our pages
            ["/bin/bash", "-c", command],
            cwd=self._here,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            text=True,
        )
        lines = [line.rstrip() for line in done.stdout.strip("\n").splitlines()]
        return "".join(f"{line}\n" for line in lines), done.returncode


def main() -> None:
    """Write the outputs of pages anew."""
    for page in [Path(name).resolve() for name in sys.argv[1:]] or pages_with_examples():
        before = page.read_text(encoding="utf-8")
        after = run_page(page)
        page.write_text(after, encoding="utf-8")
        state = "as before" if after == before else "changed"
        sys.stdout.write(f"{page.relative_to(PROJECT)}: {state}\n")


if __name__ == "__main__":
    main()
