"""The codebook as DDI-Codebook 2.5, the XML that data archives and their tools read.

It describes the data files, every variable, and what its values stand for. Of values as they were
it lists those alone that as many rows carry as a public file may name. Elements stand in the order
that the schema of the DDI Alliance gives them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from shoal.core.domain import SUPPRESSED, ColumnType
from shoal.core.method import Shape
from shoal.core.release import BUCKET, COUNT, Manifest, Meaning, PublishedColumn
from shoal.core.schema import Role
from shoal.report.codebook import ENCODING, READING, describe, labels_in_order, stated_role
from shoal.report.texts import printable

__all__ = ["DDI_NAMESPACE", "ddi_codebook"]

DDI_NAMESPACE = "ddi:codebook:2_5"
_MOST_VALUES = 1000
_OWN = {
    BUCKET: "number of the bucket, which says nothing by itself",
    COUNT: "number of rows in the bucket that carry the values of the line",
}
_NUMERIC = (ColumnType.INTEGER, ColumnType.REAL)


def ddi_codebook(
    manifest: Manifest,
    meanings: Mapping[str, Mapping[str, Meaning]],
    counts: Mapping[str, Mapping[str, int]] | None = None,
) -> str:
    """Write the codebook as DDI-Codebook XML.

    Parameters
    ----------
    manifest
        What the release says of itself.
    meanings
        What the labels of recoded columns stand for.
    counts
        How many rows of the release carry each value, by column; values that fewer rows carry than
        `Manifest.least_named` are not listed, nor those of a column with more than a thousand.
    """
    root = Element("codeBook", {"xmlns": DDI_NAMESPACE, "version": "2.5"})
    _study(root, manifest)
    contents = _contents(manifest)
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


def _contents(manifest: Manifest) -> dict[str, tuple[str, ...]]:
    """Name the columns of each data file."""
    every = tuple(column.name for column in manifest.columns)
    if manifest.shape is Shape.BUCKETIZED:
        shown = (*manifest.columns_of(Role.QUASI), *manifest.columns_of(Role.INSENSITIVE))
        sensitive = manifest.columns_of(Role.SENSITIVE)
        return {"quasi": (BUCKET, *shown), "sensitive": (BUCKET, *sensitive, COUNT)}
    if manifest.shape is Shape.SLICED:
        columns = {
            f"column_{number}": (BUCKET, *names, COUNT)
            for number, names in enumerate(manifest.slices, start=1)
        }
        return columns | {"sliced": (BUCKET, *every)}
    return {"table": every}


def _study(root: Element, manifest: Manifest) -> None:
    about = manifest.about.to_dict()
    study = SubElement(root, "stdyDscr")
    _citation(study, manifest, about)
    information = SubElement(study, "stdyInfo")
    _text(information, "abstract", f"{manifest.extent}. {_plain(READING[manifest.shape])}")
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
    """Say what the release is called and who stands behind it, in the order of the schema."""
    citation = SubElement(study, "citation")
    plain = f"A table about people, published {manifest.shape} by {manifest.method}"
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
    _text(variable, "txt", told)
    if labels is not None:
        order = column.order or ()
        for label, meaning in labels_in_order(labels, order)[:_MOST_VALUES]:
            _category(variable, label, describe(meaning, order))
    else:
        _values(variable, column, counts, manifest.least_named)
    if column.n_suppressed and SUPPRESSED not in (labels or {}):
        _category(variable, SUPPRESSED, "suppressed", is_missing=True)
    SubElement(variable, "varFormat", {"type": "numeric" if is_numeric else "character"})


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
    for value in sorted(named, key=lambda value: (rank.get(value, inf), value)):
        _category(variable, value, value)


def _category(variable: Element, code: str, label: str, *, is_missing: bool = False) -> None:
    category = SubElement(variable, "catgry", {"missing": "Y"} if is_missing else {})
    _text(category, "catValu", code)
    _text(category, "labl", label or "(the empty text)")


def _own_variable(described: Element, attributes: Mapping[str, str], name: str) -> None:
    variable = SubElement(described, "var", {**attributes, "intrvl": "discrete"})
    _text(variable, "labl", _OWN[name])
    SubElement(variable, "varFormat", {"type": "numeric"})


def _text(parent: Element, tag: str, text: str, **attributes: str) -> None:
    SubElement(parent, tag, attributes).text = printable(text)


def _plain(text: str) -> str:
    return text.replace("`", "")
