"""Conversion of policies into candidates of the appropriate kind."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairbandits import registry
from fairbandits.ope.candidates.bandit_libraries import CobaCandidate, MabWiserCandidate, ObpCandidate
from fairbandits.ope.candidates.candidate import Candidate
from fairbandits.ope.candidates.foreign_policies import (
    ClassifierCandidate,
    FunctionCandidate,
    RegressorCandidate,
)
from fairbandits.ope.candidates.own_policies import PolicyCandidate
from fairbandits.ope.candidates.probability_columns import ProbabilityColumn, ProbabilityColumns
from fairbandits.policies import Policy, persistence
from fairbandits.recommender import Recommender, has_items

_COLUMN, _COLUMNS = "column:", "columns:"


def as_candidate(policy: Any, seed: int = 0, title: str | None = None) -> Candidate:
    """Return the candidate for one policy.

    Parameters
    ----------
    policy : any
        Anything that `evaluate` accepts as a policy.
    seed : int
        The random seed of policies given by name.
    title : str, optional
        The name in reports; by default that of the policy.

    Examples
    --------
    >>> as_candidate("LinUCB(alpha=0.1)").title, as_candidate("column:p_new").title
    ('LinUCB(alpha=0.1)', 'column p_new')
    """
    candidate = _convert(policy, seed)
    if title is not None:
        candidate.title = title
    return candidate


def is_policy(policy: Any) -> bool:
    """Return whether an object is one policy rather than several."""
    return (
        isinstance(policy, str | Path | Policy | Recommender | Candidate) or _convert_foreign(policy) is not None
    )


def _convert(policy: Any, seed: int) -> Candidate:
    if isinstance(policy, Candidate):
        return policy
    if isinstance(policy, Policy):
        return PolicyCandidate(repr(policy), copy.deepcopy(policy), policy.rounds_learned > 0)
    if isinstance(policy, Recommender):
        return PolicyCandidate.of_recommender(repr(policy.policy), Recommender.from_state(policy.state()))
    if isinstance(policy, str | Path):
        return _from_text(policy, seed)
    if (found := _convert_foreign(policy)) is not None:
        return found
    raise ValueError(
        "policy must be a name, a file, a Policy, a Recommender, a function, a classifier or regressor of "
        "scikit-learn, a policy of obp, a learner of Coba, a bandit of MABWiser, or a column of probabilities, "
        f"got {policy!r} of type {type(policy).__name__}"
    )


def _from_text(policy: str | Path, seed: int) -> Candidate:
    text = str(policy).strip()
    if isinstance(policy, Path) or Path(text).suffix == ".safetensors" or Path(text).is_file():
        return _from_file(policy)
    if text.startswith(_COLUMN):
        return ProbabilityColumn(text.removeprefix(_COLUMN))
    if text.startswith(_COLUMNS):
        return ProbabilityColumns(text.removeprefix(_COLUMNS))
    return PolicyCandidate(text, registry.make_policy(text, seed), is_trained=False)


def _from_file(path: str | Path) -> PolicyCandidate:
    state = persistence.read(path)
    if has_items(state):
        return PolicyCandidate.of_recommender(str(path), Recommender.from_state(state, str(path)))
    return PolicyCandidate(str(path), Policy.from_state(state, str(path)), is_trained=True)


def _convert_foreign(policy: Any) -> Candidate | None:
    """Return the candidate for a policy of another library, or None if the object is not such a policy."""
    title = _title(policy)
    bandit = _bandit_library(policy)
    if bandit is not None:
        return bandit(title, policy)
    if hasattr(policy, "fit") and hasattr(policy, "predict"):
        from sklearn.base import is_classifier, is_regressor  # noqa: PLC0415 - slow to import

        if is_classifier(policy):
            return ClassifierCandidate(title, policy)
        if is_regressor(policy):
            return RegressorCandidate(title, policy)
    if callable(policy) and not isinstance(policy, type):
        return FunctionCandidate(title, policy)
    return None


def _bandit_library(policy: Any) -> Callable[[str, Any], Candidate] | None:
    """Return the kind of candidate for another bandit library's policy; None if the object is not such a policy.

    Policies are recognised by their methods, so that none of the libraries needs to be installed.
    """
    if hasattr(policy, "n_actions") and hasattr(policy, "len_list"):
        return ObpCandidate
    if _parameters(getattr(policy, "score", None)) == ["context", "actions", "action"]:
        return CobaCandidate
    return MabWiserCandidate if hasattr(policy, "predict_expectations") else None


def _title(policy: Any) -> str:
    name = getattr(policy, "__name__", None)
    return name if isinstance(name, str) else type(policy).__name__


def _parameters(method: Any) -> list[str]:
    try:
        return list(inspect.signature(method).parameters)
    except (TypeError, ValueError):
        return []
