"""The policies to evaluate: our own, those of other libraries, and probabilities in columns of the log."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.contexts import TableEncoder
from fairbandits.ope.log_rows import LogRows

if TYPE_CHECKING:
    from fairbandits.ope.evaluation_setup import EvaluationSetup

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ArmProbabilities:
    """The probabilities with which a policy chooses arms.

    Attributes
    ----------
    logged : array of shape (n_rows,)
        The probability of the logged arm of each row.
    all_arms : array of shape (n_rows, n_arms), or None
        The probabilities of all arms of the log; rows add up to less than 1 if the policy also knows other arms.
        None if only the probabilities of the logged arms are known.
    """

    logged: Floats
    all_arms: Floats | None

    @classmethod
    def from_matrix(cls, matrix: Floats, rows: LogRows) -> ArmProbabilities:
        """Return the probabilities of all arms of the log."""
        return cls(matrix[np.arange(len(rows)), rows.arm], matrix)


def in_columns(matrix: Floats, numbers: Ints, n_arms: int) -> Floats:
    """Return probabilities with one column for each arm of the log, given the number of each column's arm.

    Arms whose number is -1 are not in the log, and are left out.
    """
    ordered = np.zeros((len(matrix), n_arms))
    ordered[:, numbers[numbers >= 0]] = matrix[:, numbers >= 0]
    return ordered


class Candidate(ABC):
    """A policy to evaluate.

    Parameters
    ----------
    title : str
        The name in reports.

    Attributes
    ----------
    knows_all_arms : bool
        Whether the policy provides the probabilities of all arms, rather than only those of the logged arms.
    needs_contexts : bool
        Whether the policy needs the encoded features of users.
    encoder : TableEncoder or None
        The encoder of these features; None for the log's own encoder.
    columns : tuple of str
        The columns of the log that the policy needs unchanged, in `LogRows.columns`.
    """

    knows_all_arms = True
    needs_contexts = False
    encoder: TableEncoder | None = None
    columns: tuple[str, ...] = ()

    def __init__(self, title: str) -> None:
        self.title = title

    def prepare(self, setup: EvaluationSetup) -> None:  # noqa: B027 - most have nothing to prepare
        """Check that the policy fits the log."""

    @abstractmethod
    def probabilities(self, rows: LogRows, setup: EvaluationSetup) -> ArmProbabilities:
        """Return the probabilities with which the policy would choose arms."""

    def fingerprint(self) -> bytes:
        """Return bytes that identify the policy as it is before the evaluation."""
        try:
            return pickle.dumps(self)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ValueError(
                f"checkpoint needs policies that can be pickled, such as module-level functions, got {self.title} "
                f"({error})"
            ) from None

    @property
    def state(self) -> str:
        """The state in which the policy is evaluated, in words."""
        return "as given"


def as_candidates(policies: Any, seed: int = 0) -> tuple[Candidate, ...]:
    """Return candidates for one policy or several.

    Parameters
    ----------
    policies : policy, an iterable of policies, or a mapping of titles to policies
        Whatever `evaluate` accepts as a policy.
    seed : int
        The random seed of policies given by name.

    Examples
    --------
    >>> [each.title for each in as_candidates(["Uniform", "LinUCB(alpha=0.1)"])]
    ['Uniform', 'LinUCB(alpha=0.1)']
    """
    from fairbandits.ope.candidates.policy_conversion import as_candidate, is_policy  # noqa: PLC0415 - imports this module

    if isinstance(policies, Mapping):
        candidates = tuple(as_candidate(policy, seed, str(title)) for title, policy in policies.items())
    else:
        is_single = is_policy(policies) or not isinstance(policies, Iterable)
        candidates = tuple(as_candidate(policy, seed) for policy in ([policies] if is_single else policies))
    if not candidates:
        raise ValueError("policies must contain at least one policy, got none")
    titles = [candidate.title for candidate in candidates]
    for title in titles:
        if titles.count(title) > 1:
            raise ValueError(f"policies must have different names, got {title} twice; name them: {{name: policy}}")
    return candidates
