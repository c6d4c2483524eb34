"""Write real numbers as Python does: the shortest text that gives the number back.

DuckDB's own cast to text cannot be relied on: 2.0.0 writes 2 to the power of 81 as twice the
number, and many others with more digits than they need. Its printf is right, so the fewest digits
that give the number back are found with it.
"""

from __future__ import annotations

__all__ = ["text_of_real"]

_DIGITS = {False: (15, 16, 17), True: (6, 7, 8, 9)}
"""How many digits may be enough, for numbers of 64 bits and of 32."""


def text_of_real(expression: str, *, is_short: bool) -> str:
    """Give the expression of a real number's text.

    Parameters
    ----------
    expression
        The number; it stands in the result several times.
    is_short
        Whether it has 32 bits, not 64.
    """
    own = "FLOAT" if is_short else "DOUBLE"
    # Adding 0 turns a negative zero into the zero that it equals.
    number = f"CAST({expression} + 0 AS DOUBLE)"
    *fewer, most = _DIGITS[is_short]
    plain = _first_exact("%.{}g", number, own, fewer, most)
    whole = f"CAST(TRY_CAST(CAST({plain} AS DOUBLE) AS BIGINT) AS VARCHAR) || '.0'"
    # With an exponent and one digit before the point, the digits behind it are one fewer.
    large = _first_exact("%.{}e", number, own, [n - 1 for n in fewer], most - 1)
    large = f"regexp_replace({large}, '[.]?0*e', 'e')"
    is_large = f"abs({number}) >= 1e16 AND isfinite({number})"
    # Where the number is a power of two or next to nothing, the cast at times finds fewer digits.
    found = f"(CASE WHEN {is_large} THEN {large} ELSE {plain} END)"
    cast = f"CAST(CAST({number} AS {own}) AS VARCHAR)"
    is_better = f"TRY_CAST({cast} AS {own}) = {number} AND length({cast}) < length({found})"
    return (
        # The statistics of a file overlook what is not a number, and with them the optimizer.
        f"CASE WHEN abs({number}) < 1e16 AND {number} = floor({number}) "
        f"THEN coalesce({whole}, {found}) WHEN {is_better} THEN {cast} ELSE {found} END"
    )


def _first_exact(template: str, number: str, own: str, fewer: list[int], most: int) -> str:
    """Write a number with as many digits as it takes to get it back."""
    tries = "".join(
        f"WHEN CAST({text} AS {own}) = {number} THEN {text} "
        for text in (f"printf('{template.format(n)}', {number})" for n in fewer)
    )
    return f"CASE {tries}ELSE printf('{template.format(most)}', {number}) END"
