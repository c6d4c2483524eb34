"""Tables to try Shoal on: the papers' small ones, two generators, and the Adult recipe.

Nothing is downloaded: `adult` reads a file that the user names. Importing this package reads
no data; tables and hierarchies are made when they are asked for.
"""

from __future__ import annotations

from shoal.datasets import papers

# Imported here and not on first use: a submodule imported later would take its function's name.
from shoal.datasets.adult import adult
from shoal.datasets.census import census
from shoal.datasets.dataset import Dataset, Encoded
from shoal.datasets.zipf import zipf

__all__ = ["Dataset", "Encoded", "adult", "census", "papers", "zipf"]
