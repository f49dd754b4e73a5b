"""The numbers of a comparison, as JSON, CSV and Markdown."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from typing import Any

from fairbandits.compare.subgroups import group_label
from fairbandits.compare.suite import LAST_FIFTH, PART_TITLES
from fairbandits.compare.summary import PolicySummary, WorldSummary
from fairbandits.report.number_formats import json_number, plus_minus
from fairbandits.statistics.seed_intervals import t_interval

#: The columns of tables; the files also contain the reward and the burden of each group.
METRIC_TITLES = {
    "utility_loss": "utility loss",
    "reward_gap": "reward gap",
    "late_gap": "reward gap, last fifth",
    "worst_off_reward": "worst-off group's reward",
    "reward": "mean reward",
    "below_oracle": "below the oracle",
}
#: The columns of a second table.
FURTHER_TITLES = {
    "reward_ratio": "lowest / highest group mean",
    "nash_welfare": "Nash welfare",
    "alpha_fair_welfare": "alpha-fair welfare",
    "exposure_gini": "Gini of exposure",
    "arms_shown": "arms shown",
    "violation": "time above the tolerance",
    "exploration_burden": "highest exploration burden",
}
#: The measures whose values in every seed are in `results.json`, for paired comparisons; null where undefined.
_PER_SEED = ("reward_gap", "worst_off_reward", "reward", "utility_loss")


def main_columns(summary: WorldSummary) -> dict[str, str]:
    """Return the metrics of a world's first table, and their titles."""
    # If the last fifth is the measured part, its gap is already in the table.
    left_out = "late_gap" if summary.world.measured == LAST_FIFTH else ""
    return {metric: title for metric, title in METRIC_TITLES.items() if metric != left_out}


def columns(summary: WorldSummary) -> dict[str, str]:
    """Return the metrics of a world's table in Markdown, and their titles."""
    regrets = {f"regret_{group_label(group)}": f"regret, {group_label(group)}" for group in summary.groups}
    return main_columns(summary) | regrets


def format_metric(policy: PolicySummary, metric: str) -> str:
    """Format a metric as mean ± standard deviation; "-" if it is undefined."""
    return plus_minus(*policy.metrics[metric]) if metric in policy.metrics else "-"


def interval(policy: PolicySummary, metric: str) -> tuple[float, float] | None:
    """Return the 95% confidence interval of a metric (Student's t over seeds); None with fewer than two seeds."""
    return t_interval([value for value in policy.values[metric] if math.isfinite(value)])


def format_mean(policy: PolicySummary, metric: str) -> str:
    """Format the mean of a metric; "-" if it is undefined."""
    return f"{policy.metrics[metric][0]:.3f}" if metric in policy.metrics else "-"


def to_dict(summary: WorldSummary) -> dict[str, Any]:
    """Return the summary of a world as nested dictionaries, for JSON."""
    return {
        "description": summary.world.description,
        "measured": PART_TITLES[summary.world.measured],
        "is_identifiable": summary.world.is_identifiable,
        "rounds_measured": summary.rounds,
        "data_source": summary.data_source,
        "groups": {group_label(group): round(rounds, 6) for group, rounds in summary.groups.items()},
        "small_groups": {group_label(group): round(rounds, 6) for group, rounds in summary.small_groups.items()},
        "best": {group_label(group): _rounded(reward) for group, reward in summary.best.items()},
        "best_gap": _rounded(summary.best_gap),
        "oracle": {
            "reward": None if summary.oracle_reward is None else _rounded(summary.oracle_reward),
            "groups": {group_label(group): _rounded(reward) for group, reward in (summary.oracle or {}).items()},
            "gap_on_same_users": _rounded(summary.oracle_gap),
            "smallest_gap": _rounded(summary.smallest_gap),
            "frontier": [{"tolerance": gap, "utility_loss": loss} for gap, loss in summary.frontier],
        },
        "policies": {title: _policy_to_dict(policy) for title, policy in summary.policies.items()},
        "not_applicable": dict(summary.not_applicable),
    }


def _policy_to_dict(policy: PolicySummary) -> dict[str, Any]:
    metrics = {
        metric: {"mean": mean, "sd": sd, "ci95": _rounded_pair(interval(policy, metric))}
        for metric, (mean, sd) in policy.metrics.items()
    }
    per_seed = {
        metric: [json_number(_rounded(value)) for value in policy.values[metric]]
        for metric in _PER_SEED
        if metric in policy.metrics
    }
    gap, error = policy.pooled_gap
    return {
        **metrics,
        "pooled_gap": {"value": _rounded(gap), "se": None if error is None else _rounded(error)},
        "front": policy.front,
        "worst_off_note": policy.worst_off_note,
        "per_seed": per_seed,
    }


def _rounded_pair(bounds: tuple[float, float] | None) -> list[float] | None:
    return None if bounds is None else [_rounded(bound) for bound in bounds]


def _rounded(number: float) -> float:
    # Solvers of different versions agree to about this many digits.
    return round(number, 9)


def to_csv(worlds: Mapping[str, WorldSummary], data_source: str) -> str:
    """Return all numbers as CSV, one per line; the first line is a comment that names the data.

    `n` is the number of seeds in which the measure is defined.
    """
    file = io.StringIO()
    file.write(f"# {data_source}\n")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["world", "policy", "metric", "mean", "sd", "n", "front", "ci95_low", "ci95_high"])
    for name, summary in worlds.items():
        for title, policy in summary.policies.items():
            for metric, (mean, sd) in policy.metrics.items():
                bounds: list[Any] = _rounded_pair(interval(policy, metric)) or [None, None]
                n = sum(map(math.isfinite, policy.values[metric]))
                writer.writerow([name, title, metric, mean, sd, n, policy.front, *bounds])
    return file.getvalue()


def to_markdown(worlds: Mapping[str, WorldSummary], data_source: str) -> str:
    """Return a Markdown table for each world."""
    lines = [data_source, "", "± is the standard deviation over seeds."]
    for name, summary in worlds.items():
        titles = columns(summary)
        lines += ["", f"## {name}", "", summary.world.description, ""]
        lines.append(f"| policy | {' | '.join(titles.values())} | front |")
        lines.append("| --- " * (len(titles) + 2) + "|")
        for title, policy in summary.policies.items():
            cells = " | ".join(format_metric(policy, metric) for metric in titles)
            lines.append(f"| {title} | {cells} | {policy.front} |")
        lines += [f"| {title} | {'not applicable | ' * (len(titles) + 1)}" for title in summary.not_applicable]
    return "\n".join(lines) + "\n"
