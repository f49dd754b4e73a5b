"""Options shared by several commands."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

from fairbandits.cluster import parallel_on

DataOption = Annotated[
    str, typer.Option(help="auto, local (no download), real, stand-in, or a folder that contains the data.")
]
OutOption = Annotated[Path, typer.Option(help="The folder to write to.")]
SeedsOption = Annotated[int | None, typer.Option(help="The number of seeds (default: 20; 3 with --quick).")]
JobsOption = Annotated[int, typer.Option(help="The number of processes; -1 for one per core.")]
QuickOption = Annotated[
    bool, typer.Option("--quick", help="Run a tenth of the rounds, to check that everything works.")
]
ClusterOption = Annotated[
    str | None, typer.Option("--cluster", help="Run on Dask: local, or the address of a scheduler.")
]
CatalogueOption = Annotated[
    Path | None,
    typer.Option(
        help="A file of arms, in any format that LOG can have: their ids, features, and match:GROUP columns."
    ),
]

ConfigArgument = Annotated[
    Path | None,
    typer.Argument(help="Configuration or saved recommender of the service (default: the demo)."),
]

RewardRangeOption = Annotated[
    str, typer.Option(help="The lowest and the highest possible reward.", metavar="LOW,HIGH")
]


def default_seeds(seeds: int | None, quick: bool) -> int:
    """Return the given number of seeds, or the default."""
    return seeds if seeds is not None else 3 if quick else 20


def split_commas(texts: list[str] | None) -> list[str]:
    """Return the values of a repeatable option whose texts are split at commas."""
    return [name.strip() for names in texts or () for name in names.split(",")]


def parse_range(text: str) -> tuple[float, float]:
    """Return the bounds of `--reward-range`."""
    try:
        low, high = (float(bound) for bound in text.split(","))
    except ValueError:
        raise ValueError(f"--reward-range must be two numbers such as 1,5, got {text!r}") from None
    return low, high


def on_cluster(cluster: str | None, jobs: int) -> AbstractContextManager[None]:
    """Return a context in which runs are distributed over the cluster, if one is given."""
    if cluster is not None and jobs != -1:
        raise ValueError(
            f"--jobs must not be given with --cluster, which uses all of its workers, got --jobs {jobs}"
        )
    return parallel_on(cluster)
