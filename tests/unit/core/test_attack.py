from __future__ import annotations

import json

import numpy as np
import pytest

from shoal.core.attack import Attack
from shoal.core.calibration import Calibration, Estimate
from shoal.core.display import Section
from shoal.core.findings import Findings
from shoal.core.manifest import Manifest
from shoal.core.release import Published
from shoal.core.shapes import Model, Shape


def findings(**changes):
    return Findings(
        **{
            "attack": "guess",
            "knows": "nothing",
            "counts": np.array([3, 1, 2]),
            "value": np.array([0, -1, 1]),
            "posterior": np.array([0.5, 0.0, 1.0]),
            "breached": np.array([False, False, True]),
            "limit": "0.5",
            "headline": {"people": 6},
        }
        | changes
    )


def test_people_are_counted_not_entries():
    assert (findings().n_people, findings().n_breached, findings().worst) == (6, 2, 1.0)


def test_nobody_attacked_is_nobody_at_risk():
    none = np.empty(0)
    empty = findings(
        counts=none.astype(int), posterior=none, breached=none.astype(bool), value=none
    )
    assert (empty.n_people, empty.n_breached, empty.worst) == (0, 0, 0.0)


def test_the_summary_is_json_and_says_whether_it_judges():
    sections = (Section("worst", ("bucket", "share"), ((1, 0.5), (2, 1.0))),)
    stated = json.loads(json.dumps(findings(limit=None, sections=sections).to_dict()))
    assert stated["limit"] is None
    assert (stated["people"], stated["at_risk"], stated["worst_posterior"]) == (6, None, 1.0)
    assert findings().to_dict()["at_risk"] == 2
    assert stated["sections"] == [
        {"title": "worst", "rows": [{"bucket": 1, "share": 0.5}, {"bucket": 2, "share": 1.0}]}
    ]


def test_a_row_of_a_section_has_an_entry_for_every_column():
    with pytest.raises(ValueError, match="zip"):
        Section("worst", ("bucket", "share"), ((1,),)).to_dict()


def test_a_repr_counts_people():
    assert repr(findings()) == "Findings(guess: 2 of 6 people at risk, worst posterior 1)"


RIGHT, SLOPE = Estimate(0.24, 0.2, 0.29), Estimate(0.1, -0.1, 0.3)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "2 of 6 people at risk"),
        ({"limit": None}, "not judged: it has no limit on this release"),
        ({"figure": "AUC 0.94 (0.92 to 0.96)"}, "AUC 0.94 (0.92 to 0.96)"),
        ({"is_belief": True}, "2 of 6 people believed, not checked"),
        (
            {"is_belief": True, "calibration": Calibration(5, RIGHT, 0.28, 4, 2, SLOPE, 40)},
            "2 of 6 exposed; 5 believed, right 1 in 4 (20 to 29 %), naive guess 28 %",
        ),
        (
            {"is_belief": True, "calibration": Calibration(2, RIGHT, None, 1, 2, None, 12)},
            (
                "2 of 6 believed, right 1 in 4 (20 to 29 %); too few to calibrate (informative "
                "people: 12), so all of them count"
            ),
        ),
    ],
)
def test_the_line_says_what_was_found_and_never_nobody_without_a_limit(changes, line):
    assert findings(**changes).line == line
    assert line in repr(findings(**changes))


def test_an_attack_fits_the_shapes_of_the_models_that_it_reads():
    class Guess(Attack):
        reads = frozenset({Model.SLICES})

        def run(self, published, people, knowledge=None):  # noqa: ARG002
            return findings()

    def release(shape):
        manifest = Manifest(
            shape=shape, method="m", parameters={}, guarantees=(), columns=(), n_rows=0, n_buckets=0
        )
        return Published(manifest, None, None)

    assert [shape for shape in Shape.all() if Guess().fits(release(shape))] == [Shape.SLICED]


def test_an_attack_must_say_how_it_runs():
    with pytest.raises(TypeError, match="abstract"):
        Attack()
