from __future__ import annotations

import numpy as np
import pytest

from shoal.core.errors import ParameterError
from shoal.core.secret import Secret


def test_fresh_secrets_differ_and_are_no_tests():
    one, other = Secret.fresh(), Secret.fresh()
    assert one.reveal() != other.reveal()
    assert len(bytes.fromhex(one.reveal())) == 32
    assert not one.is_test


def test_a_seed_gives_the_same_secret_again_and_marks_it():
    assert Secret.from_seed(7).reveal() == Secret.from_seed(7).reveal()
    assert Secret.from_seed(7).reveal() != Secret.from_seed(8).reveal()
    assert Secret.from_seed("spring").is_test


@pytest.mark.parametrize("is_test", [True, False])
def test_a_secret_can_be_taken_up_again_from_the_record(is_test):
    secret = Secret.fresh()
    again = Secret.from_hex(secret.reveal(), is_test=is_test)
    assert again.derive("rank") == secret.derive("rank")
    assert again.is_test is is_test


@pytest.mark.parametrize("secret", [Secret.from_seed("spring"), Secret.fresh()])
def test_a_secret_is_never_shown_unasked(secret):
    shown = f"{secret} {secret!r} {[secret]} {(secret,)}"
    assert secret.reveal()[:8] not in shown
    assert "spring" not in shown
    assert not hasattr(secret, "__dict__")


def test_every_purpose_has_a_key_of_its_own():
    secret = Secret.from_seed(1)
    keys = {secret.derive(label) for label in ("rank", "redraw", "rank ", "")}
    assert len(keys) == 4
    assert all(len(key) == 32 for key in keys)
    assert secret.reveal() not in {key.hex() for key in keys}


def test_numbers_depend_on_label_and_seed_and_go_on_where_more_are_drawn():
    secret = Secret.from_seed(1)
    assert secret.numbers("a", 9)[:4].tolist() == secret.numbers("a", 4).tolist()
    assert secret.numbers("a", 4).tolist() != secret.numbers("b", 4).tolist()
    assert secret.numbers("a", 4).tolist() != Secret.from_seed(2).numbers("a", 4).tolist()


def test_numbers_fill_all_64_bits():
    numbers = Secret.from_seed(3).numbers("a", 4000)
    assert numbers.dtype == np.uint64
    shares = [float((numbers >> np.uint64(bit) & np.uint64(1)).mean()) for bit in range(64)]
    assert 0.45 < min(shares) <= max(shares) < 0.55


@pytest.mark.parametrize("size", [0, 1, 2, 1000])
def test_a_permutation_has_every_place_once(size):
    assert sorted(Secret.from_seed(5).permutation("buckets", size).tolist()) == list(range(size))


def test_every_order_of_three_is_drawn_about_equally_often():
    orders = [tuple(Secret.from_seed(s).permutation("b", 3).tolist()) for s in range(1200)]
    counts = [orders.count(order) for order in set(orders)]
    assert len(counts) == 6
    assert min(counts) > 140


def test_a_generator_repeats_by_label():
    secret = Secret.from_seed(5)
    assert secret.generator("a").random() == secret.generator("a").random()
    assert secret.generator("a").random() != secret.generator("b").random()


def test_golden_numbers_do_not_change_from_version_to_version():
    secret = Secret.from_seed(7)
    assert secret.permutation("buckets", 8).tolist() == [1, 5, 4, 6, 2, 7, 3, 0]
    assert secret.derive("rank").hex()[:16] == "e4be298f7c358a87"


@pytest.mark.parametrize("seed", ["\ud800", 1.5, [1], b"x"])
def test_a_seed_is_a_whole_number_or_a_text(seed):
    with pytest.raises(ParameterError, match="A seed must be"):
        Secret.from_seed(seed)


def test_a_whole_number_of_numpy_is_a_seed_too():
    assert Secret.from_seed(np.int64(7)).reveal() == Secret.from_seed(7).reveal()
