"""The public codebook, in Markdown for readers and as DDI-Codebook 2.5 for data archives.

Both describe the data files, every variable, and what its values stand for. Of many labels they
list only the first, so that they do not grow with the table. Of original values the DDI file lists
only those that as many rows carry as a public file may name. Its elements are in the order of the
schema of the DDI Alliance.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from shoal.core.display import printable
from shoal.core.domain import SUPPRESSED, ColumnType, Role
from shoal.core.levels import Level
from shoal.core.manifest import Manifest, PublishedColumn
from shoal.core.meaning import Meaning
from shoal.core.shapes import BUCKET, COUNT
from shoal.report.markup import inert, markdown_text

DDI_NAMESPACE = "ddi:codebook:2_5"
# Of a column; more are of no use to a reader, and a program reads the file of labels.
MOST_LABELS = 500
_MOST_VALUES = 1000
_OWN = {
    BUCKET: "number of the bucket; the number itself has no meaning",
    COUNT: "number of rows in the bucket that have the values of this line",
}
_NUMERIC = (ColumnType.INTEGER, ColumnType.REAL)
ENCODING = (
    "In CSV files, an empty field without quotes is a missing value, an empty field in quotes is "
    "the empty text, and `*` is a suppressed value. Lines are sorted by their content, so their "
    "order has no meaning."
)
TEST_RELEASE = (
    "This is a test release: it was made from a seed, which others may guess, so its protection "
    "cannot be relied on."
)


def codebook(manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]]) -> str:
    """Return the codebook in Markdown."""
    lines = [
        "# Codebook",
        "",
        headline(manifest),
        "",
        *_about(manifest),
        "## How to read the files",
        "",
        manifest.reading,
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
    for level in manifest.levels:
        lines += ["", f"## Levels of {inert(level.column)}", "", counted_at(level), ""]
        named = level_labels(manifest, level)
        lines += ["| level |", "|---|"] if named else []
        lines += [f"| {inert(label)} |" for label in named]
    if manifest.remarks:
        lines += ["", "## Further remarks", ""]
        lines += [f"- {inert(remark)}" for remark in manifest.remarks]
    orders = {column.name: column.order or () for column in manifest.columns}
    for column, labels in meanings.items():
        order = orders.get(column, ())
        lines += ["", f"## Labels of {inert(column)}", "", "| label | meaning |", "|---|---|"]
        lines += [
            f"| {inert(label) or '(empty text)'} | {inert(describe(meaning, order))} |"
            for label, meaning in first_labels(labels, order)
        ]
        lines += ["", left_out(len(labels), manifest)] if len(labels) > MOST_LABELS else []
    if manifest.is_test:
        lines += ["", TEST_RELEASE]
    return "\n".join(lines) + "\n"


def left_out(n_labels: int, manifest: Manifest) -> str:
    """Return the sentence that follows the list of a column's labels if it does not have all."""
    return (
        f"These are the first {MOST_LABELS} of {n_labels:,} labels; {manifest.labels_file} "
        "contains all of them."
    )


def counted_at(level: Level) -> str:
    """Return a sentence on the levels that guarantees count in the place of values."""
    if level.node_level is not None:
        return (
            "The guarantees do not count the values of this column but the nodes at level "
            f"{level.node_level} of its hierarchy, which the folder `hierarchies` contains. A "
            "missing value counts as a node of its own."
        )
    return (
        "The guarantees do not count the values of this column but these levels: different values "
        "of one level count as the same. A missing value counts as a level of its own."
    )


def level_labels(manifest: Manifest, level: Level) -> tuple[str, ...]:
    """Return the labels of the intervals that a column has as levels; none for nodes."""
    kinds = {column.name: column.type for column in manifest.columns}
    return () if level.node_level is not None else level.labels(kinds[level.column])


def _about(manifest: Manifest) -> list[str]:
    told = [
        f"- **{name}**: {markdown_text(text)}" for name, text in manifest.about.to_dict().items()
    ]
    return [*told, ""] if told else []


def _columns(manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]]) -> list[str]:
    """List the columns; for a suppressed release also the number of suppressed cells of each."""
    names = ["column", "role", "type", "published as"]
    rows = [
        [
            inert(column.name),
            stated_role(column),
            str(column.type),
            published_as(manifest, column, meanings),
        ]
        for column in manifest.columns
    ]
    if manifest.shape.hides_cells:
        names.append("cells suppressed")
        for row, column in zip(rows, manifest.columns, strict=True):
            row.append(str(column.n_suppressed))
    lines = [f"| {' | '.join(row)} |" for row in (names, *rows)]
    return [lines[0], f"|{'---|' * len(names)}", *lines[1:]]


