"""`fairbandits keys`: who may call the service, and for what."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairbandits.cli.console import echo, new_table, print_table
from fairbandits.cli.serve import need_service

if TYPE_CHECKING:
    from fairbandits.service.log import Store

keys = typer.Typer(help="Make, list and revoke the keys with which the service is called.", no_args_is_help=True)

_Config = Annotated[
    Path | None, typer.Option("--config", help="The configuration of the service; left out, that of the demo.")
]


@keys.command()
def create(
    name: Annotated[str, typer.Option(help="Whose key it is, for people.")],
    scope: Annotated[str, typer.Option(help="What for: decide, reward, read, admin; several by commas.")],
    config: _Config = None,
) -> None:
    """Make a key; it is shown this once."""
    with _store(config) as store:
        from fairbandits.service.auth import key_store  # noqa: PLC0415 - needs an extra
        from fairbandits.service.auth.keys import make_key  # noqa: PLC0415

        key, token = make_key(name, [part.strip() for part in scope.split(",")], time.time())
        key_store.keep_key(store, key)
    echo(token)
    typer.echo(f"key {key.id} for {name}: keep it now, it is not shown again", err=True)


@keys.command("list")
def show(config: _Config = None) -> None:
    """List the keys: who has one, for what, since when."""
    with _store(config) as store:
        from fairbandits.service.auth import key_store  # noqa: PLC0415 - needs an extra

        found = [key for key in key_store.read_keys(store) if key.parent is None]
    if not found:
        echo("There are no keys: whoever is on the service's machine may do everything, and nobody else anything.")
        return
    listed = new_table("id", "name", "scopes", "made", "revoked")
    for key in found:
        listed.add_row(key.id, key.name, ", ".join(sorted(key.scopes)), _day(key.created), _day(key.revoked))
    print_table(listed)


@keys.command()
def revoke(
    identity: Annotated[str, typer.Argument(metavar="ID", help="The id of the key, as `list` shows it.")],
    config: _Config = None,
) -> None:
    """Revoke a key; a service that runs refuses it within seconds."""
    with _store(config) as store:
        from fairbandits.service.auth import key_store  # noqa: PLC0415 - needs an extra

        is_revoked = key_store.revoke_key(store, identity)
    if not is_revoked:
        raise ValueError(f"there is no key {identity!r} that could be revoked; `fairbandits keys list` shows them")
    echo(f"revoked: {identity}")


@contextmanager
def _store(path: Path | None) -> Iterator[Store]:
    need_service()
    from fairbandits.service.demo import read_config  # noqa: PLC0415 - needs an extra
    from fairbandits.service.log.opening import opened  # noqa: PLC0415

    with opened(read_config(path)) as store:
        yield store


def _day(when: float | None) -> str:
    return "" if when is None else datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d %H:%M")
