"""The XML is held against the documented structure of DDI-Codebook 2.5."""

from __future__ import annotations

from dataclasses import replace
from xml.etree.ElementTree import Element, fromstring

import pytest

from shoal.core.domain import ColumnType, Role
from shoal.core.guarantees import FrequencyDiversity, KAnonymity
from shoal.core.manifest import About, Manifest, PublishedColumn
from shoal.core.meaning import Meaning
from shoal.core.shapes import Shape
from shoal.report.codebook import DDI_NAMESPACE, ddi_codebook

# For each element that is written: the elements that may be in it, in the schema's order.
STRUCTURE = {
    "codeBook": ["docDscr", "stdyDscr", "fileDscr", "dataDscr", "otherMat"],
    "stdyDscr": [
        *("citation", "studyAuthorization", "stdyInfo", "studyDevelopment", "method"),
        *("dataAccs", "othrStdyMat", "notes"),
    ],
    "citation": [
        *("titlStmt", "rspStmt", "prodStmt", "distStmt", "serStmt", "verStmt", "biblCit"),
        *("holdings", "notes"),
    ],
    "titlStmt": ["titl", "subTitl", "altTitl", "parTitl", "IDNo"],
    "prodStmt": ["producer", "copyright", "prodDate", "prodPlac", "software", "fundAg", "grantNo"],
    "distStmt": ["distrbtr", "contact", "depositr", "depDate", "distDate"],
    "verStmt": ["version", "verResp", "notes"],
    "useStmt": [
        *("confDec", "specPerm", "restrctn", "contact", "citReq", "deposReq", "conditions"),
        "disclaimer",
    ],
    "stdyInfo": [
        *("studyBudget", "subject", "abstract", "sumDscr", "qualityStatement", "notes"),
        "exPostEvaluation",
    ],
    "dataAccs": ["typeOfAccess", "setAvail", "useStmt", "notes"],
    "fileDscr": ["fileTxt", "locMap", "notes"],
    "fileTxt": [
        *("fileName", "fileCitation", "dataFingerprint", "fileCont", "fileStrc", "dimensns"),
        *("fileType", "format", "filePlac", "dataChck", "ProcStat", "dataMsng", "software"),
        "verStmt",
    ],
    "dimensns": ["caseQnty", "varQnty", "logRecL", "recPrCas", "recNumTot"],
    "dataDscr": ["varGrp", "nCubeGrp", "var", "nCube", "notes"],
    "var": [
        *("location", "labl", "imputation", "security", "embargo", "respUnit", "anlysUnit"),
        *("qstn", "valrng", "invalrng", "undocCod", "universe", "TotlResp", "sumStat", "txt"),
        *("stdCatgry", "catgryGrp", "catgry", "codInstr", "verStmt", "concept", "derivation"),
        *("varFormat", "geoMap", "catLevel", "notes"),
    ],
    "catgry": ["catValu", "labl", "txt", "catStat", "mrow"],
}
SINGLE = {"titlStmt", "titl", "dimensns", "fileStrc", "varFormat", "catValu"}
REQUIRED = {"codeBook": ["stdyDscr"], "stdyDscr": ["citation"], "citation": ["titlStmt"]}
REQUIRED |= {"titlStmt": ["titl"]}
ATTRIBUTES = {
    "codeBook": {"version"},
    "fileDscr": {"ID"},
    "var": {"ID", "name", "files", "intrvl"},
    "catgry": {"missing"},
    "abstract": {"contentType"},
    "varFormat": {"type"},
}


def column(name: str, role: Role = Role.QUASI, **given: object) -> PublishedColumn:
    return PublishedColumn(name, role, ColumnType.CATEGORICAL, **given)


def manifest_of(shape: Shape, *columns: PublishedColumn, slices=()) -> Manifest:
    return Manifest(
        shape=shape,
        method="anatomy",
        parameters={},
        guarantees=(KAnonymity(k=3), FrequencyDiversity(ell=2)),
        columns=columns,
        n_rows=8,
        n_buckets=2,
        slices=slices,
    )


def tag(element: Element) -> str:
    assert element.tag.startswith(f"{{{DDI_NAMESPACE}}}")
    return element.tag.partition("}")[2]


def check(element: Element) -> None:
    name = tag(element)
    allowed, children = STRUCTURE.get(name, []), [tag(child) for child in element]
    assert set(children) <= set(allowed), name
    assert [allowed.index(child) for child in children] == sorted(map(allowed.index, children))
    assert set(REQUIRED.get(name, [])) <= set(children)
    assert all(children.count(one) <= 1 for one in SINGLE)
    assert set(element.attrib) <= ATTRIBUTES.get(name, set())
    for child in element:
        check(child)


