"""What every run of a peer's example problem reports."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np


def figures(
    problem: str, runner: str, library: str, policy: str, runs: Iterable[tuple[Any, Any]]
) -> dict[str, Any]:
    """Return the figures of a policy: mean reward and reward gap, each with its standard error over seeds.

    Parameters
    ----------
    problem, runner, library, policy : str
        The problem, the peer's function that ran it, whose policy it is, and the policy.
    runs : iterable of (rewards, groups)
        The reward of each round, and whether its user belongs to the first group, for each seed; None if there are
        no groups.
    """
    means, gaps = [], []
    for rewards, groups in runs:
        reward = np.asarray(rewards, float)
        means.append(reward.mean())
        if groups is not None:
            first = np.asarray(groups, bool)
            gaps.append(abs(reward[first].mean() - reward[~first].mean()))
    names = {"problem": problem, "runner": runner, "library": library, "policy": policy, "seeds": len(means)}
    return names | {"reward": _mean_and_error(means), "gap": _mean_and_error(gaps) if gaps else None}


def _mean_and_error(values: list[Any]) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1) / len(values) ** 0.5)


def report(rows: Iterable[dict[str, Any]]) -> None:
    """Print figures for `peer_problems.py`, in the last line."""
    print(json.dumps(list(rows)))
