"""The confidence sequence: right at all times at once, and not much wider than it must be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits.fairness import confidence_radius

STREAMS, LENGTH = 600, 2_000


def paths(draw, seed=0):
    """Count, mean and squared deviations of many streams at every moment."""
    rewards = draw(np.random.default_rng(seed), (STREAMS, LENGTH))
    n = np.arange(1, LENGTH + 1)
    mean = rewards.cumsum(axis=1) / n
    m2 = (rewards**2).cumsum(axis=1) - n * mean**2
    return n, mean, m2


STREAM_KINDS = {
    "coin": (lambda rng, shape: (rng.random(shape) < 0.5).astype(float), 0.5),
    "rare": (lambda rng, shape: (rng.random(shape) < 0.02).astype(float), 0.02),
    "narrow": (lambda rng, shape: np.clip(rng.normal(0.8, 0.03, shape), 0.68, 0.92), 0.8),
    "two points": (lambda rng, shape: rng.choice([0.2, 1.0], shape), 0.6),
}


@pytest.mark.parametrize("kind", STREAM_KINDS)
def test_all_looks_together_fail_at_most_as_often_as_stated(kind):
    draw, truth = STREAM_KINDS[kind]
    n, mean, m2 = paths(draw)
    radius = confidence_radius(n, m2, confidence=0.9)
    ever_wrong = (np.abs(mean - truth) > radius).any(axis=1).mean()
    assert ever_wrong <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / STREAMS)


def test_an_ordinary_interval_does_fail_under_the_same_looks():
    """The check above can fail: the textbook interval, looked at every time, is wrong far more often."""
    draw, truth = STREAM_KINDS["coin"]
    n, mean, m2 = paths(draw)
    ordinary = 1.645 * np.sqrt(m2 / n / n) + (n < 30)
    assert (np.abs(mean - truth) > ordinary).any(axis=1).mean() > 0.3


def test_means_that_depend_on_the_past_are_covered_too():
    """A learning policy's rewards are not alike: the mean drifts, by what came before."""
    rng = np.random.default_rng(3)
    expected = np.empty((300, 1_500))
    rewards = np.empty_like(expected)
    level = np.full(300, 0.5)
    for t in range(1_500):
        expected[:, t] = level
        rewards[:, t] = rng.random(300) < level
        level = np.clip(level + 0.02 * (rewards[:, t] - 0.5), 0.1, 0.9)
    n = np.arange(1, 1_501)
    mean = rewards.cumsum(axis=1) / n
    truth = expected.cumsum(axis=1) / n
    m2 = (rewards**2).cumsum(axis=1) - n * mean**2
    wrong = (np.abs(mean - truth) > confidence_radius(n, m2, 0.9)).any(axis=1).mean()
    assert wrong <= 0.1 + 3 * np.sqrt(0.09 / 300)


def test_at_most_two_and_a_half_times_the_interval_for_one_look():
    for n, variance in [(1_000, 0.03), (10_000, 0.03), (10_000, 0.2), (1_000_000, 0.1)]:
        one_look = 1.96 * np.sqrt(variance / n)
        assert confidence_radius(n, n * variance, 0.95) <= 2.5 * one_look


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=60),
    st.floats(0.5, 0.999),
    st.floats(0.01, 100),
)
def test_scale_and_bounds(rewards, confidence, scale):
    rewards = np.array(rewards)
    m2 = ((rewards - rewards.mean()) ** 2).sum()
    radius = confidence_radius(len(rewards), m2, confidence)
    assert 0.0 < radius <= 1.0
    scaled = confidence_radius(len(rewards), m2 * scale**2, confidence, reward_range=scale)
    assert scaled == pytest.approx(radius * scale, rel=1e-9)
    # The bound on the variance process holds for this order of the rewards, as it must for any.
    earlier = np.concatenate([[0.5], np.cumsum(rewards)[:-1] / np.arange(1, len(rewards))])
    process = ((rewards - earlier) ** 2).sum()
    assert process <= 0.25 + m2 + min(m2, np.log(len(rewards))) + 1e-12


def test_no_rewards_no_knowledge():
    assert confidence_radius([0, 0], [0.0, 0.0], reward_range=5.0).tolist() == [5.0, 5.0]


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, float("nan")])
def test_confidence_is_a_probability(confidence):
    with pytest.raises(ValueError, match="confidence must be a number above 0"):
        confidence_radius(1, 0.0, confidence)
