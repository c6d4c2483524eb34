"""What guarantees and findings mean for people, risk by risk, in plain words.

Singling out, linkability and inference are what European data protection authorities ask about of
anonymized data: Article 29 Working Party, Opinion 05/2014 on anonymisation techniques, section 2.2.
Membership stands beside them: that somebody is in the table may be all there is to know. Which
risks an attack tries, its class declares; an attack that does not is listed apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.core.attack import Findings, Risk
from shoal.core.guarantees import KAnonymity
from shoal.core.method import Shape
from shoal.core.release import Manifest
from shoal.core.risk_words import number

__all__ = ["NOT_STATED", "RISKS", "found_about", "promised_about"]

RISKS: dict[str, str] = {
    Risk.SINGLING_OUT: "Can somebody be picked out of the release?",
    Risk.LINKABILITY: ("Can what is published of somebody be joined to another source about them?"),
    Risk.INFERENCE: ("Can something be concluded about somebody with more certainty than before?"),
    Risk.MEMBERSHIP: "Can it be told whether somebody is in the table?",
}
"""The risks, and what each asks."""
NOT_STATED = "Not stated"
"""Where attacks are listed whose class does not declare what they are a risk of."""

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


_SEEN = (
    "Values that others may know are published as they are: anybody who knows enough of a person "
    "can see whether they are in the table."
)
_MEMBERSHIP = {
    Shape.GENERALIZED: (
        "Whether somebody is in the table is not hidden: labels that fit a person say that they "
        "may be in it, and labels that nobody's line has say that they are not."
    ),
    Shape.BUCKETIZED: _SEEN,
    Shape.SLICED: (
        "Whether somebody is in the table is not hidden: a person whose values match no bucket is "
        "not in it."
    ),
    Shape.SUPPRESSED: _SEEN,
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
        Risk.SINGLING_OUT: _SINGLED_OUT[manifest.shape] + alike,
        Risk.LINKABILITY: _LINKED[manifest.shape],
        Risk.INFERENCE: _inferred(manifest),
        Risk.MEMBERSHIP: _MEMBERSHIP[manifest.shape],
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
    """Return for each risk what the attacks found about it; an empty list if none tried.

    Attacks that do not declare what they are a risk of are listed under `NOT_STATED`, which is
    there only if there are any.
    """
    said: dict[str, list[str]] = {risk: [] for risk in RISKS}
    for found in findings:
        for risk in found.risks or (NOT_STATED,):
            said.setdefault(risk, []).append(_sentence(found))
    return said


def _sentence(found: Findings) -> str:
    name = found.attack.replace("_", " ")
    if found.figure:
        return f"{name}, by an adversary who knows {found.knows}: {found.figure}."
    if found.is_belief and found.limit is not None:
        by_limit = f"by the limit {found.limit}, {found.line}"
        return f"{name}, by an adversary who knows {found.knows}: {by_limit}."
    begin = f"{name}: an adversary who knows {found.knows}"
    if found.limit is None:
        return (
            f"{begin} believes what she believes most of anybody with probability "
            f"{found.worst:.3g}. There is no limit to judge that by."
        )
    counted = "none" if not found.n_breached else number(found.n_breached)
    return (
        f"{begin} puts {counted} of {number(found.n_people)} people at risk by the limit "
        f"{found.limit}; the most that she believes of anybody has probability {found.worst:.3g}."
    )
