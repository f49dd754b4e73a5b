"""Measure how often the intervals of an off-policy evaluation cover the truth, beside those of other libraries.

    python benchmarks/ope_coverage.py            # 1,000 logs per world; about an hour and a half on two cores
    python benchmarks/ope_coverage.py --quick    # fewer and smaller logs, without other libraries; a minute
    python benchmarks/ope_coverage.py --table    # the table of docs/reference/coverage.md, from the last results

For every log of a world (see ope_worlds.py) `evaluate` estimates the value of a candidate overall, for each group,
and the gaps. Beside the headline stand the skewness-corrected t intervals of the doubly robust estimator and of
SNIPS, and on the first 300 logs (100 if they are large) the bootstrap of obp and the intervals of vw-estimators
(cressieread, clopper_pearson, gaussian), in environments of their own, which pip creates. The gaps of all pairs of
groups must be covered together. Logs for which a method gives no interval do not count for it.

The exit status is 1 if the coverage of the headline is significantly below 95% (one-sided binomial test, level
0.001), if its median width is more than 1.25 times that of the narrowest method that covers by the same test, or
if an estimate is outside the range of rewards. Widths are judged from 1,000 logs on, beside methods that give an
interval for at least half of them. Where the log never shows an arm that the candidate plays, the bounds must
contain the truth in 99% of the logs, and widths are not compared.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import binom

import results
from contenders import ONE_PER_USER, Contender
from environments import python_of
from fairbandits.logs import Log
from fairbandits.ope import ProbabilityColumns, evaluate
from fairbandits.ope.cross_fitting import CrossFittedRidge, assign_folds
from fairbandits.ope.results import Estimate, PolicyEvaluation
from ope_worlds import PREFIX, WITHOUT_OVERLAP, World, worlds

LEVEL, MAX_WIDTH, MIN_LOGS, MIN_CONTAINED = 0.001, 1.25, 1_000, 0.99
# Logs with more rows are large.
SMALL = 10_000
HEADLINE = "headline"
#: The methods of the table; the first one is judged.
METHODS = (HEADLINE, "DR t", "SNIPS t", "obp DR", "obp SNIPS", "vw CR", "vw CP", "vw Gauss")
ESTIMATORS = {"likelihood": HEADLINE, "doubly_robust": "DR t", "snips": "SNIPS t"}
QUICK = ("benign", "heavy-tailed weights", "20 visits per user", "few successes or none", "an arm never shown")
PEERS = {
    "obp": Contender(
        "obp", "obp", "", "", ONE_PER_USER, pins=("numpy==2.4.6", "scikit-learn==1.9.1"), bare=("obp==0.5.7",)
    ),
    "vw": Contender(
        "vw-estimators", "vw_estimators", "estimators", "", ONE_PER_USER,
        pins=("vw-estimators==0.2.2", "numpy==2.4.6", "scipy==1.17.1"),
    ),
}  # fmt: skip

# Whether a method covers a quantity, and its width; None without an interval.
Outcome = tuple[bool, float] | None


def measure(world: World, seed: int) -> dict[str, dict[str, Outcome]]:
    """Return what the intervals of one log do, by quantity and method."""
    log = Log.open(world.draw(np.random.default_rng(seed)), world.roles())
    [policy] = evaluate(log, ProbabilityColumns(PREFIX)).policies
    truth = world.truth()
    found: dict[str, dict[str, Outcome]] = {}
    for estimator, method in ESTIMATORS.items():
        estimates = _estimates(policy, estimator)
        for quantity in ("value", *world.groups):
            outcome = _outcome(estimates.get(quantity), truth[quantity], (0.0, 1.0), method == HEADLINE)
            found.setdefault(quantity, {})[method] = outcome
        gaps = [
            _outcome(estimates.get(pair), truth[pair], (-1.0, 1.0), method == HEADLINE) for pair in world.pairs
        ]
        found.setdefault("gap", {})[method] = _joint(gaps)
    return found


def _estimates(policy: PolicyEvaluation, estimator: str) -> dict[str, Estimate | None]:
    result = policy.estimates[estimator]
    gaps: dict[str, Estimate | None] = {f"{gap.first} - {gap.second}": gap.estimate for gap in result.gaps}
    gaps |= {f"{gap.second} - {gap.first}": gap.estimate.negated() for gap in result.gaps}
    return {
        "value": result.value.overall,
        **gaps,
        **{str(k): v for k, v in result.value.by_group["group"].items()},
    }


def _outcome(estimate: Estimate | None, truth: float, bounds: tuple[float, float], is_checked: bool) -> Outcome:
    if estimate is None:
        return None
    if is_checked and not bounds[0] <= estimate.low <= estimate.value <= estimate.high <= bounds[1]:
        raise AssertionError(f"estimate must be within its bounds and the range {bounds}, got {estimate}")
    return bool(estimate.low <= truth <= estimate.high), estimate.high - estimate.low


def _joint(gaps: list[Outcome]) -> Outcome:
    """Return whether all gaps are covered, and their mean width."""
    known = [gap for gap in gaps if gap is not None]
    if len(known) < len(gaps):
        return None
    return all(covered for covered, _ in known), float(np.mean([width for _, width in known]))


# -- other libraries -----------------------------------------------------------------------------------------


def measure_peers(world: World, logs: int) -> list[dict[str, dict[str, Outcome]]]:
    """Return what the intervals of other libraries do on the first logs."""
    truth = world.truth()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(logs):
            np.savez(Path(folder) / f"{seed:05}.npz", **_arrays(world, seed))
        worker = str(Path(__file__).parent / "ope_peers.py")
        running = [
            subprocess.Popen([str(python_of(contender)), worker, peer, folder])
            for peer, contender in PEERS.items()
        ]
        statuses = [process.wait() for process in running]
        if any(statuses):
            raise RuntimeError("other libraries could not be measured; see their messages above")
        found = [json.loads((Path(folder) / f"{peer}.json").read_text()) for peer in PEERS]
    outcomes: list[dict[str, dict[str, Outcome]]] = []
    for of_log in zip(*found, strict=True):
        outcomes.append({quantity: {} for quantity in ("value", *world.groups)})
        for of_peer in of_log:
            for quantity, intervals in zip(outcomes[-1], of_peer, strict=True):
                for method, (low, high) in intervals.items():
                    outcomes[-1][quantity][method] = bool(low <= truth[quantity] <= high), high - low
    return outcomes


def _arrays(world: World, seed: int) -> dict[str, Any]:
    """Return a log as arrays, with the predictions of the reward model of `evaluate` by fold and kind."""
    frame, kind = world.draw_with_kinds(np.random.default_rng(seed))
    features = np.column_stack([np.ones(len(world.group)), np.eye(len(world.groups))[world.group], world.features])
    folds = 5
    fold = assign_folds(np.arange(len(frame)), folds)
    model = CrossFittedRidge(world.mean.shape[1], features.shape[1], folds)
    arm, reward = frame["arm"].to_numpy(), frame["reward"].to_numpy()
    model.learn(features[kind], arm, reward, fold)
    model.solve()
    predictions = np.stack([model.predict(features, np.full(len(features), number)) for number in range(folds)])
    columns = {"arm": arm, "reward": reward, "propensity": frame["propensity"].to_numpy()}
    columns |= {"kind": kind, "fold": fold, "group": world.group[kind], "n_groups": len(world.groups)}
    return columns | {"candidate": world.candidate, "predictions": predictions}


# -- results -------------------------------------------------------------------------------------------------


def summarise(outcomes: list[dict[str, dict[str, Outcome]]]) -> dict[str, dict[str, dict[str, float]]]:
    """Return the number of logs, the number covered and the median width, by quantity and method."""
    summary: dict[str, dict[str, dict[str, float]]] = {}
    for quantity in outcomes[0]:
        for method in outcomes[0][quantity]:
            known = [each for outcome in outcomes if (each := outcome[quantity][method]) is not None]
            if known:
                width = float(np.median([width for _, width in known]))
                figures = {"logs": len(known), "covered": sum(covered for covered, _ in known), "width": width}
                summary.setdefault(quantity, {})[method] = figures | {"silent": len(outcomes) - len(known)}
    return summary


def failure(title: str, quantity: str, methods: dict[str, dict[str, float]]) -> str:
    """Return what is wrong with the headline: LOW, WIDE or nothing."""
    head = methods[HEADLINE]
    if quantity in WITHOUT_OVERLAP.get(title, ()):
        return "LOW" if head["covered"] < MIN_CONTAINED * head["logs"] else ""
    if not _covers(head):
        return "LOW"
    compared = [each["width"] for each in methods.values() if _covers(each) and each["silent"] <= each["logs"]]
    is_wide = head["width"] > MAX_WIDTH * min(compared)
    return "WIDE" if is_wide and head["logs"] >= MIN_LOGS else ""


def _covers(figures: dict[str, float]) -> bool:
    return not binom.cdf(figures["covered"], figures["logs"], 0.95) < LEVEL


def table(cells: dict[str, Any]) -> str:
    """Return the table of the documentation: coverage and median width of each method."""
    lines = [
        "| world | quantity | " + " | ".join(METHODS) + " | |",
        "| --- | --- |" + " ---: |" * len(METHODS) + " --- |",
    ]
    for title, quantities in cells.items():
        for quantity, methods in quantities.items():
            entries = (_entry(methods.get(method)) for method in METHODS)
            lines.append(
                f"| {title} | {quantity} | " + " | ".join(entries) + f" | {failure(title, quantity, methods)} |"
            )
    return "\n".join(lines)


def _entry(figures: dict[str, float] | None) -> str:
    if figures is None:
        return ""
    return f"{figures['covered'] / figures['logs']:.1%}, {figures['width']:.2g}"


def main() -> int:
    """Measure all worlds, save the results and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, help="logs per world (default: 1,000, or 100 with --quick)")
    parser.add_argument("--peer-logs", type=int, help="logs per world for other libraries (default: 100 to 300)")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--worlds", nargs="*", choices=worlds(), help="measure only these")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--table", action="store_true", help="print the last results and measure nothing")
    options = parser.parse_args()
    if options.table:
        cells = results.read()["ope_coverage"]
        print(table({title: cells[title] for title in worlds() if title in cells}))
        return 0
    logs = options.logs or (100 if options.quick else 1_000)
    cells = {}
    with Parallel(n_jobs=options.jobs) as parallel:
        for title in options.worlds or (QUICK if options.quick else worlds()):
            world = worlds()[title]
            cells[title] = summarise(parallel(delayed(measure)(world, seed) for seed in range(logs)))
            peer_logs = options.peer_logs
            if peer_logs is None:
                peer_logs = 0 if options.quick else 300 if world.rows <= SMALL else 100
            if peer_logs:
                for quantity, methods in summarise(measure_peers(world, min(logs, peer_logs))).items():
                    cells[title][quantity] |= methods
            print(table({title: cells[title]}), flush=True)
            if logs >= MIN_LOGS:
                results.save("ope_coverage", results.read().get("ope_coverage", {}) | {title: cells[title]})
    failures = [failure(title, *item) for title, cell in cells.items() for item in cell.items()]
    return int(any(failures))


if __name__ == "__main__":
    sys.exit(main())
