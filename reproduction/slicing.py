"""The experiments of [Slicing]: its two tables, and the statements of its Section 6.

The available paper is a shortened variant: it describes its experiments and states what they show,
but omits the figures and nearly all numbers. So its claims are judged by Shoal's results.

Table 1 has eight patients, published in all the ways that the paper compares. Shoal gets the
paper's buckets, and computes what each way publishes and what can be inferred about a patient's
disease.

References
----------
[Slicing] (see `shoal.core.sliced`) Sections 3, 4 and 7, Table 1 and Figure 2 for the patients.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from reproduction.reproduced import Curve, Figure, Planned, Setting, Statement, claimed, compared
from reproduction.slicing_adult import run_correlations, run_diversity, run_efficiency, run_table_2
from reproduction.slicing_classification import run_classification
from reproduction.slicing_fakes import run_membership
from shoal.core.cells import Cells
from shoal.core.exact import as_text
from shoal.core.sliced import Layout, Sliced, SlicedColumn
from shoal.datasets import papers
from shoal.datasets.papers import Published
from shoal.slicing.beliefs import exact_sliced_beliefs
from shoal.slicing.check.sliced_diversity import check_sliced
from shoal.slicing.method import Slicing
from shoal.workflow.anonymize import anonymize
from shoal.workflow.read import read

_DISEASE = "disease"
_KNOWN = ("age", "sex", "zipcode")
_ELL = 2
_LAYOUTS = {
    "bucketized (c)": [[*_KNOWN], [_DISEASE]],
    "one attribute per column (e)": [["age"], ["sex"], ["zipcode"], [_DISEASE]],
    "sliced (f)": [["age", "sex"], ["zipcode", _DISEASE]],
    "overlapping (Section 7)": [["age", "sex", _DISEASE], ["zipcode", _DISEASE]],
}
_BUCKETIZED, _SINGLE, _SLICED, _OVERLAPPING = _LAYOUTS
_Values = Counter[tuple[int, tuple[str | None, ...]]]
"""The number of occurrences of each value of a column in each bucket."""


def run_table_1(setting: Setting) -> Sequence[Figure]:
    """Publish the patients in the paper's buckets, and judge the beliefs about them."""
    patients = papers.slicing_patients()
    table = read(patients)
    cells = table.counts(table.schema.coded)
    texts = zip(*patients.to_dict().values(), strict=True)
    number = {row: place for place, row in enumerate(_texts_of(cells))}
    cell = np.array([number[tuple(map(str, row))] for row in texts])
    bucket = np.array(papers.slicing_buckets()) - 1
    ones = np.ones(len(cell), dtype=np.int64)
    sliced = {
        name: Sliced.of_pieces(cells, Layout(columns, [_DISEASE]), cell, bucket, ones)
        for name, columns in _LAYOUTS.items()
    }
    own = anonymize(table, Slicing(ell=_ELL, columns=_LAYOUTS[_SLICED]), seed=setting.seed)
    assert own.published.sliced is not None
    shown = sliced | {f"sliced by Shoal, l = {_ELL}": own.published.sliced}
    largest = {name: _largest(one, cells, cell) for name, one in shown.items()}
    return [
        Figure(
            name="table-1",
            title="Table 1: beliefs about each patient's disease",
            setting="The eight patients of Table 1(a) in the two buckets of the table, and in "
            f"Shoal's own. Exact fractions; seed {setting.seed}.",
            x_name="patient",
            x=tuple(f"t{place}" for place in range(1, len(cell) + 1)),
            y_name="largest p(t, s)",
            curves=tuple(
                Curve(name, tuple(float(value) for value in values))
                for name, values in largest.items()
            ),
            statements=(
                *_parts(sliced),
                *_ages(),
                *_first_patient(sliced[_SLICED], cells, int(cell[0])),
                *_beliefs(sliced, largest),
            ),
        )
    ]


def _texts_of(cells: Cells) -> list[tuple[str | None, ...]]:
    labels = [domain.labels() for domain in cells.domains]
    return [
        tuple(text[code] for text, code in zip(labels, codes, strict=True))
        for codes in cells.codes.tolist()
    ]


def _largest(sliced: Sliced, cells: Cells, cell: np.ndarray) -> list[Fraction]:
    """Return the largest belief about each patient."""
    people = cells.select(_KNOWN)
    place = {tuple(codes): at for at, codes in enumerate(people.codes.tolist())}
    known = np.column_stack([cells.column(name)[cell] for name in people.columns])
    found = exact_sliced_beliefs(sliced, people).largest.tolist()
    return [found[place[tuple(codes)]] for codes in known.tolist()]


# --- the parts of the table -----------------------------------------------------------------------


def _parts(sliced: Mapping[str, Sliced]) -> Iterator[Statement]:
    """Compare the published content of every bucket with what the paper prints."""
    for name, printed in (
        (_BUCKETIZED, papers.slicing_bucketized()),
        (_SINGLE, papers.slicing_one_attribute_per_column()),
    ):
        wanted = _printed_values(printed)
        ours = {column.attributes: _values(column) for column in sliced[name].columns}
        n_same = sum(sum((ours[names] & wanted[names]).values()) for names in wanted)
        n_all = sum(sum(one.values()) for one in wanted.values())
        yield _agreeing(f"Table 1, {name}: column values in their buckets", n_all, n_same)
    multisets = papers.slicing_multiset()
    single = {column.attributes: _values(column) for column in sliced[_SINGLE].columns}
    texts = {
        (bucket, name): text
        for bucket, row in zip(multisets.buckets, multisets.rows, strict=True)
        for name, text in zip(_KNOWN, row, strict=False)
    }
    n_same = sum(
        {value: count for (own, value), count in single[(name,)].items() if own == bucket}
        == {(value,): int(count) for value, count in map(_part, text.split(","))}
        for (bucket, name), text in texts.items()
    )
    yield _agreeing("Table 1, multisets (d): value counts of an attribute", len(texts), n_same)


