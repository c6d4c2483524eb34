"""Measure Shoal and its peers side by side, in one run.

``python benchmarks/run.py --install --adult adult.csv``; see the README in this folder.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import adversarial
import anonymizing
import checking
import comparing
import engines
import foreground
import full_domain
import injector
import profiling
import publishing
import scaling
import slicing
import starting
import waiting
from context import Context
from environments import PEERS, SHOAL, install
from measure import Limits
from report import Sheet, show
from rich.console import Console
from tables import prepare

from shoal.core import kernels

BENCHMARKS: Mapping[str, Callable[[Context], Iterator[Sheet]]] = {
    "anonymizing": anonymizing.run,
    "checking": checking.run,
    "starting": starting.run,
    "scaling": scaling.run,
    "injector": injector.run,
    "full_domain": full_domain.run,
    "adversarial": adversarial.run,
    "slicing": slicing.run,
    "foreground": foreground.run,
    "waiting": waiting.run,
    "profiling": profiling.run,
    "publishing": publishing.run,
    "comparing": comparing.run,
    "engines": engines.run,
}
_USUAL = (
    "anonymizing",
    "checking",
    "starting",
    "scaling",
    "injector",
    "full_domain",
    "adversarial",
    "slicing",
    "foreground",
)
"""The benchmarks that run by default; the others take an hour."""
_BYTES_A_GIGABYTE = 2**30
_INSTALL = "python benchmarks/run.py --install"


def main() -> None:
    """Run the chosen benchmarks."""
    arguments = _arguments()
    console = Console(width=None if os.isatty(1) else 150)
    if arguments.install:
        with console.status("installing the peers"):
            problems = install(list(PEERS.values()))
        for name, problem in problems.items():
            console.print(f"{name} could not be installed: {problem}", highlight=False)
    versions = _versions()
    _introduce(console, versions, arguments.adult)
    sheets: list[Sheet] = []
    with tempfile.TemporaryDirectory(prefix="shoal-benchmarks-") as folder, console.status("") as s:
        context = Context(
            table=prepare(arguments.adult, Path(folder)),
            folder=Path(folder),
            limits=Limits(repeat=arguments.repeat, seconds=arguments.limit),
            installed=frozenset(name for name in PEERS if name in versions[name]),
            is_large=arguments.large,
            is_huge=arguments.huge,
            rows=tuple(arguments.rows or ()),
            say=s.update,
        )
        for name in arguments.only or _USUAL:
            for sheet in BENCHMARKS[name](context):
                show(console, sheet)
                sheets.append(sheet)
    if arguments.json:
        _keep(arguments.json, versions, sheets)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure Shoal beside its peers.")
    adult = os.environ.get("SHOAL_ADULT")
    parser.add_argument(
        "--adult",
        type=Path,
        default=Path(adult) if adult else None,
        help="the Adult table, as shoal.datasets.adult reads it (default: $SHOAL_ADULT)",
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=BENCHMARKS,
        help=f"a benchmark; may be repeated (default: {', '.join(_USUAL)})",
    )
    parser.add_argument(
        "--repeat", type=int, default=5, help="how often at most; the least time counts"
    )
    parser.add_argument(
        "--limit", type=float, default=120.0, help="CPU seconds after which a measure is ended"
    )
    parser.add_argument(
        "--large",
        action="store_true",
        help="scaling: 4.5 million rows too; profiling: 50,000 x 1,000 too; takes many minutes",
    )
    parser.add_argument(
        "--huge", action="store_true", help="publishing: 45 million rows too; takes an hour"
    )
    parser.add_argument(
        "--rows",
        type=int,
        action="append",
        help="publishing, engines: another size than the usual ones; may be repeated",
    )
    parser.add_argument("--json", type=Path, help="a file to keep the results in")
    parser.add_argument(
        "--install", action="store_true", help="install the peers that are not there yet"
    )
    return parser.parse_args()


def _versions() -> dict[str, dict[str, str]]:
    environments = {"shoal": SHOAL, **PEERS}
    return {name: environment.versions() for name, environment in environments.items()}


def _introduce(
    console: Console, versions: Mapping[str, Mapping[str, str]], adult: Path | None
) -> None:
    console.print(f"{_today()}, {_machine()}")
    for name, found in versions.items():
        told = ", ".join(f"{package} {version}" for package, version in found.items())
        console.print(f"{name}: {told or f'not installed; {_INSTALL}'}", highlight=False)
    for name, is_compiled in _kernels().items():
        how = "compiled" if is_compiled else "plain Python (slow)"
        console.print(f"  {name}: {how}", highlight=False)
    if adult is None:
        console.print("No Adult table is given (--adult): a generated census stands in for it.")
    console.print()


def _today() -> str:
    return dt.datetime.now(tz=dt.UTC).date().isoformat()


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _BYTES_A_GIGABYTE
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GB, "
        f"Python {platform.python_version()}"
    )


def _kernels() -> dict[str, bool]:
    return {name: kernels.is_compiled(name) for name in kernels.find_kernels()}


def _keep(path: Path, versions: Mapping[str, Mapping[str, str]], sheets: list[Sheet]) -> None:
    kept = {
        "date": _today(),
        "machine": _machine(),
        "versions": versions,
        "kernels_compiled": _kernels(),
        "sheets": [sheet.to_dict() for sheet in sheets],
    }
    path.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
