"""Fixed-sample audits: users as the unit, now and over time, and nobody falls out of the verdict."""

import numpy as np
import pandas as pd
import pytest

from fairbandits.audit import audit
from fairbandits.statistics.fixed_sample import mean_bounds
from fairbandits.statistics.multiplicity import sidak
from tests.statistics.users import means_of_users

DAYS = 100
START = np.datetime64("2024-01-01", "us")


def make(gap_on_day=lambda _: 0.0, rows=40_000, users=4_000, seed=0):
    """Return a log in which male users receive more by a gap that depends on the day."""
    rng = np.random.default_rng(seed)
    user = rng.integers(users, size=rows)
    day = rng.integers(DAYS, size=rows)
    gap = np.array([gap_on_day(each) for each in range(DAYS)])[day]
    is_male = user % 2 == 1
    return pd.DataFrame(
        {
            "user": user,
            "sex": np.where(is_male, "male", "female"),
            "arm": rng.choice(["a", "b", "c"], rows),
            "reward": (rng.random(rows) < 0.5 + np.where(is_male, 0.5, -0.5) * gap) * 1.0,
            "time": START + (day * 86_400_000_000).astype("timedelta64[us]"),
        }
    )


def more(frame, n, **columns):
    """Append rows of new users."""
    extra = {"arm": "a", "reward": 0.0, "time": START, "user": 10**6 + np.arange(n)} | columns
    return pd.concat([frame, pd.DataFrame(extra, index=range(n))], ignore_index=True)


def test_users_are_the_unit():
    rng = np.random.default_rng(1)
    users = pd.DataFrame({"user": range(400), "rate": rng.beta(2, 2, 400), "visits": rng.integers(1, 30, 400)})
    log = users.loc[users.index.repeat(users.visits)].assign(
        arm="a", sex=lambda d: np.where(d.user < 200, "f", "m")
    )
    log["reward"] = (rng.random(len(log)) < log.rate) * 1.0
    comparison = audit(log[["user", "arm", "sex", "reward"]])["sex"]
    for group in comparison.groups:
        mine = log[log.sex == group.labels[0]].groupby("user")["reward"].agg(["size", "sum"])
        means = means_of_users(
            mine["size"].to_numpy(float),
            mine["sum"].to_numpy(),
            np.zeros(len(mine), int),
            mine[["sum"]].sum().to_numpy(),
        )
        # Of an error probability of 5%, a tenth is for the means of two groups.
        low, high = mean_bounds(means, sidak(0.005, 2))
        assert (group.users, group.rewards) == (len(mine), mine["size"].sum())
        assert group.effective_users == pytest.approx(means.effective_users[0])
        assert (group.mean, group.low, group.high) == pytest.approx((means.mean[0], low[0], high[0]))


def test_repeated_users_make_intervals_wider():
    log = make(rows=4_000)
    copies = pd.concat([log] * 10, ignore_index=True)
    alone, with_users, without = audit(log), audit(copies), audit(copies.drop(columns="user"))
    widths = [result["sex"].analysis.gap.high for result in (alone, with_users, without)]
    assert widths[1] == pytest.approx(widths[0], rel=0.05)
    assert widths[2] < 0.6 * widths[0]
    assert without["sex"].groups[0].users == without["sex"].groups[0].rewards


def test_rows_of_unknown_users_are_users_of_their_own():
    log = make(rows=2_000)
    unknown = log.assign(user=log.user.astype("Int64").mask(np.arange(len(log)) % 2 == 0))
    groups = audit(unknown)["sex"].groups
    assert sum(group.users for group in groups) == 1_000 + log.user[1::2].nunique()


def test_a_user_in_two_groups_counts_in_both():
    log = make(rows=5_000, users=300)
    log["sex"] = np.random.default_rng(0).choice(["female", "male"], len(log))
    log["race"] = np.random.default_rng(1).choice(["black", "white"], len(log))
    groups = audit(log, groups=["sex", "race"])["sex"].groups
    assert [group.users for group in groups] == [log[log.sex == group.name].user.nunique() for group in groups]


HISTORIES = {
    "opens late": (lambda day: 0.3 * (day >= 90), "fair", "unfair"),
    "reverses": (lambda day: 0.3 if day < 50 else -0.3, "fair", "unfair"),
    "is fixed": (lambda day: 0.3 * (day < 50), "unfair", "fair"),
    "is steady": (lambda day: 0.3, "unfair", "unfair"),
}


@pytest.mark.parametrize("history", HISTORIES)
def test_histories(history):
    # `report/test_history_sentences.py` has their sentences.
    gap, whole, now = HISTORIES[history]
    result = audit(make(gap, rows=160_000), tolerance=0.05)
    comparison = result["sex"]
    assert (comparison.conclusion, comparison.recent_conclusion) == (whole, now)
    assert result.status == 1


