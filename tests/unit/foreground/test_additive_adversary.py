from __future__ import annotations

import numpy as np
import pytest

import shoal
from shoal.attacks import Foreground
from shoal.core.cells import Cells
from shoal.core.domain import SUPPRESSED, ColumnType, Domain
from shoal.core.meaning import Meaning
from shoal.foreground.additive import fit_additive
from shoal.foreground.effects import UNRELATED, Effects, Relation, relate
from shoal.foreground.expectation_maximization import Target
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.locating.exposed import Exposed
from shoal.workflow.people import attack_and_score, locate_people

DISEASES = Domain.of_texts("disease", ["cold", "flu"])


def release_of(domains, chance, *, n_rows=3000, size=3, seed=0, weights=None):
    """Draw rows by the sizes of domains, and who carries the value by a chance of their codes."""
    random = np.random.default_rng(seed)
    rows = np.column_stack([random.choice(one.size, n_rows, p=weights) for one in domains])
    value = (random.random(n_rows) < chance(rows)).astype(np.int64)
    bucket = np.arange(n_rows) // size
    return Exposed.of_rows(domains, rows, bucket, value, DISEASES)


def ages(n_values):
    texts = [str(20 + one) for one in range(n_values)]
    return Domain.of_texts(
        "age", texts, type=ColumnType.INTEGER, numbers=[float(text) for text in texts]
    )


# --- the penalty ---------------------------------------------------------------------------------


def test_values_that_depend_on_nothing_leave_everybody_alike():
    kinds = [Domain.of_texts(f"q{one}", list("abcdef")) for one in range(4)]
    exposed = release_of(kinds, lambda rows: np.full(len(rows), 0.2), n_rows=600)
    model, found = fit_additive(Target.of(exposed, [1]))
    assert model.is_all_alike
    assert model.penalty == np.inf
    assert model.cross_validation.gain == 0
    assert model.cross_validation.to_dict()["penalties"][0] is None
    share = exposed.n_carrying([1]) / exposed.buckets.sizes
    assert found.p == pytest.approx(share[exposed.bucket])
    # A fixed penalty believes what is not there.
    wrong, believed = fit_additive(Target.of(exposed, [1]), penalty=1)
    assert not wrong.is_all_alike
    assert np.abs(believed.p - share[exposed.bucket]).max() > 0.2


def test_a_strong_attribute_is_found():
    kinds = [Domain.of_texts(f"q{one}", list("abcd")) for one in range(3)]
    exposed = release_of(kinds, lambda rows: np.where(rows[:, 1] == 2, 0.6, 0.05))
    model, _ = fit_additive(Target.of(exposed, [1]))
    assert not model.is_all_alike
    assert model.cross_validation.gain > 3 * model.cross_validation.standard_error
    ratio = np.exp(model.effects[1][2] - np.mean(model.effects[1][[0, 1, 3]]))
    assert ratio == pytest.approx((0.6 / 0.4) / (0.05 / 0.95), rel=0.4)
    assert np.abs(model.effects[0]).max() < 0.5


def test_the_choice_does_not_depend_on_the_numbers_of_buckets():
    kinds = [Domain.of_texts(f"q{one}", list("abcd")) for one in range(2)]
    random = np.random.default_rng(3)
    rows = random.integers(0, 4, (300, 2))
    value = (random.random(300) < np.where(rows[:, 0] == 1, 0.5, 0.1)).astype(np.int64)
    bucket = np.arange(300) // 3
    renumbered = random.permutation(100)[bucket]
    models = [
        fit_additive(Target.of(Exposed.of_rows(kinds, rows, one, value, DISEASES), [1]))[0]
        for one in (bucket, renumbered)
    ]
    assert models[0].penalty == models[1].penalty
    assert models[0].cross_validation.gain == pytest.approx(models[1].cross_validation.gain)
    assert models[0].f == pytest.approx(models[1].f, abs=1e-6)


def test_one_bucket_with_a_carrier_is_too_few_to_choose_by():
    sex = Domain.of_texts("sex", ["F", "M"])
    rows, bucket = np.array([[0], [1], [1], [1]]), np.array([0, 0, 1, 1])
    exposed = Exposed.of_rows([sex], rows, bucket, np.array([1, 0, 0, 0]), DISEASES)
    model, found = fit_additive(Target.of(exposed, [1]))
    assert model.cross_validation is None
    assert model.penalty == 1
    assert found.p[0] > 0.5


