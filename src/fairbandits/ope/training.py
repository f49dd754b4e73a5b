"""Training of untrained policies on the earlier rows of a log."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairbandits.logs.chunk import Chunk
from fairbandits.logs.fitting import check_rewards, select_rows
from fairbandits.ope.candidates.own_policies import PolicyCandidate
from fairbandits.ope.evaluation_setup import EvaluationSetup
from fairbandits.policies import Policy, SufficientStatistics


class PolicyTrainer:
    """Trains a policy on logged decisions as if it had made them.

    Parameters
    ----------
    candidate : PolicyCandidate
        The policy.
    setup : EvaluationSetup
        The log.
    """

    def __init__(self, candidate: PolicyCandidate, setup: EvaluationSetup) -> None:
        self._policy, self._log = candidate.policy, setup.log
        self._offers = None if setup.table is None else candidate.offers
        self._statistics = SufficientStatistics(self._policy) if self._policy.is_additive else None

    def add(self, chunk: Chunk, rows: NDArray[np.bool_]) -> None:
        """Learn from the selected rows of a chunk that have a reward, or collect their sufficient statistics."""
        check_rewards(self._policy, self._log, chunk)
        contexts, arm, reward, group = select_rows(chunk, rows)
        if self._offers is not None:
            contexts = self._offers.contexts(contexts, arm, group)
        if self._statistics is None:
            self._policy.learn_logged(contexts, arm, reward, group)
        else:
            self._statistics.add(contexts, arm, reward, group)

    def merge(self, other: PolicyTrainer) -> None:
        """Add the statistics of other rows."""
        if self._statistics is not None and other._statistics is not None:
            self._statistics += other._statistics

    def finish(self, policy: Policy) -> None:
        """Train the policy on the collected statistics."""
        if self._statistics is not None:
            policy.learn_statistics(self._statistics)
