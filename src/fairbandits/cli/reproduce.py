"""`fairbandits reproduce`: the paper, published beside measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
from fairbandits.paper import theory
from fairbandits.paper.experiments import EXPERIMENTS, TITLES, row_title
from fairbandits.paper.reproduce import ReproductionResults
from fairbandits.paper.reproduce import reproduce as reproduce_paper
from fairbandits.paper.tables import METRIC_TITLES, lines, measured


def reproduce(
    seeds: SeedsOption = None,
    only: Annotated[
        list[str] | None, typer.Option(help=f"Experiments, by comma: {', '.join(EXPERIMENTS)}.")
    ] = None,
    jobs: JobsOption = -1,
    cluster: ClusterOption = None,
    out: OutOption = Path("results"),
    data: DataOption = "auto",
    quick: QuickOption = False,
) -> None:
    """Reproduce the paper: every table and figure, published beside measured, and a report."""
    make_folder(out)
    with on_cluster(cluster, jobs):
        results = reproduce_paper(
            out,
            seeds=as_seeds(seeds, quick),
            only=by_comma(only),
            jobs=jobs,
            data=data,
            quick=quick,
            progress=True,
        )
    _print_results(results)


def _print_results(results: ReproductionResults) -> None:
    for name, found in results.tables.items():
        shown = table("", "published", "ours", "")
        before = None
        for line in lines(name, found, results.paper_sized):
            if line.row != before:
                shown.add_row(row_title(line.row))
            before = line.row
            if line.cell.published is not None or line.metric == "worst_off_reward":
                published = "" if line.cell.published is None else f"{line.cell.published:.3f}"
                shown.add_row(f"  {METRIC_TITLES[line.metric]}", published, measured(line.cell), line.verdict)
        say(f"{results.data_source}\n{TITLES[name]}")
        console().print(shown, "")
    if results.theory:
        _print_theory(results)
    if not results.paper_sized:
        say("These runs are shorter than the paper's: they show that all works, and compare with nothing.")
    say(f"written: {results.folder / 'results.json'}, {results.folder / 'report.html'}, figures and CSVs")


def _print_theory(results: ReproductionResults) -> None:
    shown = table("", "regret, mean", "largest", "bound", "kept")
    for gamma, line in results.theory.items():
        kept = "yes" if line.kept else "NO"
        shown.add_row(f"gamma {gamma:g}", f"{line.mean:.1f}", f"{line.largest:.1f}", f"{line.bound:,.0f}", kept)
    say(f"{theory.DATA_SOURCE}\n{TITLES['theory']}")
    console().print(shown, "")
