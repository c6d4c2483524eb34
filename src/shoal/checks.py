"""One checker for each guarantee, which derives it anew from published counts.

A checker is one module with a function ``check(guarantee, evidence)``, found by the guarantee's
name through `CHECKERS`. It shares no code with the methods, so that a bug in one shows against the
other, and it decides exactly: a tie at the threshold is a tie.

A release may come from a stranger, so every checker counts its operations against the evidence's
`Work`. If there would be too many, the verdict is *not checked: too large*.

Beside `check`, each module has a function that gives the strongest parameter of any release, such
as `distinct_diversity` or `closeness`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, cast

from shoal.core.errors import ParameterError
from shoal.core.registry import lazy_exports
from shoal.core.work import TooMuchWork

if TYPE_CHECKING:
    from shoal.checks.adversarial_rules import remaining_rules
    from shoal.checks.alpha_k import largest_share
    from shoal.checks.belief_gain import largest_gain
    from shoal.checks.bucket_size import smallest_bucket
    from shoal.checks.foreground_safety import largest_link
    from shoal.checks.k_anonymity import anonymity
    from shoal.checks.l_diversity import (
        distinct_diversity,
        entropy_diversity,
        frequency_diversity,
        recursive_diversity,
    )
    from shoal.checks.m_confidentiality import largest_protected_share
    from shoal.checks.matching_diversity import Witness, fewest_valid_values, valid_values
    from shoal.checks.t_closeness import closeness
    from shoal.checks.verdict import Evidence, Verdict
    from shoal.checks.weighted_diversity import largest_posterior
    from shoal.core.guarantees import Guarantee

__all__ = [
    "CHECKERS",
    "Evidence",
    "Verdict",
    "Witness",
    "anonymity",
    "check",
    "closeness",
    "distinct_diversity",
    "entropy_diversity",
    "fewest_valid_values",
    "frequency_diversity",
    "largest_gain",
    "largest_link",
    "largest_posterior",
    "largest_protected_share",
    "largest_share",
    "recursive_diversity",
    "remaining_rules",
    "smallest_bucket",
    "valid_values",
]

CHECKERS: Mapping[str, str] = {
    "k-anonymity": "k_anonymity",
    "bucket size": "bucket_size",
    "distinct l-diversity": "l_diversity",
    "frequency l-diversity": "l_diversity",
    "entropy l-diversity": "l_diversity",
    "recursive (c, l)-diversity": "l_diversity",
    "matching l-diversity": "matching_diversity",
    "weighted matching l-diversity": "weighted_diversity",
    "t-closeness": "t_closeness",
    "(alpha, k)-anonymity": "alpha_k",
    "m-confidentiality": "m_confidentiality",
    "bounded belief gain": "belief_gain",
    "no adversarial rule": "adversarial_rules",
    "sliced l-diversity": "sliced_diversity",
    "foreground safety": "foreground_safety",
    "joint safety": "joint_safety",
}
"""The module that checks each guarantee, by the guarantee's name."""

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Evidence": "shoal.checks.verdict",
        "Verdict": "shoal.checks.verdict",
        "Witness": "shoal.checks.matching_diversity",
        "anonymity": "shoal.checks.k_anonymity",
        "closeness": "shoal.checks.t_closeness",
        "distinct_diversity": "shoal.checks.l_diversity",
        "entropy_diversity": "shoal.checks.l_diversity",
        "fewest_valid_values": "shoal.checks.matching_diversity",
        "frequency_diversity": "shoal.checks.l_diversity",
        "largest_gain": "shoal.checks.belief_gain",
        "largest_link": "shoal.checks.foreground_safety",
        "largest_posterior": "shoal.checks.weighted_diversity",
        "largest_protected_share": "shoal.checks.m_confidentiality",
        "largest_share": "shoal.checks.alpha_k",
        "recursive_diversity": "shoal.checks.l_diversity",
        "remaining_rules": "shoal.checks.adversarial_rules",
        "smallest_bucket": "shoal.checks.bucket_size",
        "valid_values": "shoal.checks.matching_diversity",
    },
)


def check(guarantee: Guarantee, evidence: Evidence) -> Verdict:
    """Decide whether a release keeps a guarantee.

    Parameters
    ----------
    guarantee
        What the release claims.
    evidence
        What its published files hold.

    Returns
    -------
    The verdict; one that says *not checked* if the check takes more operations than
    `evidence.work` has left.

    Raises
    ------
    ParameterError
        Where the guarantee has no checker, or the evidence lacks what it is about.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.checks import Evidence
    >>> from shoal.core.guarantees import KAnonymity
    >>> check(KAnonymity(k=3), Evidence(buckets=None, sizes=np.array([3, 5])))
    Verdict(k-anonymity holds in all 2 buckets, reached k=3)
    """
    module = CHECKERS.get(guarantee.name)
    if module is None:
        raise ParameterError(
            f"{guarantee.name} has no checker.",
            hint=f"there is one for each of {', '.join(CHECKERS)}.",
        )
    checker = import_module(f"{__name__}.{module}").check
    try:
        # Every checker goes over its evidence at least once.
        evidence.work.spend(evidence.n_entries)
        return cast("Callable[[Guarantee, Evidence], Verdict]", checker)(guarantee, evidence)
    except TooMuchWork:
        from shoal.checks.verdict import Verdict  # noqa: PLC0415 - help imports no numpy

        return Verdict.not_checked(guarantee, len(evidence.sizes), evidence.work.limit)
