"""One checker for each guarantee, which derives it anew from published counts.

A checker is one module with a function ``check(guarantee, evidence)``, found by the guarantee's
name through `CHECKERS`. It shares no code with the methods, so that a bug in one shows against the
other, and it decides exactly: a tie at the threshold is a tie.

A release may come from a stranger, so every checker counts its operations against the evidence's
`Work`. If there would be too many, the verdict is *not checked: too large*.

Besides `check`, each module has a function that returns the strongest parameter that a release
keeps, such as `distinct_diversity` or `closeness`.

Examples
--------
>>> import shoal
>>> table = shoal.read(shoal.datasets.papers.injector_patients())
>>> release = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
>>> shoal.checks.frequency_diversity(release.published.buckets)
Fraction(2, 1)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, cast

from shoal.core.errors import ParameterError
from shoal.core.progress import TooMuchWork
from shoal.core.registry import lazy_exports

if TYPE_CHECKING:
    from shoal.beliefs.check import largest_gain as largest_gain
    from shoal.core.guarantees import Guarantee
    from shoal.core.verdict import Evidence as Evidence
    from shoal.core.verdict import Verdict as Verdict
    from shoal.foreground.check.safety import largest_link as largest_link
    from shoal.grouping.check.k_anonymity import anonymity as anonymity
    from shoal.grouping.check.k_anonymity import largest_protected_share as largest_protected_share
    from shoal.grouping.check.k_anonymity import largest_share as largest_share
    from shoal.grouping.check.k_anonymity import smallest_bucket as smallest_bucket
    from shoal.grouping.check.l_diversity import distinct_diversity as distinct_diversity
    from shoal.grouping.check.l_diversity import entropy_diversity as entropy_diversity
    from shoal.grouping.check.l_diversity import frequency_diversity as frequency_diversity
    from shoal.grouping.check.l_diversity import recursive_diversity as recursive_diversity
    from shoal.grouping.check.t_closeness import closeness as closeness
    from shoal.hiding.check import remaining_rules as remaining_rules
    from shoal.injector.check.matching_diversity import Witness as Witness
    from shoal.injector.check.matching_diversity import fewest_valid_values as fewest_valid_values
    from shoal.injector.check.matching_diversity import valid_values as valid_values
    from shoal.injector.check.weighted_diversity import largest_posterior as largest_posterior

CHECKERS: Mapping[str, str] = {
    "k-anonymity": "shoal.grouping.check.k_anonymity",
    "bucket size": "shoal.grouping.check.k_anonymity",
    "distinct l-diversity": "shoal.grouping.check.l_diversity",
    "frequency l-diversity": "shoal.grouping.check.l_diversity",
    "entropy l-diversity": "shoal.grouping.check.l_diversity",
    "recursive (c, l)-diversity": "shoal.grouping.check.l_diversity",
    "matching l-diversity": "shoal.injector.check.matching_diversity",
    "weighted matching l-diversity": "shoal.injector.check.weighted_diversity",
    "t-closeness": "shoal.grouping.check.t_closeness",
    "(alpha, k)-anonymity": "shoal.grouping.check.k_anonymity",
    "m-confidentiality": "shoal.grouping.check.k_anonymity",
    "bounded belief gain": "shoal.beliefs.check",
    "no adversarial rule": "shoal.hiding.check",
    "sliced l-diversity": "shoal.slicing.check.sliced_diversity",
    "foreground safety": "shoal.foreground.check.safety",
    "joint safety": "shoal.grouping.check.joint_safety",
}
"""The module that checks each guarantee, by the guarantee's name."""

_MODULES = {
    "Evidence": "shoal.core.verdict",
    "Verdict": "shoal.core.verdict",
    "Witness": "shoal.injector.check.matching_diversity",
    "anonymity": "shoal.grouping.check.k_anonymity",
    "closeness": "shoal.grouping.check.t_closeness",
    "distinct_diversity": "shoal.grouping.check.l_diversity",
    "entropy_diversity": "shoal.grouping.check.l_diversity",
    "fewest_valid_values": "shoal.injector.check.matching_diversity",
    "frequency_diversity": "shoal.grouping.check.l_diversity",
    "largest_gain": "shoal.beliefs.check",
    "largest_link": "shoal.foreground.check.safety",
    "largest_posterior": "shoal.injector.check.weighted_diversity",
    "largest_protected_share": "shoal.grouping.check.k_anonymity",
    "largest_share": "shoal.grouping.check.k_anonymity",
    "recursive_diversity": "shoal.grouping.check.l_diversity",
    "remaining_rules": "shoal.hiding.check",
    "smallest_bucket": "shoal.grouping.check.k_anonymity",
    "valid_values": "shoal.injector.check.matching_diversity",
}
__all__ = ["CHECKERS", "check"]
__all__ += list(_MODULES)

__getattr__, __dir__ = lazy_exports(__name__, _MODULES)


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
        If the guarantee has no checker, or the evidence lacks what it is about.

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
    checker = import_module(module).check
    try:
        # Every checker goes over its evidence at least once.
        evidence.work.spend(evidence.n_entries)
        return cast("Callable[[Guarantee, Evidence], Verdict]", checker)(guarantee, evidence)
    except TooMuchWork:
        from shoal.core.verdict import Verdict  # noqa: PLC0415 - help imports no numpy

        return Verdict.not_checked(guarantee, len(evidence.sizes), evidence.work.limit)
