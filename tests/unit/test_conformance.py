"""What every method, attack and guarantee must be, found by the registry: none is named here."""

from __future__ import annotations

import inspect
import json
import sys
from dataclasses import replace
from pathlib import Path

import attrs
import numpy as np
import pytest
from attrs.exceptions import FrozenInstanceError
from pyarrow import parquet

import shoal
from shoal import checks
from shoal.core import registry
from shoal.core.attack import HELD_OUT_TEST, Attack, Need
from shoal.core.cells import Buckets, Cells
from shoal.core.declared import changed, parameters_of
from shoal.core.domain import Domain, Role
from shoal.core.findings import Risk
from shoal.core.guarantees import Guarantee
from shoal.core.manifest import GUARANTEES
from shoal.core.method import Method
from shoal.core.secret import Secret
from shoal.core.shapes import Contents, Model, Shape
from shoal.core.sliced import Layout, Sliced
from shoal.core.table import HIDDEN, Rows
from shoal.release.verify import Status
from shoal.workflow.anonymize import problem_of

PROJECT = Path(__file__).parents[2]
METHODS = [registry.find("shoal.methods", name) for name in registry.names("shoal.methods")]
ATTACKS = [registry.find("shoal.attacks", name) for name in registry.names("shoal.attacks")]
SEEDS = [None, "spring"]


def kind(one):
    return type(one).__name__


each_method = pytest.mark.parametrize("method", [cls(**cls.example) for cls in METHODS], ids=kind)
each_attack = pytest.mark.parametrize("attack", [cls(**cls.example) for cls in ATTACKS], ids=kind)
each_class = pytest.mark.parametrize("cls", [*METHODS, *ATTACKS])


@pytest.fixture(scope="module")
def census():
    return shoal.datasets.census(rows=200, seed=3)


def suited(method, schema):
    """Return a schema that a method takes: some have no place for insensitive columns."""
    slices = (schema.quasi,)
    files = method.shape.files(Contents(schema.quasi, schema.insensitive, (), slices))
    shown = {column for file in files if not file.has_count for column in file.columns}
    if method.private_cells is None and shown.issuperset(schema.insensitive):
        return schema
    every = (*schema.quasi, *schema.insensitive)
    return replace(schema, quasi=every, insensitive=(), meant=())


@pytest.fixture(scope="module")
def read(census):
    """Give what reads the census for a method; each table is read once."""
    tables = {}

    def read(method):
        schema = suited(method, census.schema)
        if schema.insensitive not in tables:
            tables[schema.insensitive] = shoal.read(census, schema)
        return tables[schema.insensitive]

    return read


@pytest.fixture(scope="module")
def table(census):
    return shoal.read(census)


@pytest.fixture(scope="module")
def releases(read):
    """Make one release by every method."""
    methods = [cls(**cls.example) for cls in METHODS]
    return [shoal.anonymize(read(method), method, seed=1) for method in methods]


@pytest.fixture(scope="module")
def known(table):
    """Mine what attacks that need knowledge are given."""
    return shoal.knowledge.mine_negative_rules(table)


@pytest.fixture(scope="module")
def attacked(releases, known):
    """Give what attacks a release: each one once, and it must be as it was before."""
    found = {}

    def attacked(attack, release):
        key = kind(attack), releases.index(release)
        if key not in found:
            before = contents(release), release.published.lines.codes.copy()
            found[key] = shoal.attack(release, attack, knowledge=known)
            assert contents(release) == before[0]
            assert np.array_equal(release.published.lines.codes, before[1])
        return found[key]

    return attacked


@pytest.fixture(scope="module")
def values(census):
    """Give the words among the values of the table that no message has a reason to say."""
    texts = {str(value) for column in census.to_dict().values() for value in column}
    return {text for text in texts if len(text) > 4 and not text.isdigit()}


def notes(cls):
    """Give the section Notes of a docstring."""
    return inspect.getdoc(cls).partition("Notes\n-----\n")[2].partition("\n---")[0]


def contents(release):
    return {name: release.to_arrow(name).to_pydict() for name in release.names}


# --- methods and attacks -------------------------------------------------------------------------


