"""Policies that learn from a log: from all rows of it, or while they are judged by it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairbandits.logs.chunk import Chunk
from fairbandits.logs.fitting import check_rewards, select_rows
from fairbandits.ope.candidates import Candidate
from fairbandits.ope.estimator_sums import EstimatorSums, Terms
from fairbandits.ope.evaluation_setup import EvaluationSetup
from fairbandits.ope.log_rows import LogRows
from fairbandits.policies import SufficientStatistics

# How many rows are looked at together, at first and at most, while a policy waits for one on which it agrees.
_FIRST, _MOST = 16, 4096


class LogLearner:
    """A policy that learns the rows of a log that train, as if it had decided them itself.

    Parameters
    ----------
    candidate : Candidate
        The policy.
    case : EvaluationSetup
        The log.
    """

    def __init__(self, candidate: Candidate, case: EvaluationSetup) -> None:
        self._policy, self._log = candidate.policy, case.log
        self._offers = None if case.table is None else case.offers(candidate)[0]
        self._lessons = SufficientStatistics(self._policy) if self._policy.is_additive else None

    def hear(self, chunk: Chunk, rows: NDArray[np.bool_]) -> None:
        """Learn some rows of a chunk that have a reward, or sum up what they teach."""
        check_rewards(self._policy, self._log, chunk)
        contexts, arm, reward, group = select_rows(chunk, rows)
        if self._offers is not None:
            contexts = self._offers.contexts(contexts, arm, group)
        if self._lessons is None:
            self._policy.learn_logged(contexts, arm, reward, group)
        else:
            self._lessons.add(contexts, arm, reward, group)

    def finish(self) -> None:
        """Learn what has been summed up."""
        if self._lessons is not None:
            self._policy.learn_statistics(self._lessons)


def replay_learning(candidate: Candidate, case: EvaluationSetup, lowest: float) -> EstimatorSums:
    """Let a policy learn while it is judged: by replay, with rejection.

    A row counts, and is learned, where the policy picks the arm that was shown; and then only with probability
    `lowest / propensity`. The rows that are left are those that the policy would have seen, had it decided itself:
    every user is as likely to be among them as any other, whatever the arm (Li et al. 2011, who had
    arms shown at random; with propensities, a coin makes up for the rest).

    Parameters
    ----------
    candidate : Candidate
        The policy; it learns.
    case : EvaluationSetup
        The log.
    lowest : float
        The smallest propensity of the log.
    """
    rng = np.random.default_rng(case.setting.seed)
    sums = EstimatorSums(len(case.survey.cells), case.survey.mean_reward)
    size = _FIRST
    for _, piece in case.read():
        rows = piece.judging()
        coin = rng.random(len(rows))
        fair = np.ones(len(rows), bool) if rows.propensity is None else coin * rows.propensity < lowest
        size = _replay(candidate, case, rows, fair, sums, size)
    return sums


def _replay(
    candidate: Candidate,
    case: EvaluationSetup,
    rows: LogRows,
    fair: NDArray[np.bool_],
    sums: EstimatorSums,
    size: int,
) -> int:
    """Replay rows; what is decided for those between two that count is decided at once."""
    policy = candidate.policy
    offers, place = case.offers(candidate)
    groups = case.survey.cells.as_groups(rows.cells)
    accepted: list[int] = []
    start = 0
    while start < len(rows):
        block = slice(start, min(start + size, len(rows)))
        offer = offers.offer_many(rows.contexts[place][block], groups[block])
        decisions = policy.choose_many(offer, groups[block])
        agreed = np.flatnonzero((decisions.indices == rows.arm[block]) & fair[block])
        if not agreed.size:
            start, size = block.stop, min(2 * size, _MOST)
            continue
        first = int(agreed[0])
        policy.learn(decisions[first], float(rows.reward[start + first]))
        accepted.append(start + first)
        start += first + 1
        # About twice as many as it took: few are decided in vain, and few calls are made.
        size = max((size + 2 * first) // 2, _FIRST)
    reward = rows.reward[accepted]
    one = np.ones(len(reward))
    sums.add(Terms(reward, one, one), reward, rows.cells[accepted])
    return size
