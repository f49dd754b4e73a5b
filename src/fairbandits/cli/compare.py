"""`fairbandits compare`: compare policies over a suite of worlds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbandits import registry
from fairbandits.cli.console import echo, make_folder, new_table, print_table
from fairbandits.cli.options import (
    ClusterOption,
    DataOption,
    JobsOption,
    OutOption,
    QuickOption,
    SeedsOption,
    default_seeds,
    on_cluster,
)
from fairbandits.compare import tables
from fairbandits.compare.comparison import ComparisonResults
from fairbandits.compare.comparison import compare as compare_policies
from fairbandits.compare.policy_specs import POLICIES
from fairbandits.compare.suite_worlds import WORLD_SETS, WORLDS

PoliciesOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Policies, separated by commas: Name, Name(parameter=value,...), module:Class(...) (default: all)."
    ),
]


def compare(
    worlds_: Annotated[
        list[str] | None,
        typer.Option(
            "--worlds",
            help=f"Worlds, separated by commas: {', '.join(WORLDS)}; {', '.join(WORLD_SETS)}; "
            "Name(parameter=value,...), module:Class(...) (default: short).",
        ),
    ] = None,
    policies: PoliciesOption = None,
    seeds: SeedsOption = None,
    jobs: JobsOption = -1,
    cluster: ClusterOption = None,
    tolerance: Annotated[
        float,
        typer.Option(
            help="The tolerated reward gap between groups, for the oracle and the report. Policies have their "
            "own: EvenLinUCB(tolerance=0.02)."
        ),
    ] = 0.01,
    out: OutOption = Path("results/compare"),
    data: DataOption = "auto",
    quick: QuickOption = False,
) -> None:
    """Compare policies in a suite of worlds, with an oracle as reference; write tables, figures and a report."""
    make_folder(out)
    with on_cluster(cluster, jobs):
        results = compare_policies(
            out,
            worlds=parse_lists(worlds_),
            policies=parse_lists(policies) or POLICIES,
            seeds=default_seeds(seeds, quick),
            jobs=jobs,
            tolerance=tolerance,
            data=data,
            quick=quick,
            progress=True,
        )
    _print_comparison(results)


def parse_lists(texts: list[str] | None) -> list[str]:
    """Return the values of a repeatable option whose texts are split at commas outside brackets."""
    return [item for text in texts or () for item in registry.split_list(text)]


def print_sources(results: ComparisonResults) -> None:
    """Print the source of the data, and the worlds that were skipped."""
    echo(results.data_source)
    for name, reason in results.skipped.items():
        echo(f"skipped: {name} ({reason})")


def print_files(results: ComparisonResults) -> None:
    """Print the files that were written."""
    echo(f"written: {results.folder / 'report.html'}, results.json, compare.csv, compare.md and figures")


def _print_comparison(results: ComparisonResults) -> None:
    print_sources(results)
    for name, summary in results.worlds.items():
        table = new_table("", "loss", "gap", "worst-off", "below oracle", "front")
        for title, policy in summary.policies.items():
            metrics = ("utility_loss", "reward_gap", "worst_off_reward", "below_oracle")
            table.add_row(title, *(tables.format_mean(policy, metric) for metric in metrics), policy.front)
        for title in summary.not_applicable:
            table.add_row(title, *["-"] * 4, "not applicable")
        echo(f"{name}: {summary.world.description}")
        print_table(table)
        echo("")
    print_files(results)
