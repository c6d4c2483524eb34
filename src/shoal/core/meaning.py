"""The meaning of a published label: an interval or a set of values, some of them unnamed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, repr=False)
class Meaning:
    """The meaning of a published label, as stated in `labels.json` or `labels.parquet`."""

    # Lower bound (included) and upper bound (excluded), as texts.
    interval: tuple[str, str] | None = None
    members: frozenset[str] = frozenset()
    # Whether it also stands for values too rare to be named.
    has_other: bool = False
    # Whether it also stands for the missing value.
    has_missing: bool = False

    def __repr__(self) -> str:
        kind = "interval" if self.interval is not None else f"{len(self.members)} members"
        return f"Meaning({kind}{', other' * self.has_other}{', missing' * self.has_missing})"

    def to_dict(self) -> dict[str, object]:
        """Return the meaning in the form of `labels.json`."""
        stated: dict[str, object] = {}
        if self.interval is not None:
            stated["interval"] = list(self.interval)
        if self.members:
            stated["members"] = sorted(self.members)
        if self.has_other:
            stated["other"] = True
        if self.has_missing:
            stated["missing"] = True
        return stated

    @classmethod
    def from_dict(cls, stated: Mapping[str, object]) -> Meaning:
        """Read a meaning from its form in `labels.json`."""
        interval = stated.get("interval")
        members = stated.get("members", [])
        low, high = interval if isinstance(interval, list) else (None, None)
        return cls(
            interval=None if low is None else (str(low), str(high)),
            members=frozenset(map(str, members)) if isinstance(members, list) else frozenset(),
            has_other=bool(stated.get("other", False)),
            has_missing=bool(stated.get("missing", False)),
        )
