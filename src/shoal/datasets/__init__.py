"""Tables to try Shoal on: the small tables of the papers, two generators, and UCI Adult.

Nothing is downloaded: `adult` reads a file that the user names. Importing this package reads no
data; tables and hierarchies are made on demand.

Examples
--------
>>> import shoal
>>> shoal.datasets.papers.injector_patients()
Dataset('injector-patients', 9 rows, 4 columns: 3 quasi-identifying, 1 sensitive)
"""

from __future__ import annotations

from shoal.datasets import papers

# Imported now: a submodule that is imported later would replace the function of its name.
from shoal.datasets.adult import adult
from shoal.datasets.dataset import Dataset, Encoded
from shoal.datasets.synthetic import census, zipf

__all__ = ["Dataset", "Encoded", "adult", "census", "papers", "zipf"]
