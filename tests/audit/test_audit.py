"""The results of an audit, compared with direct computations from the rows."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest

from fairbandits import GroupRewards, cluster
from fairbandits.audit import audit
from fairbandits.audit.grouped_sums import RewardSums, attribute_combinations
from fairbandits.audit.intervals import mean_rewards, start_of_final_run
from fairbandits.fairness import confidence_radius
from fairbandits.logs import LogError
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
    result = audit(frame)
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
    analysis = audit(frame)["sex"].analysis
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
    analysis = audit(frame, groups=["sex"])["sex"].analysis
    assert float(analysis.gap) == pytest.approx(float(stream.gap()))
    # The stream is a little wider, because it keeps some confidence for groups that may still appear.
    assert stream.gap().low <= analysis.gap.low
    assert stream.gap().high >= analysis.gap.high


def test_the_decomposition_is_exact():
    frame = logs.make()
    analysis = audit(frame)["sex"].analysis
    parts = analysis.decomposition
    assert parts.exposure_effect.value + parts.within_arm_effect.value == pytest.approx(
        float(analysis.gap), abs=1e-12
    )
    assert sum(part.total.value for part in parts.arms) + parts.rest == pytest.approx(
        float(analysis.gap), abs=1e-12
    )
    female, male = (frame[frame.sex == sex].dropna(subset="reward") for sex in logs.SEXES)
    centre = (female.reward.mean() + male.reward.mean()) / 2
    for part in parts.arms:
        rewards = [group[group.arm == part.arm].reward for group in (male, female)]
        p = [len(each) / len(group) for each, group in zip(rewards, (male, female), strict=True)]
        assert part.shares == pytest.approx(p)
        m = [each.mean() if len(each) else max(r.mean() for r in rewards) for each in rewards]
        assert part.exposure_effect == pytest.approx((p[0] - p[1]) * ((m[0] + m[1]) / 2 - centre))
        assert part.within_arm_effect == pytest.approx((p[0] + p[1]) / 2 * (m[0] - m[1]))
        assert part.total.low < part.total.value < part.total.high
    # The last arm is shown to male users only.
    assert parts.one_sided_shares == (pytest.approx(0.2, abs=0.03), 0.0)
    assert np.isnan(next(part.means[1] for part in parts.arms if part.arm == "video 4"))


def test_missing_rewards():
    frame = logs.make(missing=0.0)
    rng = np.random.default_rng(1)
    is_missing = rng.random(len(frame)) < np.where(frame.sex == "female", 0.3, 0.05)
    frame.loc[is_missing, "reward"] = np.nan
    analysis = audit(frame)["sex"].analysis
    shares = frame.assign(is_missing=is_missing).groupby("sex")["is_missing"].mean()
    assert {group.name: group.missing_share.value for group in analysis.groups} == pytest.approx(shares.to_dict())
    assert (analysis.missing.most.name, analysis.missing.least.name) == ("female", "male")
    assert analysis.missing.share_gap.value == pytest.approx(shares["female"] - shares["male"])
    assert (
        0.15
        < analysis.missing.share_gap.low
        < analysis.missing.share_gap.value
        < analysis.missing.share_gap.high
        < 0.35
    )
    filled = {value: frame.reward.fillna(value).groupby(frame.sex).mean() for value in (0.0, 1.0)}
    low, high = (filled[v]["male"] - filled[1 - v]["female"] for v in (0.0, 1.0))
    assert analysis.missing.gap_bounds == pytest.approx((low, high))


def test_since_when_the_gap_is_detectable():
    n = 40_000
    rng = np.random.default_rng(0)
    sex = rng.choice(logs.SEXES, n)
    late = np.arange(n) >= 20_000
    reward = rng.random(n) < np.where((sex == "female") & late, 0.3, 0.7)
    time = np.datetime64("2026-01-05", "us") + (np.arange(n) * 60 * 86_400 // n).astype("timedelta64[s]")
    frame = pd.DataFrame({"arm": "a", "reward": reward * 1.0, "sex": sex, "time": time})
    analysis = audit(frame)["sex"].analysis
    assert analysis.timeline.blocks.unit == "date"
    start = analysis.timeline.blocks.start(analysis.timeline.since)
    assert np.datetime64("2026-02-04") <= start < np.datetime64("2026-02-10")
    # The order of the rows does not matter where there is a time; where there is none, it is the time.
    shuffled = audit(frame.sample(frac=1, random_state=0))["sex"].analysis
    assert shuffled.timeline.since == analysis.timeline.since
    by_row = audit(frame.drop(columns="time"))["sex"].analysis.timeline
    assert 20_000 <= by_row.blocks.start(by_row.since) < 24_000
    # At the end of each block, the interval is that of all rows up to then.
    end = int(by_row.blocks.start(by_row.since + 1))
    lows, highs = zip(
        *(interval_by_hand(reward[:end][sex[:end] == s] * 1.0, 0.05 / 2) for s in logs.SEXES), strict=True
    )
    assert by_row.gap_low[by_row.since] == pytest.approx(lows[1] - highs[0])


def test_the_status_for_a_tolerance():
    frame = logs.make(60_000, gap=0.0, n_arms=1, unknown=0.0)
    assert audit(frame, tolerance=0.2).status == 0
    assert audit(frame, tolerance=0.001).status == 3
    unfair = logs.make(60_000, gap=0.2)
    assert audit(unfair, tolerance=0.02).status == 1
    assert audit(unfair).status == 0
    assert {comparison.conclusion for comparison in audit(unfair).comparisons} <= {"gap", "undecided"}


def test_small_groups_are_left_out_of_the_verdict():
    frame = logs.make(30_000, gap=0.0, n_arms=1, unknown=0.0)
    frame.loc[:19, "sex"] = "other"
    frame.loc[:19, "reward"] = 0.0
    result = audit(frame, groups=["sex"], tolerance=0.2)
    comparison = result["sex"]
    assert [group.name for group in comparison.too_small] == ["other"]
    assert comparison.too_small[0].mean == 0.0
    assert np.isnan(comparison.too_small[0].low)
    assert result.status == 0
    assert audit(frame, groups=["sex"], tolerance=0.2, min_rows=20).status != 0


def test_one_large_group_is_not_enough():
    frame = logs.make(5_000, unknown=0.0)
    frame["sex"] = np.where(np.arange(5_000) < 50, "female", "male")
    result = audit(frame, groups=["sex"], tolerance=0.1)
    assert result.status == 3
    assert result["sex"].conclusion == "too small"
    assert result["sex"].analysis is None


def test_false_alarms_are_rare():
    # Without a true gap, few audits may report one in any of their comparisons.
    alarms = sum(
        any(
            comparison.conclusion == "gap"
            for comparison in audit(logs.make(800, seed, gap=0.0, n_arms=1)).comparisons
        )
        for seed in range(60)
    )
    assert alarms <= 2


def test_the_same_seed_gives_the_same_audit():
    frame = logs.make()
    one, two, three = (audit(frame, seed=seed).to_dict() for seed in (1, 1, 2))
    assert one == two
    assert one != three


@pytest.mark.parametrize("is_dated", [False, True])
def test_an_audit_in_parts_gives_the_same_results(tmp_path, monkeypatch, is_dated):
    # Clusters have tests of their own.
    frame = logs.make(4_000)
    path = tmp_path / "log.parquet"
    (logs.dated(frame) if is_dated else frame).to_parquet(path, row_group_size=300)
    here = audit(path).to_dict()
    map_reduce = cluster.map_reduce

    def in_five_parts(split, partial, merge, _):
        return map_reduce(lambda _: pickle.loads(pickle.dumps(split(5))), partial, merge)  # noqa: S301

    monkeypatch.setattr(sys.modules[audit.__module__], "map_reduce", in_five_parts)
    there = audit(path).to_dict()
    for one, other in zip(here["comparisons"], there["comparisons"], strict=True):
        assert one["conclusion"] == other["conclusion"]
        assert one["since"] == other["since"]
        assert [group["rewards"] for group in one["groups"]] == [group["rewards"] for group in other["groups"]]
        assert one["gap"]["value"] == pytest.approx(other["gap"]["value"], abs=1e-12)
        assert one["decomposition"]["exposure_effect"] == pytest.approx(
            other["decomposition"]["exposure_effect"], abs=1e-12
        )
        assert one["timeline"]["gap_low"] == pytest.approx(other["timeline"]["gap_low"], abs=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 1.0}, "confidence must be between 0 and 1, exclusive, got 1.0"),
        ({"tolerance": -0.1}, "tolerance must be a non-negative number, got -0.1"),
        ({"tolerance": float("nan")}, "tolerance must be a non-negative number, got nan"),
        ({"confidence": "95%"}, "confidence must be between 0 and 1, exclusive, got '95%'"),
        ({"tolerance": "2%"}, "tolerance must be a non-negative number, got '2%'"),
        ({"min_rows": 0}, "min_rows must be an integer of at least 1, got 0"),
        ({"min_rows": 1.5}, r"min_rows must be an integer of at least 1, got 1\.5"),
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
        ({"reward_range": (1, 0)}, "reward_range must be two numbers"),
    ],
)
def test_invalid_settings(options, message):
    with pytest.raises(ValueError, match=message):
        audit(logs.make(100), **options)


def test_logs_without_groups_to_compare():
    frame = logs.make(200)
    with pytest.raises(
        LogError, match="column 'sex': a comparison needs at least two groups, got only 'male' in 200 rows"
    ):
        audit(frame.assign(sex="male"))
    with pytest.raises(
        LogError, match="column 'sex': a comparison needs at least two groups, got none in 200 rows"
    ):
        audit(frame.assign(sex=None))
    with pytest.raises(LogError, match="dataframe: no group column is given or recognised by its name"):
        audit(frame[["arm", "reward"]])


def test_an_unknown_comparison():
    result = audit(logs.make(500))
    assert result["sex", "race"].name == "sex x race"
    with pytest.raises(
        KeyError, match="no comparison by 'age'; the comparisons are by 'sex', 'race', 'sex x race'"
    ):
        result["age"]


def test_three_attributes_give_seven_comparisons_and_four_eleven():
    assert len(attribute_combinations("abc")) == 7
    assert len(attribute_combinations("abcd")) == 11
    assert attribute_combinations("a") == [("a",)]


def test_logs_without_rewards():
    nothing = RewardSums(*np.zeros((4, 2)))
    means = mean_rewards(nothing, (1.0, 5.0), 0.05)
    assert np.isnan(means.mean).all()
    assert means.low.tolist() == [1.0, 1.0]
    assert means.high.tolist() == [5.0, 5.0]
    assert start_of_final_run(np.array([], bool)) is None
    frame = logs.make(500).assign(reward=np.nan)
    assert audit(frame, tolerance=0.1).status == 3
