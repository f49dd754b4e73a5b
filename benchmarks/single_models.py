"""Measure how far `model="auto"` is below the best single model with the same terms, in every world of FairBench.

    python benchmarks/single_models.py              # 20 seeds; about forty minutes on two cores
    python benchmarks/single_models.py --quick      # a tenth of the rounds and 3 seeds, to see that it works

Runs that `make fairbench` has cached are not repeated. The reward is the mean over the last fifth of the rounds,
and differences are paired over seeds. The exit status is 1 if `auto` is more than 0.005 below in a world.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from fairbandits.compare.fairbench import fairbench
from fairbandits.compare.paired import compare_pair
from fairbandits.compare.summary import WorldSummary

AUTO = "EvenLinUCB"
SINGLE = (
    "EvenLinUCB(model=disjoint)",
    "EvenLinUCB(model=shared)",
    "EvenLinUCB(model=hybrid)",
    "EvenLinUCB(model=Model(kind=shared, discount=0.99))",
)
#: The most reward by which `auto` may be below the best single model.
MOST = 0.005


def reuse(cache: Path, own: Path) -> None:
    """Copy the cached runs of FairBench, if there are any."""
    if cache.is_dir():
        own.mkdir(parents=True, exist_ok=True)
        for path in cache.iterdir():
            if not (own / path.name).exists():
                shutil.copy2(path, own / path.name)


def below_best(summary: WorldSummary) -> tuple[str, float, tuple[float, float] | None]:
    """Return the best single model, how far `auto` is below it, and the 95% confidence interval of that."""
    best = max(SINGLE, key=lambda title: summary.policies[title].metrics["reward"][0])
    of_best, of_auto = (summary.policies[title].values["reward"] for title in (best, AUTO))
    difference = compare_pair(of_best, of_auto, "reward")
    return best, difference.difference, difference.interval


def main() -> int:
    """Measure, print a table, and return 1 if `auto` is too far below in a world."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("results/single_models"), help="where to write")
    parser.add_argument("--jobs", type=int, default=-1, help="the number of processes; -1 for one per core")
    parser.add_argument("--seeds", type=int, default=20, help="the number of seeds; with --quick there are 3")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rounds and 3 seeds")
    options = parser.parse_args()
    if not options.quick:
        reuse(Path("results/fairbench/cache"), options.out / "cache")
    results = fairbench(
        options.out,
        policies=[AUTO, *SINGLE],
        seeds=3 if options.quick else options.seeds,
        jobs=options.jobs,
        quick=options.quick,
        progress=True,
    )
    print("| world | auto | best single model | below it | 95% confidence interval |")
    print("| --- | --- | --- | --- | --- |")
    worst = 0.0
    for name, summary in results.worlds.items():
        best, below, interval = below_best(summary)
        reward = summary.policies[AUTO].metrics["reward"][0]
        bounds = "" if interval is None else f"{interval[0]:+.4f} to {interval[1]:+.4f}"
        print(f"| {name} | {reward:.4f} | `{best}` | {below:+.4f} | {bounds} |")
        worst = max(worst, below)
    print(f"at most {worst:.4f} below the best single model (limit {MOST})")
    return int(worst > MOST and not options.quick)


if __name__ == "__main__":
    sys.exit(main())
