"""The public codebook: what a reader of a release must know to use it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from shoal.core.method import Shape
from shoal.core.release import Manifest, Meaning, PublishedColumn
from shoal.core.schema import Role
from shoal.report.markdown import inert, markdown_text

__all__ = [
    "ANALYSING",
    "ENCODING",
    "READING",
    "codebook",
    "describe",
    "labels_in_order",
    "stated_role",
]

READING = {
    Shape.GENERALIZED: (
        "One line a person, in `table`. Quasi-identifiers are labels: an interval `[a, b[` holds "
        "a and not b; `labels.json` says what every other label stands for."
    ),
    Shape.BUCKETIZED: (
        "Two files, joined by `bucket`: `quasi` has one line a person with the quasi-identifiers "
        "as they are, `sensitive` says how often each value occurs in a bucket. Which value "
        "belongs to which line of a bucket is not published."
    ),
    Shape.SLICED: (
        "The attributes are parted into columns, each with a file of its own: `column_1`, "
        "`column_2` and so on say how often a bucket holds each combination of a column's values. "
        "Files are joined by `bucket`; which entry of one column belongs to which of another is "
        "not published, and within a bucket every way to link them is equally likely. `sliced` is "
        "one such linking, drawn at random, for tools that need one table: values of one column "
        "belong together in its lines, values of different columns only by chance: a line of it is "
        "nobody in particular."
    ),
    Shape.SUPPRESSED: (
        "One line a person, in `table`. A cell that is `*` was suppressed: some at the wish of the "
        "person, others to protect these, and nothing here says which. A cell that is empty was "
        "missing in the original, which is something else."
    ),
}

ANALYSING = (
    "A question about values of one column has an exact answer. One about several columns has an "
    "expected value over all linkings, and a standard error. `views.duckdb.sql` and "
    "`views.postgres.sql`, where they are there, make a view `expected` whose `weight` is the "
    "number of rows expected of each combination: sum it under any condition. In Python, "
    "`shoal.analyse.Analyst(shoal.open_release(folder))` gives counts, sums, averages, bounds of "
    "extremes and tables, with their standard errors. What links columns shows as far as buckets "
    "differ from each other: within a bucket it is lost, so relations between columns look weaker, "
    "as a rule, than they are."
)

ENCODING = (
    "In CSV a missing value is empty and unquoted, the empty string is quoted, and `*` means "
    "suppressed. Lines are sorted by their content; their order says nothing."
)


def codebook(manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]]) -> str:
    """Write the codebook in Markdown.

    Parameters
    ----------
    manifest
        What the release says of itself.
    meanings
        What the labels of recoded columns stand for.
    """
    lines = [
        "# Codebook",
        "",
        _headline(manifest),
        "",
        *_about(manifest),
        "## How to read it",
        "",
        READING[manifest.shape],
        "",
        ENCODING,
        "",
        "## Columns",
        "",
        *_columns(manifest, meanings),
        *_slices(manifest),
        *_analysing(manifest),
        "",
        "## What is guaranteed",
        "",
    ]
    for guarantee in manifest.guarantees:
        lines += [f"- **{guarantee.name}**: {guarantee.statement}. {guarantee.limits}"]
    if manifest.remarks:
        lines += ["", "## What else is known", ""]
        lines += [f"- {inert(remark)}" for remark in manifest.remarks]
    orders = {column.name: column.order or () for column in manifest.columns}
    for column, labels in meanings.items():
        order = orders.get(column, ())
        lines += ["", f"## Labels of {inert(column)}", "", "| label | stands for |", "|---|---|"]
        lines += [
            f"| {inert(label) or '(the empty text)'} | {inert(describe(meaning, order))} |"
            for label, meaning in labels_in_order(labels, order)
        ]
    if manifest.is_test:
        lines += ["", "This is a test release, made from a seed that others may guess."]
    return "\n".join(lines) + "\n"


def _about(manifest: Manifest) -> list[str]:
    told = [
        f"- **{name}**: {markdown_text(text)}" for name, text in manifest.about.to_dict().items()
    ]
    return [*told, ""] if told else []


def _columns(manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]]) -> list[str]:
    """List the columns; of a suppressed release also how many cells each lacks."""
    if manifest.shape is Shape.SUPPRESSED:
        return [
            "| column | role | type | published as | cells suppressed |",
            "|---|---|---|---|---|",
            *(
                f"| {inert(column.name)} | {column.role} | {column.type} | "
                f"{'labels' if column.name in meanings else 'values'} | {column.n_suppressed} |"
                for column in manifest.columns
            ),
        ]
    return [
        "| column | role | type | published as |",
        "|---|---|---|---|",
        *(
            f"| {inert(column.name)} | {stated_role(column)} | {column.type} | "
            f"{_published_as(column)} |"
            for column in manifest.columns
        ),
    ]


def stated_role(column: PublishedColumn) -> str:
    """Say what a column could betray; a sensitive one may be known of people too."""
    return f"{column.role}, {Role.QUASI}" if column.is_also_quasi else str(column.role)


def _slices(manifest: Manifest) -> list[str]:
    """List the attributes of each column of a sliced release, and those that several share."""
    if not manifest.slices:
        return []
    lines = ["", "| file | its attributes |", "|---|---|"]
    lines += [
        f"| `column_{number}` | {', '.join(map(inert, attributes))} |"
        for number, attributes in enumerate(manifest.slices, start=1)
    ]
    times = Counter(name for attributes in manifest.slices for name in attributes)
    shared = [inert(name) for name, n_times in times.items() if n_times > 1]
    if shared:
        said = f"In several columns: {', '.join(shared)}."
        lines += ["", f"{said} Only entries that agree in what their columns share are linked."]
    return lines


def _analysing(manifest: Manifest) -> list[str]:
    if manifest.shape not in (Shape.BUCKETIZED, Shape.SLICED):
        return []
    return ["", "## How to analyse it", "", ANALYSING]


def _published_as(column: PublishedColumn) -> str:
    if column.is_distorted:
        return "values, some of which may have been changed on purpose"
    return "labels" if column.is_recoded else "values"


def _headline(manifest: Manifest) -> str:
    return f"{manifest.extent}, published {manifest.shape} by {manifest.method}."


def labels_in_order(
    labels: Mapping[str, Meaning], order: Sequence[str] = ()
) -> list[tuple[str, Meaning]]:
    """Return labels and meanings in the order in which they are read.

    Parameters
    ----------
    labels
        The labels of a column.
    order
        The values of an ordered column, from lowest to highest.
    """
    rank = {text: float(place) for place, text in enumerate(order)}

    def place(entry: tuple[str, Meaning]) -> tuple[tuple[float, ...], str]:
        label, meaning = entry
        ranks = sorted(rank[text] for text in meaning.members if text in rank)
        return tuple(ranks) or (_start(meaning),), label

    return sorted(labels.items(), key=place)


def _start(meaning: Meaning) -> float:
    """Return where an interval of numbers begins; other labels come behind them, as texts."""
    try:
        return math.inf if meaning.interval is None else float(meaning.interval[0])
    except ValueError:
        # A date, which sorts as its text does.
        return math.inf


def describe(meaning: Meaning, order: Sequence[str] = ()) -> str:
    """Say what a label stands for.

    Parameters
    ----------
    meaning
        What it stands for.
    order
        The values of an ordered column, from lowest to highest; others are sorted as texts.

    Examples
    --------
    >>> describe(Meaning(interval=("20", "30"), has_missing=True))
    'from 20 to below 30, missing'
    >>> describe(Meaning(members=frozenset(["low", "high"])), order=("low", "high"))
    'low, high'
    """
    parts = []
    if meaning.interval is not None:
        parts.append(_range(*meaning.interval))
    rank = {text: place for place, text in enumerate(order)}
    members = sorted(meaning.members, key=lambda text: (rank.get(text, len(rank)), text))
    parts += members[:20] + ([f"and {len(members) - 20} more"] if len(members) > 20 else [])
    if meaning.has_other:
        parts.append("other")
    if meaning.has_missing:
        parts.append("missing")
    return ", ".join(parts)


def _range(low: str, high: str) -> str:
    if low == "-inf":
        return "any number or date" if high == "+inf" else f"below {high}"
    return f"from {low}" if high == "+inf" else f"from {low} to below {high}"
