"""The command line of Shoal: the program `shoal`.

Modules are imported when they are needed, so that help and completion appear at once.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; the entry point of the program `shoal`."""
    try:
        from shoal.cli import interruption  # noqa: PLC0415 - `import shoal.cli` stays cheap
        from shoal.core.version import refuse_namesake  # noqa: PLC0415

        interruption.install()
        # Checked again: the other package may have overwritten the `__init__` that refuses it.
        refuse_namesake()
        from shoal.cli.app import app  # noqa: PLC0415

        for stream in (sys.stdout, sys.stderr):
            # A terminal that lacks a character must not turn a result into an error.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        app(prog_name="shoal")
    except KeyboardInterrupt:
        sys.exit(130)