def read(text: str) -> Element:
    root = fromstring(text.encode())
    check(root)
    identifiers = [one.get("ID") for one in root.iter() if one.get("ID")]
    assert len(set(identifiers)) == len(identifiers)
    assert all(one.isidentifier() for one in identifiers)
    for variable in found(root, "var"):
        assert variable.get("name") is not None
        assert all(
            one.get("type") in ("numeric", "character")
            for one in variable.iter()
            if tag(one) == "varFormat"
        )
        assert all(one.get("missing", "N") in ("Y", "N") for one in variable.iter())
        assert set(variable.get("files").split()) <= set(identifiers)
        assert variable.get("intrvl") in ("contin", "discrete")
    return root


def found(root: Element, name: str) -> list[Element]:
    return list(root.iter(f"{{{DDI_NAMESPACE}}}{name}"))


def categories(root: Element, name: str) -> list[list[str]]:
    (variable,) = [one for one in found(root, "var") if one.get("name") == name]
    return [[part.text for part in one] for one in found(variable, "catgry")]


@pytest.mark.parametrize("shape", Shape.all())
def test_every_shape_keeps_to_the_documented_structure(shape):
    ill = column("ill", Role.SENSITIVE)
    slices = (("age",), ("sex", "ill")) if shape is Shape.SLICED else ()
    hidden = column("sex", n_suppressed=2 if shape is Shape.SUPPRESSED else 0)
    root = read(ddi_codebook(manifest_of(shape, column("age"), hidden, ill, slices=slices), {}))
    named = {variable.get("name") for variable in found(root, "var")}
    assert {"age", "sex", "ill"} <= named
    assert ("bucket" in named) == (shape in (Shape.BUCKETIZED, Shape.SLICED))
    files = [one.text for one in found(root, "fileName")]
    assert files == [f"{name}.csv" for name in manifest_of(shape, slices=slices).data_names]
    assert categories(root, "sex") == ([["*", "suppressed"]] if shape is Shape.SUPPRESSED else [])


def test_labels_say_what_they_stand_for():
    meanings = {
        "age": {
            "[20, 30[": Meaning(interval=("20", "30")),
            "[3, 20[": Meaning(interval=("3", "20"), has_missing=True),
        }
    }
    root = read(ddi_codebook(manifest_of(Shape.GENERALIZED, column("age")), meanings))
    assert categories(root, "age") == [
        ["[3, 20[", "from 3 to below 20, missing"],
        ["[20, 30[", "from 20 to below 30"],
    ]


def test_values_that_too_few_rows_carry_are_not_listed():
    manifest = manifest_of(Shape.BUCKETIZED, column("city"), column("ill", Role.SENSITIVE))
    counts = {"city": {"a": 3, "b": 2, "": 4}}
    root = read(ddi_codebook(manifest, {}, counts))
    # An element without text.
    assert categories(root, "city") == [[None, "(empty text)"], ["a", "a"]]
    assert manifest.least_named == 3


def test_hostile_names_and_values_stay_texts():
    hostile = '"><script>alert(1)</script>&\x00\u202e'
    manifest = replace(manifest_of(Shape.GENERALIZED, column(hostile)), remarks=(hostile,))
    root = read(ddi_codebook(manifest, {hostile: {hostile: Meaning(members={hostile})}}))
    shown = hostile.replace("\x00", "\ufffd").replace("\u202e", "\ufffd")
    assert categories(root, shown) == [[shown, shown]]


NAMES = {"ddi": DDI_NAMESPACE}


def test_what_the_steward_says_stands_where_the_schema_has_it():
    entries = {"title": "Stays", "institution": "Office", "purpose": "Study", "version": "2"}
    about = About(**entries, contact="a@b.c", licence="CC BY")
    manifest = replace(manifest_of(Shape.GENERALIZED, column("age")), about=about)
    root = read(ddi_codebook(manifest, {}))
    citation = root.find("ddi:stdyDscr/ddi:citation", NAMES)
    found = [one.tag.partition("}")[2] for one in citation]
    assert found == ["titlStmt", "prodStmt", "distStmt", "verStmt"]
    assert [one[0].text for one in citation] == ["Stays", "Office", "a@b.c", "2"]
    purposes = root.findall("ddi:stdyDscr/ddi:stdyInfo/ddi:abstract[@contentType]", NAMES)
    assert [one.text for one in purposes] == ["Study"]
    assert root.find("ddi:stdyDscr/ddi:dataAccs/ddi:useStmt/ddi:conditions", NAMES).text == "CC BY"
