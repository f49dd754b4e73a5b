"""`fairbandits forget-user`: delete a user's data from a service, and remove what it learned from them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from fairbandits.cli.console import echo
from fairbandits.cli.options import ConfigArgument
from fairbandits.cli.serve import require_service_extra
from fairbandits.progress import progress_bar

if TYPE_CHECKING:
    from fairbandits.service.config import Config


def forget_user(
    user: Annotated[str, typer.Option(help="Id of the user, as in requests.")],
    config: ConfigArgument = None,
) -> None:
    """Delete a user's data from a service, which may be running, and remove what it learned from them."""
    require_service_extra()
    from fairbandits.service.demo import load_config_or_demo  # noqa: PLC0415 - needs an extra
    from fairbandits.service.lifecycle import erasure  # noqa: PLC0415

    served = load_config_or_demo(config)
    with progress_bar(desc="entries", unit="") as bar:
        done = erasure.forget_user(served, pseudonym_of(user, served), step=bar.update)
    echo(
        f"forgotten: {done.decisions:,} decision(s), {done.rewards:,} reward(s), {done.replies:,} stored "
        "response(s), and what was learned from them"
    )
    if done.pruned.decisions:
        echo(
            f"What was learned before {format_day(done.pruned.until)} remains: the content of "
            f"{done.pruned.decisions:,} decision(s) was deleted because of its age, so their users are unknown."
        )
    echo("Earlier backups and exports still contain the user's data.")


def pseudonym_of(user: str, config: Config) -> str:
    """Return the pseudonym of a user of a service."""
    from fairbandits.service.auth.user_secret import read_user_secret  # noqa: PLC0415 - needs an extra
    from fairbandits.service.http.messages import make_pseudonymiser  # noqa: PLC0415

    if config.users.secret_file is None:
        raise ValueError("users.secret_file must be configured: without it, the log holds no pseudonyms")
    return make_pseudonymiser(read_user_secret(config.users.secret_file))(user)


def format_day(when: float) -> str:
    """Return the day of a time, in UTC."""
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d")
