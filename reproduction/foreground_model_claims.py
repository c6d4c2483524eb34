"""The claims of [Wong11] about Figures 1 to 3, compared with the outcomes of our releases.

References
----------
[Wong11] (see `reproduction.foreground_trials`) Sections 3 and 5.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from reproduction.foreground_trials import percent
from reproduction.reproduced import Statement, claimed, compared
from shoal.foreground.scoring import Score

_MODELS = ("Anatomy", "Injector", "MASK", "t-closeness")
_LOW, _HIGH = 2, 10
_LARGE_GROUPS = 4_000


@dataclass(frozen=True)
class Outcome:
    """The outcome of a release under the attack."""

    mining: float  # CPU seconds, as is `publishing`.
    publishing: float
    score: Score  # The success of the paper's adversary.
    delta: float  # The mean of the largest difference of probabilities in a bucket.
    query_error: float  # The mean relative error of queries.
    mean_size: float
    largest_size: int
    most_carriers: int  # The most rows with x that a bucket shows.
    n_left_out: int
    best_ell: int | None  # If rows were left out, the largest l that leaves none out.
    # The success of an adversary with one additive model; None if not run.
    coherent: Score | None = None


Outcomes = Mapping[tuple[str, int, int], Outcome | None]
"""By method, r and number of quasi-identifiers; None if nothing could be published."""


class _Series:
    """The outcomes of one r, by method, over the numbers of quasi-identifiers."""

    def __init__(self, outcomes: Outcomes, r: int, sizes: Sequence[int]) -> None:
        self._by_name = {
            name: [outcomes[name, r, size] for size in sizes]
            for name in dict.fromkeys(name for name, _, _ in outcomes)
        }

    def of(self, name: str, value: Callable[[Outcome], float]) -> list[float]:
        """Return a figure of a method at every size that could be published."""
        return [value(one) for one in self._by_name[name] if one is not None]

    def grown(self, value: Callable[[Outcome], float]) -> dict[str, bool]:
        """Return, for each of the paper's models, whether a figure is larger at the end."""
        series = {name: self.of(name, value) for name in _MODELS}
        return {name: some[-1] > some[0] for name, some in series.items() if len(some) > 1}


def statements_of(
    kind: str, r: int, outcomes: Outcomes, sizes: Sequence[int]
) -> tuple[Statement, ...]:
    """Return the paper's claims about a panel, by its name in `foreground_models`."""
    return _STATEMENTS[kind](r, outcomes, sizes)


def _growing(
    what: str,
    series: _Series,
    value: Callable[[Outcome], float],
    *,
    but: Sequence[str] = (),
    why: str = "",
) -> Statement:
    grown = {name: is_so for name, is_so in series.grown(value).items() if name not in but}
    shrunk = [name for name, is_so in grown.items() if not is_so]
    return claimed(
        what,
        "yes",
        "for all" if not shrunk else f"not for {', '.join(shrunk)}",
        holds=not shrunk,
        why=why if shrunk else "",
    )


def _mining(r: int, outcomes: Outcomes, sizes: Sequence[int]) -> tuple[Statement, ...]:
    series = _Series(outcomes, r, sizes)
    first = _growing("mining takes longer with more attributes", series, lambda one: one.mining)
    if r == _LOW:
        return (first,)
    earlier = _Series(outcomes, _LOW, sizes)
    pairs = {
        name: (sum(earlier.of(name, _seconds)), sum(series.of(name, _seconds)))
        for name in ("Anatomy", "Injector", "MASK")
    }
    return (
        first,
        claimed(
            "mining takes longer than with r = 2",
            "yes",
            "; ".join(f"{name} {low:.2f} and {high:.2f} s" for name, (low, high) in pairs.items()),
            holds=all(high > low for low, high in pairs.values()),
            why=(
                "Fewer buckets hold x, and each of them has more signatures; which of the two "
                "weighs more depends on the algorithm. Here equal buckets share a step. Seconds "
                "vary from run to run."
            ),
        ),
    )


def _seconds(one: Outcome) -> float:
    return one.mining


