"""Coverage of the confidence intervals of `fairbandits.ope.evaluate_slates`, on logs whose truth is known.

Each log has users with ten visits each; a visit is a slate of three or five of the arms, with clicks per position.
A user clicks more or less than others, at all visits. Policies rank arms by Plackett-Luce. Whether the headline
interval of each estimator covers the exact value is counted for the mean reward of a slate, overall, for each of
two groups, for the gap between them, and for the difference from the log. The cluster-robust t-interval of the
self-normalised estimator is beside it. In the worlds with a cascade, an arm that users like takes clicks from the
arms below, so that the independent estimator is biased and left out.

Usage: python benchmarks/ope_slate_coverage.py [--logs 200]
"""

from __future__ import annotations

import argparse
import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairbandits.ope import EstimatorResult, SlateProbabilities, ValueEstimate, evaluate_slates
from fairbandits.ope.estimator_sums import EstimatorTerms
from fairbandits.ope.results import Estimate
from fairbandits.ope.slates import estimators as slate_estimators
from fairbandits.ope.slates.results import SLATE_ESTIMATOR_NAMES
from fairbandits.ope.slates.slate_log import SlateLog

Floats = NDArray[np.float64]

N_ARMS, VISITS = 5, 10
GROUPS = ("female", "male")
SHARE_FEMALE = 0.3
# Factors of a user's click rates, equally likely.
ACTIVITY = (0.4, 1.6)
QUANTITIES = ("overall", *GROUPS, "female - male", "minus log")
COLUMNS = {
    name: {event: f"{name}_{event}" for event in ("position", "cascade", "slate")} for name in ("log", "new")
}


