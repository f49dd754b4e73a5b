"""`fairbandits export`: export the log, the recommender or the data of a user of a service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairbandits.cli.console import echo
from fairbandits.cli.forget_user import pseudonym_of
from fairbandits.cli.options import ConfigArgument
from fairbandits.cli.serve import require_service_extra
from fairbandits.storage import private_file, remove_abandoned

if TYPE_CHECKING:
    from fairbandits.service.config import Config


def export(
    out: Annotated[
        Path, typer.Argument(help="File to write: .parquet or .csv for the log, .safetensors for the recommender.")
    ],
    config: ConfigArgument = None,
    user: Annotated[
        str | None, typer.Option(help="Id of a user: export everything stored about this user, as .json.")
    ] = None,
) -> None:
    """Export data of a service: its log (for audit, evaluate and fit), its recommender, or the data of a user."""
    require_service_extra()
    from fairbandits.service.demo import load_config_or_demo  # noqa: PLC0415 - needs an extra
    from fairbandits.service.export import export as write  # noqa: PLC0415
    from fairbandits.service.export import export_recommender, pruned_note  # noqa: PLC0415

    served = load_config_or_demo(config)
    if user is not None:
        _export_user(out, served, user)
        return
    if out.suffix == ".safetensors":
        recommender = export_recommender(served, out)
        rewards = recommender.policy.rounds_learned
        echo(f"{out}: {len(recommender.items):,} item(s), {rewards:,} decision(s) learned")
        return
    n_rows = write(served, out)
    echo(f"{out}: {n_rows:,} row(s)")
    if note := pruned_note(served):
        echo(note)


def _export_user(out: Path, config: Config, user: str) -> None:
    from fairbandits.service.lifecycle.erasure import export_user  # noqa: PLC0415 - needs an extra

    if out.suffix != ".json":
        raise ValueError(f"OUT must end with .json if --user is given, got {out}")
    remove_abandoned(out)
    held = export_user(config, pseudonym_of(user, config))
    with private_file(out) as temporary:
        temporary.write_text(json.dumps(held, indent=2, ensure_ascii=False), encoding="utf-8")
    echo(f"{out}: {len(held['decisions']):,} decision(s)")
