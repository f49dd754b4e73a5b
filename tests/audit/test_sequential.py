"""Sequential audits: anytime-valid intervals, compared with direct computations from the rows."""

import numpy as np
import pandas as pd
import pytest

from fairbandits import GroupRewards
from fairbandits.audit import audit
from fairbandits.audit.grouped_sums import RewardSums
from fairbandits.audit.intervals import mean_rewards, start_of_final_run
from fairbandits.fairness import confidence_radius
from tests.audit import logs


def rewards_of(frame, **group):
    mine = frame
    for attribute, label in group.items():
        mine = mine[mine[attribute] == label]
    return mine["reward"].dropna().to_numpy()


def interval_by_hand(rewards, error):
    m2 = np.sum((rewards - rewards.mean()) ** 2)
    radius = float(confidence_radius(len(rewards), m2, 1 - error))
    return rewards.mean() - radius, rewards.mean() + radius


def test_means_and_intervals():
    frame = logs.make()
    result = audit(frame, sequential=True)
    assert [comparison.name for comparison in result.comparisons] == ["sex", "race", "sex x race"]
    for comparison in result.comparisons:
        # The error probability of 5% is divided over three comparisons, and within each over its groups.
        error = 0.05 / 3 / len(comparison.compared)
        for group in comparison.groups:
            rewards = rewards_of(frame, **dict(zip(comparison.attributes, group.labels, strict=True)))
            assert group.rewards == len(rewards)
            assert group.mean == pytest.approx(rewards.mean())
            assert (group.low, group.high) == pytest.approx(interval_by_hand(rewards, error))


def test_the_interval_of_the_gap_follows_from_those_of_the_means():
    frame = logs.make()
    analysis = audit(frame, sequential=True)["sex"].analysis
    female, male = (rewards_of(frame, sex=sex) for sex in logs.SEXES)
    lows, highs = zip(*(interval_by_hand(rewards, 0.05 / 3 / 2) for rewards in (female, male)), strict=True)
    assert float(analysis.gap) == pytest.approx(male.mean() - female.mean())
    assert analysis.gap.low == pytest.approx(lows[1] - highs[0])
    assert analysis.gap.high == pytest.approx(highs[1] - lows[0])
    assert (analysis.gap.advantaged, analysis.gap.disadvantaged, analysis.gap.attribute) == (
        "male",
        "female",
        "sex",
    )
    assert (analysis.advantaged.name, analysis.disadvantaged.name) == ("male", "female")


def test_the_gap_agrees_with_group_rewards():
    frame = logs.make(missing=0.0)
    stream = GroupRewards()
    for reward, sex in zip(frame["reward"], frame["sex"], strict=True):
        stream.add(reward, sex)
    analysis = audit(frame, groups=["sex"], sequential=True)["sex"].analysis
    assert float(analysis.gap) == pytest.approx(float(stream.gap()))
    # The stream is a little wider, because it keeps some confidence for groups that may still appear.
    assert stream.gap().low <= analysis.gap.low
    assert stream.gap().high >= analysis.gap.high


def test_since_when_the_gap_is_detectable():
    n = 40_000
    rng = np.random.default_rng(0)
    sex = rng.choice(logs.SEXES, n)
    late = np.arange(n) >= 20_000
    reward = rng.random(n) < np.where((sex == "female") & late, 0.3, 0.7)
    time = np.datetime64("2026-01-05", "us") + (np.arange(n) * 60 * 86_400 // n).astype("timedelta64[s]")
    frame = pd.DataFrame({"arm": "a", "reward": reward * 1.0, "sex": sex, "time": time})
    analysis = audit(frame, sequential=True)["sex"].analysis
    assert analysis.timeline.blocks.unit == "date"
    start = analysis.timeline.blocks.start(analysis.timeline.since)
    assert np.datetime64("2026-02-04") <= start < np.datetime64("2026-02-10")
    # The order of the rows does not matter where there is a time; where there is none, it is the time.
    shuffled = audit(frame.sample(frac=1, random_state=0), sequential=True)["sex"].analysis
    assert shuffled.timeline.since == analysis.timeline.since
    by_row = audit(frame.drop(columns="time"), sequential=True)["sex"].analysis.timeline
    assert 20_000 <= by_row.blocks.start(by_row.since) < 24_000
    # At the end of each block, the interval is that of all rows up to then.
    end = int(by_row.blocks.start(by_row.since + 1))
    lows, highs = zip(
        *(interval_by_hand(reward[:end][sex[:end] == s] * 1.0, 0.05 / 2) for s in logs.SEXES), strict=True
    )
    assert by_row.gap_low[by_row.since] == pytest.approx(lows[1] - highs[0])


def test_small_groups_are_left_out():
    frame = logs.make(30_000, gap=0.0, n_arms=1, unknown=0.0)
    frame.loc[:19, "sex"] = "other"
    comparison = audit(frame, groups=["sex"], tolerance=0.2, sequential=True)["sex"]
    assert [group.name for group in comparison.too_small] == ["other"]
    assert np.isnan(comparison.too_small[0].low)
    assert comparison.unassessed.in_small_groups == 20
    larger = audit(frame, groups=["sex"], tolerance=0.2, sequential=True, min_rows=10)["sex"]
    assert larger.too_small == ()


def test_effects_have_no_interval():
    parts = audit(logs.make(), sequential=True)["sex"].analysis.decomposition
    assert np.isfinite(parts.exposure_effect.value)
    assert np.isnan([parts.exposure_effect.low, parts.within_arm_effect.high, parts.arms[0].total.low]).all()


def test_sums_without_rewards():
    nothing = RewardSums(*np.zeros((4, 2)))
    means = mean_rewards(nothing, (1.0, 5.0), 0.05)
    assert np.isnan(means.mean).all()
    assert means.low.tolist() == [1.0, 1.0]
    assert means.high.tolist() == [5.0, 5.0]
    assert start_of_final_run(np.array([], bool)) is None
