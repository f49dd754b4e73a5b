"""Measure what a round costs with the mixture of models: `model="auto"` beside `model="hybrid"`, interleaved.

    python benchmarks/mixture_cost.py

A round of the paper's world chooses a video for a student and learns its reward. The ratio of times is the median
of paired ratios; its 95% confidence interval is a bootstrap over the pairs. A mixture asks the models whose weight
matters: it costs most where all of them predict equally well, which is measured too.
"""

from __future__ import annotations

import argparse

import numpy as np

from fairbandits import LinUCB
from fairbandits.models import MixtureModel
from fairbandits.worlds import StudentsAndVideos
from guard import SpeedRatio
from lock_cost import rounds_of
from timing import Work, seconds_per_call

PAIRS, SECONDS = 200, 0.03
#: The most that a round may cost, in rounds of the hybrid model.
MOST = 2.5


def with_equal_weights(work: Work, model: MixtureModel) -> Work:
    """Return the work of a round in which all models are asked."""

    def even_work() -> None:
        model.losses = np.zeros(len(model.losses))
        model._set_weights()
        work()

    return even_work


def measure(pairs: int, is_even: bool) -> SpeedRatio:
    """Return the speed of the mixture relative to that of the hybrid model."""
    world = StudentsAndVideos(data="stand-in")
    works = {}
    for name in ("hybrid", "auto"):
        policy = LinUCB(model=name, random_state=0)
        works[name] = rounds_of(policy, world)
        seconds_per_call(works[name], 1.0)  # compiles, and learns until arms have matrices
        if name == "auto" and is_even:
            works[name] = with_equal_weights(works[name], policy.reward_model)
    rates: dict[str, list[float]] = {name: [] for name in works}
    for pair in range(pairs):
        for name in sorted(works, reverse=bool(pair % 2)):
            rates[name].append(1.0 / seconds_per_call(works[name], SECONDS))
    return SpeedRatio.of(rates["hybrid"], rates["auto"])


def main() -> None:
    """Measure, print the costs, and exit with 1 if one is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=PAIRS, help="the number of pairs of measurements")
    options = parser.parse_args()
    print(f"{'rounds per second':<24}{'hybrid':>10}{'auto':>10}{'cost':>8}  95% interval")
    costs = []
    for title, is_even in (("as weights come", False), ("all models asked", True)):
        ratio = measure(options.pairs, is_even)
        costs.append(1.0 / ratio.ratio)
        interval = f"[{1.0 / ratio.high:.2f}, {1.0 / ratio.low:.2f}]"
        print(f"{title:<24}{ratio.reference:>10,.0f}{ratio.rate:>10,.0f}{costs[-1]:>8.2f}  {interval}")
    raise SystemExit(max(costs) > MOST)


if __name__ == "__main__":
    main()
