from __future__ import annotations

import copy
import pickle

import pytest

from shoal.core import errors
from shoal.core.errors import InfeasibleError, ShoalError

ALL = [getattr(errors, name) for name in errors.__all__]


@pytest.mark.parametrize("error", ALL)
def test_every_error_is_a_shoal_error_that_says_fact_then_hint(error):
    raised = error("k must be at least 2, not 1.", hint="take k=2.")
    assert isinstance(raised, ShoalError)
    assert str(raised) == "k must be at least 2, not 1.\n\nHint: take k=2."
    assert (raised.fact, raised.hint) == ("k must be at least 2, not 1.", "take k=2.")


@pytest.mark.parametrize("error", ALL)
def test_without_a_hint_there_is_the_fact_alone(error):
    assert str(error("It is so.")) == "It is so."
    assert error("It is so.").hint is None


def test_what_the_caller_got_wrong_is_a_value_error_and_nothing_else_is():
    wrong = {error.__name__ for error in ALL if issubclass(error, ValueError)}
    assert wrong == {"ParameterError", "SchemaError", "DataError"}


def test_exit_codes_are_distinct_and_none_means_success_or_wrong_usage():
    codes = [error.exit_code for error in ALL]
    assert len(set(codes)) == len(codes)
    assert set(codes).isdisjoint({0, 2})
    assert all(0 < code < 126 for code in codes)


def test_an_infeasible_request_carries_the_best_reachable_of_its_own():
    best = {"ell": 3}
    raised = InfeasibleError("Too much.", best=best)
    best["ell"] = 9
    assert raised.best == {"ell": 3}
    assert InfeasibleError("Too much.").best == {}


@pytest.mark.parametrize("again", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
@pytest.mark.parametrize("error", ALL)
def test_an_error_survives_the_way_to_another_process(error, again):
    raised = error("Fact.", hint="Do.")
    if error is InfeasibleError:
        raised.best["t"] = "0.2"
    other = again(raised)
    assert type(other) is error
    assert str(other) == "Fact.\n\nHint: Do."
    assert vars(other) == vars(raised)
