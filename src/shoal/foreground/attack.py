"""Foreground knowledge: the release itself shows who is likely to have which value.

A bucket looks diverse to an adversary who considers its people interchangeable. But a useful
release shows which kinds of people have a value more often than others, and with that the adversary
re-weighs the possible worlds of every bucket: if a bucket holds one heart disease, an American and
a Japanese, and hardly any bucket of Japanese holds one, it is the American's. She needs only the
release, and everybody's bucket.

References
----------
[Wong11] (see `shoal.foreground`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import ClassVar, Literal, get_args

import numpy as np

from shoal.beliefs.beliefs import Beliefs
from shoal.core.adversary_guarantees import epsilon_parameter, policy_parameter, sigma_parameter
from shoal.core.attack import Attack, Need, Sampling, View
from shoal.core.cells import Buckets
from shoal.core.declared import declared
from shoal.core.errors import ParameterError
from shoal.core.exact import as_text
from shoal.core.findings import Findings, Risk
from shoal.core.parameters import (
    Converted,
    Exact,
    OptionalExact,
    OptionalValues,
    choice,
    exact_number,
    from_file,
    values,
)
from shoal.core.release import Published
from shoal.core.shapes import Model
from shoal.core.threads import each_of
from shoal.foreground.additive import fit_additive
from shoal.foreground.attribute_sets import AttributeSet, sample_size, usable_sets
from shoal.foreground.expectation_maximization import Target
from shoal.foreground.mining import Exposure, Policy, compositions, expose, expose_by
from shoal.foreground.pieces import Pieces, most_sets
from shoal.foreground.scene import Scene, SuspectedValue, attacked_buckets, claimed, weigh_together
from shoal.foreground.scoring import Answer
from shoal.foreground.sections import Judgement
from shoal.foreground.shapes import Composition
from shoal.injector.known import Knowledge

Adversary = Literal["logit", "paper"]
Locate = Literal["true", "matching"]


@declared
class Foreground(Attack):
    """Weigh the worlds of every bucket by what the whole release says of each kind of people.

    Notes
    -----
    The largest of many beliefs is not a probability: many of the people whom `paper` flags are
    flagged wrongly. The beliefs of `logit` add up to the counts of every bucket, and are calibrated
    as far as the model is right. `logit` chooses how far to trust what it sees by how well it
    predicts buckets that it was not fitted to; if nothing predicts them better than equal
    probabilities, it believes no more than the counts of a bucket say. It assumes that neighbouring
    numbers are similar, and values of one group of a hierarchy: the groups that the release's
    labels show, or the table's own hierarchies, which are assumed to be common knowledge. If every
    value is attacked separately and buckets are small, all values are weighed together.

    In a sliced release a person's bucket consists of the rows that agree with the person in the
    sensitive column. Everybody's bucket must be known; people without a known bucket may be anyone
    who is like them. Of several sensitive columns the first that holds the value is attacked,
    otherwise the first; a sensitive attribute in several columns of the release is attacked in the
    first of these.

    On a generalized release, people who are given with their exact values and their buckets, and
    fill these, are attacked by their values, as the paper assumes; otherwise by their labels.

    If the equations have several solutions, `paper` believes the mean over all that are reached
    from a published list of starts, weighted by likelihood; the headline also states the worst
    belief by one solution alone. With a prior there is one solution, the one above the prior.

    A belief equal to 1/r is no breach, to within 1e-9. If rules contradict a bucket, nobody in it
    is excluded. If the budget of work is too small for everything, longer sets of quasi-identifiers
    are left out first, then the more frequent values. The headline states how many.

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

    value: OptionalValues = values(
        "The sensitive value that is attacked; several count as one. Default: the values that the "
        "guarantees protect together, otherwise every value separately.",
        default=None,
    )
    r: OptionalExact = exact_number(
        "Nobody may be linked to the value with more than 1/r. Default: the guarantee's bound, or "
        "2.",
        default=None,
        at_least=1,
        is_limit=True,
    )
    epsilon: Exact = epsilon_parameter()
    sigma: Exact = sigma_parameter()
    policy: Policy = policy_parameter()
    adversary: Adversary = choice(
        "The adversary whose beliefs are judged: by one additive model of all quasi-identifiers "
        "(`logit`), or the largest belief over all sets of quasi-identifiers (`paper`). Both are "
        "reported.",
        get_args(Adversary),
        default="logit",
    )
    knowledge: Converted[Knowledge | Beliefs | str | Path | None, Knowledge | Beliefs | None] = (
        from_file(
            "What the adversary knows besides the release: negative rules, which exclude people, "
            "or prior beliefs, which are part of the likelihood. Default: what the attack is "
            "given.",
            (Knowledge, Beliefs),
            default=None,
            file="knowledge",
            what="rules or beliefs",
            load=Knowledge.from_file,
            hint="for example shoal.knowledge.Knowledge.from_file('rules.toml').",
        )
    )
    locate: Locate = choice(
        "The location of people whose bucket is known: that bucket, which is the worst case "
        "(`true`), or any bucket that matches them (`matching`).",
        get_args(Locate),
        default="true",
    )

    risks: ClassVar[tuple[Risk, ...]] = (Risk.INFERENCE,)
    knows: ClassVar[str] = (
        "the quasi-identifiers of people who are in the table, and the release, from which she "
        "works out how likely each kind of person is to have a value"
    )
    reads: ClassVar[frozenset[Model]] = frozenset({Model.CLASSES, Model.BUCKETS, Model.SLICES})
    needs: ClassVar[frozenset[Need]] = frozenset({Need.PLACES, Need.TRUTH})
    sampling: ClassVar[Sampling] = Sampling.RELEASE

    def fits(self, published: Published) -> bool:
        """Return whether the release has buckets of sensitive values."""
        return super().fits(published) and self.buckets_of(published) is not None

    def buckets_of(self, published: Published) -> Buckets | None:
        """Return the values of each bucket in the sensitive column that is attacked."""
        return attacked_buckets(published, self.value)

    def aims(self, published: Published) -> tuple[list[tuple[int, ...]], Fraction]:
        """Return the values of a release that are attacked, and the largest belief allowed.

        Each entry, given as codes, is attacked separately; the values of one entry count as one.
        """
        buckets = self.buckets_of(published)
        assert buckets is not None
        return claimed(published.manifest.guarantees, buckets, self.value, self.r)

    def work_of(self, published: Published, n_people: int) -> int:
        """Estimate the units of work of attacking some of the people."""
        known = published.known
        words = {} if published.vocabulary is None else published.vocabulary.domains
        n_entries = n_people
        if all(column in words for column in known):
            # A bucket has one entry for all people who are alike.
            n_kinds = math.prod(words[column].size for column in known)
            n_entries = min(n_people, n_kinds * published.n_buckets)
        least = sample_size(self.epsilon, self.sigma) / max(n_people, 1)
        n_sets = most_sets([published.largest_shares[column] for column in known], least)
        return Pieces(len(self.aims(published)[0]), n_sets).cost(n_entries)

    def run(self, view: View) -> Findings:
        """Attack the people with what the release says about kinds of people.

        The knowledge of the view is negative rules or prior beliefs, if none are given as
        `knowledge`.

        Raises
        ------
        ParameterError
            If the release has no sensitive column, lacks the value, or has a shape that the attack
            does not know; if rules are about another column; if nobody's bucket in a sliced
            release is known.
        """
        published, people = view.published, view.people
        buckets = self.buckets_of(published)
        if buckets is None or not self.fits(published):
            raise ParameterError(
                "Foreground attacks generalized, bucketized and sliced releases with a sensitive "
                f"column; this one is {published.manifest.shape}"
                + (" and has none." if buckets is None else "."),
            )
        known = self.knowledge if self.knowledge is not None else view.knowledge
        scene = Scene.of(published, buckets, people, known, is_matching=self.locate == "matching")
        aims, bound = self.aims(published)
        looks = scene.exposed.looks
        usable = usable_sets(looks, sample_size(self.epsilon, self.sigma))
        chosen = Pieces(len(aims), len(usable)).within(
            view.work, len(scene.exposed.look), len(looks.domains)
        )
        # The rarest values come first, and of the sets the shortest.
        attacked, sets = aims[: chosen.n_values], usable[: chosen.n_sets]
        # Everybody's relations are the same for all values.
        _ = scene.relations, scene.exposed.starts
        made = compositions(scene.exposed, sets)
        # The most frequent value takes longest, so it is begun first.
        found = each_of(lambda values: self._look_at(scene, sets, made, values), attacked[::-1])
        views = weigh_together(scene, list(found)[::-1])
        judged = Judgement.of(scene, views, self.adversary, float(bound))
        first = published.first_value(buckets.domain.column)
        value = np.where(judged.value < 0, judged.value, judged.value + first)
        answer = Answer(
            published=published,
            buckets=buckets,
            people=people,
            aims=tuple(tuple(first + one for one in aim) for aim in aims),
            value=value,
            posterior=judged.posterior,
            bound=float(bound),
            distributions=views[0].distributions if views else (),
        )
        return Findings(
            attack="foreground",
            knows=self.knows,
            counts=people.counts,
            value=value,
            posterior=judged.posterior,
            breached=judged.breached,
            limit=as_text(bound),
            is_belief=True,
            suspicions=judged.suspicions(first),
            score=answer.score,
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
        self,
        scene: Scene,
        sets: Sequence[AttributeSet],
        made: Sequence[Composition],
        values: tuple[int, ...],
    ) -> SuspectedValue:
        """Let both adversaries attack some values, which count as one."""
        target = Target.of(scene.exposed, values, scene.forbidden(values))
        prior = scene.prior(values)
        paper, distributions = expose(target, sets, policy=self.policy, prior=prior, made=made)
        model, logit = fit_additive(target, prior=prior, relations=scene.relations)
        bare = Target.of(scene.exposed, values)
        beside: dict[str, Exposure] = {"random worlds": expose_by(bare, 0.5)}
        if scene.has_knowledge:
            is_logit = self.adversary == "logit"
            alone = (
                fit_additive(bare, relations=scene.relations)[1]
                if is_logit
                else expose(bare, sets, policy=self.policy, made=made)[0]
            )
            known = expose_by(target, 0.5 if prior is None else prior)
            beside |= {"foreground": alone, "background": known}
        return SuspectedValue(values, target, paper, logit, distributions, model, beside)


def _cut_short(n_sets_left_out: int, n_attacked: int, n_values: int) -> str:
    """Describe what was left out; empty if nothing was."""
    said = []
    if n_attacked < n_values:
        said.append(f"{n_attacked} of {n_values} values were attacked")
    if n_sets_left_out:
        said.append(f"{n_sets_left_out} attribute sets were left out")
    return " and ".join(said)
