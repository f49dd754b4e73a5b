"""The policies to evaluate: by name, from a file, or as objects."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fairbandits import registry
from fairbandits.arms import ArmId
from fairbandits.logs.encoder import ContextEncoder
from fairbandits.logs.offers import ArmTable
from fairbandits.policies import Policy


@dataclass(frozen=True, eq=False)
class Candidate:
    """A policy to evaluate.

    Attributes
    ----------
    title : str
        The name in reports.
    policy : Policy
        The policy, a copy of its own.
    is_trained : bool
        Whether it has learned before; it is then evaluated as it is.
    """

    title: str
    policy: Policy
    is_trained: bool

    @cached_property
    def encoder(self) -> ContextEncoder | None:
        """The encoder that the policy was fitted with; None if it was not fitted to a log."""
        return ContextEncoder.of(self.policy)

    def check(self, arms: Sequence[ArmId], table: ArmTable | None) -> None:
        """Raise if the policy was trained on other arms or with another catalogue."""
        known = self.policy.arms_learned
        if self.is_trained and known and not set(known) & set(arms):
            raise ValueError(
                f"{self.title}: a trained policy must know some of the arms on offer, such as {arms[0]!r} "
                f"({type(arms[0]).__name__}), got one that knows only others, such as {known[0]!r} "
                f"({type(known[0]).__name__}); write arm ids alike in both"
            )
        if self.encoder is not None and ("catalogue" in self.policy.metadata) != (table is not None):
            fitted, remedy = ("with", "pass it") if table is None else ("without", "leave it out")
            raise ValueError(f"{self.title}: it was fitted {fitted} a catalogue of arms; {remedy} (--catalogue)")


def as_candidates(policies: Any, seed: int = 0) -> tuple[Candidate, ...]:
    """Return candidates for one policy or several.

    Parameters
    ----------
    policies : str, path, Policy, or an iterable of them
        A name with parameters, `FairLinUCB(gamma=3)` or `module:Class(...)`; a file that a policy was saved to;
        or a policy, which is copied.
    seed : int
        The random seed of policies given by name.

    Examples
    --------
    >>> [(each.title, each.is_trained) for each in as_candidates(["Uniform", "LinUCB(alpha=0.1)"])]
    [('Uniform', False), ('LinUCB(alpha=0.1)', False)]
    """
    is_single = isinstance(policies, str | Path | Policy) or not isinstance(policies, Iterable)
    candidates = tuple(_candidate(policy, seed) for policy in ([policies] if is_single else policies))
    if not candidates:
        raise ValueError("policies must contain at least one policy, got none")
    titles = [candidate.title for candidate in candidates]
    for title in titles:
        if titles.count(title) > 1:
            raise ValueError(f"policies must differ, got {title} twice")
    return candidates


def _candidate(policy: Any, seed: int) -> Candidate:
    if isinstance(policy, Policy):
        return Candidate(repr(policy), copy.deepcopy(policy), policy.rounds_learned > 0)
    if not isinstance(policy, str | Path):
        raise ValueError(
            f"policy must be a name, a file or a Policy, got {policy!r} of type {type(policy).__name__}"
        )
    if isinstance(policy, Path) or Path(policy).suffix == ".safetensors" or Path(policy).is_file():
        return Candidate(str(policy), Policy.load(policy), is_trained=True)
    return Candidate(policy.strip(), registry.make_policy(policy, seed), is_trained=False)
