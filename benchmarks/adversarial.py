"""Adversarial rules: mining them, and blanking few cells until none is left ([Aggarwal06]).

No other package hides cells from rules, nor mines the rules that disclose private cells. Mining
searches the frequent itemsets of the visible cells, which mlxtend and pyfim list; pyfim also lists
the rules of a given confidence. Shoal's mining is compared with them on the same items at the same
support.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil

from context import Context
from marked_tables import MarkedTable
from measure import Outcome
from report import Line, Sheet

_DELTA = "0.8"
_SEED = 0
_DRAWS = 10
_SMALL, _MANY = 10_000, 100_000
_SHARE_PRIVATE = 100
_N_COLUMNS = 10
_GAMMA = "0.001"
_GAMMAS_OF_MANY = ("0.0005", "0.0001")
_GAMMA_OF_ADULT = "0.02"
_ROWS_OF_ADULT = 45_222
_PRIVATE_IN_ADULT = (10_000, 30_000, 50_000)
_PRIVATE_AIMED_AT = 30_000
_AIMS = {"mine": 0.2, "hide": 1.0, "adult": 2.0, "many": 6.0}

_HIDINGS: Mapping[str, Mapping[str, object]] = {
    "hide, paper": {"mode": "paper", "shrink": False},
    "hide, paper, shrunk": {"mode": "paper"},
    "hide, public": {"mode": "public", "shrink": False},
    "hide, public, shrunk (the default)": {"mode": "public"},
    "hide, oblivious": {"mode": "oblivious"},
}
_DEFAULT = "hide, public, shrunk (the default)"
_PRINTED: Mapping[str, Mapping[str, object]] = {
    "hide, paper, a single pass": {"mode": "paper", "single_pass": True},
    "hide, paper, a single pass by thirties": {
        "mode": "paper",
        "single_pass": True,
        "blank_per_round": 30,
    },
}
_PAPER = (
    "The paper, on a laptop of 2006: 1,988 seconds and 545 cells for the single pass, 157 seconds "
    "and 1,320 cells by thirties, less than 5 seconds for mining. It has no other line of these."
)
_THIRTIES = (
    "By thirties the order of equally heavy cells matters: Shoal takes them column by column, of "
    "which the paper says nothing."
)
_WHOLE = (
    "Every hiding starts from the table: the rules are mined within it, and again until none is "
    "left. Only a single pass may leave some."
)
_PEERS = {
    "pyfim fpgrowth: list itemsets": ("pyfim", "fpgrowth"),
    "pyfim eclat: list itemsets": ("pyfim", "eclat"),
    "pyfim fpgrowth: list rules of confidence 0.8": ("pyfim", "rules"),
    "mlxtend fpgrowth: list itemsets": ("mlxtend", "fpgrowth"),
}
_ITEMS = (
    "An item is a visible value of a column. The peers know no private cells: their rules count "
    "rows that hide the value as if they had another, and may fire at no private cell. Shoal "
    "leaves out antecedents by which no private cell can be predicted."
)


def run(context: Context) -> Iterator[Sheet]:
    """Measure mining and hiding on Zipf tables and on Adult, then mining against the peers."""
    zipf, many = _zipf(_SMALL), _zipf(_MANY)
    yield _small_sheet(context, zipf)
    for gamma in _GAMMAS_OF_MANY:
        yield _many_sheet(context, many, gamma)
    if context.table.adult is not None:
        for n_private in _PRIVATE_IN_ADULT:
            yield _adult_sheet(context, _adult(context, n_private))
    yield _beside_peers(context, "a Zipf table", zipf, _GAMMA)
    if context.table.adult is not None:
        adult = _adult(context, _PRIVATE_AIMED_AT)
        yield _beside_peers(context, "Adult", adult, _GAMMA_OF_ADULT)


def _zipf(n_rows: int) -> MarkedTable:
    n_private = n_rows * _N_COLUMNS // _SHARE_PRIVATE
    return MarkedTable(adult=None, n_rows=n_rows, n_private=n_private)


def _adult(context: Context, n_private: int) -> MarkedTable:
    return MarkedTable(adult=context.table.adult, n_rows=_ROWS_OF_ADULT, n_private=n_private)


# --- mining and hiding ------------------------------------------------------------------------


def _small_sheet(context: Context, table: MarkedTable) -> Sheet:
    lines = {
        **_mining_lines(context, table, _GAMMA),
        **_hiding_lines(context, table, _GAMMA, _PRINTED, n_draws=_DRAWS),
        **_hiding_lines(context, table, _GAMMA, _HIDINGS, n_draws=_DRAWS),
    }
    return Sheet(
        title=_title("a Zipf table", table, _GAMMA),
        lines=tuple(lines.values()),
        remarks=(
            _judge("mining", lines["mine, paper"], _AIMS["mine"]),
            _judge("hiding one cell at a time", lines["hide, paper"], _AIMS["hide"]),
            _judge("hiding by default", lines[_DEFAULT], _AIMS["hide"]),
            _WHOLE,
            _PAPER,
            _THIRTIES,
        ),
    )


def _many_sheet(context: Context, table: MarkedTable, gamma: str) -> Sheet:
    lines = {
        **_mining_lines(context, table, gamma),
        **_hiding_lines(context, table, gamma, _HIDINGS),
    }
    return Sheet(
        title=_title("a Zipf table", table, gamma),
        lines=tuple(lines.values()),
        remarks=(
            _judge("hiding one cell at a time", lines["hide, paper"], _AIMS["many"]),
            _judge("hiding by default", lines[_DEFAULT], _AIMS["many"]),
        ),
    )


def _adult_sheet(context: Context, table: MarkedTable) -> Sheet:
    lines = {
        **_mining_lines(context, table, _GAMMA_OF_ADULT),
        **_hiding_lines(context, table, _GAMMA_OF_ADULT, _HIDINGS),
    }
    remarks = (
        _judge("hiding one cell at a time", lines["hide, paper"], _AIMS["adult"]),
        _judge("hiding by default", lines[_DEFAULT], _AIMS["adult"]),
    )
    return Sheet(
        title=_title("Adult", table, _GAMMA_OF_ADULT),
        lines=tuple(lines.values()),
        remarks=remarks if table.n_private == _PRIVATE_AIMED_AT else (),
    )


def _title(name: str, table: MarkedTable, gamma: str) -> str:
    return (
        f"Adversarial rules of {name}: {table.n_rows:,} rows, {table.n_private:,} private cells, "
        f"delta {_DELTA}, gamma {gamma}"
    )


def _mining_lines(context: Context, table: MarkedTable, gamma: str) -> dict[str, Line]:
    return {
        f"mine, {mode}": _mining_line(context, table, gamma, mode) for mode in ("paper", "public")
    }


def _mining_line(context: Context, table: MarkedTable, gamma: str, mode: str) -> Line:
    outcome = context.shoal("mine adversarial", {**_asked(table, gamma), "mode": mode})
    return Line(what=f"mine, {mode}", outcome=outcome, found=_found(outcome))


def _hiding_lines(
    context: Context,
    table: MarkedTable,
    gamma: str,
    hidings: Mapping[str, Mapping[str, object]],
    n_draws: int = 1,
) -> dict[str, Line]:
    lines = {}
    for what, parameters in hidings.items():
        options = {**_asked(table, gamma), "parameters": dict(parameters), "n_draws": n_draws}
        outcome = context.shoal("hide adversarial", options)
        lines[what] = Line(what=what, outcome=outcome, found=_found(outcome))
    return lines


def _asked(table: MarkedTable, gamma: str) -> dict[str, object]:
    return {"table": table.to_dict(), "seed": _SEED, "delta": _DELTA, "gamma": gamma}


def _found(outcome: Outcome) -> str:
    answer: dict[str, int] = dict(outcome.answer or {})
    if "fewest" not in answer:
        return ", ".join(f"{number:,} {name}" for name, number in answer.items())
    fewest, most = answer.pop("fewest"), answer.pop("most")
    told = ", ".join(f"{number:,} {name}" for name, number in answer.items())
    return f"{told}; {fewest:,} to {most:,} cells in {_DRAWS} draws"


def _judge(what: str, line: Line, aim: float) -> str:
    seconds = line.outcome.seconds
    if seconds is None:
        return f"{what}: aim at most {aim:g} CPU seconds; it could not be measured."
    reached = "reached" if seconds <= aim else "missed"
    return f"{what}: aim at most {aim:g} CPU seconds; {reached} ({seconds:.3g})."


# --- mining beside the peers ------------------------------------------------------------------


def _beside_peers(context: Context, name: str, table: MarkedTable, gamma: str) -> Sheet:
    context.say("the items of every row")
    path = context.folder / "visible-items.json"
    table.write_items(path, _SEED)
    support = ceil(Fraction(gamma) * table.n_rows)
    ours = _mining_line(context, table, gamma, "public")
    options = {"path": str(path), "support": support, "most": _N_COLUMNS}
    lines = [Line(what="Shoal: list rules", outcome=ours.outcome, found=ours.found)]
    for label, (peer, measure) in _PEERS.items():
        outcome = context.peer(peer, measure, options)
        found = _found(outcome)
        lines.append(Line(what=label, outcome=outcome, against=ours.outcome, found=found))
    return Sheet(
        title=f"Mining adversarial rules beside mining itemsets, on {name}, from {support} rows",
        lines=tuple(lines),
        remarks=(_ITEMS, *_judge_peers(lines)),
    )


def _judge_peers(lines: list[Line]) -> Iterator[str]:
    for line in lines:
        if line.ratio is not None:
            reached = "ahead" if line.ratio > 1 else "behind"
            yield f"{line.what}: aim to be ahead of it; {reached} ({line.ratio:.3g} times)."
