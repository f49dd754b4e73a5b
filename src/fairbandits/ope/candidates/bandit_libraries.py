"""Candidates from other bandit libraries: obp policies, Coba learners, MABWiser bandits."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.contexts.table_encoder import as_dense
from fairbandits.ope.candidates.candidate import ArmProbabilities, Candidate
from fairbandits.ope.candidates.foreign_policies import chosen_arms, probabilities_by_arm, unscaled_features
from fairbandits.ope.log_rows import LogRows

if TYPE_CHECKING:
    from fairbandits.ope.evaluation_setup import EvaluationSetup

Floats = NDArray[np.float64]

# The number of predictions from which the probabilities of a randomised MABWiser bandit are estimated.
_DRAWS = 50


class MatrixCandidate(Candidate):
    """A policy that takes a matrix of contexts, with numbers as they are in the log."""

    needs_contexts = True

    def prepare(self, setup: EvaluationSetup) -> None:
        """Request unscaled numbers."""
        self.encoder = setup.plain_encoder

    def contexts(self, rows: LogRows, setup: EvaluationSetup) -> Floats:
        """Return the matrix of contexts."""
        return as_dense(unscaled_features(self, rows, setup))


class ObpCandidate(MatrixCandidate):
    """A policy of Open Bandit Pipeline, which numbers arms from 0 and takes a matrix of contexts.

    Parameters
    ----------
    title : str
        The name in reports.
    policy : obp policy
        An offline learner with `predict`, or a context-free policy with `compute_batch_action_dist`.
    """

    def __init__(self, title: str, policy: Any) -> None:
        super().__init__(title)
        self._policy = policy
        if policy.len_list != 1:
            raise ValueError(f"{title}: len_list must be 1, got {policy.len_list}; use evaluate_slates")

    def probabilities(self, rows: LogRows, setup: EvaluationSetup) -> ArmProbabilities:
        """Return the policy's distribution over actions."""
        if hasattr(self._policy, "predict"):
            distribution = self._policy.predict(self.contexts(rows, setup))
        else:
            distribution = self._policy.compute_batch_action_dist(n_rounds=len(rows))
        arms = range(self._policy.n_actions)
        return ArmProbabilities.from_matrix(
            probabilities_by_arm(distribution[:, :, 0], arms, rows, setup, self.title), rows
        )


class CobaCandidate(MatrixCandidate):
    """A Coba learner, which is queried for the probability of each arm, row by row.

    Parameters
    ----------
    title : str
        The name in reports.
    learner : coba learner
        The learner; it does not learn during the evaluation.
    """

    def __init__(self, title: str, learner: Any) -> None:
        super().__init__(title)
        self._learner = learner

    def probabilities(self, rows: LogRows, setup: EvaluationSetup) -> ArmProbabilities:
        """Return the learner's scores."""
        arms = list(setup.survey.arms)
        contexts = [tuple(row) for row in self.contexts(rows, setup).tolist()]
        matrix = np.array([[self._learner.score(context, arms, arm) for arm in arms] for context in contexts])
        return ArmProbabilities.from_matrix(probabilities_by_arm(matrix, arms, rows, setup, self.title), rows)


class MabWiserCandidate(MatrixCandidate):
    """A MABWiser bandit, which predicts an arm for each row.

    MABWiser does not provide probabilities. For bandits that choose at random, the shares of 50 predictions serve
    as unbiased estimates.

    Parameters
    ----------
    title : str
        The name in reports.
    mab : mabwiser MAB
        The fitted bandit; it does not learn during the evaluation.
    """

    def __init__(self, title: str, mab: Any) -> None:
        super().__init__(title)
        self._mab = copy.deepcopy(mab)  # predictions draw from its random generator
        self._draws = 1 if _is_deterministic(mab) else _DRAWS

    def probabilities(self, rows: LogRows, setup: EvaluationSetup) -> ArmProbabilities:
        """Predict arms."""
        contexts = self.contexts(rows, setup)
        total = np.zeros((len(rows), len(setup.survey.arms)))
        for _ in range(self._draws):
            predicted = self._mab.predict(contexts)
            total += chosen_arms(predicted if len(rows) > 1 else [predicted], rows, setup, self.title)
        return ArmProbabilities.from_matrix(total / self._draws, rows)


def _is_deterministic(mab: Any) -> bool:
    policy = getattr(mab, "learning_policy", None)
    is_fixed = type(policy).__name__ in {"LinUCB", "UCB1"} or getattr(policy, "epsilon", None) == 0
    # Neighbourhood policies choose at random where there are no neighbours.
    return is_fixed and getattr(mab, "neighborhood_policy", None) is None
