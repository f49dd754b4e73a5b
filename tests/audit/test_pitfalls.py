"""Logs that could lead an audit to a wrong conclusion."""

import numpy as np
import pandas as pd
import pytest

from fairbandits.audit import audit
from tests.audit import logs


def frame_of(rng, n, **columns):
    return pd.DataFrame({"arm": rng.choice(["a", "b"], n), **columns})


@pytest.mark.parametrize("date", ["1970-01-01", "2099-01-01"])
def test_one_wrong_time_does_not_hide_a_gap(date):
    frame = logs.of_users(lambda day: 0.3 * (day >= 90), n=40_000)
    frame.loc[123, "time"] = pd.Timestamp(date)
    result = audit(frame, tolerance=0.05)
    assert result.status == 1
    assert "In the most recent window (31 March to 9 April 2024)" in result.sentence
    assert result.checks.outside_time == 1


def test_times_of_numbers_and_parts_of_a_log(tmp_path):
    frame = logs.of_users(lambda day: 0.3 * (day >= 90), n=40_000)
    frame["time"] = (frame.time - frame.time.min()) / pd.Timedelta(days=1) * 1.0
    frame.loc[5, "time"] = 1e12
    for number, part in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[part].to_parquet(tmp_path / f"{number}.parquet")
    one, several = audit(frame, tolerance=0.05), audit(tmp_path, tolerance=0.05)
    assert one.status == several.status == 1
    assert one.checks.outside_time == several.checks.outside_time == 1
    assert one["sex"].analysis.recent.gap.value == pytest.approx(several["sex"].analysis.recent.gap.value)


def test_users_of_unknown_group_in_the_last_window():
    frame = logs.of_users(lambda day: 0.0)
    is_last = frame.time >= frame.time.max() - np.timedelta64(9, "D")
    is_hidden = is_last & (frame.sex == "female") & (frame.reward == 0.0) & (frame.user_id % 5 == 0)
    frame.loc[is_hidden, "sex"] = None
    result = audit(frame, tolerance=0.05, max_unassessed=0.2)
    assert result["sex"].conclusion == "fair"
    assert result["sex"].recent_conclusion == "undecided"
    assert result.status == 3


def test_users_without_any_reward_are_not_assessed():
    frame = logs.of_users(lambda day: 0.0)
    frame.loc[(frame.sex == "female") & (frame.user_id % 10 < 8), "reward"] = np.nan
    result = audit(frame, tolerance=0.2)
    assert result.status == 3
    assert "all without any reward" in result.sentences.unassessed(result["sex"])
    assert result.verdict.startswith("Undecided: ")


def test_missing_rewards_of_a_third_group():
    rng = np.random.default_rng(0)
    n = 30_000
    group = rng.choice(["a", "b", "c"], n)
    reward = (rng.random(n) < np.select([group == "a", group == "b"], [0.5, 0.6], 0.55)) * 1.0
    reward[(group == "c") & (rng.random(n) < 0.9)] = np.nan
    analysis = audit(frame_of(rng, n, reward=reward, group=group))["group"].analysis
    low, high = analysis.missing.gap_bounds
    means = {name: (reward[group == name], np.isnan(reward[group == name])) for name in "abc"}
    bounds = {
        name: (np.nansum(rewards) / len(rewards), (np.nansum(rewards) + missing.sum()) / len(rewards))
        for name, (rewards, missing) in means.items()
    }
    assert low == pytest.approx(bounds["c"][0] - bounds["a"][1])
    assert high == pytest.approx(max(bounds["c"][1] - bounds["a"][0], bounds["b"][1] - bounds["c"][0]))


def test_the_groups_that_are_apart_are_named():
    rng = np.random.default_rng(1)
    group = np.repeat(["a", "b", "c"], [20_000, 20_000, 20])
    reward = (rng.random(len(group)) < np.select([group == "a", group == "b"], [0.4, 0.6], 0.5)) * 1.0
    reward[-20:] = np.arange(20) < 13
    result = audit(frame_of(rng, len(group), reward=reward, group=group), tolerance=0.05)
    assert "The clearest gap is 0.199, between users with group = a" in result.sentence
    clearest = result["group"].analysis.clearest
    assert (clearest.disadvantaged.name, clearest.advantaged.name) == ("a", "b")


def test_users_who_appear_in_both_groups():
    rng = np.random.default_rng(2)
    claims = 0
    for _ in range(40):
        user = np.repeat(np.arange(200), 40)
        group = np.where(rng.random(user.size) < 0.5, "a", "b")
        effect = rng.normal(0.0, 0.15, 200)[user]
        reward = (rng.random(user.size) < 0.5 + np.where(group == "a", effect, -effect)) * 1.0
        result = audit(frame_of(rng, user.size, reward=reward, group=group, user=user))
        claims += result["group"].conclusion == "gap"
    assert claims <= 4
    assert result.checks.shared_users == {"group": 200}
    assert result["group"].unassessed.users == 200
    assert "200 users appear in more than one group of group" in " ".join(result.to_dict()["checks"]["sentences"])


def test_rows_without_a_user_are_counted():
    frame = logs.of_users(lambda day: 0.0, n=5_000)
    frame["user_id"] = frame.user_id.astype("Int64").where(frame.index % 4 > 0)
    checks = audit(frame).to_dict()["checks"]
    assert checks["without_user"] == 1_250
    assert "1,250 rows have no user" in " ".join(checks["sentences"])


def test_users_with_unknown_factors_are_not_comparable():
    rng = np.random.default_rng(3)
    n = 20_000
    sex = rng.choice(["f", "m"], n)
    education = np.where(rng.random(n) < np.where(sex == "m", 0.8, 0.2), "college", "school").astype(object)
    reward = (rng.random(n) < np.where(education == "college", 0.7, 0.3)) * 1.0
    age = np.where(education == "college", 40.0, 20.0) + rng.random(n)
    is_unknown = rng.random(n) < 0.7
    education[is_unknown], age[is_unknown] = None, np.nan
    frame = frame_of(rng, n, reward=reward, sex=sex, education=education, age=age)
    for factor in ("education", "age"):
        [gap] = audit(frame, given=factor)["sex"].adjusted.groups
        assert gap.raw.value == pytest.approx(-0.24, abs=0.03)
        assert gap.adjusted.low < 0.0 < gap.adjusted.high
        assert gap.not_comparable == pytest.approx((0.7, 0.7), abs=0.02)


def test_no_gap_could_have_been_found():
    rng = np.random.default_rng(4)
    user = np.where(rng.random(3_000) < 0.9, 0, rng.integers(1, 300, 3_000))
    frame = frame_of(rng, 3_000, reward=rng.random(3_000).round(), user=user, sex=np.where(user % 2, "f", "m"))
    assert "No gap could have been detected with 80% power." in audit(frame, tolerance=0.05).sentence


@pytest.mark.parametrize(
    ("reward", "expected"),
    [(0.0, "all rewards are 0."), (1.0, "all rewards are 1."), (np.nan, "all rewards are missing.")],
)
def test_rewards_that_are_all_the_same(reward, expected):
    rng = np.random.default_rng(5)
    frame = frame_of(rng, 2_000, reward=np.full(2_000, reward), sex=rng.choice(["f", "m"], 2_000))
    assert audit(frame).sentence == f"No comparison by sex is possible: {expected}"


def test_a_gap_that_only_grew():
    frame = logs.of_users(lambda day: 0.1 if day < 70 else 0.6, n=5_000)
    assert audit(frame).to_dict()["comparisons"][0]["history"]["change"] == "grew"
