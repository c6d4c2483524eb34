"""Claims about a table that another tool made, and the check whether they hold."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from shoal.core.errors import ParameterError
from shoal.core.exact import Number, exact
from shoal.core.guarantees import (
    AlphaK,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    Guarantee,
    KAnonymity,
    RecursiveDiversity,
    TCloseness,
)
from shoal.core.progress import DEFAULT_MAX_WORK
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.release.verify import Verification, verify_file

_DIVERSITIES = ("distinct", "frequency", "entropy", "recursive")


@dataclass(frozen=True, kw_only=True)
class Claims:
    """Claims about a table that another tool made: its columns, and parameters of guarantees.

    Every parameter that is given claims its guarantee.

    Examples
    --------
    >>> [claim.name for claim in Claims(quasi=("age",), sensitive="disease", k=5, ell=3).guarantees]
    ['k-anonymity', 'distinct l-diversity']
    """

    quasi: tuple[str, ...] = ()
    sensitive: str | None = None
    k: int | None = None
    ell: Number | None = None
    diversity: str | None = None
    c: Number | None = None
    t: Number | None = None
    distance: str | None = None
    alpha: Number | None = None
    # Of the sensitive column: a file, or a rule as in the configuration.
    hierarchy: str | Mapping[str, object] | None = None
    # The sensitive values from lowest to highest.
    order: tuple[str, ...] = ()
    # The levels at which the sensitive column counts, as in `shoal.Schema`.
    levels: Mapping[str, object] | None = None

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """The claimed guarantees; a parameter without the one that it belongs to is an error."""
        for name, owner in (("diversity", "ell"), ("c", "ell"), ("distance", "t")):
            if getattr(self, name) is not None and getattr(self, owner) is None:
                raise ParameterError(
                    f"{name} has no meaning without {owner}.", hint=f"give {owner}."
                )
        claimed: list[Guarantee] = []
        if self.alpha is not None:
            claimed.append(AlphaK(alpha=self.alpha, k=1 if self.k is None else self.k))
        elif self.k is not None:
            claimed.append(KAnonymity(k=self.k))
        if self.ell is not None:
            claimed.append(self._diversity(self.ell))
        if self.t is not None:
            claimed.append(TCloseness(t=self.t, distance=self.distance or "equal"))
        return tuple(claimed)

    def _diversity(self, ell: Number) -> Guarantee:
        kind = self.diversity or "distinct"
        if kind not in _DIVERSITIES:
            raise ParameterError(
                f"diversity must be one of {', '.join(_DIVERSITIES)}, not {kind!r}."
            )
        if (self.c is not None) != (kind == "recursive"):
            raise ParameterError("c belongs to recursive l-diversity, which needs it.")
        if kind == "frequency":
            return FrequencyDiversity(ell=ell)
        if kind == "entropy":
            return EntropyDiversity(ell=ell)
        number = exact("ell", ell)
        if number.denominator != 1:
            raise ParameterError(f"ell must be a whole number for {kind} l-diversity.")
        if self.c is not None:
            return RecursiveDiversity(c=self.c, ell=int(number))
        return DistinctDiversity(ell=int(number))

    def refuse_any(self) -> None:
        """Raise `ParameterError` if anything is claimed: a release states its own guarantees."""
        given = [f.name for f in fields(self) if getattr(self, f.name) not in (None, ())]
        if given:
            raise ParameterError(
                f"A release folder states its own guarantees; {', '.join(given)} has no meaning "
                "there.",
                hint="to check another claim, name a data file in the folder.",
            )

    def verify(
        self,
        path: str | os.PathLike[str],
        memory: str | None = None,
        max_work: int = DEFAULT_MAX_WORK,
    ) -> Verification:
        """Check a table for the claims; raise `ParameterError` if one lacks its column."""
        guarantees = self.guarantees
        if not self.quasi or not guarantees:
            raise ParameterError(
                f"{Path(path).name} does not say what it promises.",
                hint="name its columns and what to check: --quasi a,b --sensitive s --k 5 --ell 3.",
            )
        about = [entry.name for entry in guarantees if entry.is_about_sensitive]
        if about and self.sensitive is None:
            raise ParameterError(
                f"{about[0]} is about a sensitive column.", hint="name it: --sensitive s."
            )
        return verify_file(
            path,
            quasi=self.quasi,
            sensitive=self.sensitive,
            guarantees=guarantees,
            hierarchy=self._hierarchy(),
            order=self.order or None,
            levels=self.levels,
            memory=memory,
            max_work=max_work,
        )

    def _hierarchy(self) -> Hierarchy | None:
        if self.hierarchy is None:
            return None
        if isinstance(self.hierarchy, str):
            return Hierarchy.from_csv(self.hierarchy, column=self.sensitive)
        return Hierarchy.from_config(self.hierarchy, column=self.sensitive)
