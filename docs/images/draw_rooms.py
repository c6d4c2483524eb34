"""Draw the rooms of the package and their imports: python docs/images/draw_rooms.py [--check].

The picture is made from the import graph, so it shows what is, not what was meant. An arrow that
follows from others (A to B to C makes A to C) is left out.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from xml.sax.saxutils import escape

import grimp

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "images" / "rooms.svg"
WIDTH, ROW, BOX, HEIGHT = 900, 66, 124, 34
CATALOGUES = "catalogues"
COLUMN = {
    "catalogues": 350,
    "report": 560,
    "calibration": 80,
    "engines": 820,
    "foreground": 150,
    "membership": 310,
    "intersection": 700,
    "slicing": 230,
    "hiding": 420,
    "utility": 570,
    "grouping": 230,
    "beliefs": 230,
    "injector": 400,
    "locating": 580,
    "datasets": 730,
    "hierarchies": 400,
    "core": 480,
}
"""The middle of a room's box, where the middle of the picture would hide an arrow."""


def layers() -> list[list[str]]:
    """Return the rooms from top to bottom, as the first contract of import-linter lists them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    first = project["tool"]["importlinter"]["contracts"][0]
    rows = [[name.strip() for name in line.split("|")] for line in first["layers"]]
    named = [row for row in rows if row != ["__main__"]]
    return [[CATALOGUES] if "methods" in row else row for row in named]


def imports() -> set[tuple[str, str]]:
    """Return which room imports which."""
    graph = grimp.build_graph("shoal", cache_dir=None)
    packages = {path.name for path in (ROOT / "src" / "shoal").iterdir() if path.is_dir()}

    def room(module: str) -> str | None:
        name = module.split(".")[1] if "." in module else ""
        if name in packages:
            return name
        return CATALOGUES if name and name != "__main__" else None

    pairs = {
        (room(one), room(other))
        for one in graph.modules
        for other in graph.find_modules_directly_imported_by(one)
    }
    return {(a, b) for a, b in pairs if a and b and a != b}


def reduced(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Leave out the pairs that follow from others."""
    below: dict[str, set[str]] = {}
    for a, b in pairs:
        below.setdefault(a, set()).add(b)

    def reach(room: str, seen: set[str]) -> set[str]:
        for other in below.get(room, ()):
            if other not in seen:
                seen.add(other)
                reach(other, seen)
        return seen

    return {
        (a, b)
        for a, b in pairs
        if not any(b in reach(other, set()) for other in below[a] if other != b)
    }


def draw() -> str:
    """Return the picture as SVG."""
    rows = layers()
    place = {}
    for number, row in enumerate(rows):
        for name in row:
            place[name] = (COLUMN.get(name, WIDTH // 2), 30 + ROW * number)
    parts = []
    for a, b in sorted(reduced(imports())):
        (x1, y1), (x2, y2) = place[a], place[b]
        top, bottom = y1 + HEIGHT / 2, y2 - HEIGHT / 2
        middle = (top + bottom) / 2
        parts.append(
            f'<path d="M{x1:g},{top:g} C{x1:g},{middle:g} {x2:g},{middle:g} {x2:g},{bottom:g}" '
            'fill="none" stroke="#8a9ba8" marker-end="url(#end)"/>'
        )
    for name, (x, y) in place.items():
        parts.append(
            f'<rect x="{x - BOX / 2:g}" y="{y - HEIGHT / 2:g}" width="{BOX}" height="{HEIGHT}" '
            'rx="5" fill="#eaf2f8" stroke="#2f6690"/>'
            f'<text x="{x:g}" y="{y + 5:g}" text-anchor="middle">{escape(name)}</text>'
        )
    height = 30 + ROW * (len(rows) - 1) + 30
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="15">\n'
        "<title>The rooms of Shoal, and which imports which</title>\n"
        '<defs><marker id="end" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0,0 L10,5 L0,10 z" fill="#8a9ba8"/></marker>'
        '</defs>\n<rect width="100%" height="100%" fill="#ffffff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def main() -> int:
    """Draw the picture, or say whether it is up to date."""
    picture = draw()
    if "--check" in sys.argv:
        return int(PICTURE.read_text(encoding="utf-8") != picture)
    PICTURE.write_text(picture, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
