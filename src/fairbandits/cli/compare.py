"""`fairbandits compare`: policies over a suite of worlds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbandits import registry
from fairbandits.cli.console import console, make_folder, say, table
from fairbandits.cli.options import (
    ClusterOption,
    DataOption,
    JobsOption,
    OutOption,
    QuickOption,
    SeedsOption,
    as_seeds,
    by_comma,
    on_cluster,
)
from fairbandits.compare import tables
from fairbandits.compare.comparison import ComparisonResults
from fairbandits.compare.comparison import compare as compare_policies
from fairbandits.compare.contenders import POLICIES
from fairbandits.compare.suite import WORLDS


def compare(
    worlds_: Annotated[
        list[str] | None,
        typer.Option(
            "--worlds", help=f"By comma: {', '.join(WORLDS)}; or paper, short, long, all (default: short)."
        ),
    ] = None,
    policies: Annotated[
        list[str] | None,
        typer.Option(help="By comma: Name, Name(parameter=value,...), module:Class(...) (default: all)."),
    ] = None,
    seeds: SeedsOption = None,
    jobs: JobsOption = -1,
    cluster: ClusterOption = None,
    tolerance: Annotated[float, typer.Option(help="How large a difference between groups is tolerated.")] = 0.01,
    out: OutOption = Path("results/compare"),
    data: DataOption = "auto",
    quick: QuickOption = False,
) -> None:
    """Compare policies over a suite of worlds, beside what an oracle could do: tables, figures, a report."""
    make_folder(out)
    with on_cluster(cluster, jobs):
        results = compare_policies(
            out,
            worlds=by_comma(worlds_),
            policies=[text for texts in policies for text in registry.split_outside(texts)]
            if policies
            else POLICIES,
            seeds=as_seeds(seeds, quick),
            jobs=jobs,
            tolerance=tolerance,
            data=data,
            quick=quick,
            progress=True,
        )
    _print_comparison(results)


def _print_comparison(results: ComparisonResults) -> None:
    say(results.data_source)
    for name, found in results.worlds.items():
        shown = table("", "loss", "difference", "worse-off", "below oracle", "front")
        for title, row in found.rows.items():
            metrics = ("utility_loss", "reward_difference", "worst_off_reward", "below_oracle")
            shown.add_row(title, *(tables.mean(row, metric) for metric in metrics), row.front)
        say(f"{name}: {found.world.about}")
        console().print(shown, "")
    say(f"written: {results.folder / 'report.html'}, results.json, compare.csv, compare.md and figures")