def published_as(
    manifest: Manifest, column: PublishedColumn, meanings: Mapping[str, Mapping[str, Meaning]]
) -> str:
    """Return in words how the values of a column are published."""
    if column.is_distorted:
        return "values, some of which may have been changed on purpose"
    # In a suppressed release a column counts as recoded if some of its cells are suppressed.
    if column.name in meanings or (column.is_recoded and not manifest.shape.hides_cells):
        return "labels"
    return "original values, some suppressed" if column.n_suppressed else "original values"


def stated_role(column: PublishedColumn) -> str:
    """Return the role of a column in words; a sensitive column may be a quasi-identifier too."""
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
        said = f"These attributes are in several columns: {', '.join(shared)}."
        lines += ["", f"{said} Only entries that agree on them are linked."]
    return lines


def _analysing(manifest: Manifest) -> list[str]:
    # The lines of one table are analysed like any table.
    if not manifest.shape.numbers_buckets:
        return []
    return ["", "## How to analyse the data", "", manifest.shape.words.analysing]


def headline(manifest: Manifest) -> str:
    """Return a sentence on what a release is and how it was made."""
    made = f"made by the method {manifest.method}"
    return f"{str(manifest.shape).capitalize()} release, {made}: {manifest.extent}."


def first_labels(
    labels: Mapping[str, Meaning], order: Sequence[str] = ()
) -> list[tuple[str, Meaning]]:
    """Return the labels that documents list, with meanings, in the order in which they are read.

    `order` has the values of an ordered column, from lowest to highest.
    """
    rank = {text: float(place) for place, text in enumerate(order)}

    def place(entry: tuple[str, Meaning]) -> tuple[tuple[float, ...], str]:
        label, meaning = entry
        ranks = sorted(rank[text] for text in meaning.members if text in rank) if rank else ()
        return tuple(ranks) or (_start(meaning),), label

    return heapq.nsmallest(MOST_LABELS, labels.items(), key=place)


def _start(meaning: Meaning) -> float:
    """Return the lower end of an interval of numbers; other labels come last, sorted as texts."""
    try:
        return math.inf if meaning.interval is None else float(meaning.interval[0])
    except ValueError:
        # A date, which sorts as its text does.
        return math.inf


