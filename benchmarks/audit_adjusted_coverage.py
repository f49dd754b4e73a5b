"""Measure how often the intervals of ratios, adjusted gaps and exposure cover the truth.

    python benchmarks/audit_adjusted_coverage.py               # 1,000 logs per cell; about an hour on two cores
    python benchmarks/audit_adjusted_coverage.py --logs 100

A log counts as covered if all intervals of the analysis contain the truth together. The cells are:

- ratios of five groups to the one with the highest mean, for frequent and rare rewards and for scores above the
median; - adjusted gaps where factors explain the whole raw gap, a part of it, or where it is reversed (Simpson's
paradox), by
  standardisation over strata and by doubly robust adjustment for a number;
- the number of arms and the Gini coefficient of two groups of different size with the same exposure.

The exit status is 1 if the coverage of a cell is significantly below 95% (one-sided binomial test, level 0.001).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import binom

from fairbandits.audit import audit
from fairbandits.audit.intervals import IntervalEstimate

LEVEL = 0.001
# The difference between women and men with the same factors, by kind of log.
TRUE_DIFFERENCES = {"explained": 0.0, "partly explained": -0.06, "reversed": 0.06}


def draw_factors_log(kind: str, n_users: int, visits: int, rng: np.random.Generator) -> pd.DataFrame:
    """Draw a log in which men have more of what is rewarded: education and age."""
    is_male = rng.random(n_users) < 0.5
    education = rng.random(n_users) < np.where(is_male, 0.7, 0.3)
    age = np.clip(rng.normal(np.where(is_male, 42.0, 38.0), 10.0), 20.0, 60.0)
    mean = 0.25 + 0.3 * education + 0.004 * (age - 40.0) + TRUE_DIFFERENCES[kind] * ~is_male
    mean += rng.uniform(-0.1, 0.1, n_users) * (visits > 1)
    user = np.repeat(np.arange(n_users), visits)
    return pd.DataFrame(
        {
            "user": user,
            "arm": rng.integers(5, size=user.size),
            "reward": (rng.random(user.size) < mean[user]).astype(float),
            "sex": np.where(is_male, "male", "female")[user],
            "education": np.where(education, "high", "low")[user],
            "age": age[user],
            "age group": np.where(age < 35.0, "young", np.where(age < 45.0, "middle", "old"))[user],
        }
    )


def adjusted_covers(kind: str, given: tuple[str, ...], truth: float, n_users: int, visits: int, seed: int) -> bool:
    """Return whether the adjusted gap covers the truth."""
    rng = np.random.default_rng([seed, n_users, visits])
    log = draw_factors_log(kind, n_users, visits, rng)
    result = audit(log, user="user", groups=["sex"], given=list(given), reference="male")["sex"]
    assert result.adjusted is not None  # noqa: S101
    return _contains(result.adjusted.groups[0].adjusted, truth)


def strata_truth(kind: str) -> float:
    """Return the difference within strata, where men are still older than women of the same age group."""
    log = draw_factors_log(kind, 2_000_000, 1, np.random.default_rng(1))
    table = log.groupby(["education", "age group", "sex"])["reward"].agg(["mean", "size"]).unstack()
    weight = table["size"].sum(axis=1) / table["size"].to_numpy().sum()
    return float((weight * (table["mean"]["female"] - table["mean"]["male"])).sum())


def ratios_cover(rate: float, n_users: int, visits: int, seed: int) -> bool:
    """Return whether the ratios to the reference group and the impact ratios cover the truth."""
    rng = np.random.default_rng([seed, n_users, visits])
    rates = rate * np.linspace(0.7, 1.0, 5)
    group = rng.integers(5, size=n_users)
    own = rng.beta(9.0 * rates[group], 9.0 * (1.0 - rates[group])) if visits > 1 else rates[group]
    user = np.repeat(np.arange(n_users), visits)
    reward = (rng.random(user.size) < own[user]).astype(float)
    log = pd.DataFrame({"user": user, "arm": 0, "reward": reward, "group": group[user]})
    result = audit(log, user="user", groups=["group"], reference="4", impact_ratios=True)["group"]
    truth = dict(enumerate(rates))
    pairs = []
    if result.reference is not None:
        pairs += [(each.group, result.reference.reference, each.ratio) for each in result.reference.groups]
    if result.impact is not None and (first := result.impact.most_selected) is not None:
        pairs += [(each.group, first, each.ratio) for each in result.impact.categories]
    return all(
        _contains(ratio, truth[int(compared.labels[0])] / truth[int(reference.labels[0])])
        for compared, reference, ratio in pairs
        if not np.isnan(ratio.low)
    )


def scores_cover(n_users: int, seed: int) -> bool:
    """Return whether impact ratios of scores cover the truth."""
    from scipy.special import ndtr  # noqa: PLC0415 - slow to import

    rng = np.random.default_rng([seed, n_users])
    is_second = rng.random(n_users) < 0.3
    reward = np.clip(rng.normal(0.5 - 0.05 * is_second, 0.1), 0.0, 1.0)
    log = pd.DataFrame({"arm": 0, "reward": reward, "group": np.where(is_second, "b", "a")})
    result = audit(log, groups=["group"], impact_ratios=True)["group"].impact
    assert result is not None  # noqa: S101
    assert result.most_selected is not None  # noqa: S101
    # The median of the mixture: 0.7 P(a > m) + 0.3 P(b > m) = 0.5.
    grid = np.linspace(0.4, 0.6, 200_001)
    above = 1.0 - ndtr((grid - 0.5) / 0.1), 1.0 - ndtr((grid - 0.45) / 0.1)
    at = int(np.argmin(np.abs(0.7 * above[0] + 0.3 * above[1] - 0.5)))
    truth = above[1][at] / above[0][at]
    [ratio] = [each.ratio for each in result.categories if each.group.name == "b"]
    return _contains(ratio, truth if result.most_selected.name == "a" else 1.0)


def exposure_covers(n_arms: int, n_users: tuple[int, int], visits: int, seed: int) -> bool:
    """Return whether no group with the same exposure is found to be shown more arms, or more concentrated ones."""
    rng = np.random.default_rng([seed, n_arms, visits])
    popularity = 1.0 / np.arange(1, n_arms + 1)
    group = np.repeat(["a", "b"], n_users)
    user = np.repeat(np.arange(group.size), visits)
    favourite = rng.choice(n_arms, group.size, p=popularity / popularity.sum())
    arm = rng.choice(n_arms, user.size, p=popularity / popularity.sum())
    # Half of the decisions of returning users repeat the favourite arm.
    arm = np.where((rng.random(user.size) < 0.5) & (visits > 1), favourite[user], arm)
    log = pd.DataFrame({"user": user, "arm": arm, "reward": rng.random(user.size), "group": group[user]})
    result = audit(log, user="user", groups=["group"], reference="a")["group"].exposure
    assert result is not None  # noqa: S101
    return _contains(result.groups[0].arms_difference, 0.0) and _contains(result.groups[0].gini_difference, 0.0)


def _contains(estimate: IntervalEstimate, truth: float) -> bool:
    return bool(estimate.low <= truth <= estimate.high)


def cells() -> dict[str, Callable[[int], bool]]:
    """Return the cells by name: functions of a seed."""
    found: dict[str, Callable[[int], bool]] = {}
    for rate in (0.5, 0.05):
        for n_users, visits in ((1_000, 1), (5_000, 1), (1_000, 10)):
            found[f"ratios, rate {rate}, {n_users:,} x {visits}"] = partial(ratios_cover, rate, n_users, visits)
    for n_users in (200, 2_000):
        found[f"scores, {n_users:,}"] = partial(scores_cover, n_users)
    for kind, difference in TRUE_DIFFERENCES.items():
        truths = {("education", "age group"): strata_truth(kind), ("education", "age"): difference}
        for given, truth in truths.items():
            for n_users, visits in ((500, 1), (2_000, 1), (400, 10)):
                name = f"{kind} given {' and '.join(given)}, {n_users:,} x {visits}"
                found[name] = partial(adjusted_covers, kind, given, truth, n_users, visits)
    for n_arms, sizes, visits in ((100, (2_000, 300), 1), (1_000, (2_000, 1_000), 1), (100, (500, 50), 20)):
        found[f"exposure, {n_arms:,} arms, {sizes} x {visits}"] = partial(exposure_covers, n_arms, sizes, visits)
    return found


def main() -> int:
    """Run all cells, and print their coverage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=1_000, help="logs per cell")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--only", default="", help="cells whose name contains this")
    options = parser.parse_args()
    failed = False
    with Parallel(n_jobs=options.jobs) as parallel:
        for name, covers in cells().items():
            if options.only not in name:
                continue
            hits = sum(parallel(delayed(covers)(seed) for seed in range(options.logs)))
            is_low = bool(binom.cdf(hits, options.logs, 0.95) < LEVEL)
            failed |= is_low
            print(f"{hits / options.logs:6.1%}  {name}{'  LOW' if is_low else ''}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
