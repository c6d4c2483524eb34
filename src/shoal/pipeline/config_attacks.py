"""The attacks of a configuration: how each is made and judged, or why it is left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from shoal.core.attack import Attack
from shoal.core.errors import ParameterError
from shoal.core.exact import Number
from shoal.core.guarantee import BANDWIDTH
from shoal.core.registry import find
from shoal.core.release import Published
from shoal.core.table import Table
from shoal.knowledge.beliefs import Beliefs
from shoal.knowledge.informed import prior_beliefs
from shoal.pipeline.attack import read_people, read_prior
from shoal.pipeline.config_sections import AttackSection, Sections
from shoal.pipeline.make import Parameters, make, refuse_unknown

__all__ = ["ConfiguredAttack", "check_left_out", "max_people_of"]

_ATTACKS = "shoal.attacks"
_POPULATION = "population"
_PRIOR = "prior"
_BANDWIDTH = "bandwidth"
"""Of the beliefs that a prior is estimated as."""
_LIMIT = "limit"
_LIMITS = (_LIMIT, "max_posterior", "r", "ell")
"""Parameters of attacks that say from when on somebody is at risk."""


@dataclass(frozen=True, kw_only=True)
class ConfiguredAttack:
    """An attack that the steward named, and how many people it may put at risk.

    Parameters
    ----------
    name
        Its name in the configuration.
    parameters
        What it is made with. A population is the path of a file.
    max_people
        How many people may be at risk; None where the attack is reported, not judged.
    """

    name: str
    parameters: Parameters = field(default_factory=dict)
    max_people: int | None = None

    def make(self, published: Published, table: Table | None = None) -> Attack:
        """Make the attack; files that it names are read as the release's columns demand.

        Parameters
        ----------
        table
            What the release was made from, where that is at hand: prior beliefs are estimated from
            it where only their bandwidth is given.
        """
        parameters = dict(self.parameters)
        population = parameters.get(_POPULATION)
        if isinstance(population, str | Path):
            parameters[_POPULATION] = read_people(population, published).quasi
        bandwidth, prior = parameters.pop(_BANDWIDTH, None), parameters.get(_PRIOR)
        if isinstance(prior, str | Path):
            chosen = BANDWIDTH if bandwidth is None else bandwidth
            parameters[_PRIOR] = read_prior(prior, published, chosen)
        elif bandwidth is not None:
            parameters[_PRIOR] = self._estimated(table, bandwidth)
        return cast(Attack, make(_ATTACKS, self.name, parameters))

    def _estimated(self, table: Table | None, bandwidth: object) -> Beliefs:
        if table is None:
            raise ParameterError(
                f"The bandwidth of {self.name} is that of beliefs, and there is nothing that they "
                "could be estimated from.",
                hint="name a file with the columns of the table, or of data like it: prior=... or "
                "--prior FILE.",
            )
        return prior_beliefs(table, cast("Number", bandwidth))

    def check(self) -> None:
        """Refuse a name or a parameter that does not exist, before any work is done."""
        read_later = (_POPULATION, _PRIOR, _BANDWIDTH)
        given = {name: value for name, value in self.parameters.items() if name not in read_later}
        make(_ATTACKS, self.name, given)
        named = [_PRIOR if name == _BANDWIDTH else name for name in read_later]
        asked = [
            name for name, given in zip(named, read_later, strict=True) if given in self.parameters
        ]
        refuse_unknown(find(_ATTACKS, self.name), self.name, asked)


def max_people_of(name: str, stated: AttackSection) -> int | None:
    """Return how many people may be at risk; nobody if a limit alone judges the attack."""
    has_limit = _LIMIT in (stated.model_extra or {})
    if stated.max_people is None and has_limit and find(_ATTACKS, name).is_judged_by_limit:
        return 0
    return stated.max_people


def check_left_out(file: Sections) -> None:
    """Refuse an attack that is left out without a reason, or although it has a limit."""
    for name, stated in file.attacks.items():
        if stated.run:
            if stated.reason is not None:
                raise ParameterError(
                    f"[attacks.{name}] has a reason, but the attack is run.",
                    hint="reason says why an attack is left out: it belongs to run = false.",
                )
            continue
        find(_ATTACKS, name)
        if stated.reason is None or not stated.reason.strip():
            raise ParameterError(
                f"[attacks.{name}] run = false needs a reason, which goes to the internal record.",
                hint='add reason = "...".',
            )
        limits = [key for key in _LIMITS if key in (stated.model_extra or {})]
        limits += ["max_people"] if stated.max_people is not None else []
        if limits:
            raise ParameterError(
                f"[attacks.{name}] has {limits[0]}, but run = false: an attack that is judged "
                "cannot be left out.",
                hint="take out the limit, or run = false.",
            )
