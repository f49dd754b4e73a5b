"""What an audit leaves behind: a page to read, and the same for machines."""

from __future__ import annotations

import json
from pathlib import Path

from fairbandits.logs.audit.audit import Audit
from fairbandits.logs.audit.page import as_page
from fairbandits.logs.audit.plain import as_plain
from fairbandits.storage import write_whole


def write_report(audit: Audit, folder: Path) -> Path:
    """Write `audit.html` and `audit.json`, when both are ready and each whole; give the path of the page."""
    page = as_page(audit).encode()
    plain = json.dumps(as_plain(audit), indent=1, allow_nan=False, ensure_ascii=False).encode()
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "audit.html", page)
    write_whole(folder / "audit.json", plain + b"\n")
    return folder / "audit.html"
