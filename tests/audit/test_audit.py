"""The findings of an audit, beside what a textbook computes from the rows."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest

from fairbandits import GroupRewards, cluster
from fairbandits.audit import audit
from fairbandits.audit.group_sums import GroupSums, compared_by
from fairbandits.audit.intervals import first_that_stays, mean_rewards
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


def test_means_and_intervals_are_those_of_the_rows():
    frame = logs.make()
    found = audit(frame)
    assert [comparison.name for comparison in found.comparisons] == ["sex", "race", "sex x race"]
    for comparison in found.comparisons:
        # What may fail, 5%, is shared by three comparisons, and in each by its groups.
        error = 0.05 / 3 / len(comparison.enough)
        for group in comparison.groups:
            rewards = rewards_of(frame, **dict(zip(comparison.attributes, group.labels, strict=True)))
            assert group.rewards == len(rewards)
            assert group.mean == pytest.approx(rewards.mean())
            assert (group.low, group.high) == pytest.approx(interval_by_hand(rewards, error))


def test_the_gap_is_what_the_intervals_force_and_allow():
    frame = logs.make()
    found = audit(frame)["sex"].difference
    female, male = (rewards_of(frame, sex=sex) for sex in logs.SEXES)
    lows, highs = zip(*(interval_by_hand(rewards, 0.05 / 3 / 2) for rewards in (female, male)), strict=True)
    assert float(found.gap) == pytest.approx(male.mean() - female.mean())
    assert found.gap.low == pytest.approx(lows[1] - highs[0])
    assert found.gap.high == pytest.approx(highs[1] - lows[0])
    assert (found.gap.ahead, found.gap.behind, found.gap.attribute) == ("male", "female", "sex")
    assert (found.ahead.name, found.behind.name) == ("male", "female")


def test_it_agrees_with_the_stream_of_group_rewards():
    frame = logs.make(missing=0.0)
    stream = GroupRewards()
    for reward, sex in zip(frame["reward"], frame["sex"], strict=True):
        stream.add(reward, sex)
    found = audit(frame, groups=["sex"])["sex"].difference
    assert float(found.gap) == pytest.approx(float(stream.gap()))
    # The stream keeps some confidence for groups that may still come, so that it is a little wider.
    assert stream.gap().low <= found.gap.low
    assert stream.gap().high >= found.gap.high


def test_the_decomposition_is_exact_and_by_hand():
    frame = logs.make()
    found = audit(frame)["sex"].difference
    parts = found.decomposition
    assert parts.shown.value + parts.same_arm.value == pytest.approx(float(found.gap), abs=1e-12)
    assert sum(part.total.value for part in parts.arms) + parts.rest == pytest.approx(float(found.gap), abs=1e-12)
    female, male = (frame[frame.sex == sex].dropna(subset="reward") for sex in logs.SEXES)
    centre = (female.reward.mean() + male.reward.mean()) / 2
    for part in parts.arms:
        ours = [group[group.arm == part.arm].reward for group in (male, female)]
        p = [len(rewards) / len(group) for rewards, group in zip(ours, (male, female), strict=True)]
        assert part.shares == pytest.approx(p)
        m = [rewards.mean() if len(rewards) else max(r.mean() for r in ours) for rewards in ours]
        assert part.shown == pytest.approx((p[0] - p[1]) * ((m[0] + m[1]) / 2 - centre))
        assert part.same_arm == pytest.approx((p[0] + p[1]) / 2 * (m[0] - m[1]))
        assert part.total.low < part.total.value < part.total.high
    # The last arm is shown to male users only.
    assert parts.one_sided_shares == (pytest.approx(0.2, abs=0.03), 0.0)
    assert np.isnan(next(part.means[1] for part in parts.arms if part.arm == "video 4"))


def test_missing_rewards_and_what_they_could_hide():
    frame = logs.make(missing=0.0)
    rng = np.random.default_rng(1)
    gone = rng.random(len(frame)) < np.where(frame.sex == "female", 0.3, 0.05)
    frame.loc[gone, "reward"] = np.nan
    found = audit(frame)["sex"].difference
    shares = frame.assign(gone=gone).groupby("sex")["gone"].mean()
    assert {group.name: group.missing_share.value for group in found.groups} == pytest.approx(shares.to_dict())
    assert (found.missing.most.name, found.missing.least.name) == ("female", "male")
    assert found.missing.apart.value == pytest.approx(shares["female"] - shares["male"])
    assert 0.15 < found.missing.apart.low < found.missing.apart.value < found.missing.apart.high < 0.35
    filled = {value: frame.reward.fillna(value).groupby(frame.sex).mean() for value in (0.0, 1.0)}
    low, high = (filled[v]["male"] - filled[1 - v]["female"] for v in (0.0, 1.0))
    assert found.missing.bounds == pytest.approx((low, high))


def test_since_when():
    n = 40_000
    rng = np.random.default_rng(0)
    sex = rng.choice(logs.SEXES, n)
    late = np.arange(n) >= 20_000
    reward = rng.random(n) < np.where((sex == "female") & late, 0.3, 0.7)
    time = np.datetime64("2026-01-05", "us") + (np.arange(n) * 60 * 86_400 // n).astype("timedelta64[s]")
    frame = pd.DataFrame({"arm": "a", "reward": reward * 1.0, "sex": sex, "time": time})
    found = audit(frame)["sex"].difference
    assert found.timeline.blocks.kind == "date"
    start = found.timeline.blocks.start(found.timeline.since)
    assert np.datetime64("2026-02-04") <= start < np.datetime64("2026-02-10")
    # The order of the rows does not matter where there is a time; where there is none, it is the time.
    shuffled = audit(frame.sample(frac=1, random_state=0))["sex"].difference
    assert shuffled.timeline.since == found.timeline.since
    by_row = audit(frame.drop(columns="time"))["sex"].difference.timeline
    assert 20_000 <= by_row.blocks.start(by_row.since) < 24_000
    # At the end of each block, the interval is that of all rows up to then.
    end = int(by_row.blocks.start(by_row.since + 1))
    lows, highs = zip(
        *(interval_by_hand(reward[:end][sex[:end] == s] * 1.0, 0.05 / 2) for s in logs.SEXES), strict=True
    )
    assert by_row.gap_low[by_row.since] == pytest.approx(lows[1] - highs[0])


def test_what_tolerance_means():
    frame = logs.make(60_000, gap=0.0, n_arms=1, unknown=0.0)
    assert audit(frame, tolerance=0.2).status == 0
    assert audit(frame, tolerance=0.001).status == 3
    unfair = logs.make(60_000, gap=0.2)
    assert audit(unfair, tolerance=0.02).status == 1
    assert audit(unfair).status == 0
    assert {comparison.word for comparison in audit(unfair).comparisons} <= {"apart", "unsure"}


def test_groups_too_small_are_left_out_of_the_verdict():
    frame = logs.make(30_000, gap=0.0, n_arms=1, unknown=0.0)
    frame.loc[:19, "sex"] = "other"
    frame.loc[:19, "reward"] = 0.0
    found = audit(frame, groups=["sex"], tolerance=0.2)
    comparison = found["sex"]
    assert [group.name for group in comparison.too_small] == ["other"]
    assert comparison.too_small[0].mean == 0.0
    assert np.isnan(comparison.too_small[0].low)
    assert found.status == 0
    assert audit(frame, groups=["sex"], tolerance=0.2, min_rows=20).status != 0


def test_one_group_that_is_large_enough_is_too_little():
    frame = logs.make(5_000, unknown=0.0)
    frame["sex"] = np.where(np.arange(5_000) < 50, "female", "male")
    found = audit(frame, groups=["sex"], tolerance=0.1)
    assert found.status == 3
    assert found["sex"].word == "too small"
    assert found["sex"].difference is None


def test_a_false_alarm_is_rare():
    # Fair logs: of a hundred audits at most a few may say that groups are apart, all comparisons taken together.
    alarms = sum(
        any(
            comparison.word == "apart" for comparison in audit(logs.make(800, seed, gap=0.0, n_arms=1)).comparisons
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
def test_in_parts_it_is_the_same(tmp_path, monkeypatch, is_dated):
    # As a cluster does it, which has tests of its own.
    frame = logs.make(4_000)
    path = tmp_path / "log.parquet"
    (logs.dated(frame) if is_dated else frame).to_parquet(path, row_group_size=300)
    here = audit(path).to_dict()
    whole = cluster.map_reduce

    def in_five(cut, partial, merge, _):
        return whole(lambda _: pickle.loads(pickle.dumps(cut(5))), partial, merge)  # noqa: S301 - our own

    monkeypatch.setattr(sys.modules[audit.__module__], "map_reduce", in_five)
    there = audit(path).to_dict()
    for one, other in zip(here["comparisons"], there["comparisons"], strict=True):
        assert one["word"] == other["word"]
        assert one["since"] == other["since"]
        assert [group["rewards"] for group in one["groups"]] == [group["rewards"] for group in other["groups"]]
        assert one["gap"]["value"] == pytest.approx(other["gap"]["value"], abs=1e-12)
        assert one["decomposition"]["shown"] == pytest.approx(other["decomposition"]["shown"], abs=1e-12)
        assert one["timeline"]["gap_low"] == pytest.approx(other["timeline"]["gap_low"], abs=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 1.0}, "confidence is a probability, 0 and 1 excluded; got 1.0"),
        ({"tolerance": -0.1}, "tolerance is how far apart groups may be, not below 0; got -0.1"),
        ({"tolerance": float("nan")}, "tolerance is how far apart groups may be, not below 0; got nan"),
        ({"confidence": "95%"}, "confidence is a probability, 0 and 1 excluded; got '95%'"),
        ({"tolerance": "2%"}, "tolerance is how far apart groups may be, not below 0; got '2%'"),
        ({"min_rows": 0}, "min_rows must be an integer of at least 1, got 0"),
        ({"min_rows": 1.5}, r"min_rows must be an integer of at least 1, got 1\.5"),
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
        ({"reward_range": (1, 0)}, "reward_range needs two numbers"),
    ],
)
def test_settings_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        audit(logs.make(100), **options)


def test_nobody_to_compare():
    frame = logs.make(200)
    with pytest.raises(LogError, match="column 'sex': one group only, 'male' in all 200 rows"):
        audit(frame.assign(sex="male"))
    with pytest.raises(LogError, match="column 'sex': no group at all in all 200 rows"):
        audit(frame.assign(sex=None))
    with pytest.raises(LogError, match="dataframe: which columns are the groups of users"):
        audit(frame[["arm", "reward"]])


def test_what_was_not_compared_cannot_be_read():
    found = audit(logs.make(500))
    assert found["sex", "race"].name == "sex x race"
    with pytest.raises(KeyError, match="nothing was compared by 'age'; compared were 'sex', 'race', 'sex x race'"):
        found["age"]


def test_three_attributes_give_seven_comparisons_and_four_eleven():
    assert len(compared_by("abc")) == 7
    assert len(compared_by("abcd")) == 11
    assert compared_by("a") == [("a",)]


def test_no_rewards_say_nothing():
    nothing = GroupSums(*np.zeros((4, 2)))
    means = mean_rewards(nothing, (1.0, 5.0), 0.05)
    assert np.isnan(means.mean).all()
    assert means.low.tolist() == [1.0, 1.0]
    assert means.high.tolist() == [5.0, 5.0]
    assert first_that_stays(np.array([], bool)) is None
    frame = logs.make(500).assign(reward=np.nan)
    assert audit(frame, tolerance=0.1).status == 3
