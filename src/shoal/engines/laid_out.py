"""A release that is still in the engine that made it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from shoal.core.method import Shape
from shoal.core.plan import Plan
from shoal.core.release import Manifest, Meaning, Published
from shoal.core.schema import Role
from shoal.engines.layout import published_queries, shown_texts
from shoal.engines.published import Counted, PublishedFiles, assemble, recoded
from shoal.engines.table import EngineTable

__all__ = ["LaidOut"]


class LaidOut(PublishedFiles):
    """The data files of a release before they are written.

    What they will show is counted by code, without writing it out as texts.

    Parameters
    ----------
    table, plan, shape
        What was applied to what.
    release
        The number that `apply_plan` gave.
    """

    def __init__(self, table: EngineTable, plan: Plan, shape: Shape, release: int) -> None:
        super().__init__(table.engine, published_queries(table, plan, shape, release))
        self._table, self._plan, self._release = table, plan, release

    def published(
        self, manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]]
    ) -> Published:
        """Count lines and buckets as any reader of the files will."""
        if manifest.shape is Shape.BUCKETIZED:
            lines = self._grouped(manifest, Role.QUASI)
            return assemble(manifest, meanings, lines, self._grouped(manifest, Role.SENSITIVE))[0]
        return assemble(manifest, meanings, self._grouped(manifest, Role.QUASI, Role.SENSITIVE))[0]

    def _grouped(self, manifest: Manifest, *roles: Role) -> Counted:
        columns = [column for role in roles for column in manifest.columns_of(role)]
        has_bucket = manifest.shape is Shape.BUCKETIZED
        names = [f"p{self._table.schema.coded.index(column)}" for column in columns]
        listed = ", ".join([*(["bucket"] if has_bucket else []), *names])
        kinds: dict[str, npt.DTypeLike] = {**dict.fromkeys(names, np.int32), "n": np.int64}
        kinds |= {"bucket": np.int64} if has_bucket else {}
        counted = f"count(*) AS n FROM published_{self._release} GROUP BY {listed}"
        if has_bucket and roles == (Role.SENSITIVE,):
            counted = f"n FROM values_{self._release}"
        fetched = self.engine.arrays(f"SELECT {listed}, {counted} ORDER BY {listed}", kinds)
        coded = []
        for column, name in zip(columns, names, strict=True):
            texts = shown_texts(self._table, self._plan, column)
            # A blank is -1: the last text.
            codes = fetched.pop(name)
            codes[codes < 0] = len(texts) - 1
            coded.append(recoded(manifest, column, codes, texts))
        return Counted(fetched["bucket"] if has_bucket else None, coded, fetched["n"])
