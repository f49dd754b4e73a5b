"""Measured regret against the bound of Theorem 1.

The theorem speaks of rewards that are linear in the contexts, one model shared by all arms, the alpha of
Lemma 1, and a ridge of at least max(1, L^2). A `LinearWorld` meets all of it: its contexts lie in [0, 1]^d, so
L^2 = d, and its coefficients are not negative and sum to 1, so M = 1.
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
class Regret:
    """What one gamma came to at the end of the run.

    Parameters
    ----------
    mean, largest : float
        The regret, over the seeds.
    bound : float
        What Theorem 1 allows.
    n : int
        How many seeds.
    kept : bool
        Whether every seed stayed below the bound at every round.
    """

    mean: float
    largest: float
    bound: float
    n: int
    kept: bool


def runs(seeds: int, rounds: int) -> dict[float, list[Run]]:
    """Say what to simulate, by gamma."""
    world = {"n_arms": N_ARMS, "n_features": N_FEATURES, "rounds": rounds, "noise": NOISE}
    policy = {"alpha": "theory", "ridge": RIDGE, "model": "shared", "delta": DELTA, "theta_norm": 1.0}
    return {
        gamma: [Run(FairLinUCB, LinearWorld, seed, {"gamma": gamma, **policy}, world) for seed in range(seeds)]
        for gamma in GAMMAS
    }


def regret(trace: Trace) -> NDArray[np.float64]:
    """Give the regret after each round."""
    return np.cumsum(trace.best - trace.expected)


def bound(rounds: NDArray[np.int64], gamma: float) -> NDArray[np.float64]:
    """Give the bound of Theorem 1 after each of some numbers of rounds.

    Examples
    --------
    >>> bound(np.array([100, 1000]), gamma=0.0).round()
    array([ 650., 3070.])
    """
    setting = {"ridge": RIDGE, "delta": DELTA, "context_norm": N_FEATURES**0.5, "theta_norm": 1.0}
    found = [fair_linucb_regret_bound(int(t), N_FEATURES, gamma=gamma, **setting) for t in rounds]
    return np.array(found)


def sum_up(traces: Mapping[float, Sequence[Trace]]) -> dict[float, Regret]:
    """Compare the regret of every seed with the bound, by gamma."""
    found = {}
    for gamma, of_gamma in traces.items():
        measured = np.array([regret(trace) for trace in of_gamma])
        allowed = bound(np.arange(1, measured.shape[1] + 1), gamma)
        last = measured[:, -1]
        kept = bool((measured <= allowed).all())
        found[gamma] = Regret(float(last.mean()), float(last.max()), float(allowed[-1]), len(last), kept)
    return found


def plain(found: Mapping[float, Regret]) -> dict[str, Any]:
    """Give the comparison as plain mappings."""
    return {f"{gamma:g}": asdict(line) for gamma, line in found.items()}


def to_csv(found: Mapping[float, Regret]) -> str:
    """Write the comparison as CSV; the first line is a remark that says which data it shows."""
    file = io.StringIO()
    file.write(f"# {DATA_SOURCE}\n")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["gamma", "regret_mean", "regret_largest", "bound", "n", "kept"])
    for gamma, line in found.items():
        writer.writerow([f"{gamma:g}", line.mean, line.largest, line.bound, line.n, line.kept])
    return file.getvalue()
