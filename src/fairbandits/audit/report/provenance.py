"""The provenance of an audit: its data, the version that made it, and the date."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from fairbandits import __version__

if TYPE_CHECKING:
    from fairbandits.audit.audit import Audit


def parse_date(date: str | None) -> str | None:
    """Return a date in ISO format; "today" is the current date (UTC), and None stays None.

    Examples
    --------
    >>> parse_date("2026-11-16")
    '2026-11-16'
    """
    if date == "today":
        return datetime.datetime.now(datetime.UTC).date().isoformat()
    try:
        return None if date is None else datetime.date.fromisoformat(date).isoformat()
    except (TypeError, ValueError):
        raise ValueError(f'date must be "today" or a date such as 2026-11-16, got {date!r}') from None


def provenance(audit: Audit) -> dict[str, Any]:
    """Return the provenance of an audit as JSON values."""
    return {
        "fairbandits": __version__,
        "date": audit.date,
        "log": audit.name,
        "rows": audit.rows,
        "missing": audit.missing,
        "hash": audit.fingerprint,
        "roles": audit.roles.to_dict(),
        "guessed": sorted(audit.guessed),
    }
