"""What a judgement leaves behind: a page to read, and the same for machines."""

from __future__ import annotations

import json
from pathlib import Path

from fairbandits.logs.judge.page import as_page
from fairbandits.logs.judge.result import Judgement
from fairbandits.storage import write_whole


def write_report(found: Judgement, folder: Path) -> Path:
    """Write `judge.html` and `judge.json`, when both are ready and each whole; give the path of the page."""
    page = as_page(found).encode()
    plain = json.dumps(found.to_plain(), indent=1, allow_nan=False, ensure_ascii=False).encode()
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "judge.html", page)
    write_whole(folder / "judge.json", plain + b"\n")
    return folder / "judge.html"
