"""Anytime-valid intervals."""

import numpy as np
import pytest

from fairbandits.ope import evaluate
from fairbandits.ope.sequential_headline import SequentialHeadline, SequentialSums
from tests.ope.logs import make_log


def run(weight, reward, confidence=0.95):
    sums = SequentialSums(1)
    sums.add(weight, reward, np.zeros((len(reward), 1), np.int64))
    return SequentialHeadline(sums, confidence).value(0, 1.0 - confidence)


def test_no_look_at_a_growing_log_excludes_the_truth():
    failures = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        arm = rng.choice(2, 2_000, p=[0.8, 0.2])
        weight, reward = np.where(arm == 1, 5.0, 0.0), (rng.random(2_000) < 0.3) * 1.0
        looks = (run(weight[:n], reward[:n]) for n in (10, 30, 100, 300, 1_000, 2_000))
        failures += any(not look.low <= 0.3 <= look.high for look in looks)
    assert failures <= 10


def test_intervals_shrink_and_stay_within_the_range():
    rng = np.random.default_rng(0)
    weight, reward = rng.choice([0.0, 2.0], 20_000), (rng.random(20_000) < 0.9) * 1.0
    few, many = run(weight[:50], reward[:50]), run(weight, reward)
    assert 0.0 <= few.low <= few.value <= few.high <= 1.0
    assert many.high - many.low < 0.1 < few.high - few.low
    assert many.value == pytest.approx(0.9, abs=0.02)


def test_parts_of_a_log_merge():
    rng = np.random.default_rng(1)
    weight, reward, groups = rng.random(1_000) * 2, rng.random(1_000), np.zeros((1_000, 1), np.int64)
    one, two = SequentialSums(1), SequentialSums(1)
    one.add(weight[:400], reward[:400], groups[:400])
    two.add(weight[400:], reward[400:], groups[400:])
    one.merge(two)
    merged, whole = SequentialHeadline(one, 0.95).value(0, 0.05), run(weight, reward)
    assert merged.value == pytest.approx(whole.value)
    assert merged.low == pytest.approx(whole.low, abs=0.01)


def test_a_sequential_evaluation(trained):
    frame = make_log(20_000)
    found = evaluate(frame, trained, sequential=True)
    policy = found.policies[0]
    assert policy.preferred_estimator == "confidence_sequence"
    fixed = evaluate(frame, trained).policies[0].preferred
    assert policy.preferred.value.overall.value == pytest.approx(fixed.value.overall.value, abs=0.02)
    wide, narrow = policy.preferred.value.overall, fixed.value.overall
    assert wide.high - wide.low > narrow.high - narrow.low
    gap = policy.preferred.gaps[0].estimate
    assert gap.low <= gap.value <= gap.high
    assert found.improvement(policy.title).low <= found.improvement(policy.title).high
