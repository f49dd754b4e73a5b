"""`fairbandits replace`: replace the policy of a running service."""

from __future__ import annotations

from typing import Annotated

import typer

from fairbandits.cli.console import echo
from fairbandits.cli.options import ConfigArgument
from fairbandits.cli.serve import require_service_extra
from fairbandits.progress import progress_bar


def replace(
    config: ConfigArgument = None,
    policy: Annotated[
        str | None, typer.Option(help="The policy with its parameters (default: that of CONFIG).")
    ] = None,
    back: Annotated[bool, typer.Option("--back", help="Restore the policy that was replaced last.")] = False,
) -> None:
    """Replace the policy of a running service; the new one learns from the log before it takes over."""
    require_service_extra()
    from fairbandits.service.demo import load_config_or_demo  # noqa: PLC0415 - needs an extra
    from fairbandits.service.lifecycle.replacement import replace_policy  # noqa: PLC0415

    with progress_bar(desc="entries", unit="") as bar:
        done = replace_policy(load_config_or_demo(config), policy, back=back, step=bar.update)
    echo(
        f"{done.policy} ({done.policy_id}) takes over at entry {done.seq}, having learned from {done.rewards:,} "
        f"reward(s); `fairbandits replace --back` restores {done.previous}"
    )
    if done.pruned.decisions:
        echo(
            f"It has not learned from {done.pruned.rewards:,} reward(s), whose content was deleted because of its "
            "age."
        )
