"""`fairbandits verify`: check the store of a service for damage."""

from __future__ import annotations

from fairbandits.cli.console import echo
from fairbandits.cli.options import ConfigArgument
from fairbandits.cli.serve import require_service_extra


def verify(
    config: ConfigArgument = None,
) -> None:
    """Verify the store of a service: the digest of every log entry, the snapshots, and the state they lead to."""
    require_service_extra()
    from fairbandits.service.demo import load_config_or_demo  # noqa: PLC0415 - needs an extra
    from fairbandits.service.verification import verify as check  # noqa: PLC0415

    found = check(load_config_or_demo(config))
    log = found.log
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(log.kinds.items()))
    echo(f"log: {log.entries:,} entries of {log.writers:,} writer(s), all intact ({kinds or 'empty'})")
    if log.deleted:
        echo(f"content: deleted from {log.deleted:,} entries, whose digests remain")
    echo(f"snapshots: {len(found.snapshots)}, all intact")
    if found.replayed is None:
        echo("state: not compared, because this configuration has fewer than two states to compare")
    else:
        first, last = found.replayed
        echo(f"state: a replay from entry {first} to {last} reproduces the snapshot")
