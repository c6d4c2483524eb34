"""The findings of the foreground attack, as figures and in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.core.arrays import Codes, Flags, Floats
from shoal.core.calibration import Suspicion, Suspicions
from shoal.core.display import Section
from shoal.foreground.mining import GlobalDistribution
from shoal.foreground.scene import Scene, SuspectedValue
from shoal.foreground.scoring import is_above

_N_WORST = 10
_N_GROUPS = 15
_N_BANDS = 10
_FEWEST = 20
"""A subgroup of fewer people says little about its rate."""
_DIGITS = 7
"""Effects whose weights are the same to so many digits are listed by name."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """Beliefs about everybody, over all values that are attacked.

    `bound` is the largest belief that is allowed. `value` and `posterior` are the strongest belief
    about each cell of people.
    """

    scene: Scene
    views: Sequence[SuspectedValue]
    adversary: str
    bound: float
    value: Codes
    posterior: Floats

    @classmethod
    def of(
        cls, scene: Scene, views: Sequence[SuspectedValue], adversary: str, bound: float
    ) -> Judgement:
        """Take the strongest belief about everybody."""
        n_people = scene.places.n_people
        value, posterior = np.full(n_people, -1, dtype=np.int64), np.zeros(n_people)
        first = np.full(n_people, -1, dtype=np.int64)
        first[scene.places.person[::-1]] = scene.places.bucket[::-1]
        for view in views:
            found = scene.of_people(view.exposure(adversary).p)
            higher = (found > posterior) & (first >= 0)
            value[higher] = (
                view.values[0]
                if len(view.values) == 1
                else view.code_of_entry(scene)[first[higher]]
            )
            posterior = np.where(higher, found, posterior)
        return cls(scene, views, adversary, bound, value, posterior)

    def suspicions(self, first: int) -> Suspicions | None:
        """Return the beliefs about everybody, value by value, for calibration.

        `first` is the number that the findings give to the first value of the column. Returns None
        if somebody may be in several places.
        """
        entry = self.scene.places.bucket
        if not np.array_equal(self.scene.places.person, np.arange(self.scene.places.n_people)):
            return None
        group = self.scene.exposed.bucket[entry]
        about = tuple(
            Suspicion(
                tuple(first + code for code in view.values),
                view.exposure(self.adversary).p[entry],
                group,
                view.target.n_carrying,
                # Beliefs by all values together do not rest on the odds of one value.
                view.log_odds[entry] if self.adversary == "logit" and not view.is_joint else None,
            )
            for view in self.views
        )
        return Suspicions(about, self.bound, is_mined=True)

    @property
    def breached(self) -> Flags:
        """Whether the belief about each cell of people is above the bound."""
        return is_above(self.posterior, self.bound)

    def by(self, name: str) -> Floats:
        """Return the strongest belief of an adversary about each cell of people."""
        return self._strongest([view.exposure(name).p for view in self.views])

    def _strongest(self, beliefs: Sequence[Floats]) -> Floats:
        found = np.zeros(self.scene.places.n_people)
        for p in beliefs:
            found = np.maximum(found, self.scene.of_people(p))
        return found

    def headline(self) -> dict[str, object]:
        """Return the figures of the summary."""
        counts = self.scene.people.counts
        other = "paper" if self.adversary == "logit" else "logit"
        fits = [one.fit for view in self.views for one in view.distributions]
        deltas = [one.delta for view in self.views for one in view.distributions]
        n_people = max(int(counts.sum()), 1)
        one_solution = self._strongest([view.paper.worst for view in self.views])
        figures: dict[str, object] = {
            "people believed above the limit": int(counts[self.breached].sum()),
            "worst posterior": float(self.posterior.max(initial=0.0)),
            "mean posterior": float((self.posterior * counts).sum()) / n_people,
            f"people believed above the limit by adversary {other}": int(
                counts[is_above(self.by(other), self.bound)].sum()
            ),
            "people not found": self.scene.people.n_people - self.scene.n_found,
            "attribute sets": len(self.views[0].distributions) if self.views else 0,
            "average Delta": float(np.mean(deltas)) if deltas else 0.0,
            "sets that converged": f"{sum(fit.is_converged for fit in fits)} of {len(fits)}",
            "sets with several solutions": sum(not fit.is_unique for fit in fits),
            "worst posterior by one solution": float(one_solution.max(initial=0.0)),
        }
        return figures | self._model_figures()

    def _model_figures(self) -> dict[str, object]:
        """Describe in words what the additive model has learned."""
        models = [view.model for view in self.views]
        n_alike = sum(model.is_all_alike for model in models)
        if len(models) == 1 and n_alike:
            learned = "nothing: chances that are all alike predict held-out buckets best"
        else:
            learned = f"something about {len(models) - n_alike} of {len(models)} values"
        is_joint = bool(self.views) and self.views[0].is_joint
        return {
            "learned by the additive model": learned,
            "values weighed together": "yes" if is_joint else "no",
        }

    def sections(self) -> tuple[Section, ...]:
        """Return the small tables, without those that have no rows."""
        made = (
            self._adversaries(),
            self._sets(),
            self._signatures(),
            self._models(),
            self._effects(),
            self._groups(),
            self._bands(),
        )
        return tuple(section for section in made if section.rows)

    def _adversaries(self) -> Section:
        """Compare adversaries, with and without prior knowledge."""
        names = {"logit": "logit", "paper": "paper"}
        beside = list(self.views[0].beside) if self.views else []
        if "background" in beside:
            names[self.adversary] = f"{self.adversary}: foreground and background"
        rows = []
        for name in [*names, *beside]:
            p = self.by(name)
            counts = self.scene.people.counts
            rows.append(
                (
                    names.get(name, name),
                    int(counts[is_above(p, self.bound)].sum()),
                    float(p.max(initial=0.0)),
                    float((p * counts).sum()) / max(int(counts.sum()), 1),
                )
            )
        columns = ("adversary", "people believed above the limit", "worst", "mean")
        return Section("adversaries", columns, tuple(rows), holds_values=False)

    def _sets(self) -> Section:
        """List the attribute sets by how many people the paper's adversary flags by them."""
        rows = []
        for view in self.views:
            count = view.target.exposed.count
            flagged = is_above(view.paper.p, self.bound) & (view.paper.by >= 0)
            people = np.bincount(view.paper.by[flagged], count[flagged], len(view.distributions))
            for number, one in enumerate(view.distributions):
                rows.append(
                    (
                        int(people[number]),
                        ", ".join(one.attributes.columns),
                        self._name(view),
                        float(one.lift.max(initial=0.0)),
                        one.delta,
                        one.fit.n_steps,
                        one.fit.n_maxima,
                    )
                )
        rows.sort(key=lambda row: (-row[0], row[1], row[2]))
        who = ("people believed above the limit", "attribute set", "value")
        columns = (*who, "largest ratio to the whole", "Delta", "steps", "solutions")
        return Section("attribute sets that did most damage", columns, tuple(rows[:_N_WORST]))

    def _signatures(self) -> Section:
        """Describe the kinds of people that the paper's adversary flags."""
        rows: list[tuple[int, float, str]] = []
        for view in self.views:
            exposed = view.target.exposed
            flagged = np.flatnonzero(is_above(view.paper.p, self.bound) & (view.paper.by >= 0))
            for number in np.unique(view.paper.by[flagged]).tolist():
                own = flagged[view.paper.by[flagged] == number]
                one = view.distributions[number]
                which = one.attributes.class_of_look[exposed.look[own]]
                people = np.bincount(which, exposed.count[own], one.attributes.n_signatures + 1)
                rows.extend(
                    (int(people[place]), float(one.f[place]), self._sentence(view, one, place))
                    for place in np.flatnonzero(people).tolist()
                )
        rows.sort(key=lambda row: (-row[0], row[2]))
        columns = ("people believed above the limit", "chance", "what she found out")
        return Section("signatures that did most damage", columns, tuple(rows[:_N_WORST]))

    def _sentence(self, view: SuspectedValue, one: GlobalDistribution, signature: int) -> str:
        lift = _times(float(one.lift[signature]))
        if signature == one.attributes.n_signatures:
            columns = " and ".join(one.attributes.columns)
            return f"people whose {columns} is rare are {lift} to have {self._name(view)}"
        looks = view.target.exposed.looks
        parts = [
            f"{column} {_shown(looks.domain(column).text(code))}"
            for column, code in zip(
                one.attributes.columns, one.attributes.signatures[signature].tolist(), strict=True
            )
        ]
        return f"people with {' and '.join(parts)} are {lift} to have {self._name(view)}"

    def _models(self) -> Section:
        """List how the additive model of each value was chosen."""
        rows = []
        for view in self.views:
            model, table = view.model, view.model.cross_validation
            rows.append(
                (
                    self._name(view),
                    "infinite: all alike" if model.is_all_alike else f"{model.penalty:g}",
                    None if table is None else table.gain,
                    None if table is None else table.standard_error,
                    0 if table is None else table.n_folds,
                )
            )
        gain = "gain in held-out log-likelihood over all alike"
        columns = ("value", "penalty", gain, "standard error", "folds")
        return Section("how the additive model was chosen", columns, tuple(rows))

    def _effects(self) -> Section:
        """List the values that count most in the additive model."""
        rows: list[tuple[str, str | None, float, int, str]] = []
        for view in self.views:
            looks = view.target.exposed.looks
            for place, (domain, effects) in enumerate(
                zip(looks.domains, view.model.effects, strict=True)
            ):
                people = np.bincount(looks.codes[:, place], looks.counts, domain.size)
                factors = np.exp(effects)
                rows.extend(
                    (
                        domain.column,
                        domain.text(code),
                        float(factors[code]),
                        int(people[code]),
                        self._name(view),
                    )
                    for code in np.flatnonzero(people >= _FEWEST).tolist()
                )
        rows.sort(key=_weight_of_effect)
        columns = ("column", "label", "factor of the odds", "people", "value")
        return Section("what counts most in the additive model", columns, tuple(rows[:_N_WORST]))

    def _groups(self) -> Section:
        """List the subgroups whose people are at risk most often."""
        quasi, breached = self.scene.people.quasi, self.breached
        rows = []
        for place, domain in enumerate(quasi.domains):
            codes = quasi.codes[:, place]
            people = np.bincount(codes, quasi.counts, domain.size)
            at_risk = np.bincount(codes, quasi.counts * breached, domain.size)
            for code in np.flatnonzero((people >= _FEWEST) & (at_risk > 0)).tolist():
                rate = float(at_risk[code] / people[code])
                rows.append(
                    (domain.column, domain.text(code), int(people[code]), int(at_risk[code]), rate)
                )
        rows.sort(key=lambda row: (-row[4], -row[2], row[0], str(row[1])))
        columns = ("column", "label", "people", "at risk", "share")
        return Section(
            "people believed above the limit, by subgroup", columns, tuple(rows[:_N_GROUPS])
        )

    def _bands(self) -> Section:
        """Count people by the strength of the belief about them."""
        edges = np.arange(1, _N_BANDS + 1) / _N_BANDS
        band = np.minimum(np.searchsorted(edges, self.posterior - 1e-9), _N_BANDS - 1)
        people = np.bincount(band, self.scene.people.counts, _N_BANDS).astype(np.int64)
        names = [f"up to {edge:g}" for edge in edges]
        rows = tuple(zip(names, people.tolist(), strict=True))
        return Section("people by posterior", ("posterior", "people"), rows, holds_values=False)

    def _name(self, view: SuspectedValue) -> str:
        domain = self.scene.exposed.buckets.domain
        return " or ".join(_shown(domain.text(code)) for code in view.values)


def _weight_of_effect(row: tuple[str, str | None, float, int, str]) -> tuple[object, ...]:
    """Return the sort key of an effect: the heaviest first, and by name if they are alike."""
    column, label, factor, people, value = row
    weight = round(abs(math.log(factor)) * math.sqrt(people), _DIGITS)
    return (-weight, column, str(label), value)


def _shown(text: str | None) -> str:
    return "missing" if text is None else text


def _times(lift: float) -> str:
    """Describe how a probability compares with everybody's.

    Examples
    --------
    >>> _times(2.04), _times(1.0)
    ('2.0 times as likely as everybody', 'as likely as everybody')
    """
    if 0.95 < lift < 1.05:
        return "as likely as everybody"
    times = f"{lift:.1f}" if lift >= 1 else f"{lift:.2g}"
    return f"{times} times as likely as everybody"
