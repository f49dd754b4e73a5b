"""The report of the reproduction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from fairbandits.paper import theory
from fairbandits.paper.experiments import TITLES, row_title
from fairbandits.paper.published import CITATION
from fairbandits.paper.tables import METRIC_TITLES, Line, Table, lines, measured
from fairbandits.report.page import image, page
from fairbandits.report.page import table as html_table

_TITLE = "User-side fairness in contextual bandits, reproduced"
_MARKS = {"within": ("&#10003;", "within"), "NOT within": ("&#10007;", "not"), "far, as known": ("&#9651;", "far")}


def write_report(
    path: Path,
    data_source: str,
    tables: Mapping[str, Table],
    regrets: Mapping[float, theory.Regret],
    drawn: Mapping[str, Sequence[Path]],
    settings: Mapping[str, Any],
) -> None:
    """Write the page.

    Parameters
    ----------
    path : Path
        Where.
    data_source : str
        Which data it shows: its first line.
    tables : mapping
        The tables of the paper, by name.
    regrets : mapping
        Regret and bound by gamma; may be empty.
    drawn : mapping
        By experiment, the paths of its figures.
    settings : mapping
        What the runs have in common.
    """
    sections = [
        _section(name, _table(name, table, settings["paper_sized"]), drawn.get(name, ()))
        for name, table in tables.items()
    ]
    if regrets:
        sections.append(_section("theory", _theory(regrets), drawn.get("theory", ())))
    body = f'<p class="soft">{escape(CITATION)}</p>\n{_summary(tables, settings)}\n{"".join(sections)}'
    path.write_text(page(_TITLE, data_source, body), encoding="utf-8")


def _summary(tables: Mapping[str, Table], settings: Mapping[str, Any]) -> str:
    size = f"{settings['train']:,} rounds to train and {settings['test']:,} to test, {settings['seeds']} seed(s)"
    text = f"""<p>{size}; alpha {settings["alpha"]}, ridge {settings["ridge"]:g}, one model for each arm.
Every number is of the test part: mean ± standard deviation over the seeds; below it what the paper says.</p>"""
    if not settings["paper_sized"]:
        return f"{text}\n<p><b>These runs are shorter than the paper's, and compare with nothing.</b></p>"
    return text + _score(tables)


def _score(tables: Mapping[str, Table]) -> str:
    verdicts = [
        line.verdict
        for name, table in tables.items()
        for line in lines(name, table)
        if line.metric in ("utility_loss", "reward_difference")
    ]
    counts = {name: verdicts.count(name) for name in _MARKS}
    return f"""
<p>Of {len(verdicts)} published losses and differences, these come out within max(0.008, 2 sd)
<span class="mark within">&#10003;</span>: <b>{counts["within"]}</b>. Known not to, with this reading of the paper
<span class="mark far">&#9651;</span>: <b>{counts["far, as known"]}</b>. Missed on the real data
<span class="mark not">&#10007;</span>, they would be an error: <b>{counts["NOT within"]}</b>. A stand-in comes
close to the real data and no closer, so with one a few may miss. A gap can also close because both groups get
less, so the reward of the worse-off group and each group's own regret stand beside it.</p>"""


def _section(name: str, table: str, pictures: Sequence[Path]) -> str:
    images = "".join(image(picture, TITLES[name]) for picture in pictures)
    return (
        f'<h2 id="{name}">{escape(TITLES[name])}</h2>\n<div class="scroll">{table}</div>\n'
        f'<div class="figures">{images}</div>\n'
    )


def _table(name: str, table: Table, compare: bool) -> str:
    rows: dict[tuple[str, ...], list[str]] = {}
    for line in lines(name, table, compare):
        rows.setdefault(line.row, []).append(_cell(line))
    return html_table(METRIC_TITLES.values(), ((row_title(row), cells) for row, cells in rows.items()))


def _cell(line: Line) -> str:
    text = measured(line.cell)
    if line.verdict:
        sign, kind = _MARKS[line.verdict]
        text += f' <span class="mark {kind}" title="{line.verdict}" aria-label="{line.verdict}">{sign}</span>'
    if line.cell.published is not None:
        text += f'<span class="published">paper {line.cell.published:.3f}</span>'
    return text


def _theory(regrets: Mapping[float, theory.Regret]) -> str:
    heads = ("regret, mean", "regret, largest", "bound", "every seed below it at every round")
    rows = (
        (
            f"gamma {gamma:g}",
            [f"{line.mean:.1f}", f"{line.largest:.1f}", f"{line.bound:,.0f}", "yes" if line.kept else "NO"],
        )
        for gamma, line in regrets.items()
    )
    return (
        f"<p>{escape(theory.DATA_SOURCE)}: where all that the theorem asks for holds. One model shared by all "
        f"arms, the alpha of Lemma 1, ridge {theory.RIDGE:g}, delta {theory.DELTA:g}.</p>{html_table(heads, rows)}"
    )
