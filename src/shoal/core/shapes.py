"""The shapes in which a table is published.

A shape is responsible for itself: it states its data files, how they are counted, what a manifest
of it may state, and its wording in the documents. All other code asks the shape, so a new shape is
one subclass of `Shape` and one call of `register` at the end of this module.

The sentences of `Words` are part of published documents, which `verify` makes again byte for byte:
changing one requires a new version of the renderer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from shoal.core.domain import Role
from shoal.core.errors import ParameterError
from shoal.core.guarantees import BucketSize

if TYPE_CHECKING:
    from shoal.core.manifest import Manifest


BUCKET = "bucket"
"""The name of the column that holds the number of the bucket in a data file."""
COUNT = "count"
"""The name of the column that holds a count in a data file."""


class Model(StrEnum):
    """How the data files of a release are counted; attacks and measures read these models."""

    CLASSES = "classes"
    """One table. Rows that show the same quasi-identifiers are one bucket."""
    BUCKETS = "buckets"
    """Lines of quasi-identifiers, and the counts of sensitive values, joined by bucket numbers."""
    SLICES = "slices"
    """The counts of each column of attributes, joined by bucket numbers; no row has a line."""
    ROWS = "rows"
    """One table that is read row by row, because single cells of it are suppressed."""


@dataclass(frozen=True)
class Contents:
    """The columns that the data files of a release hold, by role, in the order of the release."""

    quasi: tuple[str, ...] = ()
    insensitive: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    # The attributes of each column of a sliced release; otherwise empty.
    slices: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class DataFile:
    """A data file of a release; its name has no extension.

    Examples
    --------
    >>> DataFile("sensitive", ("disease",), has_bucket=True, has_count=True).header
    ('bucket', 'disease', 'count')
    """

    name: str
    columns: tuple[str, ...]
    # Whether its first column is the number of the bucket.
    has_bucket: bool = False
    # Whether equal lines are one line, whose last column is their number.
    has_count: bool = False
    # Whether it is one random linking of the other files, which adds no information.
    is_linking: bool = False

    @property
    def header(self) -> tuple[str, ...]:
        """The names of all columns in the file."""
        return (*[BUCKET] * self.has_bucket, *self.columns, *[COUNT] * self.has_count)


@dataclass(frozen=True)
class Words:
    """What the documents say about every release of a shape."""

    # How to read the data files; names between backquotes are set as code.
    reading: str
    # How to analyse them.
    analysing: str
    # The consequences for people: singling out, linkability, and membership.
    singled_out: str
    linked: str
    membership: str


class Shape(ABC):
    """The form in which a table is published.

    Shapes are compared by identity: there is one object of each, which `register` keeps and
    `Shape.named` finds.

    Examples
    --------
    >>> shape = Shape.named("bucketized")
    >>> [file.header for file in shape.files(Contents(quasi=("age",), sensitive=("disease",)))]
    [('bucket', 'age'), ('bucket', 'disease', 'count')]
    """

    GENERALIZED: ClassVar[Shape]
    BUCKETIZED: ClassVar[Shape]
    SLICED: ClassVar[Shape]
    SUPPRESSED: ClassVar[Shape]

    name: ClassVar[str]
    """Its name in manifests and documents: an adjective."""
    model: ClassVar[Model]
    """How its data files are counted."""
    words: ClassVar[Words]
    """What documents say about it."""
    generalizes: ClassVar[bool] = False
    """Whether labels replace the quasi-identifiers, so that equal labels form a class."""
    least_sensitive: ClassVar[int] = 0
    """The smallest number of sensitive columns of a release."""
    most_sensitive: ClassVar[int | None] = 1
    """The largest number of sensitive columns of a release; None for any number."""

    @staticmethod
    def named(name: str) -> Shape:
        """Return the shape with a given name; raise a ValueError if there is none."""
        try:
            return _SHAPES[name]
        except KeyError:
            raise ValueError("There is no shape of that name.") from None

    @staticmethod
    def all() -> tuple[Shape, ...]:
        """Return every registered shape."""
        return tuple(_SHAPES.values())

    @staticmethod
    def counted_as(models: Collection[Model]) -> tuple[Shape, ...]:
        """Return the shapes that are counted as one of some models.

        Examples
        --------
        >>> Shape.counted_as({Model.CLASSES, Model.ROWS})
        (Shape(generalized), Shape(suppressed))
        """
        return tuple(shape for shape in Shape.all() if shape.model in models)

    @abstractmethod
    def files(self, contents: Contents) -> tuple[DataFile, ...]:
        """Return the data files of a release with given columns."""

    @property
    def numbers_buckets(self) -> bool:
        """Whether files are joined by bucket numbers; otherwise equal lines form a bucket."""
        return self.model in (Model.BUCKETS, Model.SLICES)

    @property
    def has_lines(self) -> bool:
        """Whether every row of the release has a line."""
        return self.model is not Model.SLICES

    @property
    def hides_cells(self) -> bool:
        """Whether single cells are suppressed."""
        return self.model is Model.ROWS

    @property
    def bucket_word(self) -> str:
        """The word for a bucket in findings."""
        return "class" if self.generalizes else "bucket"

    def extent(self, manifest: Manifest) -> str:
        """Return the size of a release in words."""
        return f"{manifest.n_rows} rows in {manifest.n_buckets} buckets"

    def faults(self, manifest: Manifest) -> list[str]:
        """Return what a manifest states that no release of this shape can have."""
        return ["only a sliced release has columns of attributes"] if manifest.slices else []

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Shape({self.name})"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        # A copy, also in another process, is the one registered object.
        return Shape.named, (self.name,)


_SHAPES: dict[str, Shape] = {}


def register(shape: Shape) -> Shape:
    """Register a shape, so that manifests that name it can be read, and return it.

    Raises a ParameterError if another shape has that name.
    """
    if type(_SHAPES.setdefault(shape.name, shape)) is not type(shape):
        raise ParameterError(f"There is a shape {shape.name!r} already.")
    return _SHAPES[shape.name]


# --- the four shapes ------------------------------------------------------------------------------

_JOINED = (
    "Questions that one file can answer by itself have an exact answer. Questions that need "
    "several files have an expected value, taken over all ways to link the lines of a bucket, and "
    "a standard error. If the release contains `views.duckdb.sql` or `views.postgres.sql`, they "
    "create a view `expected`, whose column `weight` is the expected number of rows of each "
    "combination of values; sum it under any condition. In Python, "
    "`shoal.analyse.Analyst(shoal.open_release(folder))` computes counts, sums, averages, bounds "
    "on extremes and tables, with standard errors. Relations between files are kept as far as "
    "buckets differ and are lost within a bucket, so they usually look weaker than they are."
)
_SEEN = (
    "Membership is not hidden: values that others may know are published unchanged, so anyone who "
    "knows enough about a person can see whether they are in the table."
)


def _table(contents: Contents) -> tuple[DataFile, ...]:
    columns = (*contents.quasi, *contents.insensitive, *contents.sensitive)
    return (DataFile("table", columns),)


class Generalized(Shape):
    """One table in which labels replace the quasi-identifiers."""

    name = "generalized"
    model = Model.CLASSES
    generalizes = True
    words = Words(
        reading=(
            "The file `table` has one line per person. Labels replace the values of the "
            "quasi-identifiers: an interval `[a, b[` contains a but not b, and `labels.json` "
            "states the meaning of every other label."
        ),
        analysing=(
            "Count, tabulate and model the lines as they are. A label covers a range or several "
            "values: treat it as a category, or use the midpoint of an interval as an estimate and "
            "say so."
        ),
        singled_out="Each line shows labels that several people share.",
        linked="Another source can narrow a person down to the lines with matching labels.",
        membership=(
            "Membership is not hidden: a person whose labels match some line may be in the table, "
            "and a person whose labels match no line is not in the release."
        ),
    )

    def files(self, contents: Contents) -> tuple[DataFile, ...]:
        """Return the table."""
        return _table(contents)


class Bucketized(Shape):
    """Quasi-identifiers unchanged, and separately how often each value occurs in each bucket."""

    name = "bucketized"
    model = Model.BUCKETS
    least_sensitive = 1
    words = Words(
        reading=(
            "Two files, joined by `bucket`: `quasi` has one line per person with the original "
            "quasi-identifiers, and `sensitive` states how often each sensitive value occurs in "
            "each bucket. Which value of a bucket belongs to which of its lines is not published."
        ),
        analysing=_JOINED,
        singled_out=(
            "Quasi-identifiers are published unchanged, so the line of a person with rare values "
            "can be found. That line does not show the person's sensitive value."
        ),
        linked=(
            "Another source can be linked to the published quasi-identifiers. It then gains the "
            "person's bucket, and with it the sensitive values in that bucket."
        ),
        membership=_SEEN,
    )

    def files(self, contents: Contents) -> tuple[DataFile, ...]:
        """Return the lines of quasi-identifiers, and the counts of sensitive values."""
        shown = (*contents.quasi, *contents.insensitive)
        return (
            DataFile("quasi", shown, has_bucket=True),
            DataFile("sensitive", contents.sensitive, has_bucket=True, has_count=True),
        )


class Sliced(Shape):
    """Columns of attributes, counted by bucket and not linked within a bucket."""

    name = "sliced"
    model = Model.SLICES
    most_sensitive = None
    words = Words(
        reading=(
            "The attributes are divided into columns, and each column has a file: `column_1`, "
            "`column_2` and so on state how often each combination of the column's values occurs "
            "in each bucket. The files are joined by `bucket`. Which entry of one column belongs "
            "to which entry of another is not published; within a bucket, all ways to link them "
            "are equally likely. `sliced` is one such linking, drawn at random, for tools that "
            "need a single table: in each of its lines, values of the same column belong together "
            "and values of different columns are combined by chance, so no line describes a real "
            "person."
        ),
        analysing=_JOINED,
        singled_out=(
            "No line describes a person, because the columns are published separately. A column "
            "that contains a rare combination of values still shows that somebody has it."
        ),
        linked=(
            "Another source can be linked to one column at a time. Which entries of the other "
            "columns belong to it is hidden within the bucket."
        ),
        membership=(
            "Membership is not hidden: a person whose values match no bucket is not in the table."
        ),
    )

    def files(self, contents: Contents) -> tuple[DataFile, ...]:
        """Return the counts of each column of attributes, and one linking of them."""
        every = tuple(dict.fromkeys(name for names in contents.slices for name in names))
        return (
            *(
                DataFile(f"column_{number}", names, has_bucket=True, has_count=True)
                for number, names in enumerate(contents.slices, start=1)
            ),
            DataFile("sliced", every, has_bucket=True, is_linking=True),
        )

    def faults(self, manifest: Manifest) -> list[str]:
        """Compare the columns of attributes with the columns that are published."""
        if manifest.columns_of(Role.INSENSITIVE):
            return ["a sliced release has no insensitive columns: it has no lines to hold them"]
        named = {name for attributes in manifest.slices for name in attributes}
        if named != {column.name for column in manifest.columns}:
            return ["the columns of attributes do not hold exactly the published columns"]
        return [
            f"the parameter {name} of the method contradicts the release"
            for name in self._contradicted(manifest)
        ]

    def _contradicted(self, manifest: Manifest) -> list[str]:
        """Return the parameters of slicing that the rest of the manifest contradicts."""
        stated, slices = manifest.parameters, [list(names) for names in manifest.slices]
        is_shared = sum(map(len, slices)) > len({name for names in slices for name in names})
        columns, frequency = stated.get("columns"), stated.get("min_frequency")
        size = stated.get("bucket_size")
        sizes = [one.k for one in manifest.guarantees if isinstance(one, BucketSize)]
        found = {
            "columns": isinstance(columns, list) and columns != slices,
            "overlap": is_shared and stated.get("overlap") is not True,
            # Anything but a whole number would not be compared with the data.
            "min_frequency": frequency is not None and type(frequency) is not int,
            "bucket_size": size is not None and sizes != [size],
        }
        return [name for name, is_contradicted in found.items() if is_contradicted]


class Suppressed(Shape):
    """One table, unchanged except that single cells are suppressed."""

    name = "suppressed"
    model = Model.ROWS
    most_sensitive = None
    words = Words(
        reading=(
            "The file `table` has one line per person. `*` marks a suppressed cell: some "
            "suppressed cells are private, others are suppressed to protect the private ones, and "
            "nothing shows which are which. An empty cell was already missing in the original "
            "table."
        ),
        analysing=(
            "Count, tabulate and model the lines as they are. Treat a suppressed cell as unknown. "
            "Suppressed cells are not missing at random: they were chosen for what they would "
            "reveal."
        ),
        singled_out=(
            "Each line is one person, and everything that is not suppressed is shown unchanged, so "
            "anyone who knows enough about a person can find their line."
        ),
        linked="Another source can be linked by any value that is shown. Suppressed cells stay "
        "hidden.",
        membership=_SEEN,
    )

    def files(self, contents: Contents) -> tuple[DataFile, ...]:
        """Return the table."""
        return _table(contents)

    def extent(self, manifest: Manifest) -> str:
        """Return the numbers of rows and suppressed cells in words."""
        n_suppressed = sum(column.n_suppressed for column in manifest.columns)
        return f"{manifest.n_rows} rows, {n_suppressed} cells suppressed"

    def faults(self, manifest: Manifest) -> list[str]:
        """Return what would keep a checker from looking at all that is published."""
        faults = []
        if manifest.columns_of(Role.INSENSITIVE):
            faults.append("a suppressed release has no insensitive columns: rules might use them")
        if not any(column.n_suppressed for column in manifest.columns):
            faults.append("nothing is suppressed, so the guarantee would hold for any table")
        return faults + super().faults(manifest)


Shape.GENERALIZED = register(Generalized())
Shape.BUCKETIZED = register(Bucketized())
Shape.SLICED = register(Sliced())
Shape.SUPPRESSED = register(Suppressed())
