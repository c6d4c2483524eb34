"""What a release folder says of itself, and what a reader of it sees.

`Manifest` is `manifest.json`. `Published` is what any reader can count in the published files:
attacks and measures work on it and on nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np

from shoal.core.cells import Buckets, Cells, Codes, Counts, smallest_type
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import DataError, ParameterError
from shoal.core.guarantees import Guarantee, guarantee_from_dict
from shoal.core.method import Shape
from shoal.core.people import People
from shoal.core.reading import parse_json
from shoal.core.rows import Rows
from shoal.core.schema import Role
from shoal.core.sliced import Sliced
from shoal.core.vocabulary import Vocabulary

__all__ = [
    "BUCKET",
    "COUNT",
    "FORMATS",
    "FORMAT_VERSION",
    "INTERNAL_SUFFIX",
    "Manifest",
    "Meaning",
    "People",
    "Published",
    "PublishedColumn",
    "data_files",
]

FORMAT_VERSION = 1
FORMATS = ("csv", "parquet")
"""The formats of data files, which are also the endings of their names."""
BUCKET = "bucket"
"""The name of the column that holds the bucket in a bucketized or sliced file."""
COUNT = "count"
"""The name of the column that holds a count in a bucketized or sliced file."""
INTERNAL_SUFFIX = ".internal"
"""What the internal folder's name adds to the release's."""


def data_files(shape: Shape, n_slices: int = 0) -> tuple[str, ...]:
    """Name the data files of a shape, without their endings.

    Parameters
    ----------
    shape
        The shape.
    n_slices
        How many columns of attributes a sliced release has.

    Examples
    --------
    >>> data_files(Shape.SLICED, 2)
    ('column_1', 'column_2', 'sliced')
    """
    if shape is Shape.BUCKETIZED:
        return ("quasi", "sensitive")
    if shape is Shape.SLICED:
        return (*(f"column_{number}" for number in range(1, n_slices + 1)), "sliced")
    return ("table",)


@dataclass(frozen=True)
class PublishedColumn:
    """A column of the release.

    Parameters
    ----------
    name, role, type
        What it is called, what it could betray, and the type of its original values.
    is_recoded
        Whether labels stand in place of the values.
    order
        The values of an ordered sensitive column, from lowest to highest.
    n_suppressed
        How many of its cells are suppressed; why each of them is, no public file says.
    is_also_quasi
        Whether a sensitive column may be known of people too, as slicing allows.
    is_distorted
        Whether the method may have changed some of its values; whether it did, and which, no
        public file says.
    """

    name: str
    role: Role
    type: ColumnType
    is_recoded: bool = False
    order: tuple[str, ...] | None = field(default=None, repr=False)
    n_suppressed: int = 0
    is_also_quasi: bool = False
    is_distorted: bool = False

    def to_dict(self) -> dict[str, object]:
        """Give the column as the manifest states it."""
        stated: dict[str, object] = {
            "name": self.name,
            "role": str(self.role),
            "type": str(self.type),
            "recoded": self.is_recoded,
        }
        if self.n_suppressed:
            stated["suppressed"] = self.n_suppressed
        if self.is_also_quasi:
            stated["also_quasi"] = True
        if self.is_distorted:
            stated["distorted"] = True
        return stated if self.order is None else stated | {"order": list(self.order)}

    @classmethod
    def from_dict(cls, stated: Mapping[str, Any]) -> PublishedColumn:
        """Read a column as the manifest states it."""
        order = stated.get("order")
        return cls(
            name=str(stated["name"]),
            role=Role(stated["role"]),
            type=ColumnType(stated["type"]),
            is_recoded=_truth(stated["recoded"]),
            order=None if order is None else tuple(map(str, order)),
            n_suppressed=_number(stated.get("suppressed", 0)),
            is_also_quasi=_truth(stated.get("also_quasi", False)),
            is_distorted=_truth(stated.get("distorted", False)),
        )


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What `manifest.json` states.

    Parameters
    ----------
    shape, method, parameters, guarantees, columns
        What was published and what it promises.
    n_rows, n_buckets
        How many rows and buckets the release has.
    format
        The format of the data files: csv or parquet.
    files
        The SHA-256 of every other public file, by its name.
    witnesses
        An HMAC of each internal witness, by its name.
    versions
        The software that made the release.
    is_test
        Whether it was made from a caller's seed, which others may guess.
    slices
        The attributes of each column of a sliced release; empty elsewhere.
    is_sealed
        Whether it is meant to be shipped; a test release is sealed only with an accepted risk.
    statements
        What a manifest that was read says of each guarantee in words; one that is written says
        what the guarantees themselves say.
    """

    shape: Shape
    method: str
    parameters: Mapping[str, object]
    guarantees: tuple[Guarantee, ...]
    columns: tuple[PublishedColumn, ...]
    n_rows: int
    n_buckets: int
    format: str = "csv"
    files: Mapping[str, str] = field(default_factory=dict)
    witnesses: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    is_test: bool = False
    is_sealed: bool = False
    slices: tuple[tuple[str, ...], ...] = ()
    statements: tuple[str, ...] = field(default=(), compare=False)

    @property
    def data_files(self) -> tuple[str, ...]:
        """The names of the data files, without their endings."""
        return data_files(self.shape, len(self.slices))

    def columns_of(self, role: Role) -> tuple[str, ...]:
        """Name the columns of a role, in the order of the release."""
        return tuple(column.name for column in self.columns if column.role is role)

    @property
    def extent(self) -> str:
        """How much the release holds, in words."""
        if self.shape is Shape.SUPPRESSED:
            n_suppressed = sum(column.n_suppressed for column in self.columns)
            return f"{self.n_rows} rows, {n_suppressed} cells suppressed"
        return f"{self.n_rows} rows in {self.n_buckets} buckets"

    @property
    def least_named(self) -> int:
        """The fewest rows that must carry a value before a public file may name it.

        It is the fewest rows a bucket can have, and never 1: a value that one row carries singles
        somebody out, whatever the guarantee.
        """
        return max([2, *(guarantee.least_bucket for guarantee in self.guarantees)])

    def to_json(self) -> str:
        """Write the manifest as `manifest.json` holds it."""
        stated = {
            "format_version": FORMAT_VERSION,
            "shape": str(self.shape),
            "method": {"name": self.method, "parameters": dict(self.parameters)},
            "guarantees": [
                guarantee.to_dict() | {"statement": guarantee.statement}
                for guarantee in self.guarantees
            ],
            "columns": [column.to_dict() for column in self.columns],
            "rows": self.n_rows,
            "buckets": self.n_buckets,
            "format": self.format,
            "files": dict(sorted(self.files.items())),
            "witnesses": dict(sorted(self.witnesses.items())),
            "versions": dict(sorted(self.versions.items())),
            "test": self.is_test,
            "sealed": self.is_sealed,
        }
        if self.slices:
            stated["slices"] = [list(attributes) for attributes in self.slices]
        return json.dumps(stated, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """Read a manifest.

        Raises
        ------
        DataError
            Where the text is not a manifest that this version can read.
        """
        hint = "was the folder written by Shoal, and by a version no newer than this one?"
        try:
            stated = parse_json(text)
            version = stated["format_version"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise DataError("manifest.json is not a manifest.", hint=hint) from None
        if version != FORMAT_VERSION:
            raise DataError(
                f"manifest.json has format version {version!r}; this Shoal reads {FORMAT_VERSION}.",
                hint=hint,
            )
        try:
            return cls(
                shape=Shape(stated["shape"]),
                method=str(stated["method"]["name"]),
                parameters=dict(stated["method"]["parameters"]),
                guarantees=tuple(map(guarantee_from_dict, stated["guarantees"])),
                statements=tuple(str(entry["statement"]) for entry in stated["guarantees"]),
                columns=tuple(map(PublishedColumn.from_dict, stated["columns"])),
                n_rows=_number(stated["rows"]),
                n_buckets=_number(stated["buckets"]),
                format=str(stated["format"]),
                files=dict(stated["files"]),
                witnesses=dict(stated["witnesses"]),
                versions=dict(stated["versions"]),
                is_test=_truth(stated["test"]),
                is_sealed=_truth(stated["sealed"]),
                slices=tuple(tuple(map(str, names)) for names in stated.get("slices", [])),
            )
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            if isinstance(error, ParameterError):
                raise
            raise DataError("manifest.json lacks an entry or misstates one.", hint=hint) from None


def _number(stated: object) -> int:
    if isinstance(stated, bool) or not isinstance(stated, int) or stated < 0:
        raise TypeError
    return stated


def _truth(stated: object) -> bool:
    if not isinstance(stated, bool):
        raise TypeError
    return stated


@dataclass(frozen=True, repr=False)
class Meaning:
    """What `labels.json` says a published label stands for.

    Parameters
    ----------
    interval
        Lower bound (belongs to it) and upper bound (does not), as texts.
    members
        Values that it stands for.
    has_other
        Whether it also stands for values too rare to be named.
    has_missing
        Whether it also stands for the missing value.
    """

    interval: tuple[str, str] | None = None
    members: frozenset[str] = frozenset()
    has_other: bool = False
    has_missing: bool = False

    def __repr__(self) -> str:
        kind = "interval" if self.interval is not None else f"{len(self.members)} members"
        return f"Meaning({kind}{', other' * self.has_other}{', missing' * self.has_missing})"

    def to_dict(self) -> dict[str, object]:
        """Give the meaning as `labels.json` states it."""
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
        """Read a meaning as `labels.json` states it."""
        interval = stated.get("interval")
        members = stated.get("members", [])
        low, high = interval if isinstance(interval, list) else (None, None)
        return cls(
            interval=None if low is None else (str(low), str(high)),
            members=frozenset(map(str, members)) if isinstance(members, list) else frozenset(),
            has_other=bool(stated.get("other", False)),
            has_missing=bool(stated.get("missing", False)),
        )


@dataclass(frozen=True, eq=False)
class Published:
    """What any reader can count in the published files.

    Parameters
    ----------
    manifest
        What the release says of itself.
    lines
        The distinct published lines: column `bucket`, then the quasi-identifiers as published.
        Where the release is generalized, a bucket is one combination of quasi-identifiers.
    buckets
        The sensitive values of each bucket; None where no column is sensitive.
    meanings
        What the labels of a recoded column stand for, by column and label.
    rows
        The lines one by one, where the release is suppressed: its quasi-identifiers, then its
        sensitive columns.
    sliced
        The counts of column values, where the release is sliced; `lines` has buckets alone then.
    vocabulary
        The values and hierarchies of the table, where somebody has it: attacks read knowledge by
        them, and use them for nothing else.
    """

    manifest: Manifest
    lines: Cells
    buckets: Buckets | None
    meanings: Mapping[str, Mapping[str, Meaning]] = field(default_factory=dict, repr=False)
    rows: Rows | None = None
    sliced: Sliced | None = None
    vocabulary: Vocabulary | None = field(default=None, repr=False)

    @property
    def quasi(self) -> tuple[Domain, ...]:
        """The published values of the quasi-identifiers."""
        return self.lines.domains[1:]

    @property
    def n_buckets(self) -> int:
        """The number of buckets."""
        return self.lines.domains[0].size

    @property
    def bucket_sizes(self) -> Counts:
        """The number of rows in each bucket."""
        sizes = np.zeros(self.n_buckets, dtype=np.int64)
        np.add.at(sizes, self.lines.codes[:, 0], self.lines.counts)
        return sizes

    @cached_property
    def looks(self) -> tuple[Cells, Codes]:
        """The different combinations of quasi-identifiers, and which of them each line shows."""
        looks, look = self.lines.select_with_inverse([domain.column for domain in self.quasi])
        # Half the room: there is one entry a line.
        return looks, cast("Codes", look.astype(smallest_type(looks.n_cells)))

    @property
    def fewest_alike(self) -> Counts:
        """For each bucket, how many rows of the release look like its rarest one.

        Rows look alike where they show the same quasi-identifiers, in whichever bucket they are.
        """
        looks, look = self.looks
        alike = looks.counts
        fewest = np.full(self.n_buckets, self.lines.n_rows, dtype=np.int64)
        np.minimum.at(fewest, self.lines.codes[:, 0], alike[look])
        return fewest
