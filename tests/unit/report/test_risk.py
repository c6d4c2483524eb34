"""Sections about people at risk list what is tied in an order that rounding does not decide."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.findings import Findings
from shoal.report.risk import BY_COLUMN, BY_SUBGROUP, Attacked, risk_sections

DOMAINS = tuple(Domain.of_texts(name, ["a", "b", "c", "d"]) for name in ("job", "town"))


def listed(entries, bucket, posterior):
    """Return what each section names: values, columns, or buckets by their people at risk."""
    counts = np.array([count for _, count, _ in entries])
    quasi = Cells(DOMAINS, np.array([codes for codes, _, _ in entries]), counts)
    breached, value = posterior > 0.4, np.zeros(len(counts), dtype=np.int64)
    found = Findings("foreground", "all", counts, value, posterior, breached, "2/5", {})
    n_named = {BY_SUBGROUP: 4, BY_COLUMN: 1}
    return [
        (section.title, [row[: n_named.get(section.title, 2)] for row in section.rows])
        for section in risk_sections(found, Attacked(quasi, np.array(bucket)))
    ]


@given(
    st.lists(
        st.tuples(st.tuples(*[st.integers(0, 3)] * 2), st.integers(1, 2), st.integers(0, 4)),
        min_size=1,
        max_size=12,
    ),
    st.integers(0, 100),
)
def test_the_order_does_not_depend_on_the_last_bits_of_beliefs(entries, seed):
    generator = np.random.default_rng(seed)
    bucket = generator.integers(0, 4, len(entries))
    posterior = np.array([quarters / 4 for _, _, quarters in entries])
    shaken = np.abs(posterior + generator.uniform(-1e-12, 1e-12, len(entries)))
    assert listed(entries, bucket, shaken) == listed(entries, bucket, posterior)