@each_class
def test_it_is_frozen_and_its_parameters_go_by_name(cls):
    assert issubclass(cls, Method if cls in METHODS else Attack)
    kinds = {parameter.kind for parameter in inspect.signature(cls).parameters.values()}
    assert kinds <= {inspect.Parameter.KEYWORD_ONLY}
    made = cls(**cls.example)
    for name in parameters_of(cls):
        with pytest.raises(FrozenInstanceError):
            setattr(made, name, getattr(made, name))
    assert cls(**cls.example) == made


@each_class
def test_its_docstring_says_what_it_takes_and_where_it_comes_from(cls):
    text = inspect.getdoc(cls)
    for section in ("Parameters\n---", "Notes\n---", "Examples\n---"):
        assert section in text
    parameters = text.partition("Parameters\n")[2].partition("Notes\n")[0]
    assert parameters_of(cls)
    for name, one in parameters_of(cls).items():
        assert f"\n{name}\n" in parameters
        assert one.is_required or "Default: " in one.text
    assert "References\n---" in text + sys.modules[cls.__module__].__doc__


# --- methods -------------------------------------------------------------------------------------


@each_method
def test_a_method_declares_guarantee_shape_and_deviations(method):
    assert method.guarantees
    assert all(type(guarantee) is GUARANTEES[guarantee.name] for guarantee in method.guarantees)
    assert isinstance(method.shape, Shape)
    assert "Guarantee:" in notes(type(method))
    assert "Publishes:" in notes(type(method))
    assert "deviations" in vars(type(method)) or "Deviations:" in notes(type(method))
    assert all(deviation.endswith(".") for deviation in method.deviations)


@each_method
def test_a_method_can_be_made_again_from_what_the_manifest_states(method):
    stated = json.loads(json.dumps(method.parameters()))
    internal = {name: getattr(method, name) for name in method.internal_parameters}
    assert type(method)(**stated, **internal) == method
    public = set(inspect.signature(type(method)).parameters) - method.internal_parameters
    assert set(stated) == public


@each_method
def test_the_classes_of_a_method_are_coded_columns(method, census):
    columns = method.class_columns(census.schema)
    assert set(columns) <= set(census.schema.coded)
    assert len(set(columns)) == len(columns)


@each_method
def test_the_same_seed_gives_the_same_plan(method, read):
    table = read(method)

    def plan(seed):
        made = method.plan(problem_of(table, method, Secret.from_seed(seed)))
        made.check()
        recoded = [(r.column, r.by, r.index.tolist(), r.labels) for r in made.recode]
        placed = [array.tolist() for array in (*made.assign.expand(), made.drop.group)]
        return made.n_buckets, placed, recoded, made.blank.counts, made.redraw.count.tolist()

    assert plan(5) == plan(5)


@each_method
def test_a_plan_does_not_change_the_counts_that_it_is_made_of(method, read):
    problem = problem_of(read(method), method, Secret.from_seed(5))
    cells = problem.cells
    codes, counts = cells.codes.copy(), cells.counts.copy()
    rows = None if problem.rows is None else problem.rows.codes.copy()
    method.plan(problem)
    assert np.array_equal(cells.codes, codes)
    assert np.array_equal(cells.counts, counts)
    assert rows is None or np.array_equal(problem.rows.codes, rows)


@each_method
@pytest.mark.parametrize("seed", SEEDS)
def test_a_release_is_verified_in_memory_and_from_disk(method, seed, read, tmp_path):
    release = shoal.anonymize(read(method), method, seed)
    found = shoal.verify(release)
    assert found.status is Status.VERIFIED
    assert [verdict.guarantee for verdict in found.verdicts] == list(method.guarantees)
    assert release.manifest.shape is method.shape
    for form in ("csv", "parquet"):
        folder = release.write(tmp_path / form, format=form)
        written = shoal.verify(folder, internal=tmp_path / f"{form}.internal")
        assert (written.status, written.problems) == (Status.VERIFIED, ())
        assert (written.n_rows, written.n_buckets) == (found.n_rows, found.n_buckets)
        assert contents(shoal.open_release(tmp_path / form)) == contents(release)


