"""Texts are numbered straight from Arrow's buffers as a dictionary numbers them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.kernels import load_plain
from shoal.engines import _frame_kernels as compiled
from shoal.engines import frames

PLAIN = load_plain("shoal.engines._frame_kernels")
TEXTS = ["", "a", "b", "ab", "ba", "abc", "abcd", "abce", "abcdefg", "abcdefgh", "abcdefgi"]
TEXTS += ["abcdefghabcdefgh", "abcdefghabcdefghi", "bbcdefghabcdefghi", "é", "e\u0301", "a\x00"]
TEXTS += ["\U0001f41f", "long " * 9, "a ", "\x00", "\x00\x00"]


@st.composite
def columns(draw):
    """Draw values, and an Arrow array of them that may be a part of another or in chunks."""
    few = draw(st.lists(st.sampled_from(TEXTS), min_size=1, unique=True))
    text = st.sampled_from(few) | (st.text(max_size=20) if draw(st.booleans()) else st.nothing())
    value = st.none() | text if draw(st.booleans()) else text
    values = draw(st.lists(value, min_size=1, max_size=30))
    kind = draw(st.sampled_from([pa.string(), pa.large_string()]))
    before, after = draw(st.integers(0, 11)), draw(st.integers(0, 3))
    whole = pa.array(["b", None, "a"] * 4, kind)[:before].to_pylist() + values + ["x"] * after
    part = pa.array(whole, kind).slice(before, len(values))
    cut = draw(st.none() | st.integers(0, len(values)))
    return values, part if cut is None else pa.chunked_array([part[:cut], part[cut:]])


@pytest.mark.parametrize("kernels", [compiled, PLAIN], ids=["compiled", "plain"])
@given(drawn=columns(), seed=st.integers(0, 2**64 - 1))
def test_texts_are_numbered_as_by_a_dictionary(kernels, drawn, seed):
    values, array = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "number_texts", kernels.number_texts)
        patch.setattr(frames, "_SEED", seed)
        found = frames.code_frame(pa.table({"v": array}), ["v"]).coded["v"]
    texts = [text for text in dict.fromkeys(values) if text is not None]
    assert found.texts == [*texts, None][: len(set(values))]
    assert [found.texts[place] for place in found.codes.tolist()] == values


@pytest.mark.parametrize("kernels", [compiled, PLAIN], ids=["compiled", "plain"])
@pytest.mark.parametrize("n_texts", [1, 128, 129, 513, 3000])
def test_a_growing_table_loses_no_text(kernels, n_texts, monkeypatch):
    monkeypatch.setattr(frames, "number_texts", kernels.number_texts)
    values = [f"text {(7 * place) % n_texts}" for place in range(2 * n_texts)]
    found = frames.code_frame(pd.DataFrame({"v": pd.Series(values, dtype="str")}), ["v"])
    assert found.coded["v"].texts == list(dict.fromkeys(values))
    number = {text: place for place, text in enumerate(found.coded["v"].texts)}
    assert found.coded["v"].codes.tolist() == [number[value] for value in values]


def test_texts_are_missing_wherever_no_text_is_left():
    for array in (pa.array([None, None], pa.string()), pa.array(["a", None, None])[1:]):
        found = frames.code_frame(pa.table({"v": array}), ["v"]).coded["v"]
        assert found.texts == [None]
        assert np.array_equal(found.codes, [0, 0])
