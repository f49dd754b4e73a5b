"""Measure how often intervals cover the value of the policy that tuning has chosen.

    python benchmarks/tuning_coverage.py            # 400 logs per world; about fifteen minutes on two cores
    python benchmarks/tuning_coverage.py --quick    # 20 logs per world

On every log, `tune` tries 31 selections of features, chooses the one with the highest estimated reward, and
evaluates it on held-out users. The truth is the value of the fitted policy that was chosen, which is known
exactly. The textbook's interval is that of the chosen policy on the users for which it was chosen. The exit status
is 1 if the held-out intervals cover the truth significantly less often than in 95% of the logs (one-sided binomial
test, level 0.001).
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import binom

from fairbandits import NaiveLinUCB
from fairbandits.contexts.context_encoder import encoder_in
from fairbandits.logs import Log
from fairbandits.policies import Policy
from fairbandits.tuning import tune

LEVEL = 0.001
FEATURES = 5
# Every selection of features but none at all; the first feature of a context is a constant.
GRID = {"drop": [[1 + k for k in range(FEATURES) if number >> k & 1] for number in range(2**FEATURES - 1)]}
METHODS = ("textbook", "held out")


@dataclass(frozen=True)
class World:
    """Kinds of users with known mean rewards; the logging policy is uniform.

    Attributes
    ----------
    title : str
        The name in tables.
    spread : float
        How much the mean rewards differ: the less, the more the choice depends on chance.
    arms, rows : int
        The sizes.
    """

    title: str
    spread: float
    arms: int
    rows: int

    def means(self, seed: int) -> Any:
        """Return the mean rewards of arms by kind: a kind of user is a combination of features."""
        return 0.3 + self.spread * np.random.default_rng([7, seed]).random((2**FEATURES, self.arms))

    def draw(self, seed: int) -> pd.DataFrame:
        """Return a log."""
        rng = np.random.default_rng([8, seed])
        kind, arm = rng.integers(2**FEATURES, size=self.rows), rng.integers(self.arms, size=self.rows)
        reward = (rng.random(self.rows) < self.means(seed)[kind, arm]).astype(float)
        columns = dict(zip(CONTEXTS, _bits()[kind].T, strict=True))
        return pd.DataFrame({"arm": arm, "reward": reward, "propensity": 1.0 / self.arms, **columns})

    def value(self, policy: Policy, seed: int) -> float:
        """Return the true mean reward of a policy; kinds are equally frequent."""
        encoder = encoder_in(policy.metadata)
        assert encoder is not None  # noqa: S101 - for mypy
        users = encoder.users.encode_rows([dict(zip(CONTEXTS, bits, strict=True)) for bits in _bits().tolist()])
        contexts = np.repeat(users[:, None], self.arms, axis=1)
        chosen = policy.probabilities(contexts, arms=range(self.arms))
        return float((chosen * self.means(seed)).sum(axis=1).mean())


def _bits() -> Any:
    """Return the features of all kinds of users."""
    return (np.arange(2**FEATURES)[:, None] >> np.arange(FEATURES) & 1).astype(float)


CONTEXTS = [f"x{k}" for k in range(FEATURES)]
WORLDS = (
    World("all arms are alike", 0.0, arms=5, rows=4_000),
    World("arms differ a little", 0.1, arms=5, rows=4_000),
    World("arms differ much", 0.5, arms=5, rows=4_000),
    World("20 arms", 0.1, arms=20, rows=10_000),
)


def measure(world: World, seed: int) -> dict[str, tuple[bool, float, float]]:
    """Return for both methods whether the interval covers the truth, its width, and the error of the estimate."""
    log = Log.open(world.draw(seed), arm="arm", reward="reward", propensity="propensity", contexts=CONTEXTS)
    result = tune(NaiveLinUCB(alpha=0.0, random_state=0), GRID, log)
    assert result.fitted_policy is not None and result.held_out is not None  # noqa: S101, PT018 - for mypy
    truth = world.value(result.fitted_policy, seed)
    found = {}
    for method, figures in zip(METHODS, (result.trials[0].figures, result.held_out), strict=True):
        low, high = figures["reward_low"], figures["reward_high"]
        found[method] = bool(low <= truth <= high), high - low, figures["reward"] - truth
    return found


def main() -> int:
    """Measure, print the table, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=int, default=400)
    parser.add_argument("--quick", action="store_true", help="20 logs per world")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--worlds", nargs="+", choices=[world.title for world in WORLDS], help="only these")
    options = parser.parse_args()
    logs = 20 if options.quick else options.logs
    print("| world | interval | coverage of 95% intervals | mean width | mean error of the estimate |")
    print("| --- | --- | ---: | ---: | ---: |")
    failed = False
    for world in WORLDS if options.worlds is None else [each for each in WORLDS if each.title in options.worlds]:
        outcomes = Parallel(n_jobs=options.jobs)(delayed(measure)(world, seed) for seed in range(logs))
        for method in METHODS:
            covered, width, error = zip(*(outcome[method] for outcome in outcomes), strict=True)
            low = method == METHODS[1] and binom.cdf(sum(covered), logs, 0.95) < LEVEL
            failed |= bool(low)
            print(
                f"| {world.title} | {method} | {sum(covered) / logs:.1%}{' LOW' if low else ''} | "
                f"{np.mean(width):.3f} | {np.mean(error):+.4f} |",
                flush=True,
            )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
