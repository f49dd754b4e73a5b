"""`fairbandits fit`: train a policy on a log."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from fairbandits import registry
from fairbandits.cli.console import echo
from fairbandits.cli.log_options import reads_log
from fairbandits.cli.options import CatalogueOption, ClusterOption
from fairbandits.logs import Log, read_arms
from fairbandits.logs import fit as fit_policy


@reads_log
def fit(
    log: Log,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write the policy to.")] = Path(
        "policy.safetensors"
    ),
    policy: Annotated[str, typer.Option(help="Name(parameter=value,...), or module:Class(...).")] = "FairLinUCB",
    catalogue: CatalogueOption = None,
    seed: Annotated[int, typer.Option(help="The random seed of the policy.")] = 0,
    cluster: ClusterOption = None,
) -> None:
    """Train a policy on a log and write it to a file."""
    untrained = registry.make_policy(policy, seed)
    if not out.parent.is_dir():
        raise ValueError(f"--out must be in an existing folder, got {out}; create the folder first")
    if out.is_dir():
        raise ValueError(f"--out must be a file, got the folder {out}")
    table = None if catalogue is None else read_arms(catalogue, log)
    start = time.perf_counter()
    fitted = fit_policy(log, untrained, table=table, cluster=cluster)
    seconds = time.perf_counter() - start
    fitted.recommender.save(out)
    rows = fitted.learned + fitted.skipped
    echo(f"{log.name}: {fitted.learned:,} decisions learned, {fitted.skipped:,} skipped (no reward)")
    echo(f"{rows:,} rows in {seconds:.2f} s, {rows / seconds:,.0f} rows/s")
    if log.roles.groups:
        echo(str(fitted.policy.groups))
    echo(f"written: {out}, {out.stat().st_size:,} bytes")
