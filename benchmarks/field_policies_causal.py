"""Count the unfair decisions of F-UCB and others, with Adult users and YouTube videos.

    python benchmarks/field_policies_causal.py            # five seeds; about three minutes
    python benchmarks/field_policies_causal.py --seeds 1

The setting resembles that of Huang, Zhang, Wu: Achieving Counterfactual Fairness for Causal Bandit, AAAI 2022:
the same two data sets, 5,000 rounds, and the number of decisions in which the expected reward of the chosen video
differs by more than tau between the user and the user's twin. It is not their experiment, whose reward function
and causal graph are not reproduced here, and no arm is known to be fair from the start. The world is
`StudentsAndVideos` with the curved reward, which depends on the rating of the video, the user's education and
whether user and speaker have the same sex: these columns separate the reward from all others.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from fairbandits import DUCB, FUCB, CounterfactualLinUCB, FairLinUCB, LinUCB, Policy
from fairbandits.worlds import StudentsAndVideos

COLUMNS = StudentsAndVideos.columns
SEPARATORS = tuple(name for name in COLUMNS if name.startswith(("video-rate=", "education=")) or name == "match")
TWINS: dict[str, Any] = {"swap": (("sex=Female", "sex=Male"),), "flip": ("match",), "columns": COLUMNS}
#: From a summary of the paper, not compared with its tables.
PUBLISHED = "F-UCB 0, Fair-LinUCB 2,053 of 5,000"


def policies(tau: float, delta: float, seed: int) -> dict[str, Policy]:
    """Return the compared policies."""
    causal: dict[str, Any] = {"separators": SEPARATORS, "delta": delta, "random_state": seed}
    return {
        "F-UCB": FUCB(**TWINS, **causal, tolerance=tau),
        "D-UCB": DUCB(columns=COLUMNS, **causal),
        "LinUCB": LinUCB(alpha=0.2, random_state=seed),
        "Fair-LinUCB": FairLinUCB(gamma=3.0, alpha=0.2, random_state=seed),
        "CounterfactualLinUCB": CounterfactualLinUCB(**TWINS, tolerance=tau, alpha=0.2, random_state=seed),
    }


def run(policy: Policy, world: StudentsAndVideos, tau: float) -> dict[str, float]:
    """Let a policy decide and learn; return its regret and its unfair decisions.

    For F-UCB also: the decisions for arms that were known to be fair, and how many of these were not.
    """
    counts = dict.fromkeys(("regret", "unfair"), 0.0)
    if isinstance(policy, FUCB):
        counts |= {"known fair": 0.0, "of these unfair": 0.0}
    for visit, twin in world.twins():
        decision = policy.choose(visit.contexts, visit.group)
        at = decision.index
        counts["regret"] += float(visit.expected.max() - visit.expected[at])
        is_unfair = abs(float(visit.expected[at] - twin.expected[at])) > tau + 1e-9
        counts["unfair"] += is_unfair
        if "known fair" in counts and decision.scores.fairness[at] == 0.0:
            counts["known fair"] += 1
            counts["of these unfair"] += is_unfair
        policy.learn(decision, float(visit.rewards[at]))
    return counts


def mean(values: Iterable[float]) -> str:
    """Return a mean with its standard error."""
    found = np.array(list(values), float)
    error = found.std(ddof=1) / math.sqrt(found.size) if found.size > 1 else math.nan
    return f"{found.mean():8.1f} +- {error:5.1f}"


def main() -> None:
    """Print regret and unfair decisions of each policy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--delta", type=float, default=0.5)
    parser.add_argument("--taus", type=float, nargs="+", default=[0.1, 0.2, 0.25])
    given = parser.parse_args()
    print(f"unfair decisions in the paper, with another reward function and tau = 0.1: {PUBLISHED}")
    for tau in given.taus:
        found: dict[str, list[dict[str, float]]] = {}
        for seed in range(given.seeds):
            world = StudentsAndVideos(reward="curved", noise=0.1, random_state=seed)
            for name, policy in policies(tau, given.delta, seed).items():
                found.setdefault(name, []).append(run(policy, world, tau))
        for name, runs in found.items():
            columns = "  ".join(f"{what} {mean(each[what] for each in runs)}" for what in runs[0])
            print(f"tau {tau:4.2f}  {name:22s} {columns}")


if __name__ == "__main__":
    main()
