"""Which of some texts stand in columns of a source: what a public file must not hold by chance.

Identifying columns are neither staged nor coded, so they are read once more. The texts go to the
table, not the table to the texts: nothing of it is fetched but what was asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from shoal.core.errors import DataError
from shoal.engines.engine import Engine, Scan
from shoal.engines.texts import texts_of

__all__ = ["texts_in_source"]

_ASKED = "looked_up"


def texts_in_source(
    engine: Engine, scan: Scan, columns: Sequence[str], texts: Collection[str]
) -> frozenset[str]:
    """Give those of some texts that are a value of one of some columns.

    A value counts as it is and in small letters, as far as the engine knows those of its language;
    spaces around it do not count.

    Parameters
    ----------
    engine, scan
        The source.
    columns
        The columns to look into.
    texts
        What to look for.

    Raises
    ------
    DataError
        Where the source is no longer what it was.
    """
    if not columns or not texts:
        return frozenset()
    asked = np.array([*sorted(texts), None], dtype=object)[:-1]
    engine.push(_ASKED, {"v": asked})
    found: set[str] = set()
    try:
        with scan.unchanged():
            for column in columns:
                text = f"trim({engine.text(engine.quote(column), scan.types[column])})"
                held = (
                    f"SELECT {text} AS v FROM {scan.relation} "
                    f"UNION ALL SELECT lower({text}) AS v FROM {scan.relation}"
                )
                query = f"SELECT a.v AS v FROM {_ASKED} a WHERE a.v IN (SELECT h.v FROM ({held}) h)"
                found |= {text for text in texts_of(engine.rows(query)["v"]) if text is not None}
    except DataError:
        raise DataError(
            f"The table {scan.name} changed before its release was written, so that public files "
            "cannot be searched for identifying values; nothing was sealed.",
            hint="leave the table as it is until the release is written.",
        ) from None
    finally:
        engine.drop(_ASKED)
    return frozenset(found)