def test_nobody_carries_a_value_that_is_not_there():
    exposed = release_of([Domain.of_texts("q", list("ab"))], lambda rows: np.zeros(len(rows)))
    model, found = fit_additive(Target.of(exposed, [1]))
    assert model.is_all_alike
    assert not found.p.any()


# --- values that resemble one another ------------------------------------------------------------


def test_effects_along_numbers_are_smooth():
    age = ages(60)
    exposed = release_of([age], lambda rows: 0.02 + 0.5 * (rows[:, 0] / 60) ** 2)
    target = Target.of(exposed, [1])
    truth = np.log(0.02 + 0.5 * (np.arange(60) / 60) ** 2)
    smooth, _ = fit_additive(target)
    rough, _ = fit_additive(target, relations=[UNRELATED])
    assert smooth.cross_validation.gain > rough.cross_validation.gain + 5

    def error(model):
        own = model.effects[0] - model.effects[0].mean()
        return np.abs(own - (truth - truth.mean())).mean()

    assert error(smooth) < error(rough) - 0.1


def test_distances_are_those_of_the_values():
    numbers = [0.0, 1.0, 10.0]
    domain = Domain.of_texts("n", ["0", "1", "10"], type=ColumnType.INTEGER, numbers=numbers)
    looks = Cells.of_rows([domain], np.array([[0], [1], [2]]))
    effects = Effects.of(looks, [Relation.of_domain(domain)])
    near, far = effects.weight
    assert near / far == pytest.approx(9)
    # The same in other units.
    scaled = Domain.of_texts("n", ["0", "1", "10"], type=ColumnType.REAL, numbers=[0.0, 1e3, 1e4])
    other = Effects.of(looks, [Relation.of_domain(scaled)])
    assert other.weight == pytest.approx(effects.weight)


def test_ordered_values_are_neighbours_and_the_missing_one_has_none():
    domain = Domain.of_texts(
        "level", ["low", "middle", "high"], type=ColumnType.ORDERED, has_missing=True
    )
    relation = Relation.of_domain(domain)
    assert relation.position[:3].tolist() == [0, 1, 2]
    assert np.isnan(relation.position[3])
    looks = Cells.of_rows([domain], np.array([[0], [1], [2], [3]]))
    effects = Effects.of(looks, [relation])
    assert list(zip(effects.low.tolist(), effects.high.tolist(), strict=True)) == [(1, 2), (2, 3)]
    assert effects.ridge[effects.of_code[0][3, 0]] == 1


def test_very_many_numbers_share_effects_with_their_neighbours():
    domain = ages(1000)
    looks = Cells.of_rows([domain], np.arange(1000)[:, np.newaxis])
    effects = Effects.of(looks, [Relation.of_domain(domain)])
    own = effects.of_code[0][:, 0]
    assert effects.n_parameters <= 102
    assert np.all(np.diff(own) >= 0)
    assert effects.form(np.ones(effects.n_parameters))[0] < 2


def test_a_rare_value_borrows_from_its_group():
    """Twenty jobs in two groups, with chances by group; one job is rare."""
    jobs = [f"a{one}" for one in range(10)] + [f"b{one}" for one in range(10)]
    domain = Domain.of_texts("job", jobs)
    rows = [[job, "manual" if job[0] == "a" else "office"] for job in jobs]
    tree = Hierarchy.from_rows(rows).over(domain)
    weights = np.full(20, 1.0)
    weights[19] = 0.05
    exposed = release_of(
        [domain],
        lambda rows: np.where(rows[:, 0] < 10, 0.05, 0.5),
        n_rows=900,
        weights=weights / weights.sum(),
    )
    target = Target.of(exposed, [1])
    flat, _ = fit_additive(target, penalty=3)
    grouped, _ = fit_additive(target, penalty=3, relations=relate(exposed.looks, {"job": tree}))

    def lift(model):
        own = model.effects[0]
        return own[19] - own[:10].mean()

    truth = np.log(1.0) - np.log(0.05 / 0.95)
    assert abs(lift(grouped) - truth) < abs(lift(flat) - truth) - 0.5


