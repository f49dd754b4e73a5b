"""The split of users into parts."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairbandits.ope.certification.user_split import CERTIFICATION, FITTING, SELECTION, assign_parts


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=50), st.integers(0, 2**40))
def test_all_rows_of_a_user_are_in_one_part(users, first_row):
    keys = np.array(users * 2, np.uint64)
    parts = assign_parts(keys, np.arange(first_row, first_row + keys.size))
    known = keys != 0
    assert set(parts.tolist()) <= {FITTING, SELECTION, CERTIFICATION}
    for user in set(keys[known].tolist()):
        assert len(set(parts[keys == user].tolist())) == 1


def test_rows_of_unknown_users_are_split_like_rows_without_users():
    rows = np.arange(1_000)
    assert (assign_parts(np.zeros(1_000, np.uint64), rows) == assign_parts(None, rows)).all()


def test_the_parts_have_their_shares():
    rng = np.random.default_rng(0)
    parts = assign_parts(rng.integers(1, 2**63, 100_000).astype(np.uint64), np.arange(100_000))
    assert np.allclose(np.bincount(parts) / 100_000, [0.25, 0.15, 0.6], atol=0.01)
