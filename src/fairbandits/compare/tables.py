"""The numbers of a comparison, as files."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from fairbandits.compare.cell_sums import label
from fairbandits.compare.suite import PART_TITLES
from fairbandits.compare.summary import PolicySummary, WorldSummary
from fairbandits.report.number_formats import plus_minus

#: What tables show of every policy; the files also hold the reward and the regret of each group.
METRIC_TITLES = {
    "utility_loss": "utility loss",
    "reward_difference": "reward difference",
    "late_difference": "difference, last fifth",
    "worst_off_reward": "worse-off group's reward",
    "reward": "mean reward",
    "below_oracle": "below the oracle",
}


def columns(found: WorldSummary) -> dict[str, str]:
    """Give the metrics of a world's table, and their titles."""
    regrets = {f"regret_{label(group)}": f"regret, {label(group)}" for group in found.groups}
    return METRIC_TITLES | regrets


def cell(row: PolicySummary, metric: str) -> str:
    """Write one number of a table, for a person to read."""
    return plus_minus(*row.numbers[metric]) if metric in row.numbers else "-"


def mean(row: PolicySummary, metric: str) -> str:
    """Write one number without its spread, where there is little room."""
    return f"{row.numbers[metric][0]:.3f}" if metric in row.numbers else "-"


def plain(found: WorldSummary) -> dict[str, Any]:
    """Give what was found in a world as plain mappings."""
    return {
        "about": found.world.about,
        "measured": PART_TITLES[found.world.measured],
        "rounds_measured": found.rounds,
        "groups": {label(group): round(rounds, 6) for group, rounds in found.groups.items()},
        "best": {label(group): _short(reward) for group, reward in found.best.items()},
        "oracle": {
            "reward": None if found.oracle_reward is None else _short(found.oracle_reward),
            "groups": {label(group): _short(reward) for group, reward in (found.oracle or {}).items()},
            "frontier": [{"tolerance": gap, "utility_loss": loss} for gap, loss in found.frontier],
        },
        "policies": {title: _plain_row(row) for title, row in found.rows.items()},
    }


def _plain_row(row: PolicySummary) -> dict[str, Any]:
    numbers = {metric: {"mean": mean, "sd": sd} for metric, (mean, sd) in row.numbers.items()}
    return {**numbers, "front": row.front, "worse_off": row.worse_off}


def _short(number: float) -> float:
    # Solvers agree to so many digits.
    return round(number, 9)


def to_csv(worlds: Mapping[str, WorldSummary], data_source: str, seeds: int) -> str:
    """Write all numbers as CSV, one a line; the first line is a remark that says which data it shows."""
    file = io.StringIO()
    file.write(f"# {data_source}\n")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["world", "policy", "metric", "mean", "sd", "n", "front"])
    for name, found in worlds.items():
        for title, row in found.rows.items():
            for metric, (mean, sd) in row.numbers.items():
                writer.writerow([name, title, metric, mean, sd, seeds, row.front])
    return file.getvalue()


def to_markdown(worlds: Mapping[str, WorldSummary], data_source: str) -> str:
    """Write a table for each world as Markdown."""
    lines = [data_source]
    for name, found in worlds.items():
        heads = columns(found)
        lines += ["", f"## {name}", "", found.world.about, ""]
        lines.append(f"| policy | {' | '.join(heads.values())} | front |")
        lines.append("| --- " * (len(heads) + 2) + "|")
        for title, row in found.rows.items():
            cells = " | ".join(cell(row, metric) for metric in heads)
            lines.append(f"| {title} | {cells} | {row.front} |")
    return "\n".join(lines) + "\n"
