"""The index of pairs of codes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits.audit.pair_index import PairIndex


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(-1, 40), st.integers(-1, 40)), max_size=300), st.integers(1, 100))
def test_pairs_are_numbered_in_order_of_appearance(seen, size):
    pairs = PairIndex()
    expected = {pair: number for number, pair in enumerate(dict.fromkeys(seen))}
    for start in range(0, len(seen), size):
        left, right = np.array(seen[start : start + size], np.int32).T
        numbers = pairs.numbers(np.ascontiguousarray(left), np.ascontiguousarray(right))
        assert numbers.tolist() == [expected[pair] for pair in seen[start : start + size]]
    assert list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)) == list(expected)


def test_the_index_grows():
    codes = np.arange(100_000, dtype=np.int32)
    pairs = PairIndex()
    np.testing.assert_array_equal(pairs.numbers(codes, codes[::-1].copy()), codes)
    np.testing.assert_array_equal(pairs.numbers(codes[::-1].copy(), codes), codes[::-1])