def _part(entry: str) -> tuple[str, str]:
    value, _, count = entry.partition(":")
    return value, count


def _agreeing(what: str, n_printed: int, n_same: int) -> Statement:
    return claimed(what, f"{n_printed}", f"{n_same} of them", holds=n_same == n_printed)


def _values(column: SlicedColumn) -> _Values:
    texts = _texts_of(column.values)
    entries = zip(column.bucket.tolist(), column.value.tolist(), column.count.tolist(), strict=True)
    return Counter({(bucket + 1, texts[value]): count for bucket, value, count in entries})


def _printed_values(printed: Published) -> dict[tuple[str, ...], _Values]:
    names = [name for column in printed.columns for name in column]
    found: dict[tuple[str, ...], _Values] = {}
    for column in printed.columns:
        places = [names.index(name) for name in column]
        found[tuple(column)] = Counter(
            (bucket, tuple(row[place] for place in places))
            for bucket, row in zip(printed.buckets, printed.rows, strict=True)
        )
    return found


def _ages() -> Iterator[Statement]:
    """Compare the ends of the printed intervals with the ages."""
    ages = np.asarray(papers.slicing_patients().columns["age"])
    buckets = np.array(papers.slicing_buckets())
    printed_rows = papers.slicing_generalized().rows
    for bucket, row in dict(zip(papers.slicing_buckets(), printed_rows, strict=True)).items():
        low, high = row[0].strip("[]").split("-")
        own = ages[buckets == bucket]
        for end, printed, ours in (("lowest", low, own.min()), ("highest", high, own.max())):
            yield compared(
                f"Table 1(b), bucket {bucket}: {end} age",
                int(printed),
                int(ours),
                within=0,
                why="nobody in part (a) has that age. An interval may be wider than its ages, but "
                "the three other ends are ages that occur.",
            )


# --- beliefs --------------------------------------------------------------------------------------


def _first_patient(sliced: Sliced, cells: Cells, first: int) -> Iterator[Statement]:
    """State the matching probability of the first patient, and the possible diseases."""
    people = cells.select(_KNOWN)
    codes = [int(cells.column(name)[first]) for name in people.columns]
    number = people.codes.tolist().index(codes)
    beliefs = exact_sliced_beliefs(sliced, people)
    shares = {
        bucket: share for one, bucket, share in zip(*beliefs.matches, strict=True) if one == number
    }
    diseases = cells.domain(_DISEASE).labels()
    candidates = beliefs.candidates(number, 0)
    yield Statement(
        "t1 in the sliced table (f): share of the first bucket's linkings, f(t, B1)",
        "",
        as_text(shares.get(0, Fraction(0))),
        "not stated in the paper",
        f"In the second bucket {as_text(shares.get(1, Fraction(0)))}. Possible are "
        + " and ".join(f"{diseases[code]} ({as_text(p)})" for code, p in candidates.items())
        + ".",
    )


def _beliefs(
    sliced: Mapping[str, Sliced], largest: Mapping[str, Sequence[Fraction]]
) -> Iterator[Statement]:
    most = {name: max(values) for name, values in largest.items()}
    bound = Fraction(1, _ELL)
    plain = [name for name in most if name != _OVERLAPPING]
    holds = all(most[name] <= bound for name in plain)
    n_verified = sum(check_sliced(sliced[name], _ELL).holds for name in plain if name in sliced)
    yield Statement(
        f"p(t, s) <= 1/{_ELL} for every patient (Section 4.3)",
        "the condition of l-diversity",
        f"at most {', '.join(as_text(most[name]) for name in plain)}",
        "reproduced" if holds else "differs",
        f"The verifier, which shares no code with the method, agrees on {n_verified} releases.",
    )
    n_ties = sum(value == bound for value in largest[_SLICED])
    yield Statement(
        "Figure 2 (line 9) and the text mean the same",
        "p(t, s) >= 1/l is refused; p(t, s) <= 1/l is l-diverse",
        f"{n_ties} of {len(largest[_SLICED])} patients are at p(t, s) = 1/{_ELL}",
        "differs" if n_ties else "reproduced",
        "Figure 2 would refuse the paper's own example; the text allows it, and so does Shoal."
        if n_ties
        else "",
    )
    certain = sum(value == 1 for value in largest[_OVERLAPPING])
    yield Statement(
        "the disease in both columns (Section 7)",
        "",
        f"{certain} of {len(largest[_OVERLAPPING])} patients are disclosed, p(t, s) = 1",
        "not stated in the paper",
        "The paper leaves open what that means for privacy. Columns that share the disease are "
        "linked through it. Shoal refuses such a release.",
    )


PLANNED = (
    Planned("Table 1: the patients, published in every way", False, run_table_1),
    Planned("Table 2: the attributes of Adult", True, run_table_2),
    Planned("Section 6: attributes correlated with occupation", True, run_correlations),
    Planned("Sections 4.3 and 6: the l that can be reached", True, run_diversity),
    Planned("Section 6.2: classification", True, run_classification),
    Planned("Section 6: time", True, run_efficiency),
    Planned("Sections 6.3 and 7: membership", True, run_membership),
)
