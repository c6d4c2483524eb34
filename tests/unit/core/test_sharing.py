"""What follows from a table alone is worked out once, and never taken for that of another."""

from shoal.core.sharing import once, sharing


class Owner:
    def __init__(self, number):
        self.number = number


def test_nothing_is_kept_outside_of_sharing():
    one, counted = Owner(1), []
    for _ in range(2):
        once((one,), "key", lambda: counted.append(1))
    with sharing():
        once((one,), "key", lambda: counted.append(1))
        once((one,), "key", lambda: counted.append(1))
    once((one,), "key", lambda: counted.append(1))
    assert len(counted) == 4


def test_results_are_told_apart_by_owners_their_order_and_key():
    one, other = Owner(1), Owner(1)
    asked = [
        ((one,), "a"),
        ((other,), "a"),
        ((one,), "b"),
        ((one, other), "a"),
        ((other, one), "a"),
    ]
    with sharing():
        first = [once(owners, key, object) for owners, key in asked]
        assert len(set(map(id, first))) == len(asked)
        assert [once(owners, key, object) for owners, key in asked] == first


def test_an_owner_that_is_gone_never_lends_its_place_to_another():
    with sharing():
        # Python gives the identity of an object that is gone to the next one.
        found = [
            once((Owner(number),), "key", lambda number=number: number) for number in range(99)
        ]
    assert found == list(range(99))


def test_an_inner_context_begins_anew_and_the_outer_one_goes_on():
    one = Owner(1)
    with sharing():
        outer = once((one,), "key", object)
        with sharing():
            assert once((one,), "key", object) is not outer
        assert once((one,), "key", object) is outer
