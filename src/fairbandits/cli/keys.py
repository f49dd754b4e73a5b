"""`fairbandits keys`: create, list, rotate and revoke the keys of a service."""

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

keys = typer.Typer(help="Create, list, rotate and revoke the keys of a service.")

_Config = Annotated[
    Path | None,
    typer.Option("--config", help="Configuration or saved recommender of the service (default: the demo)."),
]


@keys.command()
def create(
    name: Annotated[str, typer.Option(help="Name of the owner, for display.")],
    scope: Annotated[str, typer.Option(help="Scopes, separated by commas: decide, reward, read, admin.")],
    expires: Annotated[
        str | None, typer.Option(help="Time after which the key expires, such as 90d (default: never).")
    ] = None,
    config: _Config = None,
) -> None:
    """Create a key and print it; it cannot be shown again."""
    require_service_extra()
    from fairbandits.service.auth import key_store  # noqa: PLC0415 - needs an extra
    from fairbandits.service.auth.keys import make_key  # noqa: PLC0415
    from fairbandits.service.durations import parse_duration  # noqa: PLC0415

    now = time.time()
    until = None if expires is None else now + parse_duration(expires, "--expires")
    key, token = make_key(name, [part.strip() for part in scope.split(",")], now, until)
    with _store(config, must_exist=False) as store:
        key_store.save_key(store, key)
    echo(token)
    ends = "" if until is None else f", expires {_day(until)} UTC"
    typer.echo(f"key {key.id} for {name}{ends}: store it now, because it will not be shown again", err=True)


@keys.command("list")
def show(config: _Config = None) -> None:
    """List the keys with their scopes and dates (UTC); the last use may be up to an hour later than shown."""
    with _store(config) as store:
        from fairbandits.service.auth import key_store  # noqa: PLC0415 - needs an extra

        found = [key for key in key_store.read_keys(store) if key.parent is None]
    if not found:
        echo("There are no keys: requests from the service's own machine are allowed, and all others are refused.")
        return
    listed = new_table("id", "name", "scopes", "created", "last used", "expires", "revoked")
    listed.columns[0].no_wrap = True  # so that it can be copied
    for key in found:
        dates = (key.created, key.used, key.expires, key.revoked)
        listed.add_row(key.id, _one_line(key.name), ", ".join(sorted(key.scopes)), *map(_day, dates))
    print_table(listed)


@keys.command()
def rotate(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the key, as `list` shows it.")],
    grace: Annotated[str, typer.Option(help="Time for which the old secret remains valid, such as 24h.")] = "24h",
    config: _Config = None,
) -> None:
    """Replace the secret of a key and print the new one; the old one remains valid for a while."""
    with _store(config) as store:
        from fairbandits.service.auth import key_store  # noqa: PLC0415 - needs an extra
        from fairbandits.service.durations import parse_duration  # noqa: PLC0415

        seconds = parse_duration(grace, "--grace")
        token = key_store.rotate_secret(store, key_id, seconds)
    if token is None:
        raise _no_such_key(key_id)
    echo(token)
    until = _day(time.time() + seconds)
    typer.echo(
        f"key {key_id}: store it now, because it will not be shown again; the old one is valid until {until} UTC",
        err=True,
    )


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
        raise _no_such_key(key_id)
    echo(f"revoked: {key_id}")


def _no_such_key(key_id: str) -> ValueError:
    return ValueError(f"ID must be the id of an active key, got {key_id!r}; see `fairbandits keys list`")


@contextmanager
def _store(path: Path | None, *, must_exist: bool = True) -> Iterator[Store]:
    require_service_extra()
    from fairbandits.service.demo import load_config_or_demo  # noqa: PLC0415 - needs an extra
    from fairbandits.service.log.store import open_store  # noqa: PLC0415

    with open_store(load_config_or_demo(path), must_exist=must_exist) as store:
        yield store


def _day(when: float | None) -> str:
    return "" if when is None else datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d %H:%M")


def _one_line(name: str) -> str:
    # Earlier releases accepted names with line breaks.
    return "".join(each if each.isprintable() else "?" for each in name)
