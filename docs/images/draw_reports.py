"""Photograph the two reports of the tutorial's release with Chromium.

Usage: python docs/images/draw_reports.py
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import shoal

IMAGES = Path(__file__).parents[1] / "tutorial" / "images"
_PICTURES = {"internal-report": "release.internal", "public-report": "release"}
_SIZE = "800,900"
# The secret that docs/run_pages.py uses, so that the pictures show the figures of the page.
_DEMO = """
from shoal.core.secret import Secret
Secret.fresh = classmethod(lambda kind: kind(bytes(32)))
from shoal.cli import main
main()
"""


def main() -> None:
    """Make the release of the tutorial and photograph its reports."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("Chromium is not installed.\nHint: it draws the pictures of the reports.")
    environment = os.environ | {"PYTHONPATH": str(Path(shoal.__file__).parents[1])}
    with tempfile.TemporaryDirectory() as folder:
        demo = [sys.executable, "-c", _DEMO, "demo", "sample", "--seed", "1", "--quiet"]
        subprocess.run(demo, cwd=folder, env=environment, check=True)  # noqa: S603 - ours
        for name, released in _PICTURES.items():
            report = Path(folder) / "sample" / released / "report.html"
            _photograph(browser, report, IMAGES / f"{name}.png")


def _photograph(browser: str, report: Path, target: Path) -> None:
    subprocess.run(  # noqa: S603 - the browser of the machine, on our own page
        [
            browser,
            *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
            *("--disable-background-networking", "--hide-scrollbars"),
            f"--window-size={_SIZE}",
            f"--screenshot={target}",
            report.as_uri(),
        ],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    main()
