"""Draft a configuration for a table that nobody has described yet.

The draft is TOML that parses, with every column in it. It is no valid configuration: columns that
look like identifiers stand under identifying, all others are commented out, and Shoal refuses the
file until the steward has given each of them a role.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.core.domain import ColumnType
from shoal.core.toml_text import comment, inline, key, text
from shoal.engines.survey import Values
from shoal.pipeline.hints import is_postcode_like

__all__ = ["ColumnDraft", "draft", "suggested_hierarchy"]

_N_INTERVALS = 6
_FEWEST_VALUES = 8
# A cut tells next to nothing where at least so many rows lie on either side of it.
_FEWEST_BEYOND = 5


@dataclass(frozen=True, kw_only=True)
class ColumnDraft:
    """What the draft says of one column; see `shoal.pipeline.profile.ColumnProfile`."""

    name: str
    type: ColumnType | None
    remarks: Sequence[str]
    identity: str | None
    is_key: bool
    may_name_person: bool
    n_distinct: int
    hierarchy: Mapping[str, object] | None


def draft(
    name: str, source: str | None, options: Mapping[str, str], columns: Sequence[ColumnDraft]
) -> str:
    """Write the draft.

    Parameters
    ----------
    name
        What the source is called.
    source
        Its path; None where it is no file.
    options
        How it is read, as far as that differs from the default.
    columns
        What is known of each column.
    """
    sections = [
        _head(name),
        _table(source, options, columns),
        _columns(columns),
        _types(columns),
        _hierarchies(columns),
        _METHOD,
    ]
    return "\n".join("\n".join(section) + "\n" for section in sections)


_METHOD = """\
[method]
# Mondrian generalizes: every combination of quasi-identifiers is shared by k rows or more, and in
# each such bucket no sensitive value makes up more than one in ell. (diversity = "distinct" asks
# for ell different values only: one of them may then make up nearly all of a bucket.)
name = "mondrian"
k = 5
ell = 3
diversity = "frequency"
# Where one value is more frequent than that, name the values to protect, which count as one:
# protect = ["..."]
# Anatomy keeps every value and cuts the link between a person and the sensitive one instead. In
# place of the lines above:
# name = "anatomy"
# ell = 3

# An attack with max_people is judged: if more people are at risk, nothing is published. Every
# other attack that fits is run and reported.
[attacks.homogeneity]
max_people = 0

# How well a line can be found; the limit is 1/k. A release by Anatomy shows who is in the table,
# so that this has to go, or needs a limit of its own.
[attacks.linkage]
max_people = 0

# What the release itself teaches about kinds of people: the number of people who may be exposed.
# [attacks.foreground]
# max_people = 0

# Whether it can be told who is in the table: the largest AUC, from 0.5 (not at all) to 1.
# [attacks.membership]
# limit = 0.6

# An attack is left out only with a reason, which goes to the internal record:
# [attacks.membership]
# run = false
# reason = "..."

