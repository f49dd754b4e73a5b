"""One page to read and to pass on: everything is inside it."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from fairbandits.paper import theory
from fairbandits.paper.experiments import TITLES, row_title
from fairbandits.paper.published import CITATION
from fairbandits.paper.tables import METRIC_TITLES, Line, Table, lines, measured

_MARKS = {"within": ("&#10003;", "within"), "NOT within": ("&#10007;", "not"), "far, as known": ("&#9651;", "far")}

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --soft: #5c636b; --line: #d9dde2; --page: #fff; --tint: #f5f7f9;
  --good: #0b6b45; --bad: #b3261e; --known: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7e9ec; --soft: #a2a9b1; --line: #3a4048; --page: #16181b;
  --tint: #1f2226; --good: #5fd3a0; --bad: #ff8a80; --known: #f2c14e; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 78rem; padding: 1.5rem 1.25rem 4rem; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
.data { margin: 0 0 1.5rem; padding: .5rem .8rem; border-left: 4px solid #0072b2; background: var(--tint);
  font-size: .9rem; }
.data.standin { border-color: #d55e00; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.2rem; margin: 2.8rem 0 .6rem; padding-top: .8rem; border-top: 1px solid var(--line); }
p { max-width: 46rem; }
p.data { max-width: none; }
.soft, .published { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .75rem .4rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
td, tbody th { white-space: nowrap; }
thead th { font-weight: 600; color: var(--soft); vertical-align: bottom; }
.published { display: block; font-size: .8rem; }
.mark { font-weight: 700; }
.within { color: var(--good); } .not { color: var(--bad); } .far { color: var(--known); }
.figures { display: flex; flex-wrap: wrap; gap: 1rem; margin-top: 1rem; align-items: flex-start; }
.figures img { width: 350px; max-width: 100%; background: #fff; border: 1px solid var(--line);
  border-radius: 4px; }
@media print { h2 { break-after: avoid; } .figures img { width: 45%; } }
"""


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
    kind = "data standin" if "STAND-IN" in data_source else "data"
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>User-side fairness in contextual bandits, reproduced</title>
<style>{_STYLE}</style>
</head>
<body>
<p class="{kind}">{escape(data_source)}</p>
<h1>User-side fairness in contextual bandits, reproduced</h1>
<p class="soft">{escape(CITATION)}</p>
{_summary(tables, settings)}
{"".join(sections)}
</body>
</html>
"""
    path.write_text(page, encoding="utf-8")


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
    images = "".join(_image(picture, TITLES[name]) for picture in pictures)
    return (
        f'<h2 id="{name}">{escape(TITLES[name])}</h2>\n<div class="scroll">{table}</div>\n'
        f'<div class="figures">{images}</div>\n'
    )


def _table(name: str, table: Table, compare: bool) -> str:
    heads = "".join(f'<th scope="col">{escape(title)}</th>' for title in METRIC_TITLES.values())
    cells: dict[tuple[str, ...], str] = {}
    for line in lines(name, table, compare):
        cells[line.row] = cells.get(line.row, "") + _cell(line)
    rows = "".join(f'<tr><th scope="row">{escape(row_title(row))}</th>{cells[row]}</tr>\n' for row in cells)
    return f'<table><thead><tr><th scope="col"></th>{heads}</tr></thead>\n<tbody>{rows}</tbody></table>'


def _cell(line: Line) -> str:
    text = measured(line.cell)
    if line.verdict:
        sign, kind = _MARKS[line.verdict]
        text += f' <span class="mark {kind}" title="{line.verdict}" aria-label="{line.verdict}">{sign}</span>'
    if line.cell.published is not None:
        text += f'<span class="published">paper {line.cell.published:.3f}</span>'
    return f"<td>{text}</td>"


def _theory(regrets: Mapping[float, theory.Regret]) -> str:
    rows = "".join(
        f'<tr><th scope="row">gamma {gamma:g}</th><td>{line.mean:.1f}</td><td>{line.largest:.1f}</td>'
        f"<td>{line.bound:,.0f}</td><td>{'yes' if line.kept else 'NO'}</td></tr>\n"
        for gamma, line in regrets.items()
    )
    heads = "".join(
        f'<th scope="col">{head}</th>'
        for head in ("regret, mean", "regret, largest", "bound", "every seed below it at every round")
    )
    return (
        f"<p>{escape(theory.DATA_SOURCE)}: where all that the theorem asks for holds. One model shared by all "
        f"arms, the alpha of Lemma 1, ridge {theory.RIDGE:g}, delta {theory.DELTA:g}.</p>"
        f'<table><thead><tr><th scope="col"></th>{heads}</tr></thead>\n<tbody>{rows}</tbody></table>'
    )


def _image(picture: Path, title: str) -> str:
    content = base64.b64encode(picture.read_bytes()).decode()
    alt = escape(f"{title}: {picture.stem.replace('_', ' ')}")
    return f'<img alt="{alt}" src="data:image/png;base64,{content}">'
