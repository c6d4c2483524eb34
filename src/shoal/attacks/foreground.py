"""Foreground knowledge: the release itself says who is likely to have what.

A bucket looks diverse to an adversary who takes each of its people for the same. But a release
that is of use shows which kinds of people have a value more often than others, and with that she
weighs the possible worlds of every bucket anew: where a bucket holds one heart disease, an American
and a Japanese, and hardly any bucket of Japanese holds one, it is the American's. She needs
nothing but the release, and who is in which bucket.

References
----------
[Wong11] R. C.-W. Wong, A. W.-C. Fu, K. Wang, Y. Xu, P. S. Yu: Can the Utility of Anonymized Data
be used for Privacy Breaches? TKDD 5(3), 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from shoal.attacks import _foreground_sections as sections
from shoal.attacks._foreground_scene import Scene, attacked_buckets, claimed
from shoal.core.attack import Attack, Findings, Risk
from shoal.core.cells import Buckets, Codes
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, as_text, exact
from shoal.core.method import Shape
from shoal.core.release import People, Published
from shoal.knowledge.beliefs import Beliefs
from shoal.knowledge.foreground import (
    AttributeSet,
    Exposure,
    Policy,
    Target,
    expose,
    expose_by,
    fit_additive,
    sample_size,
    usable_sets,
)
from shoal.knowledge.known import Knowledge

__all__ = ["Foreground"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Adversary = Literal["logit", "paper"]
Locate = Literal["true", "matching"]

_MOST_WORK = 20_000_000
"""How many pairs of a line and a value are attacked where no value is named."""
_MOST_FITS = 2000
"""How many pairs of a set of quasi-identifiers and a value are looked at, where several are."""


@dataclass(frozen=True, kw_only=True, init=False)
class Foreground(Attack):
    """Weigh the worlds of every bucket by what the whole release says of each kind of people.

    Parameters
    ----------
    value
        The sensitive value that is attacked; several count as one. Where none is named, the values
        that the release's guarantees protect together, or else every value in turn.
    r
        Nobody is to be linked to the value with more than 1/r. Without it the bound that the
        guarantees give; where they give none, 1/2.
    epsilon, sigma
        How many rows of a signature are enough: so many that its share of the value is off by more
        than epsilon with a chance of sigma at most.
    policy
        What is assumed of signatures with fewer: that they share one chance, found with the others
        (`pool`), that of the whole release (`prior`), or one half (`half`).
    adversary
        Whose beliefs are judged. `paper` takes the largest p(t:x) over all sets of
        quasi-identifiers; `logit` has one additive model of all of them. Both are reported.
    knowledge
        What she knows beside the release: negative rules, which exclude people, or prior beliefs,
        which are part of the likelihood. By default what the attack is given.
    locate
        Where people are whose bucket is known: there (`true`), which is the worst case, or in any
        bucket that fits them (`matching`).

    Notes
    -----
    The largest of many beliefs is no probability: of those whom `paper` flags many are flagged
    wrongly. The beliefs of `logit` add up to what every bucket holds, and hold to the degree that
    they are believed, as far as the model is right. How far `logit` trusts what it sees is chosen
    by how well it predicts buckets that it was not fitted to; where nothing predicts them better
    than chances that are all alike, it believes no more than the counts of a bucket say. It takes
    neighbouring numbers to be similar, and values of one group of a hierarchy: those that the
    release's labels show, or the table's own, which are taken to be common knowledge. Where every
    value is attacked by itself and buckets are small, all values are weighed together.

    In a sliced release a person's bucket is that of the rows that agree with them in the sensitive
    column. Who is in which bucket must be known of everybody; people who are looked for are all
    of those who are like them. Of several sensitive columns the first that holds the value, or
    else the first, is attacked; one that is in several columns of the release, in the first.

    On a generalized release, people who are given with their exact values and their buckets, and
    fill these, are attacked by their values, as the paper assumes; else by their labels.

    Where the equations have several solutions, `paper` believes the mean over all that are reached
    from a published list of starts, weighted by likelihood; the headline also states the worst
    belief by one solution alone. With a prior she has one solution, the one above the prior.

    A belief equal to 1/r is no breach, to within 1e-9. Where rules contradict a bucket nobody of
    it is excluded. Where no value is named and the release is very large, the rarest values are
    attacked; where it has very many sets of quasi-identifiers, the shortest are looked at for
    `paper`. How many, the headline says.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.census(rows=2000, seed=1))
    >>> release = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
    >>> attack = shoal.attacks.Foreground(epsilon=0.05)
    >>> (found,) = shoal.attack(release, attack)
    >>> found.limit, found.n_breached > 0
    ('0.5', True)
    """

    value: tuple[str | None, ...] | None = field(default=None, repr=False)
    r: Fraction | None = None
    epsilon: Fraction = Fraction(1, 100)
    sigma: Fraction = Fraction(9, 10)
    policy: Policy = "pool"
    adversary: Adversary = "logit"
    knowledge: Knowledge | Beliefs | None = field(default=None, repr=False)
    locate: Locate = "true"

    risks: ClassVar[tuple[Risk, ...]] = (Risk.INFERENCE,)
    knows: ClassVar[str] = (
        "the quasi-identifiers of people who are in the table, and the release, from which she "
        "works out how likely each kind of people has a value"
    )
    shapes: ClassVar[frozenset[Shape]] = frozenset(
        {Shape.GENERALIZED, Shape.BUCKETIZED, Shape.SLICED}
    )
    needs_places: ClassVar[bool] = True
    yields_beliefs: ClassVar[bool] = True

    def __init__(
        self,
        *,
        value: str | Sequence[str | None] | None = None,
        r: Number | None = None,
        epsilon: Number = 0.01,
        sigma: Number = 0.9,
        policy: Policy = "pool",
        adversary: Adversary = "logit",
        knowledge: Knowledge | Beliefs | None = None,
        locate: Locate = "true",
    ) -> None:
        sample_size(epsilon, sigma)
        for name, choice, choices in (
            ("policy", policy, get_args(Policy)),
            ("adversary", adversary, get_args(Adversary)),
            ("locate", locate, get_args(Locate)),
        ):
            if choice not in choices:
                raise ParameterError(f"{name} must be one of {', '.join(choices)}, not {choice!r}.")
        if knowledge is not None and not isinstance(knowledge, Knowledge | Beliefs):
            raise ParameterError(
                f"knowledge must be rules or beliefs, not a {type(knowledge).__name__}.",
                hint="for example shoal.knowledge.Knowledge.from_file('rules.toml').",
            )
        checked = {
            "value": _checked_values(value),
            "r": None if r is None else _checked_r(r),
            "epsilon": exact("epsilon", epsilon),
            "sigma": exact("sigma", sigma),
            "policy": policy,
            "adversary": adversary,
            "knowledge": knowledge,
            "locate": locate,
        }
        for name, given in checked.items():
            object.__setattr__(self, name, given)

    def fits(self, published: Published) -> bool:
        """Whether the release has buckets of sensitive values."""
        return super().fits(published) and self.buckets_of(published) is not None

    def buckets_of(self, published: Published) -> Buckets | None:
        """Give the values of each bucket in the sensitive column that is attacked."""
        return attacked_buckets(published, self.value)

    def aims(self, published: Published) -> tuple[list[tuple[int, ...]], Fraction]:
        """Say which values of a release are attacked, and what belief in them is allowed.

        Returns
        -------
        aims
            The codes of values: each entry is attacked by itself, and its values count as one.
        bound
            The largest belief that is no breach.
        """
        buckets = self.buckets_of(published)
        assert buckets is not None
        return claimed(published.manifest.guarantees, buckets, self.value, self.r)

    def run(self, published: Published, people: People, knowledge: object = None) -> Findings:
        """Attack the people with what the release says of kinds of people.

        Parameters
        ----------
        published
            The release as any reader sees it.
        people
            The quasi-identifiers of the people attacked.
        knowledge
            Negative rules or prior beliefs, where none are given as `knowledge`.

        Raises
        ------
        ParameterError
            Where the release has no sensitive column or not the value, or a shape that the attack
            does not know; where rules are about another column; where nobody's bucket in a
            sliced release is known.
        """
        buckets = self.buckets_of(published)
        if buckets is None or not self.fits(published):
            raise ParameterError(
                "Foreground attacks generalized, bucketized and sliced releases with a sensitive "
                f"column; this one is {published.manifest.shape}"
                + (" and has none." if buckets is None else "."),
            )
        known = self.knowledge if self.knowledge is not None else knowledge
        scene = Scene.of(published, buckets, people, known, is_matching=self.locate == "matching")
        aims, bound = self.aims(published)
        attacked = aims[: max(_MOST_WORK // max(len(scene.exposed.look), 1), 1)]
        usable = usable_sets(scene.exposed.looks, sample_size(self.epsilon, self.sigma))
        most_sets = max(_MOST_FITS // max(len(attacked), 1), len(scene.exposed.looks.domains))
        # Short sets come first; who names a value has them all.
        sets = usable if len(attacked) == 1 else usable[:most_sets]
        views = [self._look_at(scene, sets, values) for values in attacked]
        views = sections.weigh_together(scene, views)
        judged = sections.Judged.of(scene, views, self.adversary, float(bound))
        return Findings(
            attack="foreground",
            knows=self.knows,
            counts=people.counts,
            value=_numbered(judged.value, published, buckets),
            posterior=judged.posterior,
            breached=judged.breached,
            limit=as_text(bound),
            is_belief=True,
            suspicions=judged.suspicions(_numbered(np.zeros(1, np.int64), published, buckets)[0]),
            headline=judged.headline()
            | {
                "attribute sets left out": len(usable) - len(sets),
                "values attacked": f"{len(attacked)} of {len(aims)}",
            },
            sections=judged.sections(),
            unresolved=scene.unresolved,
            cut_short=_cut_short(len(usable) - len(sets), len(attacked), len(aims)),
        )

    def _look_at(
        self, scene: Scene, sets: Sequence[AttributeSet], values: tuple[int, ...]
    ) -> sections.View:
        """Let both adversaries attack some values, which count as one."""
        target = Target.of(scene.exposed, values, scene.forbidden(values))
        prior = scene.prior(values)
        paper, distributions = expose(target, sets, policy=self.policy, prior=prior)
        model, logit = fit_additive(target, prior=prior, relations=scene.relations)
        bare = Target.of(scene.exposed, values)
        beside: dict[str, Exposure] = {"random worlds": expose_by(bare, 0.5)}
        if scene.has_knowledge:
            is_logit = self.adversary == "logit"
            alone = (
                fit_additive(bare, relations=scene.relations)[1]
                if is_logit
                else expose(bare, sets, policy=self.policy)[0]
            )
            known = expose_by(target, 0.5 if prior is None else prior)
            beside |= {"foreground": alone, "background": known}
        return sections.View(values, target, paper, logit, distributions, model, beside)


def _cut_short(n_sets_left_out: int, n_attacked: int, n_values: int) -> str:
    """Say what was not looked at; nothing if everything was."""
    said = []
    if n_attacked < n_values:
        said.append(f"{n_attacked} of {n_values} values were attacked")
    if n_sets_left_out:
        said.append(f"{n_sets_left_out} attribute sets were left out")
    return " and ".join(said)


def _numbered(value: Codes, published: Published, buckets: Buckets) -> Codes:
    """Number values as the release does: in a sliced one those of all sensitive columns."""
    if published.sliced is None:
        return value
    first = published.sliced.first_sensitive(buckets.domain.column)
    return np.where(value < 0, value, value + first)


def _checked_values(value: str | Sequence[str | None] | None) -> tuple[str | None, ...] | None:
    if value is None:
        return None
    values = (value,) if isinstance(value, str) else tuple(value)
    if not values or not all(one is None or isinstance(one, str) for one in values):
        raise ParameterError(
            "value must be a sensitive value, or several.", hint="leave it out to attack them all."
        )
    return tuple(dict.fromkeys(values))


def _checked_r(r: Number) -> Fraction:
    bound = exact("r", r)
    if bound < 1:
        raise ParameterError(f"r must be at least 1, not {as_text(bound)}.")
    return bound