[release]
folder = "release"
format = "csv"
""".splitlines()


def _head(name: str) -> list[str]:
    return [
        f"# Drafted by `shoal profile` from {text(name)}. Decide, then: shoal publish shoal.toml",
        "# Every column needs one role. Roles are never guessed, so this file is refused until",
        "# each column stands in one of the four lists below.",
    ]


def _table(
    source: str | None, options: Mapping[str, str], columns: Sequence[ColumnDraft]
) -> list[str]:
    lines = ["[table]"]
    if source is None:
        lines.append('source = "people.parquet"  # what was profiled is no file: write it to one')
    else:
        lines.append(f"source = {text(source)}")
    lines += [f"{option} = {text(value)}" for option, value in options.items()]
    keys = [column for column in columns if column.is_key and column.identity is not None]
    if keys:
        lines.append(
            f"# key = {text(keys[0].name)}  # no value is missing and no two are equal; without a "
            "key the line serves"
        )
    people = [column for column in columns if column.may_name_person and not column.is_key]
    if people:
        lines.append(f"# person = {text(people[0].name)}  # where it says whose row it is")
    return lines


def _columns(columns: Sequence[ColumnDraft]) -> list[str]:
    named = [column for column in columns if column.identity is not None]
    others = [column for column in columns if column.identity is None]
    return [
        "[columns]",
        "# Columns that name a person. They are never published.",
        "identifying = [",
        *_listed(named, [str(column.identity) for column in named], mark=""),
        "]",
        "# Columns that could be linked with what others know. DECIDE for every line: uncomment it",
        "# here, or move it to another list and uncomment it there.",
        "quasi = [",
        *_listed(others, ["; ".join(_described(column)) for column in others], mark="# "),
        "]",
        "# What nobody may be linked to: one column, or several for the method slicing.",
        "sensitive = [",
        "]",
        "# Columns that are published as they are.",
        "insensitive = [",
        "]",
    ]


def _listed(columns: Sequence[ColumnDraft], remarks: Sequence[str], *, mark: str) -> Iterator[str]:
    names = [f"{text(column.name)}," for column in columns]
    width = min(max(map(len, names), default=0), 30)
    for column, remark in zip(names, remarks, strict=True):
        yield f"    {mark}{column:<{width}}  # {comment(remark)}"


def _described(column: ColumnDraft) -> Iterator[str]:
    yield "no plain value" if column.type is None else str(column.type)
    yield from column.remarks


def _types(columns: Sequence[ColumnDraft]) -> list[str]:
    coded = [c for c in columns if c.type is ColumnType.INTEGER and 2 < c.n_distinct <= 10]
    return [
        "[types]",
        "# A type where it should not be read off the values, such as",
        '# size = ["small", "middle", "large"]  # the values of an ordered column, lowest first',
        *(f'# {key(c.name)} = "categorical"  # where its numbers are codes' for c in coded),
    ]


def _hierarchies(columns: Sequence[ColumnDraft]) -> list[str]:
    lines = [
        "[hierarchies]",
        "# How the values of quasi-identifying columns are generalized. Without one, numbers and",
        "# dates become ranges of any width, and texts become sets.",
    ]
    for column in columns:
        if column.identity is not None:
            continue
        if column.hierarchy is not None:
            lines.append(f"# {key(column.name)} = {inline(column.hierarchy)}")
        elif column.type is ColumnType.CATEGORICAL and column.n_distinct > 2:
            path = text(f"hierarchies/{_file_name(column.name)}.csv")
            lines.append(f"# {key(column.name)} = {path}  # value;parent;...;*")
    return lines


def _file_name(column: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in column) or "column"


# --- hierarchies to begin with ---------------------------------------------------------------


def suggested_hierarchy(values: Values) -> Mapping[str, object] | None:
    """Suggest a hierarchy, as the configuration holds it; None where none suggests itself.

    Parameters
    ----------
    values
        What was counted of the column.
    """
    if values.n_timed or values.type is None or values.n_distinct < _FEWEST_VALUES:
        return None
    if is_postcode_like(values):
        return {"prefix": list(range(len(values.texts[0]), 0, -2))}
    if values.type is ColumnType.DATE:
        return {"dates": ["month", "year", "decade"]}
    if values.type in (ColumnType.INTEGER, ColumnType.REAL):
        return _intervals(values)
    return None


def _intervals(values: Values) -> Mapping[str, object] | None:
    """Suggest cuts near the quantiles, rounded so that no cut is a value by more than chance."""
    numbers = values.texts.astype(np.float64)
    if not np.isfinite(numbers).all():
        return None
    order = np.argsort(numbers)
    numbers, counts = numbers[order], values.counts[order]
    is_whole = values.type is ColumnType.INTEGER
    # Where most rows share few values, quantiles of the different values say more.
    for weights in (counts, np.ones_like(counts)):
        if weights.sum() < _N_INTERVALS * _FEWEST_BEYOND:
            continue
        cuts = _rounded_quantiles(numbers, weights, is_whole=is_whole)
        if len(cuts) >= _N_INTERVALS // 2:
            return {"intervals": cuts}
    width = _round_step((numbers[-1] - numbers[0]) / _N_INTERVALS, is_whole=is_whole)
    return {"width": width} if width > 0 else None


def _rounded_quantiles(
    numbers: npt.NDArray[np.float64], weights: npt.NDArray[np.int64], *, is_whole: bool
) -> list[float]:
    cumulated = np.cumsum(weights)
    targets = cumulated[-1] * np.arange(1, _N_INTERVALS) / _N_INTERVALS
    quantiles = numbers[np.searchsorted(cumulated, targets)]
    step = _round_step((quantiles[-1] - quantiles[0]) / (2 * _N_INTERVALS), is_whole=is_whole)
    if step <= 0:
        return []
    places = dict.fromkeys(round(quantile / step) for quantile in quantiles.tolist())
    return [_plain(place, step) for place in places]


def _round_step(width: float, *, is_whole: bool) -> float:
    """Give 1, 2 or 5 times a power of ten, at least as large as a width."""
    if not 0 < width < math.inf:
        return 0
    power = 10.0 ** math.floor(math.log10(width))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= width * 0.999)
    return max(round(step), 1) if is_whole else float(f"{step:.12g}")


def _plain(place: int, step: float) -> float:
    return place * step if isinstance(step, int) else float(f"{place * step:.12g}")
