"""`fairbandits reproduce`: reproduce the paper's tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    split_commas,
)
from fairbandits.paper import theory
from fairbandits.paper.experiments import EXPERIMENTS, TITLES, row_title
from fairbandits.paper.reproduction import ReproductionResults
from fairbandits.paper.reproduction import reproduce as reproduce_paper
from fairbandits.paper.tables import METRIC_TITLES, format_measured, labelled_entries


def reproduce(
    seeds: SeedsOption = None,
    only: Annotated[
        list[str] | None, typer.Option(help=f"Experiments, separated by commas: {', '.join(EXPERIMENTS)}.")
    ] = None,
    jobs: JobsOption = -1,
    cluster: ClusterOption = None,
    out: OutOption = Path("results"),
    data: DataOption = "auto",
    quick: QuickOption = False,
) -> None:
    """Reproduce the paper: all tables and figures, with published and measured numbers, and a report."""
    make_folder(out)
    with on_cluster(cluster, jobs):
        results = reproduce_paper(
            out,
            seeds=default_seeds(seeds, quick),
            only=split_commas(only),
            jobs=jobs,
            data=data,
            quick=quick,
            progress=True,
        )
    _print_results(results)


def _print_results(results: ReproductionResults) -> None:
    for name, entries in results.tables.items():
        table = new_table("", "published", "measured", "")
        previous = None
        for item in labelled_entries(name, entries, results.paper_sized):
            if item.row != previous:
                table.add_row(row_title(item.row))
            previous = item.row
            entry = item.entry
            if entry.published is not None or item.metric == "worst_off_reward":
                published = "" if entry.published is None else f"{entry.published:.3f}"
                title = f"  {METRIC_TITLES[item.metric]}"
                table.add_row(title, published, format_measured(entry), item.agreement)
        echo(f"{results.data_source}\n{TITLES[name]}")
        print_table(table)
        echo("")
    if results.theory:
        _print_theory(results)
    if not results.paper_sized:
        echo("These runs are shorter than the paper's; do not compare the numbers.")
    echo(f"written: {results.folder / 'results.json'}, {results.folder / 'report.html'}, figures and CSV files")


def _print_theory(results: ReproductionResults) -> None:
    table = new_table("", "regret, mean", "largest", "bound", "bound holds")
    for gamma, regret in results.theory.items():
        holds = "yes" if regret.bound_holds else "NO"
        numbers = (f"{regret.mean:.1f}", f"{regret.largest:.1f}", f"{regret.bound:,.0f}")
        table.add_row(f"gamma {gamma:g}", *numbers, holds)
    echo(f"{theory.DATA_SOURCE}\n{TITLES['theory']}")
    print_table(table)
    echo("")
