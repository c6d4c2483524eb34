"""The version of Shoal, and a refusal to run beside the other distribution called `shoal`.

Shoal is installed as `shoal-privacy` and imported as `shoal`. PyPI has another package that is both
installed and imported as `shoal`: with both in one environment, the files of one overwrite those of
the other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

__version__ = "0.1.0"


_OTHER = "shoal-"
"""The metadata folder of the other distribution begins like this; ours is `shoal_privacy-`."""
_ENDINGS = (".dist-info", ".egg-info")


def refuse_namesake(folders: Iterable[str] | None = None) -> None:
    """Raise an ImportError if the other distribution is installed in one of the folders.

    By default the folders are those of `sys.path` except the current folder. They are listed rather
    than queried through `importlib.metadata`, whose import alone takes longer than all of `import
    shoal`.
    """
    for folder in sys.path if folders is None else folders:
        if folder and _holds_other(folder):
            message = (
                "Another package called 'shoal' is installed in this environment, and its files "
                "mix with those of Shoal ('shoal-privacy').\n\nHint: pip uninstall --yes shoal "
                "shoal-privacy && pip install shoal-privacy"
            )
            raise ImportError(message)


def _holds_other(folder: str) -> bool:
    try:
        # os.listdir, because importing pathlib takes longer than running this module.
        names = os.listdir(folder)  # noqa: PTH208
    except OSError:
        # The path is not a folder, such as the archive of the standard library.
        return False
    return any(name.startswith(_OTHER) and name.endswith(_ENDINGS) for name in names)
