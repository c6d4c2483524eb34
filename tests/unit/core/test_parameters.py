import datetime as dt
import pickle
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import attrs
import numpy as np
import pytest
from attrs.exceptions import FrozenInstanceError

from shoal.core.declared import Declared, changed, declared, parameters_of
from shoal.core.errors import ParameterError
from shoal.core.parameters import (
    choice,
    exact_number,
    flag,
    from_file,
    texts,
    values,
    whole_number,
)


@declared
class Made(Declared):
    """Something with parameters.

    Notes
    -----
    None.
    """

    size: int = whole_number("How many rows.", least=2, hint="one hides nothing.")
    share: object = exact_number("A share.", default="0.2", above=0, at_most=1)
    bound: object = exact_number("A bound. Default: none.", default=None, at_least=0, at_most=1)
    cuts: str = choice("How.", ("strict", "relaxed"), default="strict")
    protect: object = values("Which values. Default: all.", default=None)
    about: object = texts("Which columns. Default: all.", default=None)
    models: object = texts("Which models.", among=("tree", "bayes"), default=("tree",))
    is_fast: bool = flag("Whether it is fast.", default=None, otherwise=lambda made: made.size < 9)
    source: object = from_file(
        "A file. Default: none.", (bytes,), file="bytes", what="bytes", load=lambda _: b"read"
    )

    def check_parameters(self) -> None:
        if self.cuts == "relaxed" and self.protect is not None:
            raise ParameterError("protect needs strict cuts.")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"size": 1}, "size must be a whole number of at least 2, not 1.*one hides nothing"),
        ({"size": 2.0}, "size must be a whole number"),
        ({"size": True}, "size must be a whole number"),
        ({"share": 0}, "share must be above 0 and at most 1, not 0"),
        ({"share": "much"}, "share must be a finite number"),
        ({"share": None}, "share must be a finite number"),
        ({"bound": 2}, "bound must lie between 0 and 1, not 2"),
        ({"cuts": "loose"}, "cuts must be one of strict, relaxed, not 'loose'"),
        ({"cuts": ["strict"]}, "cuts must be one of"),
        ({"protect": []}, "protect must be a list of at least one sensitive value"),
        ({"protect": {"flu"}}, "protect must list texts"),
        ({"about": [3]}, "about must be a list of names of columns"),
        ({"about": []}, "about must be a list of names of columns"),
        ({"models": ["oracle"]}, "models must be a list of some of tree, bayes"),
        ({"is_fast": "yes"}, "is_fast must be true or false"),
        ({"source": 3}, "source must be bytes, not a int"),
        ({"cuts": "relaxed", "protect": "flu"}, "protect needs strict cuts"),
    ],
)
def test_a_value_that_breaks_its_rule_is_refused_by_name(given, message):
    with pytest.raises(ParameterError, match=f"(?s){message}"):
        Made(**{"size": 2, **given})


def test_values_are_kept_as_what_was_typed():
    made = Made(size=np.int64(3), share=Decimal("0.1"), bound="1/3", about="age", models="bayes")
    assert (made.size, made.share, made.bound) == (3, Fraction(1, 10), Fraction(1, 3))
    assert type(made.size) is int
    assert (made.about, made.models) == (("age",), ("bayes",))


def test_values_of_the_table_are_texts_and_not_shown():
    made = Made(size=2, protect=[1, None, True, dt.date(2020, 1, 31), "1"])
    assert made.protect == ("1", None, "true", "2020-01-31")
    assert "2020" not in repr(made)


def test_a_path_is_read():
    assert Made(size=2, source="a").source == Made(size=2, source=Path("a")).source == b"read"
    assert Made(size=2, source=b"own").source == b"own"


@pytest.mark.parametrize(("given", "kept"), [({}, True), ({"size": 9}, False)])
def test_a_default_may_follow_from_other_parameters(given, kept):
    assert Made(**{"size": 2, **given}).is_fast is kept
    assert Made(**{"size": 2, **given}, is_fast=not kept).is_fast is not kept


def test_it_is_frozen_equal_and_can_be_pickled():
    made = Made(size=2)
    with pytest.raises(FrozenInstanceError):
        made.size = 3
    assert pickle.loads(pickle.dumps(made)) == made
    assert hash(Made(size=2)) == hash(made)
    assert changed(made, size=4) == attrs.evolve(made, size=4) == Made(size=4, is_fast=True)


def test_changes_are_checked_too():
    with pytest.raises(ParameterError, match="size must be"):
        changed(Made(size=2), size=1)


def test_the_docstring_lists_the_parameters_before_its_sections():
    text = Made.__doc__
    assert "size\n        How many rows." in text
    assert "share\n        A share. Default: 0.2." in text
    assert text.index("Parameters\n") < text.index("share\n") < text.index("Notes\n")


def test_what_is_known_of_a_parameter():
    known = parameters_of(Made)
    assert known["size"].is_required
    assert known["share"].takes == "a number above 0 and at most 1"
    assert known["share"].schema == {
        "type": ["number", "string"],
        "exclusiveMinimum": 0,
        "maximum": 1,
    }
    assert known["bound"].takes == "a number between 0 and 1"
    assert known["cuts"].schema == {"enum": ["strict", "relaxed"]}
    assert known["source"].place("a", Path("folder")) == Path("folder/a")
    assert not known["protect"].is_shown
