"""Self-contained HTML pages, with styles and figures embedded in the file."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from fairbandits.storage import atomic_write

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
.data.stand-in { border-color: #d55e00; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.2rem; margin: 2.8rem 0 .6rem; padding-top: .8rem; border-top: 1px solid var(--line); }
p { max-width: 46rem; }
p.data { max-width: none; }
.soft, .published, .below { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .75rem .4rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
td, tbody th { white-space: nowrap; }
thead th { font-weight: 600; color: var(--soft); vertical-align: bottom; }
.published, .below { display: block; font-size: .8rem; }
dl { font-size: .86rem; } dl div { display: flex; gap: 1rem; padding: .25rem 0; }
dt { flex: 0 0 8rem; font-weight: 600; } dd { margin: 0; overflow-wrap: anywhere; }
.mark { font-weight: 700; }
.within { color: var(--good); } .not { color: var(--bad); } .far { color: var(--known); }
.figures { display: flex; flex-wrap: wrap; gap: 1rem; margin-top: 1rem; align-items: flex-start; }
.figures img { width: 350px; max-width: 100%; background: #fff; border: 1px solid var(--line);
  border-radius: 4px; }
.figures.wide img { width: 760px; }
.figures.drawn { margin-bottom: 1.2rem; }
.figures.drawn img { width: 100%; background: none; border: none; }
figure { margin: 0; width: 28rem; max-width: 100%; }
figcaption { color: var(--soft); font-size: .9rem; }
.lead { font-size: 1.3rem; line-height: 1.45; margin: 1.2rem 0; }
.verdict { padding: .5rem .8rem; border-left: 4px solid; background: var(--tint); font-weight: 600; }
.verdict.fair { border-color: var(--good); } .verdict.unfair { border-color: var(--bad); }
.verdict.little { border-color: var(--known); }
h3 { font-size: 1rem; margin: 1.8rem 0 .3rem; }
@page { size: A4; margin: 12mm 14mm; }
@media print {
  :root { font-size: 11.3px; }
  body { padding: 0; max-width: none; font-size: 1rem; line-height: 1.4; }
  p, p.verdict { max-width: none; margin: .4rem 0; }
  .lead { font-size: 11pt; }
  .data { margin-bottom: .6rem; }
  h1 { font-size: 15pt; } h2 { font-size: 11pt; margin: 1rem 0 .3rem; padding-top: .4rem; }
  h3 { font-size: 9.5pt; margin: .8rem 0 .2rem; }
  h1, h2, h3 { break-after: avoid; }
  figure, tr, .verdict { break-inside: avoid; }
  .scroll { overflow: visible; }
  table { font-size: 7.5pt; } th, td { padding: .15rem .5rem .15rem 0; } tbody th { white-space: normal; }
  .published, .below, figcaption { font-size: 7pt; }
  figure { width: calc(50% - .5rem); } .figures.drawn { margin: .4rem 0; }
  .figures img { width: 45%; } .figures.wide img { width: 100%; }
}
"""


def render_page(title: str, data_source: str, body: str) -> str:
    """Return a page whose first line names the data."""
    kind = "data stand-in" if "STAND-IN" in data_source else "data"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<p class="{kind}">{escape(data_source)}</p>
<h1>{escape(title)}</h1>
{body}
</main>
</body>
</html>
"""


def html_table(columns: Iterable[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return a table; the titles of columns and rows are escaped, but the cells must already be HTML.

    Examples
    --------
    >>> html_table(["loss"], [("LinUCB", ["<b>0.05</b>"])]).splitlines()[1]
    '<tbody><tr><th scope="row">LinUCB</th><td><b>0.05</b></td></tr>'
    """
    header = "".join(f'<th scope="col">{escape(title)}</th>' for title in columns)
    lines = "".join(
        f'<tr><th scope="row">{escape(title)}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>\n'
        for title, cells in rows
    )
    return f"<table><thead><tr><td></td>{header}</tr></thead>\n<tbody>{lines}</tbody></table>"


def svg_figure(svg: str, alt: str, caption: str) -> str:
    """Return an embedded SVG image with alternative text and a caption."""
    content = base64.b64encode(svg.encode()).decode()
    source = f"data:image/svg+xml;base64,{content}"
    return f'<figure><img alt="{escape(alt)}" src="{source}"><figcaption>{escape(caption)}</figcaption></figure>'


def png_image(path: Path, title: str) -> str:
    """Return an embedded PNG image."""
    content = base64.b64encode(path.read_bytes()).decode()
    alt = escape(f"{title}: {path.stem.replace('_', ' ')}")
    return f'<img alt="{alt}" src="data:image/png;base64,{content}">'


def write_report(folder: Path, name: str, page: str, results: dict[str, Any]) -> Path:
    """Write a page and its results as JSON, each atomically, and return the path of the page."""
    content = json.dumps(results, indent=1, allow_nan=False, ensure_ascii=False)
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write(folder / f"{name}.html", page.encode())
    atomic_write(folder / f"{name}.json", content.encode() + b"\n")
    return folder / f"{name}.html"
