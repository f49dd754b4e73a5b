"""`fairbandits fairbench`: the benchmark of all policies in 25 worlds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbandits.cli.compare import PoliciesOption, parse_lists, print_files, print_sources
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
from fairbandits.compare.comparison import ComparisonResults
from fairbandits.compare.fairbench import fairbench as run_fairbench
from fairbandits.compare.leaderboard import ranks_by_policy
from fairbandits.compare.policy_specs import DEFAULT, POLICIES
from fairbandits.compare.ranking import rank_policies


def fairbench(
    worlds_: Annotated[
        list[str] | None,
        typer.Option("--worlds", help="Worlds, as for `fairbandits compare` (default: those of FairBench)."),
    ] = None,
    policies: PoliciesOption = None,
    long: Annotated[bool, typer.Option("--long", help="Include the worlds with 100,000 rounds.")] = False,
    seeds: SeedsOption = None,
    jobs: JobsOption = -1,
    cluster: ClusterOption = None,
    out: OutOption = Path("results/fairbench"),
    data: DataOption = "auto",
    quick: QuickOption = False,
) -> None:
    """Run FairBench: a leaderboard of all policies, and a check of the promises about the default policy."""
    make_folder(out)
    worlds = parse_lists(worlds_) or ["fairbench"]
    with on_cluster(cluster, jobs):
        results = run_fairbench(
            out,
            worlds=[*worlds, *(["long"] if long else [])],
            policies=parse_lists(policies) or POLICIES,
            seeds=default_seeds(seeds, quick),
            jobs=jobs,
            data=data,
            quick=quick,
            progress=True,
        )
    _print_leaderboard(results)


def _print_leaderboard(results: ComparisonResults) -> None:
    print_sources(results)
    default = DEFAULT if DEFAULT in results.policies else None
    rankings = rank_policies(results.worlds, results.policies, default)
    table = new_table("average rank", "worst-off", "gap", "reward")
    for title, cells in ranks_by_policy(rankings, results.policies).items():
        table.add_row(title, *cells)
    print_table(table)
    echo("")
    print_files(results)
