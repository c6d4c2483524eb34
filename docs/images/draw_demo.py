"""Draw the picture of the README: what `shoal demo` prints, as SVG.

The sample and the secret are fixed here, so that the demo prints the same whenever it is run, and
a test can tell whether the picture is still what it prints.

Usage: python docs/images/draw_demo.py          draw it again
       python docs/images/draw_demo.py --check  fail if it is not what the demo prints
"""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

import shoal

__all__ = ["PICTURE", "drawn", "lines_of", "printed"]

PICTURE = Path(__file__).with_name("demo.svg")
_WIDTH = 118
# What is published otherwise depends on 256 secret bits. A picture has nothing to hide.
_DEMO = """
from shoal.core.secret import Secret
Secret.fresh = classmethod(lambda kind: kind(bytes(32)))
from shoal.cli import main
main()
"""


def printed() -> str:
    """Run the demo in an empty folder and return what it prints, colours included."""
    terminal = {"FORCE_COLOR": "1", "COLUMNS": str(_WIDTH), "TERM": "xterm-256color"}
    # The demo of the Shoal that is imported here, wherever its folder is.
    terminal["PYTHONPATH"] = str(Path(shoal.__file__).parents[1])
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(  # noqa: S603 - the program is ours
            [sys.executable, "-c", _DEMO, "demo", "--seed", "0"],
            cwd=folder,
            env=os.environ | terminal,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
            text=True,
        ).stdout


def drawn(text: str) -> str:
    """Return the picture of what the demo printed."""
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=_WIDTH, file=nowhere, force_terminal=True)
        console.print(Text("$ shoal demo", style="bold"))
        console.print(Text.from_ansi(text))
        picture = console.export_svg(title="shoal demo")
    # Fonts from the network are no part of a picture: the reader's own will do.
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
    return picture.replace("Fira Code, monospace", "monospace")


def lines_of(picture: str) -> list[str]:
    """Return the lines of text in a picture, whichever version of the library drew it."""
    lines: dict[float, str] = {}
    for height, text in re.findall(r'<text[^>]* y="([0-9.]+)"[^>]*>(.*?)</text>', picture):
        lines[float(height)] = lines.get(float(height), "") + html.unescape(text)
    # Which blanks are drawn is the library's choice.
    return ["".join(lines[height].split()) for height in sorted(lines)]


def main() -> None:
    """Draw the picture, or check it."""
    picture = drawn(printed())
    if sys.argv[1:] != ["--check"]:
        PICTURE.write_text(picture, encoding="utf-8")
    elif lines_of(picture) != lines_of(PICTURE.read_text(encoding="utf-8")):
        sys.exit(f"{PICTURE.name} is not what the demo prints.\nHint: run {Path(__file__).name}.")


if __name__ == "__main__":
    main()