@dataclass
class SlateWorld:
    """Click rates and two policies, for all possible slates."""

    n_positions: int
    rate: float
    is_cascade: bool
    probability: dict[str, dict[str, Floats]] = field(init=False)
    #: Of shape (groups, slates, positions)
    clicks: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.slates = np.array(list(itertools.permutations(range(N_ARMS), self.n_positions)))
        preference = {"log": np.array([1.6, 1.2, 1.0, 0.7, 0.5]), "new": np.array([0.5, 0.8, 1.0, 1.5, 1.8])}
        self.probability = {name: self._plackett_luce(weights) for name, weights in preference.items()}
        liking = np.array([[0.6, 0.8, 1.0, 1.2, 1.4], [1.0, 0.9, 1.0, 1.1, 1.2]])
        decay = 1.0 / (1.0 + 0.3 * np.arange(self.n_positions))
        self.clicks = self.rate * liking[:, self.slates] * decay
        if self.is_cascade:
            above = np.cumsum(liking[:, self.slates], axis=2) - liking[:, self.slates]
            self.clicks *= np.exp(-0.3 * above)

    def _plackett_luce(self, weights: Floats) -> dict[str, Floats]:
        chosen = weights[self.slates]
        left = weights.sum() - np.cumsum(chosen, axis=1) + chosen
        cascade = np.cumprod(chosen / left, axis=1)
        slate = np.repeat(cascade[:, -1:], self.n_positions, axis=1)
        marginal = np.zeros((self.n_positions, N_ARMS))
        for position in range(self.n_positions):
            np.add.at(marginal[position], self.slates[:, position], slate[:, 0])
        return {"position": marginal[np.arange(self.n_positions), self.slates], "cascade": cascade, "slate": slate}

    def truth(self) -> dict[str, float]:
        """Return the exact value of each quantity."""
        value = {
            name: probability["slate"][:, 0] @ self.clicks.sum(axis=2).T
            for name, probability in self.probability.items()
        }
        shares = np.array([SHARE_FEMALE, 1.0 - SHARE_FEMALE])
        female, male = value["new"]
        overall = float(value["new"] @ shares)
        found = overall, female, male, female - male, overall - float(value["log"] @ shares)
        return dict(zip(QUANTITIES, found, strict=True))

    def draw(self, users: int, rng: np.random.Generator) -> pd.DataFrame:
        """Draw a log."""
        n = users * VISITS
        group = np.repeat((rng.random(users) > SHARE_FEMALE).astype(int), VISITS)
        activity = np.repeat(rng.choice(ACTIVITY, users), VISITS)
        slate = rng.choice(len(self.slates), n, p=self.probability["log"]["slate"][:, 0])
        rate = self.clicks[group, slate] * activity[:, None]
        columns = {
            "decision": np.repeat(np.arange(n), self.n_positions),
            "position": np.tile(np.arange(self.n_positions), n),
            "arm": self.slates[slate].ravel(),
            "reward": (rng.random(rate.shape) < rate).astype(float).ravel(),
            "user": np.repeat(np.arange(n) // VISITS, self.n_positions),
            "sex": np.repeat(np.array(GROUPS)[group], self.n_positions),
        }
        for name, events in self.probability.items():
            columns |= {COLUMNS[name][event]: values[slate].ravel() for event, values in events.items()}
        return pd.DataFrame(columns)


def quantities(result: EstimatorResult) -> Iterator[tuple[str, Estimate | None]]:
    """Yield the estimate of each quantity."""
    yield "overall", result.value.overall
    yield from ((name, result.value.by_group["sex"][name]) for name in GROUPS)
    yield "female - male", result.gaps[0].estimate if result.gaps else None
    yield "minus log", result.improvement.overall


def t_intervals(frame: pd.DataFrame, estimator: str) -> Iterator[tuple[str, Estimate | None]]:
    """Yield the cluster-robust t-interval of SNIPS, overall, by group and for the gap."""
    log = SlateLog(frame["decision"], frame["position"], frame["reward"])
    event = {"standard": "slate", "reward_interaction": "cascade", "independent": "position"}[estimator]
    probabilities = (frame[COLUMNS[name][event]].to_numpy() for name in ("new", "log"))
    terms = getattr(slate_estimators, f"{estimator}_snips")(log, *probabilities)
    user, sex = (log.per_slate(name, frame[name].to_numpy()) for name in ("user", "sex"))
    found: dict[str, ValueEstimate | None] = {}
    for name in ("overall", *GROUPS):
        members = np.ones(len(sex), bool) if name == "overall" else sex == name
        own = terms.select(members)
        _, number = np.unique(user[members], return_inverse=True)
        columns = own.numerator, own.denominator, own.weight
        sums = [np.bincount(number, values).astype(np.float64) for values in columns]
        found[name] = EstimatorTerms(*sums).estimate()
        yield name, found[name]
    female, male = (found[name] for name in GROUPS)
    yield "female - male", None if female is None or male is None else female.minus(male)


def measure(world: SlateWorld, users: int, logs: int, seed: int = 0) -> Iterator[str]:
    """Yield the lines of a table: coverage in percent, and the median width, of each interval."""
    truth, rng = world.truth(), np.random.default_rng(seed)
    hits: dict[tuple[str, str], dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    widths: dict[tuple[str, str], list[float]] = defaultdict(list)
    effective: dict[str, list[float]] = defaultdict(list)
    names = [name for name in SLATE_ESTIMATOR_NAMES if not (world.is_cascade and name == "independent")]
    new, logged = (SlateProbabilities(**COLUMNS[name]) for name in ("new", "log"))
    for _ in range(logs):
        frame = world.draw(users, rng)
        policy = evaluate_slates(frame, {"new": new}, propensity=logged)["new"]
        for name in names:
            effective[name].append(policy.estimates[name].effective_slates.overall)
            found = {
                "headline": quantities(policy.estimates[name].result),
                "SNIPS, t": t_intervals(frame, name),
            }
            for method, estimates in found.items():
                for quantity, estimate in estimates:
                    if estimate is not None:
                        is_hit = estimate.low <= truth[quantity] <= estimate.high
                        hits[name, method][quantity].append(is_hit)
                        if quantity == "overall":
                            widths[name, method].append(estimate.high - estimate.low)
    for (name, method), covered in hits.items():
        cells = (f"{np.mean(covered[q]):.1%}" if covered[q] else "" for q in QUANTITIES)
        size = f"{np.median(effective[name]):,.0f}"
        width = f"{np.median(widths[name, method]):.4f}"
        yield f"| {SLATE_ESTIMATOR_NAMES[name]} | {method} | {size} | {' | '.join(cells)} | {width} |"


def main() -> None:
    """Measure and print the coverage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--users", type=int, nargs="+", default=[60, 300])
    arguments = parser.parse_args()
    for (n_positions, is_cascade), rate in itertools.product(((3, False), (5, True)), (0.3, 0.02)):
        world = SlateWorld(n_positions, rate, is_cascade)
        for users in arguments.users:
            kind = "cascade" if is_cascade else "independent clicks"
            print(f"\n{n_positions} positions, click rate {rate}, {kind}, {users} users, {VISITS} slates each\n")
            print(f"| estimator | interval | effective slates | {' | '.join(QUANTITIES)} | width |")
            print("| --- | --- |" + " ---: |" * (len(QUANTITIES) + 2))
            print(*measure(world, users, arguments.logs), sep="\n", flush=True)


if __name__ == "__main__":
    main()
