"""`fairbandits keys`: create, list and revoke keys of the service."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairbandits.cli.console import echo, new_table, print_table
from fairbandits.cli.serve import require_service_extra

if TYPE_CHECKING:
    from fairbandits.service.log.store import Store

keys = typer.Typer(help="Create, list and revoke keys of the service.")

_Config = Annotated[
    Path | None,
    typer.Option("--config", help="Configuration, or saved recommender, of the service; the demo's without one."),
]


@keys.command()
def create(
    name: Annotated[str, typer.Option(help="Name of the owner, for people.")],
    scope: Annotated[str, typer.Option(help="Scopes, separated by commas: decide, reward, read, admin.")],
    config: _Config = None,
) -> None:
    """Create a key and print it; it cannot be shown again."""
    require_service_extra()
    from fairbandits.service.auth import key_store  # noqa: PLC0415 - needs an extra
    from fairbandits.service.auth.keys import make_key  # noqa: PLC0415

    key, token = make_key(name, [part.strip() for part in scope.split(",")], time.time())
    with _store(config, must_exist=False) as store:
        key_store.save_key(store, key)
    echo(token)
    typer.echo(f"key {key.id} for {name}: store it now, it is not shown again", err=True)


@keys.command("list")
def show(config: _Config = None) -> None:
    """List the keys with their scopes and dates."""
    with _store(config) as store:
        from fairbandits.service.auth import key_store  # noqa: PLC0415 - needs an extra

        found = [key for key in key_store.read_keys(store) if key.parent is None]
    if not found:
        echo(
            "There are no keys: everything is allowed from the service's own machine, and nothing from elsewhere."
        )
        return
    listed = new_table("id", "name", "scopes", "created", "revoked")
    for key in found:
        listed.add_row(key.id, key.name, ", ".join(sorted(key.scopes)), _day(key.created), _day(key.revoked))
    print_table(listed)


@keys.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the key, as `list` shows it.")],
    config: _Config = None,
) -> None:
    """Revoke a key; a running service refuses it within seconds."""
    with _store(config) as store:
        from fairbandits.service.auth import key_store  # noqa: PLC0415 - needs an extra

        is_revoked = key_store.revoke_key(store, key_id)
    if not is_revoked:
        raise ValueError(
            f"ID must be that of an active key, got {key_id!r}; `fairbandits keys list` shows the keys"
        )
    echo(f"revoked: {key_id}")


@contextmanager
def _store(path: Path | None, *, must_exist: bool = True) -> Iterator[Store]:
    require_service_extra()
    from fairbandits.service.demo import load_config_or_demo  # noqa: PLC0415 - needs an extra
    from fairbandits.service.log.store import open_store  # noqa: PLC0415

    with open_store(load_config_or_demo(path), must_exist=must_exist) as store:
        yield store


def _day(when: float | None) -> str:
    return "" if when is None else datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d %H:%M")
