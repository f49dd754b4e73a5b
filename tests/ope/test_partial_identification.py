"""What cannot be known is bounded instead of guessed."""

import numpy as np
import pandas as pd
import pytest

from fairbandits.ope import ProbabilityColumn, evaluate
from tests.ope.logs import make_log


def headline(frame, policy, **options):
    return evaluate(frame, policy, **options).policies[0].preferred.value.overall


def test_a_policy_that_the_log_never_follows_gets_the_whole_range(frame):
    only_algebra = frame[frame["arm"] == "algebra"].assign(propensity=1.0)
    estimate = headline(only_algebra, lambda users: np.where(np.arange(len(users)) > 0, "zoology", "algebra"))
    assert estimate.low < 0.01
    assert estimate.high > 0.99


def test_unsupported_arms_widen_the_interval_by_their_probability(frame):
    some = frame[frame["arm"] != "chemistry"]
    shares = some["propensity"] / np.where(some["x_low"] > 0, 0.8, 0.7)
    some = some.assign(propensity=shares)
    plain = headline(some, lambda users: np.full(len(users), "algebra"))
    rng = np.random.default_rng(0)

    def half_new(users):
        return np.where(rng.random(len(users)) < 0.5, "zoology", "algebra")

    bounded = headline(some, half_new)
    assert bounded.high - bounded.low == pytest.approx(0.5 + 0.5 * (plain.high - plain.low), abs=0.05)


def test_missing_weight_of_a_column_is_unknown_reward():
    frame = make_log(4_000, uniform=True)
    # The policy plays an arm of its own in half of the rows, so that its logged arms have half the probability.
    half = frame.assign(p=1 / 6)
    estimate = headline(half, ProbabilityColumn("p"))
    mean = frame["reward"].mean()
    assert estimate.low < mean / 2 < mean / 2 + 0.5 < estimate.high
    assert evaluate(half, ProbabilityColumn("p")).policies[0].unsupported.overall == pytest.approx(0.5)
    all_arms = headline(frame.assign(p=1 / 3), ProbabilityColumn("p"))
    assert all_arms.value == pytest.approx(mean, abs=1e-6)
    assert all_arms.high - all_arms.low < 0.05


def test_estimates_stay_within_the_reward_range():
    frame = make_log(300).assign(reward=0.0)
    rare = headline(frame, "Uniform", train=0.0)
    assert rare.value == pytest.approx(0.0, abs=1e-3)
    assert 0.0 <= rare.low <= rare.high < 0.1
    stars = headline(frame.assign(reward=5.0), "Uniform", train=0.0, reward_range=(1.0, 5.0))
    assert 4.0 < stars.low <= stars.high <= 5.0


def test_the_same_log_in_other_units_gives_the_same_intervals(frame, trained):
    one = evaluate(frame, trained)
    two = evaluate(frame.assign(reward=1.0 + 4.0 * frame["reward"]), trained, reward_range=(1.0, 5.0))
    for first, second in zip(one.differences, two.differences, strict=True):
        assert second.estimate.low == pytest.approx(4.0 * first.estimate.low, abs=1e-9)
    a, b = one.policies[0].preferred, two.policies[0].preferred
    assert b.value.overall.high == pytest.approx(1.0 + 4.0 * a.value.overall.high, abs=1e-9)
    assert b.gaps[0].estimate.low == pytest.approx(4.0 * a.gaps[0].estimate.low, abs=1e-9)
    assert two.logged.value.overall.value == pytest.approx(1.0 + 4.0 * one.logged.value.overall.value)


def test_gaps_allow_for_all_unknown_rewards_in_one_group(frame):
    def half_new(users):
        return np.where(np.arange(len(users)) % 2, "zoology", "algebra")

    found = evaluate(frame, half_new, require_gap=0.4)
    gap = found.policies[0].preferred.gaps[0].estimate
    assert gap.high - gap.low > 1.0
    assert found.status == 3


def test_an_arm_that_is_never_shown_to_a_group_is_unknown_there(frame):
    some = frame[(frame["sex"] == "male") | (frame["arm"] != "chemistry")]
    some = some.assign(propensity=np.where(some["sex"] == "female", 0.5, some["propensity"]))
    result = evaluate(some, lambda users: np.full(len(users), "chemistry")).policies[0].preferred
    female, male = (result.value.by_group["sex"][sex] for sex in ("female", "male"))
    assert (female.low, female.high) == (0.0, 1.0)
    assert male.high - male.low < 0.2
    share = (some["sex"] == "female").mean()
    assert result.value.overall.high - result.value.overall.low > share


def test_rows_of_tiny_propensity_that_are_missing_count_as_unknown():
    rng = np.random.default_rng(0)
    n = 5_000
    is_rare = rng.random(n) < 0.1
    share = np.where(is_rare, 0.002, 0.5)
    is_b = (rng.random(n) < share) & ~is_rare  # by chance, none of the rare rows shows b
    frame = pd.DataFrame(
        {
            "arm": np.where(is_b, "b", "a"),
            "reward": 1.0 * ~is_rare,
            "propensity": np.where(is_b, share, 1 - share),
            "x_rare": is_rare * 1.0,
        }
    )
    found = headline(frame, lambda users: np.full(len(users), "b"))
    assert found.low < 0.9 < found.high


def test_a_log_with_users_and_without_propensities(frame):
    bare = frame.drop(columns="propensity").assign(user=np.arange(len(frame)) // 2)
    evaluation = evaluate(bare, lambda users: np.full(len(users), "algebra"))
    assert evaluation.policies[0].preferred_estimator == "direct_method"


def test_clipping_does_not_change_the_headline():
    log = make_log(4_000).assign(p=0.0)
    log["p"] = np.where(log["arm"] == "chemistry", 1.0, 0.0)
    plain, clipped = headline(log, ProbabilityColumn("p")), headline(log, ProbabilityColumn("p"), clip=2.0)
    assert clipped == plain


def test_a_policy_that_the_log_never_follows_may_be_better_or_worse():
    zero = make_log(4_000).assign(p=0.0)
    difference = evaluate(zero, ProbabilityColumn("p")).differences[0].estimate
    assert difference.low < -0.4
    assert difference.high > 0.5
