"""The policies that are judged: by name, from a file, or as they are."""

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
    """A policy to be judged.

    Attributes
    ----------
    title : str
        What it is called.
    policy : Policy
        The policy itself; nobody else's.
    is_trained : bool
        Whether it has learned before: then it is judged as it is.
    """

    title: str
    policy: Policy
    is_trained: bool

    @cached_property
    def encoder(self) -> ContextEncoder | None:
        """How the contexts it learned were encoded; None where it was not fitted to a log."""
        return ContextEncoder.of(self.policy)

    def check(self, arms: Sequence[ArmId], table: ArmTable | None) -> None:
        """Refuse a policy that has learned something else than what the log is about."""
        known = self.policy.arms_learned
        if self.is_trained and known and not set(known) & set(arms):
            raise ValueError(
                f"{self.title}: it has learned arms such as {known[0]!r} ({type(known[0]).__name__}), and none of "
                f"those on offer, such as {arms[0]!r} ({type(arms[0]).__name__}); write arms alike in both"
            )
        if self.encoder is not None and ("catalogue" in self.policy.metadata) != (table is not None):
            with_, do = ("with", "give it") if table is None else ("without", "leave it out")
            raise ValueError(f"{self.title}: it was fitted {with_} a catalogue of arms; {do} (--catalogue)")


def as_candidates(policies: Any, seed: int = 0) -> tuple[Candidate, ...]:
    """Make candidates of one policy or several.

    Parameters
    ----------
    policies : str, path, Policy, or an iterable of such
        A name with parameters, `FairLinUCB(gamma=3)` or `module:Class(...)`; a file that a policy was saved to;
        or a policy, which is copied.
    seed : int
        The randomness of those that are named.

    Examples
    --------
    >>> [(one.title, one.is_trained) for one in as_candidates(["Uniform", "LinUCB(alpha=0.1)"])]
    [('Uniform', False), ('LinUCB(alpha=0.1)', False)]
    """
    given = (
        [policies] if isinstance(policies, str | Path | Policy) or not isinstance(policies, Iterable) else policies
    )
    found = tuple(_candidate(policy, seed) for policy in given)
    if not found:
        raise ValueError("no policy came; expected at least one")
    titles = [candidate.title for candidate in found]
    for title in titles:
        if titles.count(title) > 1:
            raise ValueError(f"{title} is given twice; give every policy once")
    return found


def _candidate(given: Any, seed: int) -> Candidate:
    if isinstance(given, Policy):
        return Candidate(repr(given), copy.deepcopy(given), given.rounds_learned > 0)
    if not isinstance(given, str | Path):
        raise ValueError(f"a policy is a name, a file or a Policy; got {given!r} of type {type(given).__name__}")
    if isinstance(given, Path) or Path(given).suffix == ".safetensors" or Path(given).is_file():
        return Candidate(str(given), Policy.load(given), is_trained=True)
    return Candidate(given.strip(), registry.make_policy(given, seed), is_trained=False)
