"""Write the tables of docs/reference.md from the code: python docs/write_reference.py [--check].

What a class takes is declared once, with its fields; the page repeats it between the lines
`<!-- begin NAME -->` and `<!-- end NAME -->`. Everything else on the page is written by hand.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from shoal.core.manifest import GUARANTEES
from shoal.core.registry import find, names
from shoal.core.shapes import Shape
from shoal.workflow.make import accepted_by

PAGE = Path(__file__).parent / "reference.md"


def page(text: str) -> str:
    """Return the page with its generated parts as they should be."""
    for name, written in {
        "methods": _classes("shoal.methods", _method_facts),
        "attacks": _classes("shoal.attacks", _attack_facts),
        "measures": _classes("shoal.measures", _measure_facts),
        "guarantees": _guarantees(),
    }.items():
        block = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        text, n_found = block.subn(lambda found, w=written: f"{found[1]}\n{w}\n{found[2]}", text)
        if n_found != 1:
            message = f"{PAGE.name} has {n_found} places for the {name}"
            raise SystemExit(message)
    return text


def _classes(package: str, facts: Any) -> str:
    parts = []
    for name in sorted(names(package)):
        found = find(package, name)
        parts += [
            f"### `{name}`\n",
            f"{_first(found)} {facts(found)}\n",
            _table(("parameter", "takes", "meaning"), _rows(found)) + "\n",
        ]
    return "\n".join(parts)


def _rows(found: Any) -> Iterable[tuple[str, ...]]:
    for name, one in accepted_by(found).items():
        takes = f"{one.takes}; needed" if one.is_required else one.takes
        yield f"`{name}`", takes, one.text


def _method_facts(found: Any) -> str:
    return " ".join(
        re.sub(r"\s+", " ", f"*{word}*: {_sentence(found, word)}")
        for word in ("Guarantee", "Publishes")
    )


def _sentence(found: Any, word: str) -> str:
    """Return the first sentence after a word of the notes."""
    said = inspect.getdoc(found).partition(f"{word}: ")[2].partition("\n\n")[0]
    return re.split(r"(?<=\.)\s", said)[0]


def _attack_facts(found: Any) -> str:
    return f"*On*: {_shapes(found)}. *The adversary knows* {found.knows}."


def _measure_facts(found: Any) -> str:
    return f"*On*: {_shapes(found)}."


def _shapes(found: Any) -> str:
    return ", ".join(sorted(map(str, Shape.counted_as(found.reads))))


def _guarantees() -> str:
    rows = [
        (name, f"`{cls.__name__}`", ", ".join(f"`{one}`" for one in accepted_by(cls)), _first(cls))
        for name, cls in GUARANTEES.items()
    ]
    return _table(("guarantee", "class", "parameters", "promise"), rows) + "\n"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in escaped)


def _first(found: Any) -> str:
    return inspect.getdoc(found).partition("\n")[0]


if __name__ == "__main__":
    before = PAGE.read_text(encoding="utf-8")
    after = page(before)
    if "--check" in sys.argv:
        sys.exit(before != after)
    PAGE.write_text(after, encoding="utf-8")
