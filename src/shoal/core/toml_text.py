"""Write texts, keys, tables and documents as TOML."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Mapping

_ODD_CHARACTERS = "".join(map(chr, [0x7F, *range(0x80, 0xA0), 0x2028, 0x2029]))


def text(value: str) -> str:
    r"""Return a text as a TOML string.

    Examples
    --------
    >>> print(text('a "b"'))
    "a \"b\""
    """
    quoted = json.dumps(value, ensure_ascii=False)
    return "".join(
        f"\\u{ord(letter):04x}" if letter in _ODD_CHARACTERS else letter for letter in quoted
    )


def key(name: str) -> str:
    """Return a key in TOML, bare if possible.

    Examples
    --------
    >>> key("age"), key("née")
    ('age', '"née"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else text(name)


def comment(value: str) -> str:
    """Return a text that stays on one line, for a comment."""
    return text(value)[1:-1].replace('\\"', '"')


def inline(table: Mapping[str, object]) -> str:
    """Return a table of texts, numbers, and lists and tables of them as an inline TOML table.

    Examples
    --------
    >>> inline({"prefix": [5, 3, 1], "flat": True})
    '{ prefix = [5, 3, 1], flat = true }'
    """
    entries = ", ".join(f"{key(name)} = {_value(value)}" for name, value in table.items())
    return f"{{ {entries} }}"


def document(sections: Mapping[str, Mapping[str, object]]) -> str:
    """Return a TOML document of sections; entries that are None are left out.

    Examples
    --------
    >>> print(document({"table": {"source": "people.csv"}, "attacks": {"linkage": {}}}))
    [table]
    source = "people.csv"
    <BLANKLINE>
    [attacks]
    linkage = {  }
    <BLANKLINE>
    """
    written = [
        "\n".join(
            [f"[{key(name)}]"]
            + [
                f"{key(entry)} = {_value(value)}"
                for entry, value in section.items()
                if value is not None
            ]
        )
        for name, section in sections.items()
    ]
    return "\n\n".join(written) + "\n"


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return inline({name: entry for name, entry in value.items() if entry is not None})
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return text(value) if isinstance(value, str) else repr(value)
