"""Draw the picture of the README: what `shoal demo` prints, as SVG.

Usage: python docs/images/draw_demo.py
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

_WIDTH = 118


def main() -> None:
    """Run the demo in an empty folder and draw what it prints."""
    terminal = {"FORCE_COLOR": "1", "COLUMNS": str(_WIDTH), "TERM": "xterm-256color"}
    with tempfile.TemporaryDirectory() as folder:
        printed = subprocess.run(
            [sys.executable, "-m", "shoal", "demo"],
            cwd=folder,
            env=os.environ | terminal,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
            text=True,
        ).stdout
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=_WIDTH, file=nowhere, force_terminal=True)
        console.print(Text("$ shoal demo", style="bold"))
        console.print(Text.from_ansi(printed))
        drawn = console.export_svg(title="shoal demo")
    # Fonts from the network are no part of a picture: the reader's own will do.
    drawn = re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)
    drawn = drawn.replace("Fira Code, monospace", "monospace")
    Path(__file__).with_name("demo.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
