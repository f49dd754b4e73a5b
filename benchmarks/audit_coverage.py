"""Measure how often the fixed-sample intervals of an audit cover the truth, beside the textbook interval.

    python benchmarks/audit_coverage.py               # 1,000 logs per cell; about half an hour on two cores
    python benchmarks/audit_coverage.py --logs 50 --quick

A cell is a kind of traffic (independent rows; 20 visits per user; visits by Zipf's law), a number of groups, a
rate of rewards and a number of rows. In half of the logs all groups have the same mean, in the others their means
differ by a fifth. A log counts as covered if all its reported intervals contain the truth together: the means of
all groups, their gap, and both in every window of time. The textbook interval is `mean +- t se` with the same
clusters (CR1, as many degrees of freedom as users less one) and the same multiplicity correction.

The exit status is 1 if the coverage of a cell is significantly below 95% (one-sided binomial test, level 0.001),
or if the intervals are more than 1.15 times as wide as textbook intervals that cover (in cells where at least half
of the logs have enough data for a comparison: the others are a biased selection). Widths are judged from 1,000
logs on.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.stats import binom
from scipy.stats import t as student

from fairbandits.audit import audit
from fairbandits.audit.fixed_sample import WEIGHTS
from fairbandits.audit.results import Comparison
from fairbandits.statistics.multiplicity import divide_error, sidak

TRAFFIC = ("independent", "20 visits", "Zipf")
GROUPS = (2, 5, 20)
RATES = (0.5, 0.05, 0.004)
ROWS = (200, 2_000, 10_000, 50_000)
# The correlation of the rewards of a user.
CORRELATION = 0.1
LEVEL = 0.001
MAX_WIDTH, MIN_LOGS = 1.15, 1_000
# How the audit divides its error probability. The textbook intervals of means and of the gap get the same shares.
SHARES = divide_error(0.05, WEIGHTS)
NOMINAL = 1.0 - SHARES["gap"] - SHARES["means"]


class Cell(NamedTuple):
    """One kind of log."""

    traffic: str
    n_groups: int
    rate: float
    rows: int


class Outcome(NamedTuple):
    """What the intervals of one log did."""

    covered: bool
    textbook_covered: bool
    width: float
    textbook_width: float
    too_few: float


def draw_log(cell: Cell, rng: np.random.Generator, rates: NDArray[np.float64]) -> pd.DataFrame:
    """Draw a log; users of a group have individual rates around that of the group."""
    parts = []
    per_group = cell.rows // cell.n_groups
    for group, rate in enumerate(rates):
        if cell.traffic == "independent":
            visits = np.ones(per_group, int)
            own = np.full(per_group, rate)
        else:
            visits = _visits(cell.traffic, per_group, rng)
            strength = 1.0 / CORRELATION - 1.0
            own = rng.beta(rate * strength, (1.0 - rate) * strength, visits.size)
        user = np.repeat(np.arange(visits.size), visits)
        parts.append(
            pd.DataFrame(
                {
                    "user": user * cell.n_groups + group,
                    "group": f"group {group:02}",
                    "arm": rng.integers(5, size=user.size),
                    "reward": (rng.random(user.size) < own[user]).astype(float),
                }
            )
        )
    return pd.concat(parts).sample(frac=1.0, random_state=rng, ignore_index=True)


def _visits(traffic: str, rows: int, rng: np.random.Generator) -> NDArray[Any]:
    if traffic == "20 visits":
        return np.full(max(rows // 20, 1), 20)
    weights = 1.0 / np.arange(1, max(rows // 5, 1) + 1)
    visits = rng.multinomial(rows, weights / weights.sum())
    return visits[visits > 0]


def measure(cell: Cell, seed: int) -> Outcome:
    """Audit one log."""
    rng = np.random.default_rng([seed, *(hash(part) % 2**32 for part in (cell.n_groups, cell.rows))])
    spread = 0.0 if seed % 2 else 0.2
    rates = cell.rate * (1.0 + spread * np.linspace(0.0, 1.0, cell.n_groups))
    log = draw_log(cell, rng, rates)
    [comparison] = audit(log, user="user", groups=["group"], arm="arm", reward="reward").comparisons
    truth = {f"group {group:02}": rate for group, rate in enumerate(rates)}
    too_few = len(comparison.too_small) / cell.n_groups
    if comparison.analysis is None:
        return Outcome(_means_cover(comparison, truth), True, np.nan, np.nan, too_few)
    covered = _means_cover(comparison, truth) and _gaps_cover(comparison, truth)
    textbook_covered, textbook_width = _textbook(log, comparison, truth)
    width = float(np.mean([group.high - group.low for group in comparison.compared]))
    return Outcome(covered, textbook_covered, width, textbook_width, too_few)


def _means_cover(comparison: Comparison, truth: dict[str, float]) -> bool:
    return all(group.low <= truth[group.name] <= group.high for group in comparison.compared)


def _gaps_cover(comparison: Comparison, truth: dict[str, float]) -> bool:
    analysis = comparison.analysis
    assert analysis is not None  # noqa: S101
    true_means = [truth[group.name] for group in analysis.groups]
    covered = analysis.gap.low <= max(true_means) - min(true_means) <= analysis.gap.high
    if analysis.history is None or analysis.recent is None:
        return covered
    history = analysis.history
    expected = np.array([truth[group.name] for group in history.groups])
    usable = ~np.isnan(history.means.low)
    inside = (history.means.low <= expected) & (expected <= history.means.high) | ~usable
    for window, gap in enumerate((*history.gaps, analysis.recent)):
        if gap.conclusion != "too small":
            among = expected[usable[min(window, history.windows.n - 1)]]
            covered &= gap.gap.low <= among.max() - among.min() <= gap.gap.high
    return covered and bool(inside.all())


def _textbook(log: pd.DataFrame, comparison: Comparison, truth: dict[str, float]) -> tuple[bool, float]:
    """Return whether textbook intervals of means and differences cover, and the mean width of the former."""
    users = log.groupby(["group", "user"])["reward"].agg(["size", "sum"])
    names = [group.name for group in comparison.compared]
    means, errors, freedom = [], [], []
    for name in names:
        part = users.loc[name]
        n, mean = part["size"].sum(), part["sum"].sum() / part["size"].sum()
        residual = part["sum"] - mean * part["size"]
        means.append(mean)
        freedom.append(len(part) - 1)
        errors.append(np.sqrt(len(part) / (len(part) - 1) * (residual**2).sum()) / n)
    mean, error, true = np.array(means), np.array(errors), np.array([truth[name] for name in names])
    dof = np.array(freedom)
    quantile = student.isf(sidak(SHARES["means"], len(names)) / 2.0, dof)
    covered = bool((np.abs(mean - true) <= quantile * error).all())
    i, j = np.triu_indices(len(names), 1)
    of_gaps = student.isf(sidak(SHARES["gap"], len(i)) / 2.0, dof[i] + dof[j])
    wrong = np.abs((mean[i] - mean[j]) - (true[i] - true[j])) > of_gaps * np.hypot(error[i], error[j])
    return covered and not wrong.any(), float(np.mean(2.0 * quantile * error))


def report(cell: Cell, outcomes: list[Outcome]) -> tuple[list[str], bool]:
    """Return a row of the table, and whether the cell fails."""
    n = len(outcomes)
    coverage = sum(outcome.covered for outcome in outcomes) / n
    compared = [outcome for outcome in outcomes if not np.isnan(outcome.width)]
    is_low = bool(binom.cdf(round(coverage * n), n, 0.95) < LEVEL)
    textbook = ratio = np.nan
    if compared:
        hits = sum(outcome.textbook_covered for outcome in compared)
        textbook = hits / len(compared)
        ratio = float(np.median([o.width for o in compared]) / np.median([o.textbook_width for o in compared]))
        covers = not binom.cdf(hits, len(compared), NOMINAL) < LEVEL
    # With few logs, nothing shows that the textbook does not cover.
    is_judged = n >= MIN_LOGS and len(compared) >= n / 2
    is_wide = bool(is_judged and covers and ratio > MAX_WIDTH)
    cells = [cell.traffic, str(cell.n_groups), f"{cell.rate:g}", f"{cell.rows:,}", f"{coverage:.1%}"]
    cells += ["" if np.isnan(textbook) else f"{textbook:.1%}", "" if np.isnan(ratio) else f"{ratio:.2f}"]
    few = np.mean([outcome.too_few for outcome in outcomes])
    return [*cells, f"{few:.0%}", "LOW" if is_low else "WIDE" if is_wide else ""], is_low or is_wide


def main() -> int:
    """Run all cells, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=1_000, help="logs per cell")
    parser.add_argument("--quick", action="store_true", help="small logs only")
    parser.add_argument("--traffic", nargs="*", default=TRAFFIC, choices=TRAFFIC)
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    rows = ROWS[:2] if options.quick else ROWS
    table = Table("traffic", "groups", "rate", "rows", "covered", "textbook", "width / textbook's", "too few", "")
    failed = False
    with Parallel(n_jobs=options.jobs) as parallel:
        for cell in itertools.starmap(Cell, itertools.product(options.traffic, GROUPS, RATES, rows)):
            outcomes = parallel(delayed(measure)(cell, seed) for seed in range(options.logs))
            row, is_failed = report(cell, outcomes)
            failed |= is_failed
            table.add_row(*row)
            print("  ".join(row), flush=True)
    Console(width=120).print(table)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
