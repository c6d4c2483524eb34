"""Documents of one version of the renderer are the same bytes for ever, or `verify` cries wolf."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

import shoal
from shoal.core.domain import ColumnType, Role
from shoal.core.guarantees import FrequencyDiversity, KAnonymity
from shoal.core.manifest import About, Manifest, PublishedColumn
from shoal.core.meaning import Meaning
from shoal.core.shapes import Shape
from shoal.release.documents import DOCUMENTS_VERSION, Counted, documents_of

DIGESTS = {
    1: "0f1d2edeac5d8bac",
    2: "e682b8e68db6d008",
    3: "a24df9729f219819",
    4: "a24df9729f219819",  # the name of the file of labels changed where there are very many
}
"""By version. After a change of what documents say, raise `DOCUMENTS_VERSION` and add a line."""


def manifest_of(shape: Shape) -> Manifest:
    return Manifest(
        shape=shape,
        method="mondrian",
        parameters={"k": 3},
        guarantees=(KAnonymity(k=3), FrequencyDiversity(ell=2)),
        columns=(
            PublishedColumn("age", Role.QUASI, ColumnType.INTEGER, is_recoded=True),
            PublishedColumn("town", Role.QUASI, ColumnType.CATEGORICAL),
            PublishedColumn("ill", Role.SENSITIVE, ColumnType.CATEGORICAL),
        ),
        n_rows=12,
        n_buckets=3,
        is_sealed=True,
        slices=(("age", "town"), ("ill",)) if shape is Shape.SLICED else (),
        documents=DOCUMENTS_VERSION,
        remarks=("Two rows were left out.",),
        about=About(title="People", licence="none"),
    )


def test_documents_of_a_version_do_not_change():
    labels = {"[20, 30[": Meaning(("20", "30")), "*": Meaning(members=frozenset("ab"))}
    labels |= {f"[{n}, {n + 1}[": Meaning((str(n), str(n + 1))) for n in range(30, 600)}
    counted = Counted(np.array([4, 4, 4]), {"town": {"Ulm": 6, "Bonn": 6}, "ill": {"flu": 12}})
    digest = hashlib.sha256()
    for shape in Shape.all():
        made = documents_of(manifest_of(shape), {"age": labels}, counted)
        for name, text in sorted(made.items()):
            digest.update(f"{name}\n{text}".encode())
    assert digest.hexdigest()[:16] == DIGESTS[DOCUMENTS_VERSION]


def test_a_release_of_an_earlier_version_is_accepted_and_said_to_be_unchecked():
    found = shoal.verify(Path(__file__).with_name("version_1"))
    assert (found.status, found.problems) == ("partly verified", ())
    assert found.notes == ("documents not checked (version 1)",)
