"""Options that several commands have."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

from fairbandits.cluster import runs_on

DataOption = Annotated[
    str, typer.Option(help="auto, local (no download), real, standin, or a folder that holds the data.")
]
OutOption = Annotated[Path, typer.Option(help="The folder to write to.")]
SeedsOption = Annotated[int | None, typer.Option(help="How many seeds (default: 20; 3 with --quick).")]
JobsOption = Annotated[int, typer.Option(help="How many processes; -1 for one per core.")]
QuickOption = Annotated[bool, typer.Option("--quick", help="A tenth of the rounds, to see that all works.")]
ClusterOption = Annotated[
    str | None, typer.Option("--cluster", help="Run on Dask: local, or the address of a scheduler.")
]
CatalogueOption = Annotated[
    Path | None,
    typer.Option(help="What is known of arms: ids, features, and match:GROUP columns; a file as LOG is."),
]


def as_seeds(seeds: int | None, quick: bool) -> int:
    """Say how many seeds are meant."""
    return seeds if seeds is not None else 3 if quick else 20


def by_comma(texts: list[str] | None) -> list[str]:
    """Split what was given once with commas, or several times without."""
    return [name.strip() for names in texts or () for name in names.split(",")]


def on_cluster(cluster: str | None, jobs: int) -> AbstractContextManager[None]:
    """Let seeds run on a cluster, where one is named."""
    if cluster is not None and jobs != -1:
        raise ValueError(
            f"--jobs {jobs} and --cluster {cluster} came; give one: a cluster uses all of its workers"
        )
    return runs_on(cluster)
