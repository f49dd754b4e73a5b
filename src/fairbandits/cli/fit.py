"""`fairbandits fit`: a policy that starts warm."""

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
    seed: Annotated[int, typer.Option(help="Where the randomness of the policy comes from.")] = 0,
    cluster: ClusterOption = None,
) -> None:
    """Teach a policy a log, and write it to a file: it starts warm."""
    made = registry.make_policy(policy, seed)
    if not out.parent.is_dir():
        raise ValueError(f"--out {out}: its folder does not exist; make it first")
    if out.is_dir():
        raise ValueError(f"--out {out}: it is a folder; name a file in it")
    table = None if catalogue is None else read_arms(catalogue, log)
    start = time.perf_counter()
    fitted = fit_policy(log, made, table=table, cluster=cluster)
    seconds = time.perf_counter() - start
    fitted.policy.save(out)
    rows = fitted.learned + fitted.skipped
    echo(f"{log.name}: {fitted.learned:,} decisions learned, {fitted.skipped:,} skipped for they have no reward")
    echo(f"{rows:,} rows in {seconds:.2f} s, {rows / seconds:,.0f} rows/s")
    if log.roles.groups:
        echo(str(fitted.policy.groups))
    echo(f"written: {out}, {out.stat().st_size:,} bytes")
