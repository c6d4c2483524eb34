"""How likely each kind of person is to have a value, learned from the table itself.

What an adversary mines from a release is at best the law behind the table. The steward has the
table, and can ask how exposed people would be to an adversary who knew that law: a regression of
who has the value on the quasi-identifiers. No release teaches more about kinds of people than the
table does. What the adversary mined is not a predictor here, since it comes from the counts of
buckets, which contain the truth.

The log odds are a sum of effects: one for each value of a quasi-identifier (of its groups, if there
are many values), and one for each pair of values of two of them. A block of effects is a normal
sample around 0 with its own variance. Blocks are added one by one while the evidence, the
likelihood with all effects integrated out by Laplace's method, grows by more than chance would
explain. Draws from the posterior over the models on that path show how certain all of this is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np

from shoal.calibration._kernels import derive, total
from shoal.core.arrays import Codes, Counts, Floats
from shoal.core.cells import Cells, group
from shoal.foreground._linear_kernels import factorize, invert_upper, solve, solve_upper

_MOST_GROUPS = 8
"""A quasi-identifier with more values is grouped before it is paired with another."""
_MOST_EFFECTS = 400
_MOST_BLOCKS = 12
_DEVIATIONS = (0.2, 0.6, 1.5, 4.0)
"""The standard deviations of effects that are tried when a block is added."""
_WORTH = {1: 0.7, 2: 1.4}
"""How much the log evidence must grow for a block of a column, and of a pair."""
_VAGUE = 1e-4
"""The precision of the level, which is hardly constrained."""
_MAX_STEPS = 40
_FLAT, _ROUGHLY_FLAT = 1e-5, 1e-3
"""Newton's method ends after a step no longer than this; the second is for models whose deviations
are learned next."""
_LONGEST_STEP = 4.0
_MOST_LOG_ODDS = 30.0


@dataclass(frozen=True, eq=False)
class Block:
    """Exchangeable effects: of the values of a column, or of pairs of values.

    `code` is the effect of each kind of person, and `order` the number of columns involved.
    """

    code: Codes
    size: int
    order: int

    def totals(self, first: Floats, second: Floats) -> tuple[Floats, Floats]:
        """Sum two weights by effect."""
        found = np.zeros((self.size, 2))
        total(self.code, first, second, found)
        return found[:, 0], found[:, 1]


@dataclass(frozen=True, eq=False)
class _Data:
    """Kinds of people: how many there are, and how many have the value."""

    n_rows: Floats
    n_carrying: Floats


@dataclass(frozen=True, eq=False)
class _Classes:
    """Kinds of people that the blocks of a model tell apart; all others are counted together.

    `of_kind` is the class of each kind, and `place` has the parameters of each class: the level,
    and an effect of each block.
    """

    of_kind: Codes
    place: Codes
    n_rows: Floats
    n_carrying: Floats

    @classmethod
    def alike(cls, data: _Data) -> _Classes:
        """Return one class for everybody."""
        none = np.zeros(len(data.n_rows), dtype=np.int64)
        return cls(none, none[:1, np.newaxis], *_summed(data, none, 1))

    def split(self, data: _Data, block: Block, start: int) -> _Classes:
        """Divide the classes by a block, whose effects are the parameters from `start`."""
        sizes = [len(self.place), block.size]
        first, of_kind = group([self.of_kind, block.code], sizes, len(self.of_kind))
        place = np.column_stack([self.place[self.of_kind[first]], start + block.code[first]])
        return _Classes(of_kind, place, *_summed(data, of_kind, len(first)))


def _summed(data: _Data, of_kind: Codes, size: int) -> tuple[Floats, Floats]:
    n_rows = np.bincount(of_kind, data.n_rows, size).astype(np.float64)
    return n_rows, np.bincount(of_kind, data.n_carrying, size).astype(np.float64)


@dataclass(frozen=True, eq=False)
class TableLaw:
    """Models of who has the value, each with one more block of effects than the one before.

    Examples
    --------
    Everybody of the first kind has the value, and nobody of the second:

    >>> from shoal.core.domain import Domain
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> kinds = Cells((sex,), np.array([[0], [1]]), np.array([50, 50]))
    >>> law = TableLaw.fit(kinds, np.array([50, 0]))
    >>> first, second = law.draw(20, np.random.default_rng(0)).T
    >>> bool(first.min() > 0 > second.max())
    True
    """

    models: tuple[_Model, ...] = field(repr=False)

    @classmethod
    def fit(cls, kinds: Cells, carriers: Counts, blocks: Sequence[Block] | None = None) -> TableLaw:
        """Learn the law of a table.

        `kinds` are the distinct kinds of people with their numbers, and `carriers` says how many of
        each have the value. `blocks` are those of the kinds; default: they are made anew.
        """
        data = _Data(kinds.counts.astype(np.float64), carriers.astype(np.float64))
        candidates = [*(blocks_of(kinds) if blocks is None else blocks)]
        model = _Model.null(data)
        models = [model]
        while len(model.blocks) < _MOST_BLOCKS and candidates:
            gains = [model.gain(block) for block in candidates]
            best = int(np.argmax([gain for gain, _ in gains]))
            if gains[best][0] <= 0:
                break
            # A block that is too large or does not raise the evidence is not tried again.
            block = candidates.pop(best)
            if model.n_effects + block.size > _MOST_EFFECTS:
                continue
            larger = model.with_block(block, gains[best][1])
            if larger.evidence <= model.evidence:
                continue
            model = larger
            models.append(model)
        return cls(tuple(models))

    @cached_property
    def weights(self) -> Floats:
        """The posterior probability of each model."""
        evidence = np.array([model.evidence for model in self.models])
        likely = np.exp(evidence - evidence.max())
        return np.asarray(likely / likely.sum())

    @property
    def is_flat(self) -> bool:
        """Whether everybody is equally likely to have the value."""
        return len(self.models) == 1

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw log odds of each kind of person from the posterior; one row per draw."""
        chosen = rng.choice(len(self.models), n_draws, p=self.weights)
        noise = [rng.standard_normal(1 + self.models[number].n_effects) for number in chosen]
        drawn = np.empty((n_draws, len(self.models[0].data.n_rows)))
        for number in np.unique(chosen).tolist():
            own = np.flatnonzero(chosen == number)
            drawn[own] = self.models[number].draw(np.array([noise[place] for place in own]))
        return drawn

    def __repr__(self) -> str:
        return f"TableLaw({len(self.models)} models, at most {self.models[-1].n_effects} effects)"


