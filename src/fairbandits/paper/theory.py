"""Measured regret against the bound of Theorem 1.

The theorem assumes rewards that are linear in the contexts, one model shared by all arms, the alpha of Lemma 1,
and a ridge of at least max(1, L^2). A `LinearWorld` meets these assumptions: its contexts lie in [0, 1]^d, so
L^2 = d, and its coefficients are non-negative and sum to 1, so M = 1.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.models import fair_linucb_regret_bound
from fairbandits.policies import FairLinUCB
from fairbandits.simulate import Run, Trace
from fairbandits.worlds import LinearWorld

GAMMAS = (0.0, 1.0, 3.0)
N_ARMS = 20
N_FEATURES = 4
NOISE = 0.1
DELTA = 0.05
RIDGE = float(N_FEATURES)

DATA_SOURCE = f"synthetic data: LinearWorld, {N_ARMS} arms, {N_FEATURES} features, noise {NOISE}"


@dataclass(frozen=True)
class RegretSummary:
    """Regret and bound of one gamma at the end of the run.

    Parameters
    ----------
    mean, largest : float
        Mean and maximum of the regret over seeds.
    bound : float
        The bound of Theorem 1.
    n : int
        The number of seeds.
    bound_holds : bool
        Whether every seed stayed below the bound in every round.
    """

    mean: float
    largest: float
    bound: float
    n: int
    bound_holds: bool


def runs(seeds: int, rounds: int) -> dict[float, list[Run]]:
    """Return the runs of each gamma."""
    world = {"n_arms": N_ARMS, "n_features": N_FEATURES, "rounds": rounds, "noise": NOISE}
    policy = {"alpha": "theory", "ridge": RIDGE, "model": "shared", "delta": DELTA, "theta_norm": 1.0}
    return {
        gamma: [Run(FairLinUCB, LinearWorld, seed, {"gamma": gamma, **policy}, world) for seed in range(seeds)]
        for gamma in GAMMAS
    }


def cumulative_regret(trace: Trace) -> NDArray[np.float64]:
    """Return the regret after each round."""
    return np.cumsum(trace.best - trace.expected)


def bound(rounds: NDArray[np.int64], gamma: float) -> NDArray[np.float64]:
    """Compute the bound of Theorem 1 after each of the given numbers of rounds.

    Examples
    --------
    >>> bound(np.array([100, 1000]), gamma=0.0).round()
    array([ 650., 3070.])
    """
    constants = {"ridge": RIDGE, "delta": DELTA, "context_norm": N_FEATURES**0.5, "theta_norm": 1.0}
    return np.array([fair_linucb_regret_bound(int(t), N_FEATURES, gamma=gamma, **constants) for t in rounds])


def summarise(traces: Mapping[float, Sequence[Trace]]) -> dict[float, RegretSummary]:
    """Compare the regret of every seed with the bound, for each gamma."""
    summaries = {}
    for gamma, of_gamma in traces.items():
        regret = np.array([cumulative_regret(trace) for trace in of_gamma])
        limit = bound(np.arange(1, regret.shape[1] + 1), gamma)
        last = regret[:, -1]
        holds = bool((regret <= limit).all())
        summaries[gamma] = RegretSummary(float(last.mean()), float(last.max()), float(limit[-1]), len(last), holds)
    return summaries


def to_dict(summaries: Mapping[float, RegretSummary]) -> dict[str, Any]:
    """Return the summaries as dictionaries, for JSON."""
    return {f"{gamma:g}": asdict(summary) for gamma, summary in summaries.items()}


def to_csv(summaries: Mapping[float, RegretSummary]) -> str:
    """Return the summaries as CSV; the first line is a comment that names the data."""
    file = io.StringIO()
    file.write(f"# {DATA_SOURCE}\n")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["gamma", "regret_mean", "regret_largest", "bound", "n", "bound_holds"])
    for gamma, summary in summaries.items():
        numbers = [summary.mean, summary.largest, summary.bound, summary.n, summary.bound_holds]
        writer.writerow([f"{gamma:g}", *numbers])
    return file.getvalue()
