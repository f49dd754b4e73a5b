"""Time blocks: few, aligned, and independent of the order of times."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits.audit.time_blocks import MAX_BLOCKS, TimeBlocks

TICKS = {
    "row": st.integers(0, 10**12),
    "date": st.integers(-(10**16), 10**16),
    "number": st.floats(-1e12, 1e12),
}


@pytest.mark.parametrize("unit", TICKS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_blocks_cover_all_times_and_are_few(unit, data):
    ticks = np.array(data.draw(st.lists(TICKS[unit], min_size=1, max_size=30)))
    one_by_one = TimeBlocks(unit)
    for tick in ticks:
        one_by_one = one_by_one.covering(tick, tick)
    at_once = TimeBlocks(unit).covering(ticks.min(), ticks.max())
    assert one_by_one.n <= MAX_BLOCKS
    numbers = one_by_one.numbers(ticks)
    assert numbers.min() >= 0
    assert numbers.max() < one_by_one.n
    if unit != "number":  # edges of numbers are rounded
        assert one_by_one == at_once
        half = ticks[: len(ticks) // 2 + 1]
        other = TimeBlocks(unit).covering(half.min(), half.max())
        assert other.union(at_once) == at_once.union(other) == at_once
        np.testing.assert_array_equal(other.numbers_in(at_once)[other.numbers(half)], at_once.numbers(half))


@given(st.integers(0, 10**7), st.integers(1, 5_000), st.integers(0, 10**7))
def test_consecutive_rows(first, n, before):
    blocks = TimeBlocks("row").covering(before, before).covering(first, first + n - 1)
    rows = np.arange(first, first + n)
    np.testing.assert_array_equal(blocks.row_numbers(first, n), blocks.numbers(rows))
    np.testing.assert_array_equal(blocks.numbers(rows), rows // blocks.width - blocks.first)


def test_blocks_of_dates_follow_the_calendar():
    two_months = [np.datetime64(day, "us").astype(np.int64) for day in ("2026-01-10", "2026-03-10")]
    days = TimeBlocks("date").covering(*two_months)
    assert (days.n, days.start(0)) == (60, np.datetime64("2026-01-10", "us"))
    two_years = [np.datetime64(day, "us").astype(np.int64) for day in ("2025-01-10", "2027-01-10")]
    weeks = TimeBlocks("date").covering(*two_years)
    assert weeks.start(0) == np.datetime64("2025-01-06", "us")  # a Monday
