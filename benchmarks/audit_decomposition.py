"""Measure how often the intervals of the exposure effect and the within-arm effect cover the truth.

    python benchmarks/audit_decomposition.py [--logs 1000]

Logs have 2, 5 or 50 rewards per arm; the groups are shown arms with different frequencies, and one of them
receives 0.15 more from each arm on average. Printed beside it: the effects as the plain formula gives them, which
counts an arm without rewards of one group as exposure. The exit status is 1 if the coverage is significantly below
95% (one-sided binomial test, level 0.001).
"""

from __future__ import annotations

import argparse
import sys
from typing import NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import binom

from fairbandits.audit import audit

ROWS_PER_ARM = (2, 5, 50)
ARMS = (100, 500)


class EffectOutcome(NamedTuple):
    """What the intervals of one log did."""

    exposure_covered: bool
    within_arm_covered: bool
    within_arm_error: float
    plain_error: float


def measure(rows_per_arm: int, n_arms: int, seed: int) -> EffectOutcome:
    """Audit one log."""
    rng = np.random.default_rng([seed, rows_per_arm, n_arms])
    tilt = rng.normal(0.0, 0.5, n_arms)
    shares = [np.exp(sign * tilt) / np.exp(sign * tilt).sum() for sign in (1.0, -1.0)]
    base = rng.uniform(0.2, 0.6, n_arms) + 0.05 * tilt
    means = [np.clip(base + 0.15 + rng.normal(0.0, 0.05, n_arms), 0.0, 1.0), np.clip(base, 0.0, 1.0)]
    n = rows_per_arm * n_arms // 2
    frames = []
    for group, share, mean in zip(("a", "b"), shares, means, strict=True):
        arm = rng.choice(n_arms, n, p=share)
        frames.append(pd.DataFrame({"group": group, "arm": arm, "reward": (rng.random(n) < mean[arm]) * 1.0}))
    log = pd.concat(frames, ignore_index=True)
    analysis = audit(log, groups=["group"], arm="arm", reward="reward")["group"].analysis
    assert analysis is not None  # noqa: S101
    within = float((shares[0] + shares[1]) @ (means[0] - means[1])) / 2.0
    exposure = float(shares[0] @ means[0] - shares[1] @ means[1]) - within
    # The audit subtracts the group with the lower mean; by chance that may be the first.
    sign = 1.0 if analysis.advantaged.name == "a" else -1.0
    parts = analysis.decomposition
    found = [
        (sign * part.value, *sorted((sign * part.low, sign * part.high)))
        for part in (parts.exposure_effect, parts.within_arm_effect)
    ]
    covered = [low <= true <= high for (_, low, high), true in zip(found, (exposure, within), strict=True)]
    return EffectOutcome(covered[0], covered[1], found[1][0] - within, _plain(log) - within)


def _plain(log: pd.DataFrame) -> float:
    """Return the within-arm effect with arms of one group only counted as exposure."""
    table = log.pivot_table(index="arm", columns="group", values="reward", aggfunc=["count", "mean"])
    counts = table["count"].fillna(0.0)
    weight = (counts / counts.sum()).mean(axis=1)
    return float((weight * (table["mean"]["a"] - table["mean"]["b"])).fillna(0.0).sum())


def main() -> int:
    """Run all cells, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=1_000)
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    failed = False
    print("| arms | rewards per arm | exposure covered | within-arm covered | bias | bias of the plain formula |")
    print("| --- | --- | --- | --- | --- | --- |")
    for n_arms in ARMS:
        for rows in ROWS_PER_ARM:
            found = Parallel(options.jobs)(delayed(measure)(rows, n_arms, seed) for seed in range(options.logs))
            shares = [float(np.mean([outcome[i] for outcome in found])) for i in range(4)]
            failed |= any(binom.cdf(round(share * len(found)), len(found), 0.95) < 0.001 for share in shares[:2])
            cells = f"{shares[0]:.1%} | {shares[1]:.1%} | {shares[2]:+.4f} | {shares[3]:+.4f}"
            print(f"| {n_arms} | {rows} | {cells} |", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