def describe(meaning: Meaning, order: Sequence[str] = ()) -> str:
    """Return in words what a label stands for.

    `order` has the values of an ordered column, from lowest to highest; other values are sorted as
    texts.

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


def ddi_codebook(
    manifest: Manifest,
    meanings: Mapping[str, Mapping[str, Meaning]],
    counts: Mapping[str, Mapping[str, int]] | None = None,
) -> str:
    """Return the codebook as DDI-Codebook XML.

    `counts` has the number of rows that carry each value, by column. Values that fewer rows carry
    than `Manifest.least_named` are not listed, nor those of a column with more than a thousand.
    """
    root = Element("codeBook", {"xmlns": DDI_NAMESPACE, "version": "2.5"})
    _study(root, manifest)
    contents = {file.name: file.header for file in manifest.data_files}
    for number, (name, columns) in enumerate(contents.items(), start=1):
        _file(root, manifest, f"F{number}", name, columns)
    described = SubElement(root, "dataDscr")
    by_name = {column.name: column for column in manifest.columns}
    names = dict.fromkeys(name for columns in contents.values() for name in columns)
    for number, name in enumerate(names, start=1):
        places = [f"F{place}" for place, held in enumerate(contents.values(), 1) if name in held]
        attributes = {"ID": f"V{number}", "name": printable(name), "files": " ".join(places)}
        if name in by_name:
            known = (counts or {}).get(name, {})
            column = by_name[name]
            _variable(described, attributes, column, manifest, meanings.get(name), known)
        else:
            _own_variable(described, attributes, name)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _study(root: Element, manifest: Manifest) -> None:
    about = manifest.about.to_dict()
    study = SubElement(root, "stdyDscr")
    _citation(study, manifest, about)
    information = SubElement(study, "stdyInfo")
    reading = _plain(manifest.reading)
    _text(information, "abstract", f"{headline(manifest)} {reading}")
    if "purpose" in about:
        _text(information, "abstract", about["purpose"], contentType="purpose")
    for remark in manifest.remarks:
        _text(information, "abstract", remark)
    access = SubElement(study, "dataAccs")
    if "licence" in about:
        _text(SubElement(access, "useStmt"), "conditions", about["licence"])
    for guarantee in manifest.guarantees:
        _text(access, "notes", f"{guarantee.name}: {guarantee.statement}. {guarantee.limits}")


def _citation(study: Element, manifest: Manifest, about: Mapping[str, str]) -> None:
    """Write the title of the release and who is responsible for it, in the order of the schema."""
    citation = SubElement(study, "citation")
    plain = f"A table about people, {manifest.shape} by the method {manifest.method}"
    _text(SubElement(citation, "titlStmt"), "titl", about.get("title", plain))
    if "institution" in about:
        _text(SubElement(citation, "prodStmt"), "producer", about["institution"])
    if "contact" in about:
        _text(SubElement(citation, "distStmt"), "contact", about["contact"])
    if "version" in about:
        _text(SubElement(citation, "verStmt"), "version", about["version"])


def _file(
    root: Element, manifest: Manifest, identifier: str, name: str, columns: Sequence[str]
) -> None:
    text = SubElement(SubElement(root, "fileDscr", {"ID": identifier}), "fileTxt")
    _text(text, "fileName", f"{name}.{manifest.format}")
    if COUNT not in columns:
        dimensions = SubElement(text, "dimensns")
        _text(dimensions, "caseQnty", str(manifest.n_rows))
        _text(dimensions, "varQnty", str(len(columns)))
    _text(text, "fileType", manifest.format)
    if manifest.format == "csv":
        _text(text, "format", _plain(ENCODING))


def _variable(
    described: Element,
    attributes: Mapping[str, str],
    column: PublishedColumn,
    manifest: Manifest,
    labels: Mapping[str, Meaning] | None,
    counts: Mapping[str, int],
) -> None:
    is_numeric = column.type in _NUMERIC and labels is None and not column.n_suppressed
    interval = "contin" if column.type is ColumnType.REAL and is_numeric else "discrete"
    variable = SubElement(described, "var", {**attributes, "intrvl": interval})
    _text(variable, "labl", column.name)
    told = f"Role: {stated_role(column)}. Type of the original values: {column.type}."
    if column.is_distorted:
        told += " Some values may have been changed on purpose."
    for level in manifest.levels:
        if level.column == column.name:
            told += f" {_plain(counted_at(level).replace('these levels', _n_levels(level)))}"
    _text(variable, "txt", told)
    if labels is not None:
        order = column.order or ()
        for label, meaning in first_labels(labels, order):
            _category(variable, label, describe(meaning, order))
    else:
        _values(variable, column, counts, manifest.least_named)
    if column.n_suppressed and SUPPRESSED not in (labels or {}):
        _category(variable, SUPPRESSED, "suppressed", is_missing=True)
    SubElement(variable, "varFormat", {"type": "numeric" if is_numeric else "character"})
    if labels is not None and len(labels) > MOST_LABELS:
        _text(variable, "notes", left_out(len(labels), manifest))


def _n_levels(level: Level) -> str:
    return f"{len(level.bounds) + 1} levels, which the codebook lists"


def _values(
    variable: Element, column: PublishedColumn, counts: Mapping[str, int], least: int
) -> None:
    """List the values that enough rows carry, in the order of the column's type."""
    named = [value for value, count in counts.items() if count >= least]
    if len(named) > _MOST_VALUES:
        return
    rank = {text: float(place) for place, text in enumerate(column.order or ())}
    if column.type in _NUMERIC and not column.is_recoded:
        rank = {value: float(value) for value in named}
    for value in sorted(named, key=lambda value: (rank.get(value, math.inf), value)):
        _category(variable, value, value)


def _category(variable: Element, code: str, label: str, *, is_missing: bool = False) -> None:
    category = SubElement(variable, "catgry", {"missing": "Y"} if is_missing else {})
    _text(category, "catValu", code)
    _text(category, "labl", label or "(empty text)")


def _own_variable(described: Element, attributes: Mapping[str, str], name: str) -> None:
    variable = SubElement(described, "var", {**attributes, "intrvl": "discrete"})
    _text(variable, "labl", _OWN[name])
    SubElement(variable, "varFormat", {"type": "numeric"})


def _text(parent: Element, tag: str, text: str, **attributes: str) -> None:
    SubElement(parent, tag, attributes).text = printable(text)


def _plain(text: str) -> str:
    return text.replace("`", "")
