"""The HTML report of a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from fairbandits.compare import sentences, tables
from fairbandits.compare.summary import WorldSummary
from fairbandits.report.page import html_table, png_image, render_page

_TITLE = "Comparison of policies: utility loss and reward gap"
# The symbol and the CSS class of each position relative to the front.
_FRONT_MARKS = {"on": ("&#9679;", "within"), "near": ("&#9680;", "far"), "off": ("&#9675;", "not")}


def write_report(
    path: Path,
    data_source: str,
    worlds: Mapping[str, WorldSummary],
    figures: Mapping[str, Path],
    settings: Mapping[str, Any],
) -> None:
    """Write the report.

    Parameters
    ----------
    path : Path
        The file to write.
    data_source : str
        The first line of the page, which names the data.
    worlds : mapping
        The summary of each world.
    figures : mapping
        The path of each world's figure.
    settings : mapping
        The settings that all runs share.
    """
    sections = (_section(name, summary, figures[name], settings["tolerance"]) for name, summary in worlds.items())
    body = f"{_introduction(worlds, settings)}\n{_overview(worlds)}\n{''.join(sections)}"
    path.write_text(render_page(_TITLE, data_source, body), encoding="utf-8")


def _introduction(worlds: Mapping[str, WorldSummary], settings: Mapping[str, Any]) -> str:
    paragraphs = sentences.describe_policy(worlds, settings["default"]) if settings["default"] else []
    seeds = f"{settings['seeds']} seeds" if settings["seeds"] > 1 else "One seed"
    paragraphs.append(
        f"{seeds}; every policy has the same parameters in all worlds. Losses and gaps are computed from the true "
        "mean rewards of the chosen arms, without the noise that policies saw. Tolerated reward gap: "
        f"{settings['tolerance']:g}."
    )
    text = "".join(f"<p>{escape(paragraph)}</p>\n" for paragraph in paragraphs)
    if settings["quick"]:
        text += (
            "<p><b>Quick run with a tenth of the rounds: it shows that everything works, nothing more.</b></p>\n"
        )
    return text


def _overview(worlds: Mapping[str, WorldSummary]) -> str:
    """Return a table of every policy in every world."""
    titles = list(next(iter(worlds.values())).policies)
    rows = ((name, [_overview_cell(summary, title) for title in titles]) for name, summary in worlds.items())
    return (
        "<h2>Overview</h2>\n<p>Utility loss / reward gap; "
        "&#9679; on the measured Pareto front, &#9680; near it, &#9675; off it.</p>\n"
        f'<div class="scroll">{html_table(titles, rows)}</div>\n'
    )


def _overview_cell(summary: WorldSummary, title: str) -> str:
    policy = summary.policies[title]
    loss, gap = policy.metrics["utility_loss"][0], policy.metrics["reward_gap"][0]
    return f"{loss:.3f} / {gap:.3f} {_front_mark(policy.front)}"


def _front_mark(front: str) -> str:
    symbol, kind = _FRONT_MARKS[front]
    return f'<span class="mark {kind}" title="{front} the front" aria-label="{front} the front">{symbol}</span>'


def _section(name: str, summary: WorldSummary, figure: Path, tolerance: float) -> str:
    text = "".join(f"<p>{escape(line)}</p>\n" for line in sentences.describe_world(summary, tolerance))
    titles = tables.columns(summary)
    rows = (
        (title, [_front_mark(policy.front), *(tables.format_metric(policy, metric) for metric in titles)])
        for title, policy in summary.policies.items()
    )
    return (
        f'<h2 id="{escape(name)}">{escape(name)}</h2>\n{text}'
        f'<div class="figures wide">{png_image(figure, name)}</div>\n'
        f'<div class="scroll">{html_table(["front", *titles.values()], rows)}</div>\n'
    )
