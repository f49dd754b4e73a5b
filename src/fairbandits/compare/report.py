"""The report of a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from fairbandits.compare import sentences, tables
from fairbandits.compare.summary import WorldSummary
from fairbandits.report.page import image, page, table

_TITLE = "Policies compared: what is lost, and who is left behind"
_FRONT_MARKS = {"on": ("&#9679;", "within"), "next to": ("&#9680;", "far"), "off": ("&#9675;", "not")}


def write_report(
    path: Path,
    data_source: str,
    worlds: Mapping[str, WorldSummary],
    drawn: Mapping[str, Path],
    settings: Mapping[str, Any],
) -> None:
    """Write the page.

    Parameters
    ----------
    path : Path
        Where.
    data_source : str
        Which data it shows: its first line.
    worlds : mapping
        By world, what was found.
    drawn : mapping
        By world, its figure.
    settings : mapping
        What the runs have in common.
    """
    sections = (_section(name, found, drawn[name], settings["tolerance"]) for name, found in worlds.items())
    body = f"{_summary(worlds, settings)}\n{_overview(worlds)}\n{''.join(sections)}"
    path.write_text(page(_TITLE, data_source, body), encoding="utf-8")


def _summary(worlds: Mapping[str, WorldSummary], settings: Mapping[str, Any]) -> str:
    lines = sentences.about_default(worlds, settings["default"]) if settings["default"] else []
    lines.append(
        f"{settings['seeds']} seed(s), one setting per policy for all worlds. Losses and differences are of the "
        "true mean rewards of the arms that were picked, whatever noise the policies saw. Tolerated difference: "
        f"{settings['tolerance']:g}."
    )
    text = "".join(f"<p>{escape(line)}</p>\n" for line in lines)
    if settings["quick"]:
        text += "<p><b>These runs are a tenth as long as they should be: they show that all works.</b></p>\n"
    return text


def _overview(worlds: Mapping[str, WorldSummary]) -> str:
    """Show every policy in every world at a glance."""
    titles = list(next(iter(worlds.values())).rows)
    rows = ((name, [_glance(found, title) for title in titles]) for name, found in worlds.items())
    return (
        "<h2>At a glance</h2>\n<p>Utility loss / reward difference; "
        "&#9679; on the measured front, &#9680; next to it, &#9675; off it.</p>\n"
        f'<div class="scroll">{table(titles, rows)}</div>\n'
    )


def _glance(found: WorldSummary, title: str) -> str:
    row = found.rows[title]
    loss, gap = row.numbers["utility_loss"][0], row.numbers["reward_difference"][0]
    return f"{loss:.3f} / {gap:.3f} {_mark(row.front)}"


def _mark(front: str) -> str:
    sign, kind = _FRONT_MARKS[front]
    return f'<span class="mark {kind}" title="{front} the front" aria-label="{front} the front">{sign}</span>'


def _section(name: str, found: WorldSummary, picture: Path, tolerance: float) -> str:
    text = "".join(f"<p>{escape(line)}</p>\n" for line in sentences.about_world(found, tolerance))
    heads = tables.columns(found)
    rows = (
        (title, [_mark(row.front), *(tables.cell(row, metric) for metric in heads)])
        for title, row in found.rows.items()
    )
    return (
        f'<h2 id="{escape(name)}">{escape(name)}</h2>\n{text}'
        f'<div class="figures wide">{image(picture, name)}</div>\n'
        f'<div class="scroll">{table(["front", *heads.values()], rows)}</div>\n'
    )
