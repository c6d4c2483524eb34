"""Draw the picture of the README: what `shoal demo` prints, as SVG.

Usage: python docs/images/draw_demo.py
"""

from __future__ import annotations

import os
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
            check=True,
            text=True,
        ).stdout
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=_WIDTH, file=nowhere, force_terminal=True)
        console.print(Text("$ shoal demo", style="bold"))
        console.print(Text.from_ansi(printed))
        target = Path(__file__).with_name("demo.svg")
        target.write_text(console.export_svg(title="shoal demo"), encoding="utf-8")


if __name__ == "__main__":
    main()
