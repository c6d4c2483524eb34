"""What guarantees and findings mean for singling out, linkability and inference, in plain words.

The three risks are those that European data protection authorities ask about of anonymized data:
Article 29 Working Party, Opinion 05/2014 on anonymisation techniques, section 2.2.
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.core.attack import Findings
from shoal.core.guarantees import KAnonymity
from shoal.core.method import Shape
from shoal.core.release import Manifest

__all__ = ["RISKS", "found_about", "promised_about"]

RISKS = {
    "Singling out": "Can somebody be picked out of the release?",
    "Linkability": "Can what is published of somebody be joined to another source about them?",
    "Inference": "Can something be concluded about somebody with more certainty than before?",
}
"""The three risks, and what each asks."""

_ABOUT = {
    "linkage": ("Singling out", "Linkability"),
    "sliced_linkage": ("Singling out", "Linkability"),
    "membership": ("Linkability",),
}
"""The risks that an attack tries; others try inference."""

_SINGLED_OUT = {
    Shape.GENERALIZED: "A line shows labels that several people share.",
    Shape.BUCKETIZED: (
        "Quasi-identifiers are published as they are, so the line of somebody who is rare can be "
        "found. What that line does not show is their sensitive value."
    ),
    Shape.SLICED: (
        "No line is a person: columns are published apart, and one that holds rare combinations of "
        "values still shows that somebody has them."
    ),
    Shape.SUPPRESSED: (
        "One line is one person, and what is not suppressed is shown as it is: a line can be found "
        "by whoever knows enough of it."
    ),
}
_LINKED = {
    Shape.GENERALIZED: (
        "Somebody with another source can narrow a person down to the lines with their labels."
    ),
    Shape.BUCKETIZED: (
        "Another source can be joined to the published quasi-identifiers. What it then gains is a "
        "bucket, and the sensitive values that the bucket holds."
    ),
    Shape.SLICED: (
        "Another source can be joined to one column at a time. Which entries of the other columns "
        "go with it is hidden within the bucket."
    ),
    Shape.SUPPRESSED: (
        "Another source can be joined by whatever is shown. What is suppressed stays out of it."
    ),
}


def promised_about(manifest: Manifest) -> dict[str, str]:
    """Say for each risk what a reader may take from the shape and the guarantees alone.

    Nothing that an attack found is in it.

    Examples
    --------
    >>> from shoal.core.guarantees import FrequencyDiversity
    >>> manifest = Manifest(shape=Shape.BUCKETIZED, method="anatomy", parameters={},
    ...     guarantees=(FrequencyDiversity(ell=4),), columns=(), n_rows=8, n_buckets=2)
    >>> print(promised_about(manifest)["Inference"])
    Who goes by what the guarantees speak of, and by nothing else, believes no sensitive value
    with a probability above 1/4. Who compares buckets, or knows more, may conclude more.
    """
    k = max((one.k for one in manifest.guarantees if isinstance(one, KAnonymity)), default=0)
    alike = f" At least {k} rows share every combination." if k else ""
    return {
        "Singling out": _SINGLED_OUT[manifest.shape] + alike,
        "Linkability": f"{_LINKED[manifest.shape]} Whether somebody is in the table at all is not "
        "hidden unless a guarantee says so.",
        "Inference": _inferred(manifest),
    }


def _inferred(manifest: Manifest) -> str:
    bounds = [
        (one.posterior_bound, bool(getattr(one, "protect", ())))
        for one in manifest.guarantees
        if one.posterior_bound is not None
    ]
    if bounds:
        bound, is_of_some = min(bounds)
        kind = "protected" if is_of_some else "sensitive"
        return (
            f"Who goes by what the guarantees speak of, and by nothing else, believes no {kind} "
            f"value with a probability above {bound}. Who compares buckets, or knows more, may "
            "conclude more."
        )
    if any(one.is_about_sensitive for one in manifest.guarantees):
        return (
            "The guarantees say how far sensitive values are hidden; they bound no single belief "
            "beyond what they state. Who compares buckets, or knows more, may conclude more."
        )
    return (
        "No guarantee is about sensitive values: where those who look alike share a value, it is "
        "known of all of them."
    )


def found_about(findings: Sequence[Findings]) -> dict[str, list[str]]:
    """Say for each risk what the attacks found about it; an empty list where none tried."""
    said: dict[str, list[str]] = {risk: [] for risk in RISKS}
    for found in findings:
        for risk in _ABOUT.get(found.attack, ("Inference",)):
            said[risk].append(_sentence(found))
    return said


def _sentence(found: Findings) -> str:
    limit = "" if found.limit is None else f" by the limit {found.limit}"
    begin = f"{found.attack.replace('_', ' ')}: an adversary who knows {found.knows} "
    if found.limit is None and not found.n_breached:
        return (
            f"{begin}believes what she believes most of anybody with probability "
            f"{found.worst:.3g}. There is no limit to judge that by."
        )
    if not found.n_breached:
        return (
            f"{begin}puts none of {found.n_people} people at risk{limit}; the most that she "
            f"believes of anybody has probability {found.worst:.3g}."
        )
    return (
        f"{begin}puts {found.n_breached} of {found.n_people} people at risk{limit}; the most that "
        f"she believes of anybody has probability {found.worst:.3g}."
    )
