"""`fairbandits export`: export the log of a service, or what it has learned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairbandits.cli.console import echo
from fairbandits.cli.options import ConfigArgument
from fairbandits.cli.serve import require_service_extra


def export(
    out: Annotated[
        Path, typer.Argument(help="File to write: .parquet or .csv for the log, .safetensors for the recommender.")
    ],
    config: ConfigArgument = None,
) -> None:
    """Export a service: its log for audit, evaluate and fit, or its recommender with all that it has learned."""
    require_service_extra()
    from fairbandits.service.demo import load_config_or_demo  # noqa: PLC0415 - needs an extra
    from fairbandits.service.export import export as write  # noqa: PLC0415
    from fairbandits.service.export import export_recommender  # noqa: PLC0415

    served = load_config_or_demo(config)
    if out.suffix == ".safetensors":
        recommender = export_recommender(served, out)
        rewards = recommender.policy.rounds_learned
        echo(f"{out}: {len(recommender.items):,} item(s), {rewards:,} decision(s) learned")
        return
    n_rows = write(served, out)
    echo(f"{out}: {n_rows:,} row(s)")
