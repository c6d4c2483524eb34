"""The contents of `manifest.json` of a release."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, cast

from shoal.core.adversary_guarantees import (
    BeliefGain,
    ForegroundSafety,
    JointSafety,
    MatchingDiversity,
    RuleProtection,
    SlicedDiversity,
    WeightedMatchingDiversity,
)
from shoal.core.declared import parameters_of
from shoal.core.documents import parse_json
from shoal.core.domain import CHOICES, ColumnType, Role
from shoal.core.errors import DataError, ParameterError
from shoal.core.guarantees import (
    AlphaK,
    BucketSize,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    Guarantee,
    KAnonymity,
    MConfidentiality,
    RecursiveDiversity,
    TCloseness,
)
from shoal.core.levels import Level, read_levels
from shoal.core.shapes import Contents, DataFile, Shape

_MOST_CHARACTERS = 2000


@dataclass(frozen=True, kw_only=True)
class About:
    """The subject of a release, in the steward's own words; it is part of every public document.

    Parameters
    ----------
    title
        The title of the release. Default: none.
    institution
        The publisher. Default: none.
    purpose
        The intended use. Default: none.
    version
        The edition. Default: none.
    contact
        The address for questions. Default: none.
    licence
        The terms of use. Default: none.

    Raises
    ------
    ParameterError
        If an entry is not a text of at most 2,000 printable characters.

    Examples
    --------
    >>> About(title="Hospital stays 2024", licence="CC BY 4.0").to_dict()
    {'title': 'Hospital stays 2024', 'licence': 'CC BY 4.0'}
    """

    title: str | None = None
    institution: str | None = None
    purpose: str | None = None
    version: str | None = None
    contact: str | None = None
    licence: str | None = None

    def __post_init__(self) -> None:
        for entry in fields(self):
            text = getattr(self, entry.name)
            if text is None:
                continue
            if not isinstance(text, str) or not text.strip() or not text.isprintable():
                raise ParameterError(
                    f"[about] {entry.name} must be a text of printable characters.",
                    hint="write it on one line, or leave it out.",
                )
            if len(text) > _MOST_CHARACTERS:
                raise ParameterError(
                    f"[about] {entry.name} has {len(text)} characters; {_MOST_CHARACTERS} are "
                    "allowed.",
                    hint="shorten it.",
                )

    def to_dict(self) -> dict[str, str]:
        """Return the entries that are given."""
        stated = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {name: text for name, text in stated.items() if text is not None}

    @classmethod
    def from_dict(cls, stated: Mapping[str, object]) -> About:
        """Read entries by their names; raise a ParameterError if a name is unknown."""
        known = [entry.name for entry in fields(cls)]
        unknown = sorted(set(stated) - set(known))
        if unknown:
            raise ParameterError(
                f"[about] has no entry {unknown[0]!r}.", hint=f"its entries are {', '.join(known)}."
            )
        return cls(**stated)  # type: ignore[arg-type]


GUARANTEES: Mapping[str, type[Guarantee]] = {
    guarantee.name: guarantee
    for guarantee in cast(
        "tuple[type[Guarantee], ...]",
        (
            KAnonymity,
            BucketSize,
            DistinctDiversity,
            FrequencyDiversity,
            EntropyDiversity,
            RecursiveDiversity,
            MatchingDiversity,
            WeightedMatchingDiversity,
            TCloseness,
            AlphaK,
            MConfidentiality,
            BeliefGain,
            RuleProtection,
            SlicedDiversity,
            ForegroundSafety,
            JointSafety,
        ),
    )
}
"""Every guarantee by its name."""


def guarantee_from_dict(stated: Mapping[str, object]) -> Guarantee:
    """Read a guarantee from its form in a manifest.

    Examples
    --------
    >>> guarantee_from_dict({"name": "k-anonymity", "k": 5})
    KAnonymity(k=5)
    """
    name = stated.get("name")
    known = GUARANTEES.get(name) if isinstance(name, str) else None
    if known is None:
        raise ParameterError(
            f"{name!r} is not a guarantee that this version of Shoal knows.",
            hint=f"the guarantees are {', '.join(GUARANTEES)}.",
        )
    parameters = {key: value for key, value in stated.items() if key not in ("name", "statement")}
    try:
        return known(**parameters)
    except TypeError:
        expected = ", ".join(parameters_of(known))
        raise ParameterError(
            f"The parameters of {name} are {expected}; got {', '.join(parameters) or 'none'}."
        ) from None


PLAIN_VERSION = 2
"""The version that is written, unless there are too many labels for a text."""
LABELS_IN_PARQUET = 3
"""The version of a release with `labels.parquet` in the place of `labels.json`."""
FORMAT_VERSION = LABELS_IN_PARQUET
"""The newest version that is read."""
FORMATS = ("csv", "parquet")
"""The formats of data files, which are also the extensions of their names."""
INTERNAL_SUFFIX = ".internal"
"""The internal folder has the name of the release with this suffix."""


@dataclass(frozen=True)
class PublishedColumn:
    """A column of the release."""

    name: str
    role: Role
    # The type of the original values.
    type: ColumnType
    # Whether labels replace the values.
    is_recoded: bool = False
    # The values of an ordered column that the public files name, from lowest to highest.
    order: tuple[str, ...] | None = field(default=None, repr=False)
    # The number of suppressed cells; no public file states why each of them is suppressed.
    n_suppressed: int = 0
    # Whether a sensitive column may also be known about people, as slicing allows.
    is_also_quasi: bool = False
    # Whether the method may have changed some values; no public file states whether it did, or
    # which.
    is_distorted: bool = False
    # The treatment of different spellings of one value: "merge" if they were made one value,
    # "distinct" if they are different values; None if there were none.
    variants: str | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the column in the form of the manifest."""
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
        """Read a column from its form in the manifest."""
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
    """The contents of `manifest.json`."""

    shape: Shape
    method: str
    parameters: Mapping[str, object]
    guarantees: tuple[Guarantee, ...]
    columns: tuple[PublishedColumn, ...]
    n_rows: int
    n_buckets: int
    format: str = "csv"
    # The SHA-256 of every other public file, by its name.
    files: Mapping[str, str] = field(default_factory=dict)
    # An HMAC of each internal witness, by its name.
    witnesses: Mapping[str, str] = field(default_factory=dict)
    # The software that made the release.
    versions: Mapping[str, str] = field(default_factory=dict)
    # Whether it was made from a caller's seed, which others may guess.
    is_test: bool = False
    # Whether it may be shipped; a test release is sealed only with an accepted risk.
    is_sealed: bool = False
    # The attributes of each column of a sliced release; otherwise empty.
    slices: tuple[tuple[str, ...], ...] = ()
    # The combinations of insensitive columns that the steward confirmed: they may single people
    # out, or reveal what the release hides, to an adversary who knows them about others.
    meant: tuple[tuple[str, ...], ...] = ()
    # The levels at which sensitive columns are protected and attacked; other columns by value.
    levels: tuple[Level, ...] = ()
    # The wording of each guarantee in a manifest that was read; a manifest that is written states
    # the wording of the guarantees themselves.
    statements: tuple[str, ...] = field(default=(), compare=False)
    version: int = PLAIN_VERSION
    # The version of the renderer that made the documents; 0 if there are none yet, and in format
    # 1.
    documents: int = 0
    # Sentences that a reader may know: about the people, or about rows that were left out.
    remarks: tuple[str, ...] = ()
    about: About = field(default_factory=About)

    @property
    def data_names(self) -> tuple[str, ...]:
        """The names of the data files, without their extensions."""
        return tuple(file.name for file in self.data_files)

    @property
    def data_files(self) -> tuple[DataFile, ...]:
        """The data files, with the columns of each."""
        contents = Contents(
            self.columns_of(Role.QUASI),
            self.columns_of(Role.INSENSITIVE),
            self.columns_of(Role.SENSITIVE),
            self.slices,
        )
        return self.shape.files(contents)

    def data_file(self, name: str) -> DataFile:
        """Return the data file with a given name."""
        return {file.name: file for file in self.data_files}[name]

    def columns_of(self, role: Role) -> tuple[str, ...]:
        """Return the columns of a role, in the order of the release."""
        return tuple(column.name for column in self.columns if column.role is role)

    @property
    def labels_file(self) -> str:
        """The name of the file that states the meanings of labels, if there are any."""
        return "labels.parquet" if self.version == LABELS_IN_PARQUET else "labels.json"

    @property
    def reading(self) -> str:
        """How to read the data files, in words."""
        return self.shape.words.reading.replace("labels.json", self.labels_file)

    @property
    def extent(self) -> str:
        """How much the release holds, in words."""
        return self.shape.extent(self)

    @property
    def least_named(self) -> int:
        """The fewest rows that must have a value before a public file may name it.

        It is the smallest possible size of a bucket, and never 1: a value of a single row singles a
        person out, whatever the guarantee.
        """
        return max([2, *(guarantee.least_bucket for guarantee in self.guarantees)])

    def to_json(self) -> str:
        """Return the text of `manifest.json`."""
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
        if self.levels:
            stated["levels"] = {one.column: one.to_dict() for one in self.levels}
        return json.dumps(stated, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """Read a manifest; raise a DataError if the text is not one that this version can read."""
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
            columns = tuple(map(PublishedColumn.from_dict, stated["columns"]))
            return cls(
                shape=Shape.named(stated["shape"]),
                method=str(stated["method"]["name"]),
                parameters=dict(stated["method"]["parameters"]),
                guarantees=tuple(map(guarantee_from_dict, stated["guarantees"])),
                statements=tuple(str(entry["statement"]) for entry in stated["guarantees"]),
                columns=columns,
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
                levels=read_levels(stated.get("levels", {}), _free(columns)),
            )
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            if isinstance(error, ParameterError):
                raise
            raise DataError("manifest.json lacks an entry or misstates one.", hint=hint) from None


def _free(columns: Iterable[PublishedColumn]) -> dict[str, ColumnType]:
    """Return the types of the columns that may have levels."""
    own = (c for c in columns if c.role is Role.SENSITIVE and not (c.is_also_quasi or c.is_recoded))
    return {column.name: column.type for column in own}


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