def _publishing(r: int, outcomes: Outcomes, sizes: Sequence[int]) -> tuple[Statement, ...]:
    series = _Series(outcomes, r, sizes)
    return (
        _growing(
            "publishing takes longer with more attributes",
            series,
            lambda one: one.publishing,
            why=(
                "Anatomy and Injector group by the sensitive value and by rules; further columns "
                "cost them little more than reading. Seconds vary from run to run."
            ),
        ),
    )


def _breaches(r: int, outcomes: Outcomes, sizes: Sequence[int]) -> tuple[Statement, ...]:
    series = _Series(outcomes, r, sizes)
    recalls = {name: series.of(name, lambda one: one.score.recall) for name in _MODELS}
    flags = {name: series.of(name, lambda one: one.score.false_flags) for name in _MODELS}
    worst = max(flags, key=lambda name: max(flags[name], default=0.0))
    t_closeness = recalls["t-closeness"]
    masked = zip(*(recalls[name] for name in ("MASK", "Anatomy", "Injector")), strict=False)
    found = [
        _growing(
            "problematic tuples increase with the QI size",
            series,
            lambda one: one.score.recall,
            but=["t-closeness"] if r == _LOW else [],
            why="If few attributes disclose nobody, or everybody, more of them may add nothing.",
        ),
        claimed(
            "MASK has fewer breaches than Anatomy and Injector",
            "yes",
            "; ".join(f"{name} {max(recalls[name], default=math.nan):.3f}" for name in _MODELS)
            + " at most",
            holds=all(mask < min(others) for mask, *others in masked),
        ),
        claimed(
            "others who are flagged wrongly",
            "below 10 %",
            f"at most {percent(max(flags[worst], default=math.nan))} ({worst})",
            holds=max(flags[worst], default=0.0) < 0.1,
            why="As in Section 5.1: some set flags nearly everybody who shares a bucket with x.",
        ),
    ]
    if r == _LOW:
        sizes_of = series.of("t-closeness", lambda one: one.mean_size)
        found += [
            claimed(
                "breaches of t-closeness",
                "none",
                f"{max(t_closeness):.3f} at most",
                holds=max(t_closeness) == 0,
            ),
            claimed(
                "average size of its groups",
                "at least 4,000",
                f"{min(sizes_of):,.0f} to {max(sizes_of):,.0f}",
                holds=min(sizes_of) >= _LARGE_GROUPS,
                why=(
                    "Other hierarchies and another measure of loss; our smallest size is close."
                    if min(sizes_of) >= 0.9 * _LARGE_GROUPS
                    else "Other hierarchies and another measure of loss, or a smaller table."
                ),
            ),
        ]
    else:
        found.append(
            claimed(
                "t-closeness has breaches",
                "yes",
                f"{min(t_closeness):.3f} to {max(t_closeness):.3f} of the sensitive tuples",
                holds=min(t_closeness) > 0,
            )
        )
    return (*found, *_buckets(r, outcomes, sizes), *_left_out(r, outcomes, sizes))


def _buckets(r: int, outcomes: Outcomes, sizes: Sequence[int]) -> tuple[Statement, ...]:
    """Compare the groups of MASK with those that Section 3 mentions."""
    size = 5 if 5 in sizes else sizes[-1]
    one = outcomes["MASK", r, size]
    if one is None:
        return ()
    why = (
        "Mondrian makes our table k-anonymous and never separates people who are alike. The paper "
        "does not say how its groups are formed."
    )
    printed = (23, 8) if r == _LOW else (113, 5)
    # At r = 10 the paper prints only the number of worlds, 140,364,532: 113 choose 5, and no other
    # binomial coefficient.
    source = "" if r == _LOW else ", as its number of worlds has it"
    return (
        compared(f"rows of MASK's largest group{source}", printed[0], one.largest_size, why=why),
        compared(
            f"most tuples with x in a group of MASK{source}", printed[1], one.most_carriers, why=why
        ),
    )


def _left_out(r: int, outcomes: Outcomes, sizes: Sequence[int]) -> tuple[Statement, ...]:
    """State where a model could not be run as in the paper."""
    injector = [outcomes["Injector", r, size] for size in sizes]
    most = max((one.n_left_out for one in injector if one is not None), default=0)
    n_refused = sum(one is None for one in injector)
    if not most and not n_refused:
        return ()
    ells = [one.best_ell for one in injector if one is not None and one.best_ell is not None]
    reached = f"; l = {min(ells)} is the most that everybody can have" if ells else ""
    told = f"up to {most:,} rows left out" if most else ""
    refused = f"nothing published at {n_refused} of {len(sizes)} QI sizes" if n_refused else ""
    return (
        Statement(
            f"Injector with l = {r}",
            "run on all rows",
            "; ".join(part for part in (told, refused) if part),
            "differs",
            f"Rules leave some people fewer than {r} levels of education even in one bucket of all "
            f"rows{reached}.",
        ),
    )


