"""Sums of a log: equal to those of pandas, however the log is split."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits.audit.aggregation import aggregate_log, merged
from fairbandits.audit.grouped_sums import attribute_combinations, group_by
from fairbandits.audit.log_sums import LogSums
from fairbandits.audit.time_blocks import MAX_BLOCKS
from fairbandits.logs import Log, LogError
from tests.audit import logs


def aggregate(frame, **options):
    return aggregate_log(Log.open(frame), **options)


def by_pandas(frame, attributes):
    known = frame.dropna(subset=list(attributes))
    return known.groupby(list(attributes), sort=True)["reward"].agg(["count", "sum", "size"])


@pytest.mark.parametrize("attributes", [("sex",), ("race",), ("sex", "race")])
def test_sums_agree_with_pandas(attributes):
    frame = logs.make()
    found, expected = group_by(aggregate(frame), attributes), by_pandas(frame, attributes)
    assert [label if len(label) > 1 else label[0] for label in found.labels] == [*expected.index]
    np.testing.assert_array_equal(found.overall.count, expected["count"])
    np.testing.assert_allclose(found.overall.total, expected["sum"], rtol=1e-12)
    np.testing.assert_array_equal(found.overall.missing, expected["size"] - expected["count"])
    np.testing.assert_array_equal(found.cumulative.count[-1], expected["count"])


def test_sums_by_arm_agree_with_pandas():
    frame = logs.make()
    log_sums = aggregate(frame)
    found = group_by(log_sums, ("sex",))
    for number, sex in enumerate(logs.SEXES):
        expected = frame[frame.sex == sex].groupby("arm")["reward"].agg(["count", "sum", "var"])
        sums = found.by_arm(number)
        for code, arm in enumerate(log_sums.arms):
            if arm not in expected.index:
                assert sums.count[code] == 0
                continue
            assert sums.count[code] == expected["count"][arm]
            assert sums.total[code] == pytest.approx(expected["sum"][arm])
            assert sums.m2[code] == pytest.approx(expected["var"][arm] * (expected["count"][arm] - 1))


def test_squares_of_large_rewards_keep_their_digits():
    frame = logs.make(400, missing=0.0).assign(reward=lambda f: 1e6 + f.reward)
    found = group_by(aggregate(frame, reward_range=(1e6, 1e6 + 1)), ("sex",)).overall
    expected = frame.groupby("sex")["reward"].agg(["var", "count"])
    np.testing.assert_allclose(found.m2, expected["var"] * (expected["count"] - 1), rtol=1e-9)


def assert_same(ours, theirs):
    assert ours.rows == theirs.rows
    assert ours.blocks == theirs.blocks
    for attributes in attribute_combinations(list(ours.labels)):
        a, b = group_by(ours, attributes), group_by(theirs, attributes)
        assert a.labels == b.labels
        for part in ("count", "total", "squares", "missing"):
            np.testing.assert_allclose(getattr(a.overall, part), getattr(b.overall, part), rtol=1e-12)
            np.testing.assert_allclose(getattr(a.cumulative, part), getattr(b.cumulative, part), rtol=1e-12)
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
        part = LogSums(log.roles.groups, unit="date" if is_dated else "row")
        chunk = next(iter(Log.open(frame.iloc[start : start + cut]).chunks()))
        object.__setattr__(chunk, "first_row", start)
        part.add(chunk)
        parts.append(part)
    random.shuffle(parts)
    whole = parts[0]
    for part in parts[1:]:
        before = copy.deepcopy(part)
        whole = merged(whole, pickle.loads(pickle.dumps(part)))  # noqa: S301 - as Dask does
        assert_same(part, before)
    assert_same(whole, aggregate(frame))


def test_sums_with_different_layouts_cannot_be_merged():
    with pytest.raises(
        ValueError, match="sums must have the same attributes, reward range and time unit to be merged"
    ):
        LogSums(["sex"]).merge(LogSums(["race"]))
    with pytest.raises(ValueError, match="sums must have the same attributes"):
        LogSums(["sex"]).merge(LogSums(["sex"], (0.0, 5.0)))


def test_the_size_of_chunks_does_not_matter(monkeypatch):
    frame = logs.dated(logs.make(5_000))
    whole = aggregate(frame)
    chunks = Log.chunks
    monkeypatch.setattr(Log, "chunks", lambda self, **options: chunks(self, **options, rows=77))
    assert_same(aggregate(frame), whole)


def test_a_hundred_thousand_arms_take_little_memory():
    n = 200_000
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"arm": rng.integers(0, 100_000, n), "reward": rng.random(n), "sex": rng.choice(logs.SEXES, n)}
    )
    sums = aggregate(frame)
    assert len(sums.arms) > 80_000
    # At most two entries per decision, as the table grows by doubling; time blocks do not multiply with arms.
    assert sums._by_arm.nbytes <= 2 * n * 32
    assert sums.by_block.size < MAX_BLOCKS * 4 * 4


def test_decisions_without_a_time_count_only_overall():
    frame = logs.dated(logs.make(1_000, missing=0.0))
    frame.loc[:99, "time"] = pd.NaT
    found = group_by(aggregate(frame), ("sex",))
    assert found.overall.count.sum() == 1_000
    assert found.cumulative.count[-1].sum() == 900


def test_times_may_be_numbers():
    frame = logs.make(1_000, missing=0.0).assign(time=np.linspace(-0.5, 0.5, 1_000))
    sums = aggregate(frame)
    assert sums.blocks.unit == "number"
    assert sums.blocks.width == 0.01
    assert group_by(sums, ("sex",)).cumulative.count[-1].sum() == 1_000


def test_chunks_with_a_single_time(monkeypatch):
    frame = logs.make(2_000, missing=0.0).assign(time=np.arange(2_000) // 500)
    chunks = Log.chunks
    monkeypatch.setattr(Log, "chunks", lambda self, **given: chunks(self, **given, rows=500))
    counts = aggregate(frame).by_block[:, :, 0].sum(axis=1)
    assert counts[counts > 0].tolist() == [500.0] * 4


def test_a_reward_outside_the_range_is_reported_with_its_row():
    frame = logs.make(500, missing=0.0)
    frame.loc[123, "reward"] = 4.0
    with pytest.raises(LogError) as caught:
        aggregate(frame)
    assert str(caught.value) == (
        "dataframe, column 'reward', row 124: reward must be between 0 and 1, got 4.0; "
        "set reward_range=(lowest, highest) (--reward-range)"
    )


def test_an_id_is_not_an_attribute():
    frame = logs.make(20_002).assign(sex=np.arange(20_002) // 2)
    message = "groups by sex, race must have at most 10,000 combinations, got more"
    with pytest.raises(LogError, match=f"dataframe: {message}"):
        aggregate(frame)
    parts = [aggregate(frame.iloc[start : start + 5_000]) for start in (0, 5_000, 10_000)]
    with pytest.raises(LogError, match=message):
        merged(merged(*parts[:2]), parts[2])
