"""The HTML report of the reproduction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from fairbandits.paper import theory
from fairbandits.paper.experiments import TITLES, row_title
from fairbandits.paper.published import CITATION
from fairbandits.paper.tables import (
    KNOWN_DEVIATION,
    METRIC_TITLES,
    NOT_REPRODUCED,
    REPRODUCED,
    LabelledEntry,
    Table,
    format_measured,
    labelled_entries,
)
from fairbandits.report.page import html_table, png_image, render_page

_TITLE = "User-side fairness in contextual bandits: a reproduction"
# The symbol and the CSS class of each kind of agreement.
_MARKS = {
    REPRODUCED: ("&#10003;", "within"),
    NOT_REPRODUCED: ("&#10007;", "not"),
    KNOWN_DEVIATION: ("&#9651;", "far"),
}


def write_report(
    path: Path,
    data_source: str,
    tables: Mapping[str, Table],
    regrets: Mapping[float, theory.RegretSummary],
    figures: Mapping[str, Sequence[Path]],
    settings: Mapping[str, Any],
) -> None:
    """Write the report.

    Parameters
    ----------
    path : Path
        The file to write.
    data_source : str
        The first line of the page, which names the data.
    tables : mapping
        The tables of the paper, by name.
    regrets : mapping
        Regret and bound by gamma; may be empty.
    figures : mapping
        The paths of the figures of each experiment.
    settings : mapping
        The settings that all runs share.
    """
    sections = [
        _section(name, _table(name, table, settings["paper_sized"]), figures.get(name, ()))
        for name, table in tables.items()
    ]
    if regrets:
        sections.append(_section("theory", _theory(regrets), figures.get("theory", ())))
    body = f'<p class="soft">{escape(CITATION)}</p>\n{_introduction(tables, settings)}\n{"".join(sections)}'
    path.write_text(render_page(_TITLE, data_source, body), encoding="utf-8")


def _introduction(tables: Mapping[str, Table], settings: Mapping[str, Any]) -> str:
    seeds = f"{settings['seeds']} seeds" if settings["seeds"] > 1 else "one seed"
    text = f"""<p>{settings["train"]:,} training rounds and {settings["test"]:,} test rounds, {seeds};
alpha {settings["alpha"]}, ridge {settings["ridge"]:g}, one model per arm. All numbers refer to the test part: mean
± standard deviation over seeds, with the published number below.</p>"""
    if not settings["paper_sized"]:
        return f"{text}\n<p><b>These runs are shorter than the paper's; do not compare the numbers.</b></p>"
    return text + _score(tables)


def _score(tables: Mapping[str, Table]) -> str:
    agreements = [
        item.agreement
        for name, table in tables.items()
        for item in labelled_entries(name, table)
        if item.metric in ("utility_loss", "reward_gap")
    ]
    counts = {kind: agreements.count(kind) for kind in _MARKS}
    return f"""
<p>Of {len(agreements)} published utility losses and reward gaps,
<span class="mark within">&#10003;</span> <b>{counts[REPRODUCED]}</b> are reproduced within max(0.008, 2 sd),
<span class="mark far">&#9651;</span> <b>{counts[KNOWN_DEVIATION]}</b> are known deviations under this reading of
the paper, and <span class="mark not">&#10007;</span> <b>{counts[NOT_REPRODUCED]}</b> are not reproduced. With the
real data and 20 seeds, the last number must be 0. The stand-in only approximates the real data, so a few numbers
may deviate with it. A gap can also close because both groups receive less, so the tables also show the worst-off
group's reward and the regret of each group.</p>"""


def _section(name: str, table: str, figures: Sequence[Path]) -> str:
    images = "".join(png_image(figure, TITLES[name]) for figure in figures)
    return (
        f'<h2 id="{name}">{escape(TITLES[name])}</h2>\n<div class="scroll">{table}</div>\n'
        f'<div class="figures">{images}</div>\n'
    )


def _table(name: str, table: Table, compare: bool) -> str:
    rows: dict[tuple[str, ...], list[str]] = {}
    for item in labelled_entries(name, table, compare):
        rows.setdefault(item.row, []).append(_cell(item))
    return html_table(METRIC_TITLES.values(), ((row_title(row), cells) for row, cells in rows.items()))


def _cell(item: LabelledEntry) -> str:
    text = format_measured(item.entry)
    if item.agreement:
        symbol, kind = _MARKS[item.agreement]
        text += (
            f' <span class="mark {kind}" title="{item.agreement}" aria-label="{item.agreement}">{symbol}</span>'
        )
    if item.entry.published is not None:
        text += f'<span class="published">paper {item.entry.published:.3f}</span>'
    return text


def _theory(regrets: Mapping[float, theory.RegretSummary]) -> str:
    titles = ("regret, mean", "regret, largest", "bound", "all seeds below the bound in every round")
    rows = (
        (
            f"gamma {gamma:g}",
            [
                f"{regret.mean:.1f}",
                f"{regret.largest:.1f}",
                f"{regret.bound:,.0f}",
                "yes" if regret.bound_holds else "NO",
            ],
        )
        for gamma, regret in regrets.items()
    )
    return (
        f"<p>{escape(theory.DATA_SOURCE)}, which meets all assumptions of the theorem. One model shared by all "
        f"arms, the alpha of Lemma 1, ridge {theory.RIDGE:g}, delta {theory.DELTA:g}.</p>\n"
        f"{html_table(titles, rows)}"
    )
