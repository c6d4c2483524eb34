"""The experiments of [Aggarwal06] on hiding cells from adversarial rules, and Examples 1 to 8.

FAiR mines the rules and GraDeS hides cells. The examples are about the employees of Tables 1 and 2.
The synthetic tables are generated; Figures 10 to 12 need Adult. Cells are hidden as printed, in one
pass, and also until no rule is left.

References
----------
[Aggarwal06] Aggarwal, Pei, Zhang: On Privacy Preservation against Adversarial Data Mining.
KDD 2006; sections 1, 2 and 4 for the examples.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction.adversarial_adult import by_private_set, by_support_on_adult
from reproduction.adversarial_blanking import by_blanking_factor, by_rows
from reproduction.adversarial_zipf import (
    by_confidence,
    by_private_share,
    by_support,
    by_zipf_factor,
)
from reproduction.reproduced import Curve, Figure, Planned, Setting, Statement, claimed, compared
from shoal.datasets import papers
from shoal.hiding.adversarial_rules import (
    AdversarialRule,
    AdversarialRules,
    mine_adversarial_rules,
)

_R1 = ("R1: Assistant → SL-3", {"title": "Assistant"}, "SL-3")
_R2 = ("R2: Manager and SL-5 → University", {"title": "Manager", "salary_level": "SL-5"}, "Univ.")
_R3 = ("R3: Manager and Female → Married", {"title": "Manager", "gender": "F"}, "Married")
_RULES = (_R1, _R2, _R3)
_PRINTED = ((2, 1.0), (3, 0.667), (3, 0.667))
_CATEGORIES = (
    (5, "College", {"education": "Coll."}, "privacy-free"),
    (6, "Accountant", {"title": "Accountant"}, "non-discriminative"),
    (7, "Unmarried and SL-5", {"marital_status": "Unmarr.", "salary_level": "SL-5"}, "contrast"),
    (8, "Manager and Female", _R3[1], "discriminative"),
)
_NO_CONTRAST = (
    "the paper says that those of them whose gender is visible are men; in Tables 1 and 2 there is "
    "only one, tuple 7, and she is a woman."
)


def examples(setting: Setting) -> Sequence[Figure]:
    """Mine the rules of Table 2, and hide cells as in Examples 2 and 3.

    The setting is not used: the table has ten rows.
    """
    del setting
    rules = _mined()
    return [
        Figure(
            name="examples",
            title="Table 2 and Examples 1 to 8: rules about the employees",
            setting="The ten employees of Table 2 with its five private entries; confidence 60 %, "
            "support 2, as Example 2 has them. All adversarial rules are drawn.",
            x_name="rule",
            x=tuple(_text(rule) for rule in rules),
            y_name="share",
            curves=(
                Curve("public confidence", tuple(float(r.public_confidence) for r in rules)),
                Curve("hidden confidence", tuple(float(r.hidden_confidence) for r in rules)),
            ),
            statements=(
                *_about_rules(rules),
                *_about_tuples(rules),
                *_about_hiding(),
                *_about_categories(rules),
            ),
        )
    ]


def _mined(*blanked: tuple[int, str], delta: str = "0.6") -> AdversarialRules:
    """Mine Table 2 with further entries blanked, each given as tuple number and column."""
    table = papers.employees_shuffled().to_dict()
    del table["id"]
    private = [(int(row) - 1, column) for row, column in papers.employees_private_cells()]
    hidden = [(row - 1, column) for row, column in blanked] or None
    return mine_adversarial_rules(table, private, delta=delta, gamma=2, hidden=hidden)


def _text(rule: AdversarialRule) -> str:
    return f"{' and '.join(rule.antecedent.values())} → {rule.value}"


def _found(
    rules: AdversarialRules, wanted: tuple[str, dict[str, str], str]
) -> AdversarialRule | None:
    _, antecedent, value = wanted
    same = (rule for rule in rules if dict(rule.antecedent) == antecedent and rule.value == value)
    return next(same, None)


def _about_rules(rules: AdversarialRules) -> list[Statement]:
    statements = []
    for wanted, (support, confidence) in zip(_RULES, _PRINTED, strict=True):
        rule = _found(rules, wanted)
        ours = (0, 0.0) if rule is None else (rule.support, float(rule.public_confidence))
        statements += [
            compared(f"support of {wanted[0]}", support, ours[0], within=0),
            compared(f"confidence of {wanted[0]}", confidence, round(ours[1], 3), within=0),
        ]
    return statements


def _about_tuples(rules: AdversarialRules) -> list[Statement]:
    predicted = sorted({int(str(row)) + 1 for rule in rules for row, _ in rule.cells})
    named = ", ".join(map(str, predicted))
    firing = [_text(rule) for rule in rules if 5 in {row for row, _ in rule.cells}]
    why = (
        "by the paper's own definitions tuple 6 is predicted as well: "
        f"{' and '.join(firing)} hold among those who show a gender, and are right about it. "
        "The paper lists three of the adversarial rules and not these."
    )
    return [
        claimed(
            "tuples whose missing value is predicted (Example 1)",
            "5, 8, 9",
            named,
            holds=predicted == [5, 8, 9],
            why=why,
        ),
        claimed(
            "tuples whose missing value cannot be predicted (Example 1)",
            "6, 10",
            ", ".join(str(row) for row in (6, 10) if row not in predicted) or "none",
            holds=not {6, 10} & set(predicted),
            why=why,
        ),
        Statement(
            "adversarial rules of Table 2",
            "",
            str(len(rules)),
            "not stated in the paper",
            "Example 1 lists three of them.",
        ),
    ]


def _about_hiding() -> list[Statement]:
    education = _found(_mined((1, "education"), delta="0.5"), _R2)
    title, eighth = _mined((1, "title")), _mined((8, "title"))
    gone = [rule[0][:2] for rule in _RULES if _found(title, rule) is None]
    marginalized = [rule[0][:2] for rule in _RULES if _found(eighth, rule) is None]
    return [
        compared(
            "confidence of R2 once tuple 1 hides its education (Example 2)",
            0.5,
            float(education.public_confidence) if education else 0.0,
            within=0,
        ),
        claimed(
            "rules that blanking the title of tuple 1 hides (Example 2)",
            "R2, R3",
            ", ".join(gone),
            holds=gone == ["R2", "R3"],
        ),
        claimed(
            "rules that blanking the title of tuple 8 stops (Example 3)",
            "R1",
            ", ".join(marginalized),
            holds=marginalized == ["R1"],
        ),
    ]


def _about_categories(rules: AdversarialRules) -> list[Statement]:
    statements = []
    for example, named, itemset, printed in _CATEGORIES:
        ours = str(rules.category(itemset))
        what = f"category of {named} (Example {example})"
        statements.append(claimed(what, printed, ours, holds=ours == printed, why=_NO_CONTRAST))
    return statements


PLANNED = (
    Planned("Examples 1 to 8: the employees", needs_adult=False, run=examples),
    Planned("Figure 3: Zipf factor", needs_adult=False, run=by_zipf_factor),
    Planned("Figure 4: support", needs_adult=False, run=by_support),
    Planned("Figure 5: confidence", needs_adult=False, run=by_confidence),
    Planned("Figure 6: size of the private set", needs_adult=False, run=by_private_share),
    Planned("Figures 7 and 8: blanking factor", needs_adult=False, run=by_blanking_factor),
    Planned("Figure 9: rows", needs_adult=False, run=by_rows),
    Planned("Figure 10: size of the private set", needs_adult=True, run=by_private_set),
    Planned("Figures 11 and 12: support", needs_adult=True, run=by_support_on_adult),
)