def test_windows_and_their_gaps():
    log = make(lambda day: 0.3 * (day >= 90))
    history = audit(log, tolerance=0.05)["sex"].analysis.history
    assert history.windows.n == 10
    assert history.unfair == [9]
    last = log[log.time >= START + np.timedelta64(90, "D")]
    means = last.groupby("sex")["reward"].mean()
    assert history.gaps[9].gap.value == pytest.approx(means["male"] - means["female"])
    assert history.means.mean[9] == pytest.approx(means.to_numpy())


def test_a_fair_log():
    result = audit(make(), tolerance=0.1)
    assert result.status == 0
    assert result.verdict.startswith("Fair (95% confidence)")


def test_ninety_nine_users_without_a_reward_are_seen():
    result = audit(more(make(), 99, sex="other"), tolerance=0.05)
    assert result.status == 1
    assert result["sex"].analysis.disadvantaged.name == "other"


def test_a_few_users_without_a_reward_keep_fair_from_being_said():
    result = audit(more(make(), 9, sex="other"), tolerance=0.1)
    assert [group.name for group in result["sex"].unassessed.outside] == ["other"]
    assert result.status == 3
    assert audit(more(make(), 9, sex="other", reward=[0.0, 1.0] * 4 + [0.0]), tolerance=0.1).status == 0


def test_users_of_unknown_group_keep_fair_from_being_said():
    result = audit(more(make(), 5_000, sex=None), tolerance=0.1)
    unassessed = result["sex"].unassessed
    assert (unassessed.unknown, unassessed.users) == (5_000, 9_000)
    assert unassessed.share == pytest.approx(5 / 9)
    assert result.status == 3
    # All of them in one group: 20,000 rewards with a mean of 0.5 become 25,000 with a mean of 0.4.
    assert unassessed.worst_case == pytest.approx(0.1, abs=0.02)
    few = audit(more(make(), 30, sex=None), tolerance=0.1)
    assert few.status == 0
    assert audit(more(make(), 30, sex=None), tolerance=0.1, max_unassessed=0.001).status == 3


def test_the_smallest_gap_that_would_have_been_found():
    frame = make(rows=2_000)
    result = audit(frame, tolerance=0.02)
    detectable = result["sex"].analysis.detectable
    found = [
        audit(make(lambda _: detectable, rows=2_000, seed=seed), tolerance=0.02)["sex"].conclusion == "unfair"
        for seed in range(60)
    ]
    assert 0.6 < np.mean(found) < 0.95


def test_rewards_that_are_harms():
    result = audit(make(lambda _: 0.2), lower_is_better=True)
    analysis = result["sex"].analysis
    assert (analysis.disadvantaged.name, analysis.advantaged.name) == ("male", "female")
    assert float(analysis.gap) == pytest.approx(0.2, abs=0.02)
    parts = analysis.decomposition
    assert parts.exposure_effect.value + parts.within_arm_effect.value == pytest.approx(float(analysis.gap))


def test_other_reward_ranges():
    log = make(lambda _: 0.2)
    stars = log.assign(reward=1.0 + 4.0 * log.reward)
    one, other = (audit(each, **options) for each, options in ((log, {}), (stars, {"reward_range": (1.0, 5.0)})))
    a, b = one["sex"].analysis, other["sex"].analysis
    assert (float(b.gap), b.gap.low, b.gap.high) == pytest.approx((4 * a.gap, 4 * a.gap.low, 4 * a.gap.high))
    assert b.advantaged.mean == pytest.approx(1.0 + 4.0 * a.advantaged.mean)
    assert b.history.means.low[0] == pytest.approx(1.0 + 4.0 * a.history.means.low[0])


def test_false_claims_are_rare_when_users_come_back():
    claims = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        visits = 1 + rng.zipf(1.8, 300).clip(max=200)
        own = rng.beta(1, 1, 300)
        user = np.repeat(np.arange(300), visits)
        log = pd.DataFrame({"user": user, "arm": "a", "reward": (rng.random(len(user)) < own[user]) * 1.0})
        log["group"] = rng.integers(7, size=300)[user].astype(str)
        comparison = audit(log)["group"]
        claims += comparison.conclusion == "gap" or comparison.recent_conclusion == "gap"
    assert claims <= 6


def test_an_empty_user_column_is_none():
    log = make(rows=2_000)
    empty, without = audit(log.assign(user=None)), audit(log.drop(columns="user"))
    assert not empty.has_users
    assert audit(log).has_users
    assert empty["sex"].analysis.gap.high == pytest.approx(without["sex"].analysis.gap.high)