def _delta(r: int, outcomes: Outcomes, sizes: Sequence[int]) -> tuple[Statement, ...]:
    series = _Series(outcomes, r, sizes)
    deltas = {name: series.of(name, lambda one: one.delta) for name in _MODELS}
    means = {name: sum(some) / len(some) for name, some in deltas.items() if some}
    order = sorted(means, key=lambda name: -means[name])
    found = [
        _growing(
            "Delta increases with the QI size",
            series,
            lambda one: one.delta,
            why=(
                "With t-closeness, probabilities are mined from a handful of groups, and how far "
                "apart they are depends on which groups full-domain generalization happens to form."
            ),
        ),
        claimed(
            "Delta is largest with Anatomy and Injector, third with MASK",
            "Anatomy, Injector, MASK, t-closeness",
            ", ".join(f"{name} {means[name]:.4f}" for name in order),
            holds=set(order[:2]) == {"Anatomy", "Injector"} and order[2:3] == ["MASK"],
            why=(
                "Every signature occurs in groups of thousands of rows, so the largest difference "
                "in such a group is that of all probabilities; and a handful of groups determine "
                "them so poorly that they lie far apart."
            ),
        ),
    ]
    if r == _HIGH:
        earlier = _Series(outcomes, _LOW, sizes)
        pairs = {
            name: (sum(earlier.of(name, _spread)), sum(series.of(name, _spread)))
            for name in ("Anatomy", "Injector", "MASK")
        }
        n_places = len(sizes)
        found.append(
            claimed(
                "Delta is smaller than with r = 2",
                "yes",
                "; ".join(
                    f"{name} {low / n_places:.4f} and {high / n_places:.4f}"
                    for name, (low, high) in pairs.items()
                ),
                holds=all(high < low for low, high in pairs.values()),
                why=(
                    "The probabilities of signatures do not depend on r, and larger groups hold "
                    "more signatures, so the largest difference in a group grows."
                ),
            )
        )
    return tuple(found)


def _spread(one: Outcome) -> float:
    return one.delta


def _queries(r: int, outcomes: Outcomes, sizes: Sequence[int]) -> tuple[Statement, ...]:
    series = _Series(outcomes, r, sizes)
    errors = {name: series.of(name, lambda one: one.query_error) for name in _MODELS}
    others = [error for name, some in errors.items() if name != "t-closeness" for error in some]
    return (
        claimed(
            "the error of t-closeness is the largest",
            "yes",
            f"{min(errors['t-closeness']):.2f} to {max(errors['t-closeness']):.2f}; the others at "
            f"most {max(others):.2f}",
            holds=min(errors["t-closeness"]) > max(others),
        ),
    )


def _coherent(r: int, outcomes: Outcomes, sizes: Sequence[int]) -> tuple[Statement, ...]:
    (size,) = sizes
    one = outcomes["Anatomy", r, size]
    safe = next(
        outcome
        for (name, at, of), outcome in outcomes.items()
        if name.startswith("foreground_safe") and (at, of) == (r, size)
    )
    found = []
    if one is not None and one.coherent is not None:
        found.append(
            compared("Anatomy: right when naming the likeliest", None, one.coherent.top_share)
        )
    if safe is not None:
        found.append(
            compared("foreground_safe: found by the paper's adversary", None, safe.score.recall)
        )
    if safe is not None and safe.coherent is not None:
        found.append(
            compared("foreground_safe: found by one additive model", None, safe.coherent.recall)
        )
    return tuple(found)


_STATEMENTS: Mapping[str, Callable[[int, Outcomes, Sequence[int]], tuple[Statement, ...]]] = {
    "mining": _mining,
    "publishing": _publishing,
    "breaches": _breaches,
    "delta": _delta,
    "queries": _queries,
    "coherent": _coherent,
}
