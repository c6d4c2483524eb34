"""What `manifest.json` and `labels.json` of a release state."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.core.about import About
from shoal.core.domain import ColumnType
from shoal.core.errors import DataError, ParameterError
from shoal.core.guarantees import Guarantee, guarantee_from_dict
from shoal.core.method import Shape
from shoal.core.reading import parse_json
from shoal.core.schema import Role
from shoal.core.spelling import CHOICES

__all__ = [
    "BUCKET",
    "COUNT",
    "FORMATS",
    "FORMAT_VERSION",
    "INTERNAL_SUFFIX",
    "Manifest",
    "Meaning",
    "PublishedColumn",
    "data_files",
]

FORMAT_VERSION = 2
"""The version of what is written; older ones are read too."""
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
        The values of an ordered column that the public files name, from lowest to highest.
    n_suppressed
        How many of its cells are suppressed; why each of them is, no public file says.
    is_also_quasi
        Whether a sensitive column may be known of people too, as slicing allows.
    is_distorted
        Whether the method may have changed some of its values; whether it did, and which, no
        public file says.
    variants
        What became of different spellings of one value: "merge" if they were made one value,
        "distinct" if they are different values; None if there were none.
    """

    name: str
    role: Role
    type: ColumnType
    is_recoded: bool = False
    order: tuple[str, ...] | None = field(default=None, repr=False)
    n_suppressed: int = 0
    is_also_quasi: bool = False
    is_distorted: bool = False
    variants: str | None = None

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
        if self.variants is not None:
            stated["variants"] = self.variants
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
            variants=_choice(stated.get("variants")),
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
    meant
        The combinations of insensitive columns that the steward confirmed: they may single people
        out, or tell what the release hides, for one who knows them of others.
    is_sealed
        Whether it is meant to be shipped; a test release is sealed only with an accepted risk.
    statements
        What a manifest that was read says of each guarantee in words; one that is written says
        what the guarantees themselves say.
    version
        The version of the format; default: the one that is written.
    documents
        The version of the renderer that made the documents; 0 if there are none yet, and in
        format 1.
    remarks
        Sentences that a reader may know: about the people, or the rows left out.
    about
        What the steward says about the release; default: nothing.
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
    meant: tuple[tuple[str, ...], ...] = ()
    statements: tuple[str, ...] = field(default=(), compare=False)
    version: int = FORMAT_VERSION
    documents: int = 0
    remarks: tuple[str, ...] = ()
    about: About = field(default_factory=About)

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
        stated: dict[str, object] = {
            "format_version": self.version,
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
        if self.version > 1:
            stated["documents"] = self.documents
            stated["remarks"] = list(self.remarks)
            stated["about"] = self.about.to_dict()
        if self.meant:
            stated["meant"] = [list(columns) for columns in self.meant]
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
        if type(version) is not int or not 1 <= version <= FORMAT_VERSION:
            raise DataError(
                "manifest.json has a format version that this Shoal does not read; it reads 1 to "
                f"{FORMAT_VERSION}.",
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
                version=version,
                documents=_number(stated["documents"]) if version > 1 else 0,
                remarks=tuple(map(str, stated["remarks"])) if version > 1 else (),
                about=About.from_dict(stated["about"]) if version > 1 else About(),
                meant=tuple(tuple(map(str, names)) for names in stated.get("meant", [])),
            )
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            if isinstance(error, ParameterError):
                raise
            raise DataError("manifest.json lacks an entry or misstates one.", hint=hint) from None


def _number(stated: object) -> int:
    if isinstance(stated, bool) or not isinstance(stated, int) or stated < 0:
        raise TypeError
    return stated


def _choice(stated: object) -> str | None:
    if stated is not None and stated not in CHOICES:
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