@each_method
def test_the_order_of_the_table_does_not_matter(method, census):
    schema = replace(suited(method, census.schema), key="person_no")
    shuffled = census.take(np.random.default_rng(1).permutation(census.n_rows))
    one = shoal.anonymize(shoal.read(census, schema), method, seed=2)
    other = shoal.anonymize(shoal.read(shuffled, schema), method, seed=2)
    assert contents(one) == contents(other)


@each_method
def test_every_row_is_published_and_no_insensitive_value_is_lost(method, census, read):
    release = shoal.anonymize(read(method), method)
    columns = {name: column for file in contents(release).values() for name, column in file.items()}
    for name in release.manifest.columns_of(Role.INSENSITIVE):
        assert sorted(columns[name]) == sorted(census.to_dict()[name])
    assert set(columns).isdisjoint(census.schema.identifying)


@pytest.mark.parametrize(
    "name",
    [
        "row_key",
        "count",
        'a"b',
        "*",
        "\U0001f41f",
        "bucket",
    ],
)
@each_method
def test_a_column_of_any_name_is_refused_or_published_and_attacked(method, name, tmp_path):
    columns = {name: [i % 7 for i in range(200)], "other": [i % 3 for i in range(200)]}
    schema = shoal.Schema(quasi=[name, "other"], sensitive="disease")
    table = shoal.read(columns | {"disease": [f"d{i % 11}" for i in range(200)]}, schema)
    if method.private_cells is not None:
        method = changed(method, private={"column": name, "python": lambda row: row["other"] == 1})
    if getattr(method, "protect", None) is not None:
        method = changed(method, protect=["d1"])
    try:
        release = shoal.anonymize(table, method)
    except shoal.errors.SchemaError as error:
        assert repr(name) in str(error)  # noqa: PT017 - to be refused is allowed, not expected
        return
    report = shoal.attack(release)
    folder = release.write(tmp_path / "release", findings=report)
    internal = tmp_path / "release.internal"
    assert shoal.verify(folder, internal=internal).status is Status.VERIFIED
    risk = parquet.read_table(tmp_path / "release.internal" / "risk.parquet").to_pydict()
    for found in report:
        breached = [
            b for a, b in zip(risk["attack"], risk["breached"], strict=True) if a == found.attack
        ]
        assert (len(breached), sum(breached)) == (200, found.n_breached)


@each_method
def test_no_repr_shows_a_value_of_the_table(method, read, values):
    table = read(method)
    release = shoal.anonymize(table, method, seed=1)
    making = release.making
    shown = [method, method.guarantees, release, making.plan, making.secret, making.table]
    shown += [making.plan.classes, release.published.lines, release.published.buckets]
    shown += [shoal.verify(release), table.counts(table.schema.quasi), *table.domains.values()]
    for one in shown:
        assert not [value for value in values if value in repr(one)]


# --- attacks -------------------------------------------------------------------------------------


def test_every_shape_that_is_published_is_attacked():
    models = {cls(**cls.example).shape.model for cls in METHODS}
    assert models <= set().union(*(attack.reads for attack in ATTACKS))


@each_attack
def test_an_attack_says_what_the_adversary_knows(attack):
    assert attack.knows
    assert attack.reads
    assert attack.reads <= set(Model)


@each_attack
def test_an_attack_on_every_release_that_it_fits_finds_what_findings_are(
    attack, releases, attacked
):
    fitting = [release for release in releases if attack.fits(release.published)]
    assert fitting
    for release in fitting:
        (found,) = attacked(attack, release)
        lines = release.published.lines
        counts = np.ones(lines.n_rows, dtype=int) if found.is_by_line else lines.counts
        sliced = release.published.sliced
        if sliced is not None:
            # Nobody has a line; people are counted by what is known of them.
            counts = release.making.table.counts(sliced.layout.known).counts
        n_values = len(
            release.published.buckets.domain.labels() if sliced is None else sliced.sensitive_texts
        )
        assert found.attack == registry.snake_case(type(attack).__name__)
        assert found.counts.tolist() == counts.tolist()
        assert len(found.value) == len(found.posterior) == len(found.breached) == len(counts)
        assert np.all((found.posterior >= 0) & (found.posterior <= 1))
        assert np.all((found.value >= -1) & (found.value < n_values))
        assert json.loads(json.dumps(found.to_dict()))["people"] == lines.n_rows