def test_relations_come_from_whatever_the_release_says():
    meanings = {
        "age": {
            "[20, 30[": Meaning(interval=("20", "30")),
            "[30, 50[": Meaning(interval=("30", "50")),
            "bad": Meaning(interval=("x", "y")),
        },
        "work": {
            "State": Meaning(members=frozenset({"State"})),
            "public": Meaning(members=frozenset({"State", "Federal"})),
        },
    }
    types = {"age": ColumnType.INTEGER, "work": ColumnType.CATEGORICAL}
    labels = [
        Domain.of_texts("age", [SUPPRESSED, "[20, 30[", "[30, 50[", "bad"]),
        Domain.of_texts("work", ["State", "public"]),
        Domain.of_texts("sex", ["F", "M"]),
    ]
    looks = Cells.of_rows(labels, np.array([[0, 0, 0], [3, 1, 1]]))
    age, work, sex = relate(looks, {}, meanings, types)
    assert age.position[1:3].tolist() == [25, 40]
    assert np.isnan(age.position[[0, 3]]).all()
    # Both labels are all there are, so a group of them would be everybody.
    assert work.is_unrelated
    assert sex.is_unrelated
    values = [ages(3), Domain.of_texts("work", ["Federal", "Private", "State"])]
    looks = Cells.of_rows(values, np.array([[0, 0], [1, 1]]))
    age, work = relate(looks, {}, meanings, types)
    assert age.position.tolist() == [20, 21, 22]
    assert [level.tolist() for level in work.groups] == [[0, -1, 0]]


def test_values_that_a_hierarchy_lacks_belong_to_no_group():
    known = Domain.of_texts("job", ["a", "b", "c"])
    tree = Hierarchy.from_rows([["a", "x"], ["b", "x"], ["c", "y"]]).over(known)
    other = Domain.of_texts("job", ["a", "b", "c", "d"], has_missing=True)
    (groups,) = Relation.of_domain(other, tree).groups[:1]
    assert groups[0] == groups[1] >= 0
    assert groups[3:].tolist() == [-1, -1]


# --- the whole attack ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def anatomy():
    table = shoal.read(shoal.datasets.census(rows=1000, seed=4))
    return shoal.anonymize(table, shoal.Anatomy(ell=3), seed=4)


def test_the_table_s_hierarchies_are_common_knowledge(anatomy):
    located = locate_people(anatomy)
    assert set(located.people.trees) >= {"postcode", "education"}


def guess(located, entry, models):
    """Return how much is believed of the best guess about everybody, and how often it is right."""
    p = np.array([found.p[entry[located.truth.cell]] for _, found in models])
    right = p.argmax(axis=0) == located.truth.values[0]
    return float(p.max(axis=0).mean()), float(right.mean())


def test_a_chosen_penalty_makes_the_attack_stronger_and_more_honest(anatomy):
    located = locate_people(anatomy)
    buckets = anatomy.published.buckets
    exposed, entry = Exposed.of_people(located.people, buckets)
    targets = [Target.of(exposed, [value]) for value in range(buckets.domain.size)]
    flat = [UNRELATED] * len(exposed.looks.domains)
    fixed = [fit_additive(target, penalty=1, relations=flat) for target in targets]
    relations = relate(exposed.looks, located.people.trees)
    chosen = [fit_additive(target, relations=relations) for target in targets]
    believed_before, right_before = guess(located, entry, fixed)
    believed_after, right_after = guess(located, entry, chosen)
    assert right_after > right_before + 0.03
    assert believed_before - right_before > 0.2
    assert believed_after - right_after < 0.05


def test_all_values_are_weighed_together_where_buckets_are_small(anatomy):
    found = attack_and_score(anatomy, Foreground(r=3))
    assert found.headline["values weighed together"] == "yes"
    (adversaries,) = (one for one in found.sections if one.title == "adversaries")
    names = [row[0] for row in adversaries.rows]
    assert "logit, one value at a time" in names
    single = attack_and_score(
        anatomy, Foreground(r=3, value=anatomy.published.buckets.domain.text(0))
    )
    assert single.headline["values weighed together"] == "no"


def test_findings_say_in_words_that_nothing_was_learned():
    random = np.random.default_rng(1)
    source = {
        name: random.integers(0, size, 300).astype(str).tolist()
        for name, size in (("a", 6), ("b", 6), ("disease", 3))
    }
    types = dict.fromkeys(("a", "b"), "categorical")
    schema = shoal.Schema(quasi=["a", "b"], sensitive=["disease"], types=types)
    release = shoal.anonymize(shoal.read(source, schema), shoal.Mondrian(k=4, ell=2), seed=1)
    found = attack_and_score(release, Foreground(value="1", r=2))
    assert found.headline["learned by the additive model"].startswith("nothing")
    (chosen,) = (one for one in found.sections if one.title == "how the additive model was chosen")
    assert chosen.rows[0][1] == "infinite: all alike"
