"""Section 5.1 of [Wong11]: the people whom the attack finds in l-diverse tables of Anatomy.

Varied are r, which is also Anatomy's l, and the number of quasi-identifiers. Reported are the mean
p(t:x) of the people with a sensitive value, how many of them are found, how many others are
flagged, and how close the mined probabilities are to those of the table. The paper's case study of
two occupations follows.

References
----------
[Wong11] (see `reproduction.foreground_trials`) Section 5.1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reproduction.foreground_trials import (
    N_ADULT,
    QUASI,
    SENSITIVE,
    Attacked,
    adult_columns,
    attacked,
    curve,
    least_error,
    percent,
    rows_words,
    signed_error,
)
from reproduction.reproduced import Figure, Setting, Statement, claimed, compared
from shoal.datasets.adult import LOW_EDUCATION
from shoal.engines.sql.table import EngineTable
from shoal.foreground.law import posterior
from shoal.grouping.anatomy import Anatomy

_RS = (2, 3, 4, 5, 6, 7, 8, 9, 10)
_SIZES = (3, 4, 5, 6, 7, 8)
_DEFAULT, _ALL = 5, 8
_N_RUNS = 3
_CASE_STUDY = ("age", "marital_status", "occupation")
_TWELVE_MINUTES = 720
_ROUNDING = 0.005
"""The largest difference from a probability that is printed with two digits."""
_UNIFORM = (
    "The paper assumes a uniform distribution for signatures with too few rows, without saying "
    "over what. Here they share one probability that is mined with the others"
)


def _runs(setting: Setting) -> int:
    return 1 if setting.is_quick else _N_RUNS


def _anatomized(setting: Setting, table: EngineTable, r: int) -> list[Attacked]:
    """Publish a table by Anatomy, once per draw that is averaged."""
    method = Anatomy(ell=r, protect=LOW_EDUCATION)
    return [attacked(table, method, setting.seed + run) for run in range(_runs(setting))]


def _mean(numbers: Sequence[float]) -> float:
    return float(np.mean(numbers))


def _words(setting: Setting, rest: str) -> str:
    return (
        f"{rows_words(setting)}. Anatomy with l = r, the sensitive set as one value; mean of "
        f"{_runs(setting)} runs, seeds from {setting.seed} (the paper: 100). {rest}"
    )


# --- by r -----------------------------------------------------------------------------------------


def run_by_r(setting: Setting) -> Sequence[Figure]:
    """Draw the figures of Section 5.1 that vary r."""
    rs = (2, 4, 10) if setting.is_quick else _RS
    tables = {size: adult_columns(setting, QUASI[:size]) for size in (_DEFAULT, _ALL)}
    runs = {size: {r: _anatomized(setting, table, r) for r in rs} for size, table in tables.items()}
    return [
        _probability_by_r(setting, tables[_DEFAULT], runs[_DEFAULT], runs[_ALL]),
        _breaches_by_r(setting, runs[_DEFAULT], runs[_ALL]),
        _errors_by_l(setting, runs[_DEFAULT]),
    ]


def _probability_by_r(
    setting: Setting,
    table: EngineTable,
    five: dict[int, list[Attacked]],
    eight: dict[int, list[Attacked]],
) -> Figure:
    def averages(runs: dict[int, list[Attacked]], r: int) -> float:
        return _mean([one.score(r).average_probability for one in runs[r]])

    def halves(r: int) -> float:
        return _mean([one.score_assuming("half", r).average_probability for one in five[r]])

    def coherent(r: int) -> float:
        return _mean([one.score_coherent(r).average_probability for one in five[r]])

    ours = [averages(five, r) for r in five]
    slowest = max(one.mining_seconds for runs in eight.values() for one in runs)
    return Figure(
        name="section-5-1-probability-by-r",
        title="Section 5.1, variation of r: the mean p(t:x) of those who have x",
        setting=_words(setting, "Five quasi-identifiers unless stated otherwise."),
        x_name="r",
        x=tuple(float(r) for r in five),
        y_name="average probability",
        curves=(
            curve("five quasi-identifiers", ours),
            curve("eight quasi-identifiers", [averages(eight, r) for r in eight]),
            curve("five, rare signatures one half", [halves(r) for r in five]),
            curve("five, one additive model (not in the paper)", [coherent(r) for r in five]),
            curve("1/r", [1 / r for r in five]),
        ),
        statements=(
            *_about_the_table(setting, table),
            compared(
                "average probability, r = 2",
                0.8917,
                averages(five, 2),
                why=f"{_UNIFORM}; with one half for them it is {halves(2):.3f}.",
            ),
            compared(
                "average probability, r = 4",
                0.4640,
                averages(five, 4),
                why=f"{_UNIFORM}; with one half for them it is {halves(4):.3f}.",
            ),
            claimed(
                "the average is above 1/r",
                "at r = 2 and 4",
                f"least ratio {min(p * r for p, r in zip(ours, five, strict=True)):.2f}",
                holds=all(p > 1 / r for p, r in zip(ours, five, strict=True)),
            ),
            claimed(
                "it falls as r grows",
                "yes",
                f"{ours[0]:.3f} to {ours[-1]:.3f}",
                holds=bool(np.all(np.diff(ours) < 0)),
            ),
            claimed(
                "mining all attribute sets takes, at most",
                "12 minutes, on a Pentium IV",
                f"{slowest:.2f} CPU seconds ({_ALL} quasi-identifiers)",
                holds=slowest < _TWELVE_MINUTES,
            ),
        ),
    )


def _about_the_table(setting: Setting, table: EngineTable) -> tuple[Statement, ...]:
    cells = table.counts([SENSITIVE])
    codes = table.domains[SENSITIVE].codes_of(list(LOW_EDUCATION))
    carriers = int(cells.counts[np.isin(cells.codes[:, 0], codes)].sum())
    share = carriers / table.n_rows
    if setting.is_quick:
        return ()
    return (
        compared("rows without unknown values", N_ADULT, table.n_rows, within=0),
        compared("percent of them with x (1,566 rows)", 3.46, round(100 * share, 2), within=0),
        compared("error of sampling that is allowed, in percent", 28.90, 1 / share, within=0.002),
    )


def _breaches_by_r(
    setting: Setting, five: dict[int, list[Attacked]], eight: dict[int, list[Attacked]]
) -> Figure:
    recall, flags = {}, {}
    for name, runs in (("five", five), ("eight", eight)):
        recall[name] = [_mean([one.score(r).recall for one in runs[r]]) for r in runs]
        flags[name] = [_mean([one.score(r).false_flags for one in runs[r]]) for r in runs]
    largest = [_mean([_beside_a_carrier(one) for one in five[r]]) for r in five]
    found = [*recall["five"], *recall["eight"]]
    wrong = [*flags["five"], *flags["eight"]]
    first, last = next(iter(five)), list(five)[-1]
    return Figure(
        name="section-5-1-breaches-by-r",
        title="Section 5.1, variation of r: who is found, and who is flagged wrongly",
        setting=_words(setting, "Five and eight quasi-identifiers."),
        x_name="r",
        x=tuple(float(r) for r in five),
        y_name="proportion",
        curves=(
            curve("sensitive tuples found, five", recall["five"]),
            curve("sensitive tuples found, eight", recall["eight"]),
            curve("others flagged, five", flags["five"]),
            curve("others flagged, eight", flags["eight"]),
            curve("others who share a bucket with a sensitive tuple", largest),
        ),
        statements=(
            claimed(
                "sensitive tuples with a breach, in most cases",
                "above 99 %",
                f"{_n_of(np.array(found) > 0.99)} of r and quasi-identifiers; least "
                f"{percent(min(found))} at r = {list(five)[found.index(min(found)) % len(five)]}",
                holds=float(np.mean(np.array(found) > 0.99)) > 0.5,
            ),
            claimed(
                "others identified wrongly, in most cases",
                "below 6 %",
                f"{_n_of(np.array(wrong) < 0.06)} of r and quasi-identifiers; "
                f"{percent(flags['five'][0])} at r = {first}, {percent(flags['five'][-1])} at "
                f"r = {last}",
                holds=float(np.mean(np.array(wrong) < 0.06)) > 0.5,
                why=(
                    "Only people who share a bucket with a sensitive tuple can be flagged: "
                    f"{percent(largest[0])} of the others at r = {first}, {percent(largest[-1])} "
                    f"at r = {last}. Judged by the largest of many beliefs, nearly all of them "
                    "are: in such a bucket the beliefs of one set add up to one, and each set "
                    "favours another tuple."
                ),
            ),
        ),
    )


def _beside_a_carrier(one: Attacked) -> float:
    """Return the share of the other people whose bucket contains a person with x."""
    exposed = one.target.exposed
    carriers = np.bincount(exposed.bucket, one.carriers, len(one.bucket_sizes))
    beside = one.bucket_sizes[carriers > 0].sum() - carriers.sum()
    return float(beside / (exposed.n_rows - carriers.sum()))


def _n_of(holds: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> str:
    return f"in {int(holds.sum())} of {len(holds)} cases"


def _errors_by_l(setting: Setting, five: dict[int, list[Attacked]]) -> Figure:
    errors = [_mean([one.mean_error for one in runs]) for runs in five.values()]
    least = [_mean([least_error(one) for one in runs]) for runs in five.values()]
    signed = [_mean([signed_error(one) for one in runs]) for runs in five.values()]
    why = (
        "Even an adversary who knew every probability could estimate the shares of the table only "
        "to within about {least}, because nobody can tell who in a bucket has x. With their signs, "
        "the errors average {signed}."
    )
    places = {r: place for place, r in enumerate(five)}
    return Figure(
        name="section-5-1-errors-by-l",
        title="Section 5.1: the error of mined probabilities",
        setting=_words(
            setting,
            "Five quasi-identifiers. The error of a probability relative to the true one, averaged "
            "over signatures with enough rows, then over sets.",
        ),
        x_name="l",
        x=tuple(float(r) for r in five),
        y_name="average relative error",
        curves=(
            curve("mined", errors),
            curve("the least error possible (not in the paper)", least),
            curve("mined, with its sign", signed),
        ),
        statements=tuple(
            compared(
                f"average relative error in percent, l = {r}",
                printed,
                100 * errors[places[r]],
                why=why.format(least=percent(least[places[r]]), signed=percent(signed[places[r]])),
            )
            for r, printed in ((2, 0.7), (10, 5.26))
        ),
    )


# --- by the number of quasi-identifiers -----------------------------------------------------------


def run_by_size(setting: Setting) -> Sequence[Figure]:
    """Draw the figure of Section 5.1 that varies the number of quasi-identifiers."""
    sizes = (3, 5, 8) if setting.is_quick else _SIZES
    chosen = {size: QUASI[:size] for size in sizes}
    runs = {
        size: _anatomized(setting, adult_columns(setting, quasi), 2)
        for size, quasi in chosen.items()
    }
    other = _anatomized(setting, adult_columns(setting, _CASE_STUDY), 2)

    def average(some: list[Attacked]) -> float:
        return _mean([one.score(2).average_probability for one in some])

    def halves(some: list[Attacked]) -> float:
        return _mean([one.score_assuming("half", 2).average_probability for one in some])

    ours = [average(runs[size]) for size in sizes]
    return [
        Figure(
            name="section-5-1-probability-by-size",
            title="Section 5.1, variation of the QI size: the mean p(t:x) of those who have x",
            setting=_words(setting, f"r = 2; the first of {', '.join(QUASI)}."),
            x_name="QI size",
            x=tuple(float(size) for size in sizes),
            y_name="average probability",
            curves=(
                curve("rare signatures share a chance", ours),
                curve("rare signatures one half", [halves(runs[size]) for size in sizes]),
            ),
            statements=(
                compared(
                    "average probability, QI size 3",
                    0.80307,
                    ours[0],
                    why=(
                        "The paper does not say which three. Those of its case study, "
                        f"{', '.join(_CASE_STUDY)}, give {average(other):.3f}, and "
                        f"{halves(other):.3f} with one half for signatures with too few rows."
                    ),
                ),
                compared(
                    "average probability, QI size 8",
                    0.943526,
                    ours[-1],
                    why=f"{_UNIFORM}; with one half for them it is {halves(runs[_ALL]):.3f}.",
                ),
                claimed(
                    "it grows with the QI size",
                    "yes",
                    f"{ours[0]:.3f} to {ours[-1]:.3f}",
                    holds=bool(np.all(np.diff(ours) > 0)),
                ),
                *_about_buckets(runs[_ALL][0]),
            ),
        )
    ]


def _about_buckets(one: Attacked) -> tuple[Statement, ...]:
    sizes = one.bucket_sizes
    most = int(one.target.n_carrying.max())
    return (
        claimed(
            "rows of Anatomy's groups, and of x in them (Section 3), l = 2",
            "l or l + 1, at most one",
            f"{int(sizes.min())} to {int(sizes.max())}, at most {most}",
            holds=bool(sizes.min() >= 2 and sizes.max() <= 3 and most <= 1),
        ),
    )


# --- the case study -------------------------------------------------------------------------------


def run_case_study(setting: Setting) -> Sequence[Figure]:
    """Draw the mined probabilities of two occupations, and the consequence for a pair of rows."""
    table = adult_columns(setting, _CASE_STUDY)
    runs = _anatomized(setting, table, 2)
    jobs = ("Adm-clerical", "Craft-repair")
    mined = [_chances(one, jobs) for one in runs]
    clerk, craft = np.nanmean(mined, axis=0).tolist()
    cells = table.counts(["occupation", SENSITIVE])
    low = np.isin(cells.column(SENSITIVE), table.domains[SENSITIVE].codes_of(list(LOW_EDUCATION)))
    codes = table.domains["occupation"].codes_of(list(jobs))
    rows = [cells.counts[cells.column("occupation") == code].sum() for code in codes.tolist()]
    with_x = [
        cells.counts[low & (cells.column("occupation") == code)].sum() for code in codes.tolist()
    ]
    true = [float(some / all_of) for some, all_of in zip(with_x, rows, strict=True)]
    link = _link(clerk, craft)
    return [
        Figure(
            name="section-5-1-case-study",
            title="Section 5.1, case study: low education by occupation",
            setting=_words(setting, f"r = 2; quasi-identifiers {', '.join(_CASE_STUDY)}."),
            x_name="occupation",
            x=jobs,
            y_name="chance of x",
            curves=(curve("mined", [clerk, craft]), curve("in the table", true)),
            statements=(
                *(
                    _two_digits(
                        f"{job}, mined",
                        printed,
                        ours,
                        f"The table itself has {share:.4f}; runs give {min(some):.4f} to "
                        f"{max(some):.4f}.",
                    )
                    for job, printed, ours, share, some in zip(
                        jobs,
                        (0.02, 0.04),
                        (clerk, craft),
                        true,
                        zip(*mined, strict=True),
                        strict=True,
                    )
                ),
                _two_digits(f"{jobs[0]}, in the table", 0.01, true[0], "A sample of the table."),
                _two_digits(
                    f"{jobs[1]}, in the table",
                    0.04,
                    true[1],
                    f"{with_x[1]:,} of {rows[1]:,} rows have x, preschool among it.",
                ),
                compared(
                    "p(t:x) of the craftsman in a group with the clerk",
                    0.67,
                    link,
                    why=(
                        "the paper's .67 follows from .02 and .04; with the chances of its table, "
                        f".01 and .04, it would be {_link(0.01, 0.04):.2f}."
                    ),
                ),
                claimed(
                    "it is above 1/2",
                    "yes",
                    f"{link:.3f}",
                    holds=link > 0.5,
                ),
            ),
        )
    ]


def _chances(one: Attacked, jobs: Sequence[str]) -> list[float]:
    """Return the mined probabilities of some occupations; NaN if one has too few rows."""
    for found in one.distributions:
        if found.attributes.columns == ("occupation",):
            domain = one.target.exposed.looks.domain("occupation")
            known = dict(
                zip(found.attributes.signatures[:, 0].tolist(), found.f.tolist(), strict=False)
            )
            return [known.get(code, np.nan) for code in domain.codes_of(list(jobs)).tolist()]
    return [np.nan] * len(jobs)


def _link(clerk: float, craft: float) -> float:
    """Return p(t:x) of the craftsman if one of the two people has x."""
    if np.isnan(clerk) or np.isnan(craft):
        return float("nan")
    return posterior([clerk, craft], 1)[1]


def _two_digits(what: str, printed: float, ours: float, why: str) -> Statement:
    """Compare with a probability that is printed with two digits."""
    is_same = abs(ours - printed) <= _ROUNDING
    return claimed(what, f"{printed:g}", f"{ours:.4f}", holds=is_same, why=why)