@each_attack
def test_an_attack_finds_the_same_twice_and_in_the_written_files(
    attack, releases, attacked, known, tmp_path
):
    for number, release in enumerate(releases):
        if attack.fits(release.published):
            (one,) = attacked(attack, release)
            (again,) = shoal.attack(release, attack, knowledge=known)
            folder = release.write(tmp_path / str(number))
            # A release that was just made has its table at hand.
            truth = release.making.table
            (written,) = shoal.attack(folder, attack, knowledge=known, truth=truth)
            assert one.to_dict() == again.to_dict()
            if Need.TRIAL in attack.needs:
                assert written.headline[HELD_OUT_TEST] == "left out: the table is not at hand"
            else:
                assert written.to_dict() == one.to_dict()


@each_attack
def test_no_repr_of_an_attack_or_its_findings_shows_a_value(attack, releases, values, attacked):
    for release in releases:
        if attack.fits(release.published):
            report = attacked(attack, release)
            for one in (attack, report, *report):
                assert not [value for value in values if value in repr(one)]


# --- guarantees ----------------------------------------------------------------------------------

EASY = {"k": 1, "ell": 2, "c": 3, "t": 1, "alpha": 1, "delta": 1, "gamma": 1}
EASY |= {"m": 2, "r": 1, "protect": ["flu"], "earlier": ["0" * 64]}
"""A value for every parameter that some guarantee cannot do without."""


def easy(cls):
    needed = inspect.signature(cls).parameters.values()
    return cls(**{p.name: EASY[p.name] for p in needed if p.default is inspect.Parameter.empty})


def evidence():
    domain = Domain.of_texts("disease", ["cold", "flu"], has_missing=True)
    bucket, value = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 0, 1, 2])
    made = checks.Evidence.of_buckets(Buckets.of_pairs(bucket, value, domain))
    # Two columns, each with one suppressed cell.
    codes = np.array([[0, 0], [0, 1], [1, 0], [HIDDEN, 1], [1, HIDDEN]], dtype=np.int32)
    cells = Cells.of_rows([domain], value[:, np.newaxis])
    layout = Layout([["disease"]], ["disease"])
    sliced = Sliced.of_pieces(cells, layout, value, bucket, np.ones(5, dtype=int))
    return attrs.evolve(made, rows=Rows((domain, domain), codes), sliced=sliced)


each_guarantee = pytest.mark.parametrize("cls", GUARANTEES.values())


@each_guarantee
def test_a_guarantee_states_itself_and_its_limits(cls):
    guarantee = easy(cls)
    assert isinstance(guarantee, Guarantee)
    assert GUARANTEES[guarantee.name] is cls
    assert guarantee.statement
    assert "does not" in guarantee.limits or "nothing" in guarantee.limits
    assert guarantee.least_bucket >= 1


@each_guarantee
def test_a_guarantee_has_a_checker_that_runs(cls):
    verdict = checks.check(easy(cls), evidence())
    assert verdict.holds
    assert verdict.n_buckets == 2
    assert json.dumps(verdict.to_dict())


@pytest.mark.parametrize("cls", ATTACKS)
def test_every_attack_states_what_it_is_a_risk_of(cls):
    assert cls.risks
    assert all(isinstance(risk, Risk) for risk in cls.risks)


@each_method
def test_sections_without_values_hold_none(method, read):
    """Every value of the table is a text of its own, which such a section must not show."""
    table = read(method)
    release = shoal.anonymize(table, method, seed=4)
    texts = {
        text
        for column, domain in table.domains.items()
        if column in (*table.schema.quasi, *table.schema.sensitive)
        for text in domain.texts.tolist()
        if not text.replace(".", "").isdigit()
    }
    assert texts
    shown = set()
    for found in shoal.attack(release):
        for section in found.sections:
            if not section.holds_values:
                cells = {str(cell) for row in section.rows for cell in row}
                assert not cells & texts, section.title
                words = " ".join(cells | {section.title})
                assert not [text for text in texts if len(text) > 3 and text in words]
                shown.add(section.title)
    assert shown
