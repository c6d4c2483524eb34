"""One entry of a comparison: a method tried on a table, if need be in a process of its own.

The table travels as codes and labels of the columns that guarantees are about, and is staged again
once in each process. The result consists of names and numbers alone: no value of the table.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from shoal.core.arrays import weighted_sum
from shoal.core.attack import HELD_OUT_TEST, Attack, Need
from shoal.core.budget import DEFAULT_ATTACK_WORK
from shoal.core.declared import Declared, changed, parameters_of
from shoal.core.documents import parse_json
from shoal.core.errors import DataError, InfeasibleError, ParameterError, SchemaError
from shoal.core.findings import Findings
from shoal.core.measure import FoldedMeasure, Measure
from shoal.core.method import Method
from shoal.core.progress import Progress, silent
from shoal.core.registry import snake_case
from shoal.core.release import Published
from shoal.core.schema import Schema
from shoal.core.shapes import Model
from shoal.core.sharing import sharing
from shoal.core.table import Rows
from shoal.core.version import __version__
from shoal.engines.sql.table import EngineTable
from shoal.foreground.attack import Foreground
from shoal.grouping.homogeneity import Homogeneity
from shoal.release.opened import Release
from shoal.release.witnesses import known_to_maker
from shoal.slicing.attack import SlicedLinkage
from shoal.workflow.anonymize import anonymize
from shoal.workflow.attack import attack, attacks_that_apply
from shoal.workflow.compare_methods import Aim
from shoal.workflow.compare_reasons import pack_outcomes
from shoal.workflow.make import ConfiguredAttack
from shoal.workflow.measure import measure, measures_that_apply
from shoal.workflow.repair import repair
from shoal.workflow.rerun import shared_parts, table_of_rows

_FORMAT = 2
"""The format of kept results; a result in another format is computed again."""
_FOLDS = 3
DOES_NOT_APPLY = "it does not apply to this shape"
"""Why a named attack is not run on some releases."""
_REFUSALS = (DataError, InfeasibleError, ParameterError, SchemaError)


@dataclass(frozen=True, eq=False, repr=False)
class TrialSetup:
    """What all methods of a comparison have in common."""

    # The table, as `shoal.workflow.rerun` stages it.
    rows: Rows
    schema: Schema
    # Run on every release that they fit; None for all that apply.
    attacks: tuple[Attack | ConfiguredAttack, ...] | None
    measures: tuple[Measure, ...] | None
    # Whether attacks that are not named are run as well.
    has_others: bool
    seed: int
    # The arguments of `shoal.repair`, applied after each method; None for no repair.
    repair: Mapping[str, Any] | None = None
    # The limit of attacks that are not named; None without a sensitive column.
    aim: Aim | None = None
    # The attacks that are left out, each with the reason.
    not_run: Mapping[str, str] = field(default_factory=dict)
    # The units of work that each attack may do.
    attack_work: int = DEFAULT_ATTACK_WORK

    def key(self, method: Method) -> str | None:
        """Return a digest of everything that a result depends on; None if that is not known.

        Which cells are private may depend on columns that are not among the rows.
        """
        if method.private_cells is not None:
            return None
        try:
            return hashlib.sha256(self._digest + _written(method)).hexdigest()
        except (AttributeError, TypeError, pickle.PicklingError):
            return None

    @cached_property
    def _digest(self) -> bytes:
        digest = hashlib.sha256(f"{__version__}:{_FORMAT}:{self.seed}:{self.has_others}".encode())
        digest.update(_written((self.attacks, self.measures, self.repair)))
        digest.update(_written((self.aim, dict(self.not_run), self.attack_work)))
        schema = self.schema
        digest.update(repr((schema.quasi, schema.sensitive)).encode())
        for column, hierarchy in sorted(schema.hierarchies.items()):
            config = json.dumps(hierarchy.to_config(), sort_keys=True, default=str)
            digest.update(repr((column, config)).encode())
        levels = sorted((name, one.to_config()) for name, one in schema.levels.items())
        digest.update(repr(levels).encode())
        for domain in self.rows.domains:
            digest.update(repr((domain.column, str(domain.type), domain.labels())).encode())
        digest.update(repr(self.rows.codes.shape).encode())
        digest.update(np.ascontiguousarray(self.rows.codes).tobytes())
        digest.update(repr(() if self.rows.keys is None else self.rows.keys.tolist()).encode())
        return digest.digest()


@dataclass(frozen=True)
class TrialResult:
    """The result of one method: names and figures, or why it could not be tried."""

    # Why it could not be tried, and what would help; None if it was tried.
    refusal: str | None = None
    hint: str | None = None
    n_rows: int = 0
    n_buckets: int = 0
    guarantees: tuple[str, ...] = ()
    attacks: tuple[Mapping[str, Any], ...] = field(default=())
    measures: tuple[Mapping[str, Any], ...] = field(default=())

    def to_json(self) -> str:
        """Return the result as JSON."""
        return json.dumps(dataclasses.asdict(self), indent=1, default=str) + "\n"

    @classmethod
    def from_json(cls, text: str) -> TrialResult:
        """Read what `to_json` wrote; any other text raises ValueError, TypeError or KeyError."""
        given: dict[str, Any] = parse_json(text)
        lists = ("guarantees", "attacks", "measures")
        as_lists: dict[str, Any] = {name: tuple(given[name]) for name in lists}
        return cls(**given | as_lists)


@contextlib.contextmanager
def staged_table(trying: TrialSetup) -> Iterator[EngineTable]:
    """Stage the table again; keep its parts that are published, and what follows from it alone.

    All methods that a process tries share them.
    """
    rows, schema = trying.rows, trying.schema
    with table_of_rows(rows, slice(None), schema) as table, shared_parts(table), sharing():
        yield table


def try_on(
    table: EngineTable, trying: TrialSetup, method: Method, progress: Progress = silent
) -> str:
    """Try a method on a table; return `TrialResult` as JSON, as it is kept."""
    try:
        progress("anonymize")
        release = anonymize(table, method, seed=trying.seed)
        if trying.repair is not None:
            progress("repair")
            release = _repaired(release, trying.repair)
        attacks = _attacked(release, trying, table, progress)
        measured = _measured(release, trying.measures, progress)
    except _REFUSALS as error:
        return TrialResult(refusal=error.fact, hint=error.hint).to_json()
    manifest = release.manifest
    return TrialResult(
        n_rows=manifest.n_rows,
        n_buckets=manifest.n_buckets,
        guarantees=tuple(guarantee.statement for guarantee in manifest.guarantees),
        attacks=tuple(attacks),
        measures=tuple(measured),
    ).to_json()


def _repaired(release: Release, stated: Mapping[str, Any]) -> Release:
    """Merge buckets as `[repair]` asks; if that fails, publishing would fail as well."""
    if release.manifest.shape.model is not Model.BUCKETS:
        raise ParameterError(
            f"[repair] merges buckets of bucketized releases; this one is "
            f"{release.manifest.shape}.",
            hint="leave [repair] out to compare such methods too.",
        )
    return repair(release, **stated)


def _attacked(
    release: Release, trying: TrialSetup, table: EngineTable, progress: Progress
) -> list[dict[str, object]]:
    """Run the attacks that fit; for one that cannot be run, record why."""
    published = release.levelled
    figures: list[dict[str, object]] = []
    chosen: list[tuple[Attack, int | None]] = []
    for one in trying.attacks or ():
        if not isinstance(one, ConfiguredAttack):
            chosen += [(one, None)] if one.fits(published) else []
            continue
        made = one.make(published, table)
        if made.fits(published) or Need.ALGORITHM in made.needs:
            chosen.append((made, one.max_people))
        else:
            figures.append(_not_run(made, DOES_NOT_APPLY, one.max_people))
    if trying.attacks is None or trying.has_others:
        named = {snake_case(type(one).__name__) for one, _ in chosen} | set(trying.not_run)
        has_knowledge = known_to_maker(release) is not None
        others = attacks_that_apply(published, has_knowledge=has_knowledge)
        chosen += [
            (_aimed(one, trying.aim, published), None)
            for one in others
            if snake_case(type(one).__name__) not in named
        ]
    figures += [
        {"attack": name, "not_run": reason, "max_people": None}
        for name, reason in trying.not_run.items()
    ]
    for one, max_people in chosen:
        progress(f"attack {snake_case(type(one).__name__)}")
        try:
            (found,) = attack(release, one, work=trying.attack_work)
        except _REFUSALS as error:
            figures.append(_not_run(one, error.fact, max_people))
        else:
            figures.append(_figures(found, published) | {"max_people": max_people})
    return figures


def _aimed(one: Attack, aim: Aim | None, published: Published) -> Attack:
    """Return the attack with the limit that all methods are judged by, so that counts compare."""
    if aim is None:
        return one
    if isinstance(one, Foreground):
        held = one.buckets_of(published)
        lost = aim.protect is None or held is None or -1 in held.domain.codes_of(list(aim.protect))
        return Foreground(r=aim.ell, value=None if lost else aim.protect)
    if isinstance(one, Homogeneity | SlicedLinkage):
        return changed(one, limit=aim.bound)
    return one


def _not_run(one: Attack, why: str, max_people: int | None) -> dict[str, object]:
    name = snake_case(type(one).__name__)
    return {"attack": name, "not_run": why, "max_people": max_people}


def _figures(found: Findings, published: Published) -> dict[str, object]:
    return {
        "attack": found.attack,
        "knows": found.knows,
        "people": found.n_all,
        "found": found.line,
        "at_risk": found.n_at_risk,
        "limit": found.limit,
        "is_about_values": bool(len(found.value)) and int(np.max(found.value)) >= 0,
        "success": _success(found, published),
        "worst_posterior": found.worst,
        "is_tried": HELD_OUT_TEST not in found.headline,
        "cut_short": found.cut_short,
        "unresolved": len(found.unresolved),
        "meaningless": found.meaningless,
        "above_anyway": found.n_above_anyway,
        **found.scale(),
    }


def _success(found: Findings, published: Published) -> float:
    """Return the share of people about whom the adversary is right, if she guesses everybody.

    Beliefs that follow by logic are right as often as they say. Others are compared with the truth:
    where she believes nothing above the limit she guesses the most frequent value of the bucket,
    and elsewhere she is right as often as was counted. If that is less often than the naive guess,
    or was not compared, she is assumed to make the naive guess.
    """
    n_people = max(found.n_people, 1)
    if not found.is_belief:
        return weighted_sum(found.posterior, found.counts) / n_people
    scale, naive = found.calibration, _naive_success(published)
    if scale is None or scale.right is None or scale.baseline is None:
        return naive
    gain = scale.believed * (scale.right.value - scale.baseline) / n_people
    return naive + max(gain, 0.0)


def _naive_success(published: Published) -> float:
    """Return how often the most frequent value of a person's bucket is the person's own."""
    held = Foreground().buckets_of(published)
    if held is None or not held.n_rows:
        return 0.0
    most = np.zeros(held.n_buckets, dtype=np.int64)
    np.maximum.at(most, held.bucket, held.count)
    return int(most.sum()) / held.n_rows


def _measured(
    release: Release, measures: Sequence[Measure] | None, progress: Progress
) -> list[dict[str, object]]:
    published = release.published
    figures: list[dict[str, object]] = []
    chosen = _usual_measures(published) if measures is None else measures
    for one in chosen:
        if not one.fits(published):
            continue
        progress(f"measure {snake_case(type(one).__name__)}")
        try:
            (measured,) = measure(release, one)
        except _REFUSALS as error:
            figures.append({"measure": snake_case(type(one).__name__), "not_run": error.fact})
        else:
            told: dict[str, object] = {"measure": measured.measure}
            told["figures"] = dict(measured.headline)
            packed = pack_outcomes(measured)
            figures.append(told if packed is None else told | {"outcomes": packed})
    return figures


def _usual_measures(published: Published) -> list[Measure]:
    """Return all measures that apply, with fewer folds, since each fold is published anew."""
    return [
        changed(one, folds=_FOLDS) if isinstance(one, FoldedMeasure) else one
        for one in measures_that_apply(published)
    ]


# --- what a method, an attack or a measure is made with -------------------------------------------


def non_default(one: Any, *, is_shown: bool) -> dict[str, object]:
    """Return the parameters whose values differ from their defaults.

    With `is_shown`, parameters that may hold values of the table, and so are never shown, are left
    out.
    """
    return {
        name: getattr(one, name)
        for name, each in parameters_of(type(one)).items()
        if (each.is_shown or not is_shown) and getattr(one, name) != each.default
    }


def label_of(method: Method) -> str:
    """Return a short label: the method's name and its parameters that are not the defaults.

    Examples
    --------
    >>> import shoal
    >>> label_of(shoal.Mondrian(k=5))
    'mondrian k=5'
    """
    name = snake_case(type(method).__name__)
    given = {
        key: value
        for key, value in non_default(method, is_shown=True).items()
        if key not in method.internal_parameters and _is_plain(value)
    }
    return " ".join([name, *(f"{key}={value}" for key, value in given.items())])


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, str | int | float | Fraction)


def _written(one: object) -> bytes:
    """Serialize what an object is made with, so that equal objects have equal bytes.

    A file is represented by its content, which may change while its name stays.
    """
    if _is_plain(one):
        return repr(one).encode()
    if isinstance(one, Path):
        return _digest_of_file(one)
    if isinstance(one, Mapping):
        parts = [_written(str(key)) + _written(one[key]) for key in sorted(one, key=str)]
    elif isinstance(one, tuple | list):
        parts = [_written(each) for each in one]
    elif dataclasses.is_dataclass(one) and not isinstance(one, type):
        fields = [each.name for each in dataclasses.fields(one)]
        parts = [_written(name) + _written(getattr(one, name)) for name in fields]
    elif isinstance(one, Declared):
        parts = [_written(name) + _written(getattr(one, name)) for name in parameters_of(type(one))]
    else:
        # If pickles of equal objects differ, the result is computed again, which only costs time.
        parts = [pickle.dumps(one)]
    digest = hashlib.sha256(type(one).__name__.encode())
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.digest()


def _digest_of_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return repr(path).encode()
