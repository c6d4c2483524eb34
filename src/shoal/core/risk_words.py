"""Figures about risk in plain words, for people who are not statisticians.

What stands here may be shown in the gate and in internal reports; none of it is a value of the
table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.core.calibration import Calibration

__all__ = ["in_words", "number", "of_all", "percent", "words_of_scale"]

_NEARLY_ALL = 0.95


def number(count: int) -> str:
    """Return a count with its thousands apart.

    Examples
    --------
    >>> number(30162)
    '30,162'
    """
    return f"{count:,}"


def of_all(count: int, n_people: int) -> str:
    """Return how many of all people are meant.

    Examples
    --------
    >>> of_all(57, 30162)
    '57 of 30,162'
    """
    return f"{number(count)} of {number(n_people)}"


def percent(share: float) -> str:
    """Return a share in percent, with at most three digits.

    Examples
    --------
    >>> percent(0.2751), percent(0.004), percent(1.0)
    ('28 %', '0.4 %', '100 %')
    """
    return f"{100 * share:.1f} %" if 0 < share < 0.01 else f"{100 * share:.0f} %"


def in_words(share: float) -> str:
    """Return how often something is true.

    Examples
    --------
    >>> [in_words(share) for share in (0.0, 0.23, 0.001, 0.72, 0.97, 1.0)]
    ['never', '1 in 4', '1 in 1,000', '7 in 10', '97 in 100', 'always']
    """
    if share <= 0:
        return "never"
    if share <= 0.5:
        return f"1 in {number(round(1 / share))}"
    if share < _NEARLY_ALL:
        return f"{round(10 * share)} in 10"
    return f"{round(100 * share)} in 100" if share < 0.995 else "always"


def words_of_scale(found: Calibration, n_people: int) -> str:
    """Return how beliefs compare with the truth: who is exposed, and how often she is right.

    Examples
    --------
    >>> from shoal.core.calibration import Calibration, Estimate
    >>> right, slope = Estimate(0.24, 0.2, 0.29), Estimate(0.1, -0.1, 0.3)
    >>> words_of_scale(Calibration(1288, right, 0.28, 979, 57, slope, 1900), 2000)
    '57 of 2,000 exposed; believed of 1,288, right 1 in 4 (20 to 29 %), naive guess 28 %'
    """
    if found.is_calibrated:
        first = f"{of_all(found.exposed, n_people)} exposed; believed of {number(found.believed)}"
    elif not found.believed:
        first = f"{of_all(0, n_people)} people believed"
    else:
        first = (
            f"{of_all(found.believed, n_people)} believed; too few informative people to "
            f"calibrate ({number(found.n_informative)}), so everybody believed counts"
        )
    return ", ".join([first, *_success(found)])


def _success(found: Calibration) -> list[str]:
    said = []
    if found.right is not None:
        low, high = f"{100 * found.right.low:.0f}", percent(found.right.high)
        said.append(f"right {in_words(found.right.value)} ({low} to {high})")
    if found.baseline is not None:
        said.append(f"naive guess {percent(found.baseline)}")
    return said
