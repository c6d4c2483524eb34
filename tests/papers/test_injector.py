"""[Li08]: the tables of the paper, and its experiments on Adult."""

from __future__ import annotations

import numpy as np
import pytest

import shoal
from shoal.checks import valid_values
from shoal.knowledge import Knowledge, NegativeRule, mine_negative_rules

# Minimum expectation: rules found, and the share of rows (in percent) with 0, 1, ... 4 and at
# least 5 occupations that a rule forbids. The paper prints 39 and 45 rules for the last two, and
# no share differs from the paper's by more than .2 (at .85 its own shares add up to 99.7).
FIGURE_3 = {
    0.95: (15, [0.0, 96.2, 1.8, 2.0, 0.0, 0.0]),
    0.90: (22, [0.0, 87.7, 9.3, 2.5, 0.4, 0.0]),
    0.85: (32, [0.0, 87.4, 9.4, 2.1, 1.0, 0.1]),
    0.80: (38, [0.0, 84.5, 12.1, 2.1, 1.1, 0.1]),
    0.75: (44, [0.0, 80.3, 15.8, 2.3, 1.2, 0.3]),
}
# How many people Anatomy leaves with fewer than ell values: the mean of ten runs elsewhere.
FIGURE_4 = {
    (6, 0.75): 787, (6, 0.80): 767, (6, 0.85): 748, (6, 0.90): 668, (6, 0.95): 613,
    (3, 0.90): 298, (4, 0.90): 410, (5, 0.90): 528,
}  # fmt: skip
MEN = NegativeRule(antecedent={"sex": "M"}, value="Ovarian Cancer", why="anatomy")
WOMEN = NegativeRule(antecedent={"sex": "F"}, value="Prostate Cancer", why="anatomy")


@pytest.fixture
def patients():
    return shoal.read(shoal.datasets.papers.injector_patients())


@pytest.fixture(scope="module")
def training(adult_path):
    """The 30,718 rows of Figure 3."""
    return shoal.read(shoal.datasets.adult(adult_path, "injector"))


def test_bob_has_prostate_cancer():
    """Tables I and II, Section II: the first group, in which Bob is the only man."""
    values = ["Ovarian Cancer", "Ovarian Cancer", "Prostate Cancer"]
    women, man = {"Prostate Cancer"}, {"Ovarian Cancer"}
    assert valid_values(values, [women, women, man])[2] == {"Prostate Cancer"}


def test_the_attack_finds_bob_in_table_2(patients):
    known = Knowledge("disease", [MEN, WOMEN])
    release = shoal.anonymize(patients, shoal.Anatomy(ell=2), seed=1)
    slow = known.forbidden(patients)
    assert {row[2] for row, excluded in slow.items() if "Ovarian Cancer" in excluded} == {"M"}
    report = shoal.attack(release, shoal.attacks.Background(rules=known, ell=2))
    assert report["background"].headline["rules"] == 2


def test_the_only_woman_of_a_group_has_ovarian_cancer():
    """Section V-A: ell men, one woman, one ovarian cancer and ell diseases common to both."""
    ell = 4
    values = ["Ovarian Cancer", *(f"disease {i}" for i in range(ell))]
    valid = valid_values(values, [set(), *({"Ovarian Cancer"} for _ in range(ell))])
    assert valid[0] == {"Ovarian Cancer"}
    assert all(len(one) == ell for one in valid[1:])


def test_injector_never_puts_the_patients_at_risk(patients):
    known = Knowledge("disease", [MEN, WOMEN])
    release = shoal.anonymize(patients, shoal.Injector(ell=2, rules=known, mine=False), seed=1)
    background = shoal.attack(release)["background"]
    assert background.n_breached == 0
    assert background.headline["fewest possible values"] >= 2


@pytest.mark.parametrize(("min_exp", "expected"), FIGURE_3.items())
def test_rules_and_forbidden_occupations_of_figure_3(training, min_exp, expected):
    rules = mine_negative_rules(training, min_exp=min_exp)
    forbidden = rules.forbidden(training)
    n_forbidden = np.minimum(forbidden.sets.n_forbidden[forbidden.sets.which], 5)
    rows = np.bincount(n_forbidden, forbidden.cells.counts, minlength=6)
    shares = [round(100 * count / training.n_rows, 1) for count in rows.tolist()]
    assert (len(rules), shares) == expected


def test_the_paper_s_own_examples_of_rules_are_found(training):
    """Section VI names two of them."""
    found = {(*rule.antecedent.items(), rule.value) for rule in mine_negative_rules(training, 0.95)}
    assert (("workclass", "Government"), "Priv-house-serv") in found
    assert (("education", "Doctorate"), "Handlers-cleaners") in found


@pytest.mark.slow
@pytest.mark.parametrize("min_exp", [0.75, 0.85, 0.95])
@pytest.mark.parametrize(
    ("ell", "choose"), [(3, "printed"), (4, "similar"), (5, "balanced"), (6, "balanced")]
)
def test_injector_leaves_nobody_vulnerable(training, ell, choose, min_exp):
    """Figure 4: by both counts."""
    rules = mine_negative_rules(training, min_exp=min_exp)
    method = shoal.Injector(ell=ell, min_exp=min_exp, choose=choose)
    release = shoal.anonymize(training, method, seed=1)
    attack = shoal.attacks.Background(rules=rules, ell=ell)
    found = shoal.attack(release, attack)["background"]
    assert found.n_breached == 0
    assert found.headline["people at risk by the simple count"] == 0
    assert found.headline["fewest possible values"] >= ell


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "expected"), FIGURE_4.items())
def test_anatomy_leaves_as_many_vulnerable_as_elsewhere(training, setting, expected):
    ell, min_exp = setting
    rules = mine_negative_rules(training, min_exp=min_exp)
    counts = []
    n_runs = 5
    for seed in range(n_runs):
        release = shoal.anonymize(training, shoal.Anatomy(ell=ell), seed=seed)
        found = shoal.attack(release, shoal.attacks.Background(rules=rules, ell=ell))["background"]
        counts.append(found.n_breached)
    # What is expected is the mean of ten runs. Two such means differ by less than this in all but
    # one of a thousand cases.
    spread = np.std(counts, ddof=1) * np.sqrt(1 / n_runs + 1 / 10)
    assert abs(np.mean(counts) - expected) < 5 * spread


def test_balanced_buckets_of_adult_leave_no_row_over(adult_path):
    table = shoal.read(shoal.datasets.adult(adult_path, "occ-7"))
    release = shoal.anonymize(table, shoal.Injector(ell=6), seed=1)
    assert release.manifest.n_rows == 45_222
    assert set(release.published.bucket_sizes.tolist()) == {6}