def blocks_of(kinds: Cells) -> list[Block]:
    """Return all blocks that may be added: columns, grouped columns, and pairs of these."""
    single, grouped = [], []
    for place, domain in enumerate(kinds.domains):
        code = kinds.codes[:, place].astype(np.int64)
        present, code = np.unique(code, return_inverse=True)
        if len(present) < 2:
            continue
        single.append(Block(code, len(present), 1))
        group = _grouped(code, len(present), kinds.counts, is_ordered=domain.type.has_order)
        grouped.append(group)
        if group.size < len(present):
            single.append(group)
    pairs = [_paired(first, second) for first, second in combinations(grouped, 2)]
    return [*single, *pairs]


def _grouped(code: Codes, size: int, counts: Counts, *, is_ordered: bool) -> Block:
    """Group the values of a column: neighbours if they are ordered, otherwise the rarest ones."""
    if size <= _MOST_GROUPS:
        return Block(code, size, 1)
    rows = np.bincount(code, counts, size)
    if is_ordered:
        # Neighbours, with about equal numbers of rows in each group.
        middle = np.cumsum(rows) - rows / 2
        group = np.minimum((middle * _MOST_GROUPS / rows.sum()).astype(np.int64), _MOST_GROUPS - 1)
    else:
        # The most frequent values stay; all others are one group.
        rank = np.empty(size, dtype=np.int64)
        rank[np.argsort(-rows, kind="stable")] = np.arange(size)
        group = np.minimum(rank, _MOST_GROUPS - 1)
    present, group = np.unique(group, return_inverse=True)
    return Block(group[code], len(present), 1)


def _paired(first: Block, second: Block) -> Block:
    both = first.code * second.size + second.code
    present, code = np.unique(both, return_inverse=True)
    return Block(code, len(present), 2)


