"""The command line: `shoal profile | anonymize | verify | attack | publish | hierarchy | demo`.

Nothing is imported here before it is needed, so that help and completion come at once.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; the entry point of the program `shoal`."""
    try:
        from shoal.cli import interruption  # noqa: PLC0415 - `import shoal.cli` stays cheap

        interruption.install()
        from shoal.cli.app import app  # noqa: PLC0415

        for stream in (sys.stdout, sys.stderr):
            # A terminal that lacks a character must not turn a result into an error.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        app(prog_name="shoal")
    except KeyboardInterrupt:
        sys.exit(130)
