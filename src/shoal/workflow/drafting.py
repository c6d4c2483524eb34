"""Draft a configuration for a table that nobody has described yet.

The draft is TOML that parses, with every column in it. It is not a valid configuration: columns
that look like identifiers are listed under identifying, all others are commented out, and Shoal
refuses the file until the steward has given each of them a role.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shoal.core.documents import toml_comment, toml_inline, toml_key, toml_text
from shoal.core.domain import ColumnType
from shoal.hierarchies.levels import DRAFTED_QUANTILES, MOST_VALUES
from shoal.workflow.profile_columns import ColumnProfile, percent
from shoal.workflow.recognition import Kind


def draft(
    name: str, source: str | None, options: Mapping[str, str], columns: Sequence[ColumnProfile]
) -> str:
    """Return the text of the draft.

    `source` is the path of the source, or None if it is not a file; `options` are the options of
    reading that differ from the defaults.
    """
    sections = [
        _head(name),
        _table(source, options, columns),
        _columns(columns),
        _types(columns),
        _hierarchies(columns),
        _levels(columns),
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
# If one value is more frequent than that, name the values to protect, which count as one:
# protect = ["..."]
# Anatomy keeps every value and cuts the link between a person and the sensitive one instead. In
# place of the lines above:
# name = "anatomy"
# ell = 3

# An attack with max_people is judged: if more people are at risk, nothing is published. Every
# other attack that fits is run and reported.
[attacks.homogeneity]
max_people = 0

# How well a line can be found; the limit is 1/k. A release by Anatomy shows who is in the table:
# delete this section there, or give it a limit of its own.
[attacks.linkage]
max_people = 0

# What the release itself teaches about kinds of people: the number of people who may be exposed.
# [attacks.foreground]
# max_people = 0

# How well people in the table can be told from others: the largest AUC, from 0.5 (not at all) to 1.
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
    source = toml_text(name)
    return [
        f"# Drafted by `shoal profile` from {source}. Edit it, then run: shoal publish shoal.toml",
        "# Every column needs one role. Roles are never guessed, so this file is refused until",
        "# each column is in one of the four lists below.",
    ]


def _table(
    source: str | None, options: Mapping[str, str], columns: Sequence[ColumnProfile]
) -> list[str]:
    lines = ["[table]"]
    if source is None:
        lines.append('source = "people.parquet"  # the table was not a file: save it as one')
    else:
        lines.append(f"source = {toml_text(source)}")
    lines += [f"{option} = {toml_text(value)}" for option, value in options.items()]
    keys = [column for column in columns if column.is_key and column.identity is not None]
    if keys:
        lines.append(
            f"# key = {toml_text(keys[0].name)}  # no value is missing and no two are equal; "
            "without a key, the line number is used"
        )
    people = [column for column in columns if _may_name_unit(column)]
    # A column whose rows were found to belong together goes before one with a promising name.
    people.sort(key=lambda column: column.recognised is None)
    if people:
        lines.append(f"# person = {toml_text(people[0].name)}  # {_question(people[0])}")
    return lines


def _may_name_unit(column: ColumnProfile) -> bool:
    found = column.recognised
    is_unit = found is not None and found.kind in (Kind.UNIT, Kind.HOUSEHOLD)
    return is_unit or (column.may_name_person and found is None and not column.is_key)


def _question(column: ColumnProfile) -> str:
    if column.recognised is not None and column.recognised.kind is Kind.HOUSEHOLD:
        return "if households, not people, are to be protected as one"
    return "if it says whose row it is"


def _columns(columns: Sequence[ColumnProfile]) -> list[str]:
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


def _listed(
    columns: Sequence[ColumnProfile], remarks: Sequence[str], *, mark: str
) -> Iterator[str]:
    names = [f"{toml_text(column.name)}," for column in columns]
    width = min(max(map(len, names), default=0), 30)
    for column, remark in zip(names, remarks, strict=True):
        yield f"    {mark}{column:<{width}}  # {toml_comment(remark)}"


def _described(column: ColumnProfile) -> Iterator[str]:
    yield "no plain value" if column.type is None else str(column.type)
    yield from _remarks(column)


def _remarks(column: ColumnProfile) -> tuple[str, ...]:
    alone = f"{percent(column.unique_share)} of the rows have a unique value"
    missing = f"{column.n_missing} missing"
    parts = [f"{column.n_distinct} values", alone * bool(column.n_unique)]
    return (*(part for part in (*parts, missing * bool(column.n_missing)) if part), *column.hints)


def _types(columns: Sequence[ColumnProfile]) -> list[str]:
    coded = [c for c in columns if _may_be_coded(c)]
    return [
        "[types]",
        "# Types that should not be inferred from the values, such as",
        '# size = ["small", "medium", "large"]  # the values of an ordered column, lowest first',
        *(f'# {toml_key(c.name)} = "categorical"  # if its numbers are codes' for c in coded),
    ]


def _may_be_coded(column: ColumnProfile) -> bool:
    is_recognised = column.recognised is not None and column.recognised.kind is Kind.CODE
    return is_recognised or (column.type is ColumnType.INTEGER and 2 < column.n_distinct <= 10)


def _hierarchies(columns: Sequence[ColumnProfile]) -> list[str]:
    lines = [
        "[hierarchies]",
        "# How the values of quasi-identifying columns are generalized. Without one, numbers and",
        "# dates become ranges of any width, and texts become sets.",
    ]
    for column in columns:
        if column.identity is not None:
            continue
        if column.hierarchy is not None:
            lines.append(f"# {toml_key(column.name)} = {toml_inline(column.hierarchy)}")
        elif column.type is ColumnType.CATEGORICAL and column.n_distinct > 2:
            path = toml_text(f"hierarchies/{_file_name(column.name)}.csv")
            lines.append(f"# {toml_key(column.name)} = {path}  # value;parent;...;*")
    return lines


def _levels(columns: Sequence[ColumnProfile]) -> list[str]:
    lines = [
        "[levels]",
        f"# If a sensitive column has more than {MOST_VALUES} values, say at which levels it is",
        "# protected and attacked; what is published stays exact. Without a line, levels are drawn",
        "# from the table. Keep the lines of sensitive columns only.",
    ]
    for column in columns:
        if column.identity is not None or column.n_distinct <= MOST_VALUES:
            continue
        name = toml_key(column.name)
        if column.type is not None and column.type.is_numeric:
            levels = f"{{ quantiles = {DRAFTED_QUANTILES} }}"
            remark = "intervals of about equally many people, or { intervals = [...] }"
        else:
            levels = "{ node_level = 1 }"
            remark = "the nodes above the values of its hierarchy, which it needs"
        lines.append(f"# {name} = {levels}  # {column.n_distinct} values; {remark}")
    return lines


def _file_name(column: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in column) or "column"
