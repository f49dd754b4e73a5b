"""Open Bandit Pipeline: inverses updated by Woodbury's formula, one context per user, no batches, ridge 1."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock, patch

import sklearn.utils  # noqa: F401  # before torch is mocked, because it inspects torch

from peers.base import Peer, UserPeer


@cache
def _import_linear() -> Any:
    """Import only the module of its LinUCB; the package would import torch, which LinUCB does not use."""
    spec = importlib.util.find_spec("obp")
    if spec is None or spec.origin is None:
        raise ImportError("obp is not installed")
    root = Path(spec.origin).parent
    for name, folder in (("obp", root), ("obp.policy", root / "policy")):
        package = ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package
    with patch.dict(sys.modules, torch=MagicMock(), pandas=MagicMock()):
        return importlib.import_module("obp.policy.linear")


class Obp(UserPeer):
    """Its LinUCB, which calls alpha epsilon."""

    users_at_once = 100

    def __init__(self, n_arms: int, width: int, alpha: float, narrow: bool) -> None:
        self.narrow = narrow
        self.policy = _import_linear().LinUCB(dim=width, n_actions=n_arms, epsilon=alpha, random_state=0)

    def choose(self, prepared: Any) -> int:
        """Select an action."""
        return int(self.policy.select_action(prepared)[0])

    def learn(self, arm: int, prepared: Any, reward: float) -> None:
        """Update the parameters."""
        self.policy.update_params(arm, reward, prepared)

    def learn_many(self, arms: Sequence[int], rounds: Sequence[Any], rewards: Sequence[float]) -> None:
        """Skip the log: training does not change its cost, and it copies all matrices for every row."""


def make(n_arms: int, width: int, own: int, alpha: float, ridge: float, narrow: bool = False) -> Peer:
    """Return the adapter."""
    if ridge != 1.0:
        raise ValueError(f"ridge must be 1 for obp, got {ridge}")
    return Obp(n_arms, own if narrow else width, alpha, narrow)
