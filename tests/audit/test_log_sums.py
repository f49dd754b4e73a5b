"""Counting: the cells are what pandas would compute, however the log is cut."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits.audit.counting import count_cells, merged
from fairbandits.audit.group_sums import compare, compared_by
from fairbandits.audit.log_sums import LogSums
from fairbandits.audit.pair_index import PairIndex
from fairbandits.audit.time_blocks import MOST, TimeBlocks
from fairbandits.logs import Log, LogError
from tests.audit import logs


def count(frame, **options):
    return count_cells(Log.open(frame), **options)


def by_pandas(frame, attributes):
    known = frame.dropna(subset=list(attributes))
    return known.groupby(list(attributes), sort=True)["reward"].agg(["count", "sum", "size"])


@pytest.mark.parametrize("attributes", [("sex",), ("race",), ("sex", "race")])
def test_sums_are_those_of_pandas(attributes):
    frame = logs.make()
    found, expected = compare(count(frame), attributes), by_pandas(frame, attributes)
    assert [label if len(label) > 1 else label[0] for label in found.labels] == [*expected.index]
    np.testing.assert_array_equal(found.in_all.count, expected["count"])
    np.testing.assert_allclose(found.in_all.total, expected["sum"], rtol=1e-12)
    np.testing.assert_array_equal(found.in_all.missing, expected["size"] - expected["count"])
    np.testing.assert_array_equal(found.over_time.count[-1], expected["count"])


def test_what_each_arm_gave_is_that_of_pandas():
    frame = logs.make()
    cells = count(frame)
    found = compare(cells, ("sex",))
    for number, sex in enumerate(logs.SEXES):
        expected = frame[frame.sex == sex].groupby("arm")["reward"].agg(["count", "sum", "var"])
        sums = found.by_arm(number)
        for code, arm in enumerate(cells.arms):
            if arm not in expected.index:
                assert sums.count[code] == 0
                continue
            assert sums.count[code] == expected["count"][arm]
            assert sums.total[code] == pytest.approx(expected["sum"][arm])
            assert sums.m2[code] == pytest.approx(expected["var"][arm] * (expected["count"][arm] - 1))


def test_squares_lose_no_digits_where_rewards_are_large():
    frame = logs.make(400, missing=0.0).assign(reward=lambda f: 1e6 + f.reward)
    found = compare(count(frame, reward_range=(1e6, 1e6 + 1)), ("sex",)).in_all
    expected = frame.groupby("sex")["reward"].agg(["var", "count"])
    np.testing.assert_allclose(found.m2, expected["var"] * (expected["count"] - 1), rtol=1e-9)


def assert_same(ours, theirs):
    assert ours.rows == theirs.rows
    assert ours.blocks == theirs.blocks
    for attributes in compared_by(list(ours.labels)):
        a, b = compare(ours, attributes), compare(theirs, attributes)
        assert a.labels == b.labels
        for part in ("count", "total", "squares", "missing"):
            np.testing.assert_allclose(getattr(a.in_all, part), getattr(b.in_all, part), rtol=1e-12)
            np.testing.assert_allclose(getattr(a.over_time, part), getattr(b.over_time, part), rtol=1e-12)
        for group in range(len(a.labels)):
            mine, yours = a.by_arm(group).total, b.by_arm(group).total
            assert dict(zip(ours.arms, mine.round(9), strict=True)) == dict(
                zip(theirs.arms, yours.round(9), strict=True)
            )


@settings(max_examples=12, deadline=None)
@given(st.integers(90, 900), st.booleans(), st.randoms(use_true_random=False))
def test_parts_of_a_log_add_up_in_any_order(cut, is_dated, random):
    frame = logs.make(1_000)
    frame = logs.dated(frame) if is_dated else frame
    log = Log.open(frame)
    parts = []
    for start in range(0, len(frame), cut):
        part = LogSums(log.roles.groups, kind="date" if is_dated else "row")
        piece = next(iter(Log.open(frame.iloc[start : start + cut]).chunks()))
        object.__setattr__(piece, "first_row", start)
        part.add(piece)
        parts.append(part)
    random.shuffle(parts)
    whole = parts[0]
    for part in parts[1:]:
        before = copy.deepcopy(part)
        whole = merged(whole, pickle.loads(pickle.dumps(part)))  # noqa: S301 - as Dask does
        assert_same(part, before)
    assert_same(whole, count(frame))


def test_cells_that_differ_do_not_add_up():
    with pytest.raises(ValueError, match="cells of logs that differ do not add up"):
        LogSums(["sex"]).merge(LogSums(["race"]))
    with pytest.raises(ValueError, match="do not add up"):
        LogSums(["sex"]).merge(LogSums(["sex"], (0.0, 5.0)))


def test_chunks_do_not_matter(monkeypatch):
    frame = logs.dated(logs.make(5_000))
    whole = count(frame)
    chunks = Log.chunks
    monkeypatch.setattr(Log, "chunks", lambda self, **options: chunks(self, **options, rows=77))
    assert_same(count(frame), whole)


def test_a_hundred_thousand_arms_take_little_room():
    n = 200_000
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"arm": rng.integers(0, 100_000, n), "reward": rng.random(n), "sex": rng.choice(logs.SEXES, n)}
    )
    cells = count(frame)
    assert len(cells.arms) > 80_000
    # At most a cell for each decision, and never twice that; blocks do not multiply with arms.
    assert cells._by_arm.nbytes <= 2 * n * 32
    assert cells.by_block.size < MOST * 4 * 4


def test_decisions_without_a_time_count_but_not_over_time():
    frame = logs.dated(logs.make(1_000, missing=0.0))
    frame.loc[:99, "time"] = pd.NaT
    found = compare(count(frame), ("sex",))
    assert found.in_all.count.sum() == 1_000
    assert found.over_time.count[-1].sum() == 900


def test_times_may_be_numbers():
    frame = logs.make(1_000, missing=0.0).assign(time=np.linspace(-0.5, 0.5, 1_000))
    cells = count(frame)
    assert cells.blocks.kind == "number"
    assert cells.blocks.width == 0.01
    assert compare(cells, ("sex",)).over_time.count[-1].sum() == 1_000


def test_every_chunk_may_be_of_one_time(monkeypatch):
    frame = logs.make(2_000, missing=0.0).assign(time=np.arange(2_000) // 500)
    chunks = Log.chunks
    monkeypatch.setattr(Log, "chunks", lambda self, **given: chunks(self, **given, rows=500))
    cells = count(frame)
    assert cells.by_block[:, :, 0].sum(axis=1)[cells.by_block[:, :, 0].sum(axis=1) > 0].tolist() == [500.0] * 4


def test_a_reward_outside_the_range_is_refused_with_its_row():
    frame = logs.make(500, missing=0.0)
    frame.loc[123, "reward"] = 4.0
    with pytest.raises(LogError) as caught:
        count(frame)
    assert str(caught.value) == (
        "dataframe, column 'reward', row 124: 4.0 came; expected a reward in [0, 1]. Say which are possible: "
        "reward_range=(lowest, highest) (--reward-range)"
    )


def test_an_id_is_no_attribute():
    frame = logs.make(20_002).assign(sex=np.arange(20_002) // 2)
    message = "more than 10,000 combinations of groups by sex, race; an attribute has few, an id is none"
    with pytest.raises(LogError, match=f"dataframe: {message}"):
        count(frame)
    parts = [count(frame.iloc[start : start + 5_000]) for start in (0, 5_000, 10_000)]
    with pytest.raises(LogError, match=message):
        merged(merged(*parts[:2]), parts[2])


# -- pairs and blocks -----------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(-1, 40), st.integers(-1, 40)), max_size=300), st.integers(1, 100))
def test_pairs_are_numbered_in_their_order(seen, cut):
    pairs = PairIndex()
    expected = {pair: number for number, pair in enumerate(dict.fromkeys(seen))}
    for start in range(0, len(seen), cut):
        left, right = np.array(seen[start : start + cut], np.int32).T
        numbers = pairs.numbers(np.ascontiguousarray(left), np.ascontiguousarray(right))
        assert numbers.tolist() == [expected[pair] for pair in seen[start : start + cut]]
    assert list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)) == list(expected)


def test_more_pairs_than_there_was_room_for():
    codes = np.arange(100_000, dtype=np.int32)
    pairs = PairIndex()
    np.testing.assert_array_equal(pairs.numbers(codes, codes[::-1].copy()), codes)
    np.testing.assert_array_equal(pairs.numbers(codes[::-1].copy(), codes), codes[::-1])


TICKS = {
    "row": st.integers(0, 10**12),
    "date": st.integers(-(10**16), 10**16),
    "number": st.floats(-1e12, 1e12),
}


@pytest.mark.parametrize("kind", TICKS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_blocks_hold_all_times_and_are_few(kind, data):
    ticks = np.array(data.draw(st.lists(TICKS[kind], min_size=1, max_size=30)))
    one_by_one = TimeBlocks(kind)
    for tick in ticks:
        one_by_one = one_by_one.covering(tick, tick)
    at_once = TimeBlocks(kind).covering(ticks.min(), ticks.max())
    assert one_by_one.n <= MOST
    places = one_by_one.places(ticks)
    assert places.min() >= 0
    assert places.max() < one_by_one.n
    if kind != "number":  # whose edges are rounded
        assert one_by_one == at_once
        half = ticks[: len(ticks) // 2 + 1]
        other = TimeBlocks(kind).covering(half.min(), half.max())
        assert other.joined(at_once) == at_once.joined(other) == at_once
        np.testing.assert_array_equal(other.places_in(at_once)[other.places(half)], at_once.places(half))


@given(st.integers(0, 10**7), st.integers(1, 5_000), st.integers(0, 10**7))
def test_rows_that_follow_each_other(first, n, before):
    blocks = TimeBlocks("row").covering(before, before).covering(first, first + n - 1)
    rows = np.arange(first, first + n)
    np.testing.assert_array_equal(blocks.row_places(first, n), blocks.places(rows))
    np.testing.assert_array_equal(blocks.places(rows), rows // blocks.width - blocks.first)


def test_blocks_of_dates_are_those_of_the_calendar():
    two_months = [np.datetime64(day, "us").astype(np.int64) for day in ("2026-01-10", "2026-03-10")]
    days = TimeBlocks("date").covering(*two_months)
    assert (days.n, days.start(0)) == (60, np.datetime64("2026-01-10", "us"))
    two_years = [np.datetime64(day, "us").astype(np.int64) for day in ("2025-01-10", "2027-01-10")]
    weeks = TimeBlocks("date").covering(*two_years)
    assert weeks.start(0) == np.datetime64("2025-01-06", "us")  # a Monday
