"""Measures of pycanon's checks, of a frame in memory and of a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pandas as pd
from measure import Call, serve
from pycanon import anonymity

Check = Callable[[pd.DataFrame, list[str], list[str]], Any]


def _k_anonymity(frame: pd.DataFrame, quasi: list[str], _: list[str]) -> object:
    return {"k": int(anonymity.k_anonymity(frame, quasi))}


def _alpha_k(frame: pd.DataFrame, quasi: list[str], sensitive: list[str]) -> object:
    alpha, k = anonymity.alpha_k_anonymity(frame, quasi, sensitive)
    return {"alpha": float(alpha), "k": int(k)}


def _frequency(frame: pd.DataFrame, quasi: list[str], sensitive: list[str]) -> object:
    # The name is not in pycanon, the number is: no value has more than alpha = 1/l of a class.
    return {"ell": 1 / float(anonymity.alpha_k_anonymity(frame, quasi, sensitive)[0])}


def _distinct(frame: pd.DataFrame, quasi: list[str], sensitive: list[str]) -> object:
    return {"ell": int(anonymity.l_diversity(frame, quasi, sensitive))}


def _entropy(frame: pd.DataFrame, quasi: list[str], sensitive: list[str]) -> object:
    return {"ell": int(anonymity.entropy_l_diversity(frame, quasi, sensitive))}


def _recursive(frame: pd.DataFrame, quasi: list[str], sensitive: list[str]) -> object:
    c, ell = anonymity.recursive_c_l_diversity(frame, quasi, sensitive)
    return {"c": float(c), "ell": int(ell)}


def _closeness(frame: pd.DataFrame, quasi: list[str], sensitive: list[str]) -> object:
    return {"t": float(anonymity.t_closeness(frame, quasi, sensitive))}


_CHECKS: dict[str, Check] = {
    "k-anonymity": _k_anonymity,
    "(alpha, k)-anonymity": _alpha_k,
    "distinct l-diversity": _distinct,
    "frequency l-diversity": _frequency,
    "entropy l-diversity": _entropy,
    "recursive (c, l)-diversity": _recursive,
    "t-closeness, equal": _closeness,
    "t-closeness, ordered": _closeness,
}


def _in_memory(check: str, path: str, quasi: Sequence[str], sensitive: str) -> Call:
    frame = pd.read_csv(path)
    return lambda: _CHECKS[check](frame, list(quasi), [sensitive])


def _from_file(check: str, path: str, quasi: Sequence[str], sensitive: str) -> Call:
    return lambda: _CHECKS[check](pd.read_csv(path), list(quasi), [sensitive])


if __name__ == "__main__":
    serve(
        {f"{check} in memory": partial(_in_memory, check) for check in _CHECKS}
        | {f"{check} from a file": partial(_from_file, check) for check in _CHECKS}
    )
