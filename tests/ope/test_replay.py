"""Evaluation of policies while they learn."""

import math

import numpy as np
import pytest

from fairbandits import FairLinUCB
from fairbandits.logs import Log, fit
from fairbandits.ope import evaluate
from tests.ope.logs import ARMS, MEAN, groups_of, make_log


def replay_by_hand(policy, frame):
    """Replay a uniform log row by row, as Li et al. (2011) describe it."""
    rewards = []
    for row, sex in zip(frame.itertuples(), groups_of(frame), strict=True):
        decision = policy.choose(np.array([[1.0, row.x_low, row.x_high]] * 3), sex, ARMS)
        if decision.arm == row.arm:
            policy.learn(decision, row.reward)
            rewards.append(row.reward)
    return np.array(rewards)


def test_replay_equals_a_row_by_row_replay():
    frame = make_log(n=3_000, uniform=True)
    # Trained, so that there are no ties to break at random.
    policy = fit(Log.open(make_log(n=300, seed=5)), FairLinUCB(gamma=1.0, random_state=0)).policy
    evaluation = evaluate(frame, policy, learning=True).policies[0]
    rewards = replay_by_hand(policy, frame)
    assert set(evaluation.estimates) == {"replay"}
    estimate = evaluation.estimates["replay"].value.overall
    assert evaluation.effective_rows.overall == len(rewards)
    assert estimate.value == pytest.approx(rewards.mean(), abs=1e-12)
    assert estimate.standard_error == pytest.approx(rewards.std(ddof=1) / math.sqrt(len(rewards)), rel=1e-9)
    assert evaluation.training.startswith(f"while learning from {len(rewards):,} of 3,000 rows")
    assert evaluation.estimates["replay"].improvement.overall is None


def test_rejection_sampling_corrects_for_propensities():
    frame = make_log(n=20_000)
    evaluation = evaluate(frame, "Uniform", learning=True)
    estimate = evaluation.policies[0].estimates["replay"].value.overall
    assert abs(estimate.value - MEAN.mean()) < 4.0 * estimate.standard_error
    # Each row is accepted with probability 0.2, the smallest propensity.
    assert evaluation.policies[0].effective_rows.overall == pytest.approx(20_000 * 0.2, rel=0.1)
    assert any("rejection sampling" in warning for warning in evaluation.warnings)
