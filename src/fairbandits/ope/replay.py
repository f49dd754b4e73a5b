"""Evaluation of learning policies: replay with rejection sampling."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairbandits.ope.candidates.own_policies import PolicyCandidate
from fairbandits.ope.estimator_sums import EstimatorSums, EstimatorTerms
from fairbandits.ope.evaluation_setup import EvaluationSetup
from fairbandits.ope.log_rows import LogRows

# The number of rows that are decided in one batch while no row is accepted: the smallest and the largest number.
_MIN_BATCH, _MAX_BATCH = 16, 4096


def replay_learning(candidate: PolicyCandidate, setup: EvaluationSetup, min_propensity: float) -> EstimatorSums:
    """Evaluate a policy that keeps learning.

    If the policy chooses the logged arm, the row is accepted, and learned from, with probability
    `min_propensity / propensity`; all other rows are rejected. The accepted rows have the same distribution as the
    rows that the policy would have seen online: each user is accepted with the same probability, whatever the arm.
    Li et al. (2011) assume a uniform logging policy; rejection sampling extends their method to known
    propensities.

    Parameters
    ----------
    candidate : PolicyCandidate
        The policy, which learns from the accepted rows.
    setup : EvaluationSetup
        The log.
    min_propensity : float
        The smallest propensity of the log.
    """
    rng = np.random.default_rng(setup.settings.seed)
    sums = EstimatorSums(len(setup.survey.groups), setup.mean_reward)
    size = _MIN_BATCH
    for _, all_rows in setup.read():
        rows = all_rows.evaluation_rows()
        draws = rng.random(len(rows))
        kept = np.ones(len(rows), bool) if rows.propensity is None else draws * rows.propensity < min_propensity
        size = _replay_rows(candidate, setup, rows, kept, sums, size)
    return sums


def _replay_rows(
    candidate: PolicyCandidate,
    setup: EvaluationSetup,
    rows: LogRows,
    kept: NDArray[np.bool_],
    sums: EstimatorSums,
    size: int,
) -> int:
    """Replay rows; return the batch size to continue with.

    The policy changes only at accepted rows, so the rows between two of them are decided in one batch.
    """
    policy = candidate.policy
    offers, encoder = candidate.offers, setup.encoder_number(candidate)
    numbers = setup.survey.numbers_of(offers.arms)
    groups = setup.survey.groups.decode(rows.groups)
    accepted: list[int] = []
    start = 0
    while start < len(rows):
        batch = slice(start, min(start + size, len(rows)))
        offer = offers.offer_many(rows.contexts[encoder][batch], groups[batch])
        decisions = policy.choose_many(offer, groups[batch])
        matches = np.flatnonzero((numbers[decisions.indices] == rows.arm[batch]) & kept[batch])
        if not matches.size:
            start, size = batch.stop, min(2 * size, _MAX_BATCH)
            continue
        first = int(matches[0])
        policy.learn(decisions[first], float(rows.reward[start + first]))
        accepted.append(start + first)
        start += first + 1
        # About twice the last distance, as a compromise between wasted decisions and the number of calls.
        size = max((size + 2 * first) // 2, _MIN_BATCH)
    reward = rows.reward[accepted]
    one = np.ones(len(reward))
    sums.add(EstimatorTerms(reward, one, one), reward, rows.groups[accepted])
    return size
