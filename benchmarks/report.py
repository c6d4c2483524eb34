"""The results of a benchmark, as tables to read and as JSON to keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from measure import Outcome
from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, kw_only=True)
class Line:
    """One measurement."""

    what: str
    outcome: Outcome
    # The outcome of Shoal for the nearest thing; the ratio is to this.
    against: Outcome | None = None
    found: str = ""  # The result in a few words.
    n_rows: int | None = None  # The number of rows, if the cost per row is worth reporting.

    @property
    def ratio(self) -> float | None:
        """The CPU seconds divided by those of Shoal."""
        base = None if self.against is None else self.against.seconds
        return self.outcome.seconds / base if self.outcome.seconds is not None and base else None

    @property
    def microseconds_a_row(self) -> float | None:
        """The CPU time per row."""
        seconds = self.outcome.seconds
        return 1e6 * seconds / self.n_rows if seconds is not None and self.n_rows else None

    def to_dict(self) -> dict[str, object]:
        """Return the line as plain values for JSON."""
        return {
            "what": self.what,
            "seconds": self.outcome.seconds,
            "wall": self.outcome.wall_seconds,
            "peak": self.outcome.peak,
            "disk": self.outcome.disk,
            "microseconds_a_row": self.microseconds_a_row,
            "ratio": self.ratio,
            "found": self.found,
            "outcome": self.outcome.to_dict(),
        }


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """The results of a benchmark on one question, which is the title."""

    title: str
    lines: tuple[Line, ...]
    ratio: str = "ratio to Shoal"  # The header of the ratios.
    remarks: tuple[str, ...] = field(default=())  # Aims, agreement, differences of definition.

    def to_dict(self) -> dict[str, object]:
        """Return the sheet as plain values for JSON."""
        return {
            "title": self.title,
            "lines": [line.to_dict() for line in self.lines],
            "remarks": list(self.remarks),
        }


def show(console: Console, sheet: Sheet) -> None:
    """Print a sheet."""
    table = Table(title=sheet.title, title_justify="left", title_style="bold")
    table.add_column("what")
    for name in _columns(sheet):
        table.add_column(name, justify="right")
    table.add_column("what came out")
    for line in sheet.lines:
        cells = _cells(line, sheet)
        table.add_row(line.what, *(cells[name] for name in _columns(sheet)), line.found)
    console.print(table)
    for remark in sheet.remarks:
        console.print(f"  {remark}", highlight=False)
    console.print()


def _columns(sheet: Sheet) -> list[str]:
    """Return the columns with numbers; some exist only if a line has them."""
    columns = ["CPU s", "wall s", "peak MB", sheet.ratio]
    if any(line.outcome.disk is not None for line in sheet.lines):
        columns.insert(3, "disk MB")
    if any(line.n_rows is not None for line in sheet.lines):
        columns.insert(1, "CPU us/row")
    return columns


def _cells(line: Line, sheet: Sheet) -> dict[str, str]:
    outcome = line.outcome
    return {
        "CPU s": outcome.problem or _seconds(outcome.seconds),
        "CPU us/row": _seconds(line.microseconds_a_row),
        "wall s": _seconds(outcome.wall_seconds),
        "peak MB": _megabytes(outcome.peak),
        "disk MB": _megabytes(outcome.disk),
        sheet.ratio: _ratio(line.ratio),
    }


def describe_release(answer: Mapping[str, int] | None) -> str:
    """Describe the number of buckets and rows of a release."""
    if not answer:
        return ""
    parts = [f"{answer['buckets']:,} buckets"]
    if "rows" in answer:
        parts.append(f"{answer['rows']:,} rows")
    return ", ".join(parts)


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 0.001:
        return f"{seconds:.5f}"
    return f"{seconds:.2f}" if seconds >= 1 else f"{seconds:.3f}"


def _megabytes(size: float | None) -> str:
    return "" if size is None else f"{size:,.0f}"


def _ratio(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"
