"""The experiments of [Wong11] on the foreground knowledge attack, and its worked examples.

The examples need no table. In Example 1 the probabilities are given and p(t:x) is found; in Example
2 the buckets are given and the probabilities are found.

References
----------
[Wong11] (see `reproduction.foreground_trials`) Tables 1 to 5, 7 and 8; Sections 3 and 4 for the
examples, Section 5 and Figures 1 to 3 for the experiments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from reproduction.foreground_breaches import run_by_r, run_by_size, run_case_study
from reproduction.foreground_models import run_models
from reproduction.foreground_trials import curve
from reproduction.reproduced import Figure, Planned, Setting, Statement, claimed, compared
from shoal.core.domain import Domain
from shoal.datasets.papers import (
    foreground_buckets,
    foreground_distribution,
    foreground_signatures,
)
from shoal.foreground.attribute_sets import sample_size, usable_sets
from shoal.foreground.expectation_maximization import Target
from shoal.foreground.law import posterior
from shoal.foreground.mining import expose
from shoal.locating.exposed import Exposed

_CHANCES = (0.5, 0.5, 0.2, 0.2)
_CARRIERS = 2
_ENOUGH = 3
"""The least rows of a signature: both signatures of Example 2 have three."""


def run_examples(setting: Setting) -> Sequence[Figure]:  # noqa: ARG001 - nothing is drawn
    """Draw Examples 1 and 2."""
    return [_example_1(), _example_2()]


def _example_1() -> Figure:
    worlds = list(combinations(range(len(_CHANCES)), _CARRIERS))
    weights = np.array(
        [
            math.prod(f if row in carriers else 1 - f for row, f in enumerate(_CHANCES))
            for carriers in worlds
        ]
    )
    shares = weights / weights.sum()
    found = posterior(_CHANCES, _CARRIERS)
    names = [f"w{number}" for number in range(1, len(worlds) + 1)]
    return Figure(
        name="table-5",
        title="Table 5 and Example 1: six worlds of a group, and who has x",
        setting=(
            "Four tuples, two of which have x. t1 and t2 have it with chance .5, t3 and t4 with "
            "chance .2. p(t:x) is found without going through worlds, which are listed to compare."
        ),
        x_name="world, or tuple",
        x=(*names, "t1", "t2", "t3", "t4"),
        y_name="probability",
        curves=(
            curve("p(w)", [*weights, *[math.nan] * 4]),
            curve("p(w|L)", [*shares, *[math.nan] * 4]),
            curve("p(t:x)", [*[math.nan] * len(worlds), *found]),
        ),
        statements=(
            compared("sum of p(w) over the six worlds", 0.33, float(weights.sum()), within=1e-9),
            _rounded("p(w1|L)", 0.48, shares[0]),
            _rounded("p(w2|L)", 0.12, shares[1]),
            _rounded("p(w6|L)", 0.03, shares[-1]),
            compared(
                "p(t1:x), which is above 1/2",
                0.72,
                found[0],
                within=0.005,
                why="8/11 = .727 exactly; the paper adds terms that were rounded first.",
            ),
            *_american(),
            *_worlds_of_mask(),
            compared("J for epsilon = .01 and sigma = .9", None, sample_size("0.01", "0.9")),
        ),
    )


def _american() -> tuple[Statement, ...]:
    chances = foreground_distribution()
    alex, bob = posterior([chances["American"], chances["Japanese"]], 1)
    return (
        claimed(
            "Alex, an American, has heart disease (Tables 2 and 3)",
            "above 1/2",
            f"{alex:.3f}; Bob, a Japanese, {bob:.3f}",
            holds=alex > 0.5,
        ),
    )


def _worlds_of_mask() -> tuple[Statement, ...]:
    """Check the two numbers of worlds that Section 3 prints."""
    return (
        compared("worlds of 23 tuples, 8 of which have x", 490_314, math.comb(23, 8), within=0),
        compared(
            "worlds of the largest group of MASK, l = 10: 113 tuples, 5 of which have x fit",
            140_364_532,
            math.comb(113, 5),
            within=0,
        ),
    )


def _example_2() -> Figure:
    columns = foreground_signatures().to_dict()
    signature, value = Domain.of_texts("A", ["s1", "s2"]), Domain.of_texts("X", ["x", "other"])
    rows = signature.codes_of(columns["signature"])[:, np.newaxis]
    bucket = np.array(foreground_buckets()) - 1
    exposed = Exposed.of_rows([signature], rows, bucket, value.codes_of(columns["value"]), value)
    found, (mined,) = expose(
        Target.of(exposed, value.codes_of(["x"])),
        usable_sets(exposed.looks, _ENOUGH),
    )
    first, second = mined.f.tolist()
    return Figure(
        name="example-2",
        title="Tables 7 and 8, Example 2: chances that three groups give",
        setting="Six tuples in three groups of two; the first two groups hold one x each.",
        x_name="signature",
        x=("s1", "s2"),
        y_name="chance of x",
        curves=(curve("mined", mined.f), curve("in the table", [2 / 3, 0.0])),
        statements=(
            compared("f1", 0.666667, first, within=1e-5, digits=6),
            claimed("f2", "0.000000", f"{second:.6f}", holds=round(second, 6) == 0),
            compared("p(t1:x), the only tuple of s1 in its group", None, float(found.p[0])),
        ),
    )


def _rounded(what: str, printed: float, ours: float) -> Statement:
    """Compare with a number that is printed with two digits."""
    return claimed(what, f"{printed:g}", f"{ours:.4f}", holds=round(ours, 2) == printed)


PLANNED: tuple[Planned, ...] = (
    Planned(
        "Examples 1 and 2: worlds that are weighed, chances that are mined", False, run_examples
    ),
    Planned("Section 5.1, variation of r: breaches in l-diverse tables", True, run_by_r),
    Planned("Section 5.1, variation of the QI size", True, run_by_size),
    Planned("Section 5.1, case study of two occupations", True, run_case_study),
    Planned("Figures 1 to 3: four privacy models under the attack", True, run_models),
)