@dataclass(frozen=True, eq=False)
class _Model:
    """A fitted regression; its parameters are the level and the effects.

    Each block of effects has its standard deviation. `factor` is the upper Cholesky factor of the
    negative second derivative at the most likely parameters. `evidence` is the log-likelihood with
    all parameters integrated out, minus what every block must be worth.
    """

    data: _Data
    classes: _Classes
    blocks: tuple[Block, ...]
    deviations: tuple[float, ...]
    parameters: Floats
    factor: Floats = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    evidence: float = -np.inf

    @classmethod
    def null(cls, data: _Data) -> _Model:
        """Return the model with only a level."""
        # Half a carrier and half another person more keep the odds finite.
        rate = (data.n_carrying.sum() + 0.5) / (data.n_rows.sum() + 1.0)
        level = np.log(rate) - np.log1p(-rate)
        return cls(data, _Classes.alike(data), (), (), np.array([level])).fitted()

    @property
    def n_effects(self) -> int:
        return len(self.parameters) - 1

    @property
    def places(self) -> list[slice]:
        ends = 1 + np.cumsum([0, *(block.size for block in self.blocks)])
        return [slice(first, last) for first, last in pairwise(ends.tolist())]

    def log_odds(self, parameters: Floats) -> Floats:
        """Return the log odds of each kind of person."""
        logs = np.zeros(len(self.classes.place))
        for own in self.classes.place.T:
            logs += parameters[own]
        return np.asarray(np.clip(logs, -_MOST_LOG_ODDS, _MOST_LOG_ODDS)[self.classes.of_kind])

    def draw(self, noise: Floats) -> Floats:
        """Draw log odds of each kind of person, once for each row of independent normal noise."""
        # With factor U, the covariance of U^-1 noise is the inverse of U^T U.
        step = np.ascontiguousarray(noise.T)
        solve_upper(self.factor, step)
        return np.array([self.log_odds(self.parameters + one) for one in step.T])

    @cached_property
    def _unexplained(self) -> tuple[Floats, Floats]:
        """For each kind of people the carriers beyond those expected, and their variance."""
        chance = 1 / (1 + np.exp(-self.log_odds(self.parameters)))
        expected = self.data.n_rows * chance
        return self.data.n_carrying - expected, expected * (1 - chance)

    def gain(self, block: Block) -> tuple[float, float]:
        """Return about how much evidence a block would add, and the best deviation for it."""
        slope, stiffness = block.totals(*self._unexplained)
        found = []
        for deviation in _DEVIATIONS:
            precision = 1 / deviation**2
            fits = slope * slope / (stiffness + precision) - np.log1p(stiffness / precision)
            found.append((float(fits.sum()) / 2 - _WORTH[block.order], deviation))
        return max(found)

    def with_block(self, block: Block, deviation: float) -> _Model:
        """Add a block and fit again, including the deviations of all blocks."""
        model: _Model = replace(
            self,
            classes=self.classes.split(self.data, block, len(self.parameters)),
            blocks=(*self.blocks, block),
            deviations=(*self.deviations, deviation),
            parameters=np.append(self.parameters, np.zeros(block.size)),
        ).fitted(_ROUGHLY_FLAT)
        model = replace(model, deviations=model.learned_deviations()).fitted(_ROUGHLY_FLAT)
        return replace(model, deviations=model.learned_deviations()).fitted()

    def learned_deviations(self) -> tuple[float, ...]:
        """Return deviations that explain the effects and their uncertainty (one step of EM)."""
        # The variances of the parameters are the diagonal of the inverse of U^T U.
        inverse = np.zeros_like(self.factor)
        invert_upper(self.factor, inverse)
        variance = (inverse * inverse).sum(axis=1)
        squares = self.parameters**2 + variance
        means = [float(squares[place].mean()) for place in self.places]
        return tuple(float(np.clip(np.sqrt(mean), 0.05, 6.0)) for mean in means)

    def _precision(self) -> Floats:
        precision = np.full(len(self.parameters), _VAGUE)
        for deviation, place in zip(self.deviations, self.places, strict=True):
            precision[place] = 1 / deviation**2
        return precision

    def fitted(self, flat: float = _FLAT) -> _Model:
        """Return the model at its most likely parameters, by Newton's method.

        The method ends after a step no longer than `flat`.
        """
        precision, parameters = self._precision(), self.parameters
        for _ in range(_MAX_STEPS):
            height, slope, factor = self._derivatives(parameters, precision)
            factorize(factor)
            step = slope.copy()
            solve(factor, step)
            longest = float(np.abs(step).max())
            # Far from the maximum a full step may overshoot.
            step *= min(1.0, _LONGEST_STEP / max(longest, 1e-300))
            parameters = parameters + step
            # A short step rises by half of what its slope promises, to the third order.
            likely = height + float((slope * step).sum()) / 2
            if longest < flat:
                break
        else:
            likely = self._derivatives(parameters, precision)[0]
        # Laplace's method: half the log determinants of the prior precision and of the curvature.
        evidence = likely + np.log(precision).sum() / 2 - np.log(np.diag(factor)).sum()
        evidence -= sum(_WORTH[block.order] for block in self.blocks)
        return replace(self, parameters=parameters, factor=factor, evidence=float(evidence))

    def _derivatives(self, parameters: Floats, precision: Floats) -> tuple[float, Floats, Floats]:
        """Return the log posterior, but for a constant, its gradient and its curvature.

        The latter is the upper triangle of minus the second derivatives.
        """
        slope, matrix = np.zeros(len(parameters)), np.diag(precision)
        height = derive(
            self.classes.place,
            self.classes.n_rows,
            self.classes.n_carrying,
            parameters,
            _MOST_LOG_ODDS,
            slope,
            matrix,
        )
        drawn = precision * parameters
        return height - float((drawn * parameters).sum()) / 2, slope - drawn, matrix
