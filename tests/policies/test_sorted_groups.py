"""Numbers in groups: shares, adding, and what kernels would not notice."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbandits.policies.sorted_groups import SortedGroups

PAIRS = st.lists(st.tuples(st.integers(0, 2), st.integers(-3, 3).map(float)), max_size=30)


def columns(pairs):
    return np.array([group for group, _ in pairs], np.int64), np.array([value for _, value in pairs], np.float64)


@given(PAIRS, PAIRS, st.integers(-3, 3).map(float))
def test_shares_are_those_of_a_count(first, added, limit):
    numbers = SortedGroups(*columns(first), n_groups=4)
    assert numbers.add(*columns(added))
    groups = np.array([0, 1, 2, 3, -1, 9])
    found = numbers.shares_up_to(groups, np.array([[limit] * 6, [limit + 1.0] * 6]), unknown=0.5)
    for row, bound in zip(found, (limit, limit + 1.0), strict=True):
        for group, share in zip(groups, row, strict=True):
            own = [value for each, value in first + added if each == group]
            assert share == (sum(value <= bound for value in own) / len(own) if own else 0.5)


def test_a_group_without_room_and_one_that_does_not_exist_cannot_be_added():
    numbers = SortedGroups(np.array([0]), np.array([0.5]), n_groups=1)
    assert not numbers.add(np.array([1]), np.array([0.1]))
    while numbers.add(np.array([0]), np.array([0.1])):
        pass
    assert numbers.shares_up_to(np.array([0]), np.array([[0.2]]), unknown=0.5).item() == 65 / 66


def test_arrays_of_other_lengths_are_refused():
    numbers = SortedGroups(np.array([0]), np.array([0.5]), n_groups=1)
    with pytest.raises(ValueError, match=r"groups and values must have the same shape, got \(1,\) and \(2,\)"):
        numbers.add(np.array([0]), np.array([0.1, 0.2]))
    with pytest.raises(ValueError, match=r"limits must have a column for each group, got \(1, 1\) and \(2,\)"):
        numbers.shares_up_to(np.array([0, 0]), np.array([[0.1]]), unknown=0.5)
