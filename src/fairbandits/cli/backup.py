"""`fairbandits backup` and `fairbandits restore`: back up and restore everything that a service stores."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from fairbandits.cli.console import echo
from fairbandits.cli.options import ConfigArgument
from fairbandits.cli.serve import require_service_extra


def backup(
    config: ConfigArgument = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write; only its owner can read it.")] = Path(
        "fairbandits.backup"
    ),
) -> None:
    """Back up the log, the snapshots, the replies and the keys of a service, which may be running."""
    require_service_extra()
    from fairbandits.service.demo import load_config_or_demo  # noqa: PLC0415 - needs an extra
    from fairbandits.service.lifecycle.backup import back_up  # noqa: PLC0415

    manifest = back_up(load_config_or_demo(config), out)
    echo(f"{out}: {manifest.entries:,} entries, up to entry {manifest.last}; read back and verified")


def restore(
    file: Annotated[Path, typer.Argument(help="File written by `fairbandits backup`.")],
    config: ConfigArgument = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite the store; its current content is lost.")
    ] = False,
) -> None:
    """Restore a backup into the store of a service that is not running."""
    require_service_extra()
    from fairbandits.service.demo import load_config_or_demo  # noqa: PLC0415 - needs an extra
    from fairbandits.service.lifecycle.restore import restore as fill  # noqa: PLC0415

    manifest, kept_revoked = fill(file, load_config_or_demo(config), replace=replace)
    when = datetime.fromtimestamp(manifest.created, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    echo(f"restored: {manifest.entries:,} entries, up to entry {manifest.last}, as of {when}; verified")
    if kept_revoked:
        echo(f"{kept_revoked:,} key(s) remain revoked: they were revoked after the backup was written")
