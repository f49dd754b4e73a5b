"""HTML views of objects in notebooks: small cards that follow the theme of the notebook, without scripts.

Text is escaped in this module, and nowhere else. A table has at most twenty rows, and long names are truncated, so
that a view takes up only a few kilobytes, however large the object is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import islice

from fairbandits.views.text import shorten_name

#: The largest number of rows in a table.
MAX_ROWS = 20
# The largest number of characters of a name in a table, and of a title or a paragraph.
_MAX_NAME = 40
_MAX_TEXT = 600
# Text has the colour of the notebook, whatever its theme, and lines are translucent. Only the accent depends on
# the theme: that of JupyterLab if there is one, otherwise that of the reader's system. The class is doubled to
# take precedence over JupyterLab's rules for tables.
_STYLE = """
.fb-view{--fb-mark:#0072b2;color:var(--jp-content-font-color1,inherit);font-size:13px;line-height:1.45;
overflow-x:auto}
@media(prefers-color-scheme:dark){.fb-view{--fb-mark:#56b4e9}}
[data-jp-theme-light=true] .fb-view{--fb-mark:#0072b2}
[data-jp-theme-light=false] .fb-view{--fb-mark:#56b4e9}
.fb-view p{margin:.1em 0 .35em;max-width:60em}
.fb-view .fb-fact{display:inline-block;margin-right:1.2em}
.fb-view .fb-soft{color:var(--jp-content-font-color2,inherit);opacity:.85}
.fb-view.fb-view table{border-collapse:collapse;table-layout:auto;margin:.2em 0 .5em;font-size:12.5px;
font-variant-numeric:tabular-nums;border:none;color:inherit}
.fb-view.fb-view tr,.fb-view.fb-view tbody tr:nth-child(n){background:none}
.fb-view.fb-view th,.fb-view.fb-view td{padding:.18em .9em .18em 0;text-align:right;white-space:nowrap;border:none;
border-bottom:1px solid var(--jp-border-color2,rgba(128,128,128,.35));vertical-align:middle;max-width:none}
.fb-view.fb-view th{font-weight:600}
.fb-view.fb-view th:first-child{text-align:left}
.fb-view.fb-view thead th{font-weight:400;color:var(--jp-content-font-color2,inherit);vertical-align:bottom}
.fb-view .fb-bar{position:relative;display:inline-block;width:clamp(4em,14vw,8em);height:.8em}
.fb-view .fb-bar i{position:absolute;top:35%;height:30%;min-width:2px;border-radius:3px;opacity:.5;
background:var(--fb-mark)}
.fb-view .fb-bar b{position:absolute;top:0;height:100%;width:3px;margin-left:-1px;border-radius:2px;
background:var(--fb-mark)}
""".replace("\n", "")


class Markup(str):
    """Text that is already HTML; any other text is escaped."""

    __slots__ = ()


def card(title: str, *parts: str, note: str = "") -> str:
    """Return a view: a title, a note next to it, and parts, which are `Markup` or the text of a paragraph.

    Examples
    --------
    >>> card("Gap", "a < b").split("</style>")[1]
    '<p><strong>Gap</strong></p><p>a &lt; b</p></div>'
    """
    beside = f' <span class="fb-soft">{_escaped(note, _MAX_TEXT)}</span>' if note else ""
    texts = (part if isinstance(part, Markup) else f"<p>{_escaped(part, _MAX_TEXT)}</p>" for part in parts if part)
    body, heading = "".join(texts), f"<p><strong>{_escaped(title, _MAX_TEXT)}</strong>{beside}</p>"
    return f'<div class="fb-view"><style>{_STYLE}</style>{heading}{body}</div>'


def facts(values: Mapping[str, object]) -> Markup:
    """Return names with their values in one paragraph.

    Examples
    --------
    >>> facts({"arms": 3})
    '<p><span class="fb-fact"><span class="fb-soft">arms</span> 3</span></p>'
    """
    items = (
        f'<span class="fb-fact"><span class="fb-soft">{_escaped(name)}</span> {_escaped(value)}</span>'
        for name, value in values.items()
    )
    # Spaces separate the facts, so that the text can be copied.
    return Markup(f"<p>{' '.join(items)}</p>" if values else "")


def table(columns: Sequence[object], rows: Iterable[Sequence[object]], total: int) -> Markup:
    """Return a table of the first twenty rows, and the number of remaining rows.

    Parameters
    ----------
    columns : sequence
        The titles of the columns.
    rows : iterable of sequences
        The cells of each row, the first of which is its title; only the rows that are shown are consumed.
    total : int
        The total number of rows.

    Examples
    --------
    >>> table(["arm", "mean"], [("<b>", 0.5)], total=31).split("<tbody>")[1]
    '<tr><th>&lt;b&gt;</th><td>0.5</td></tr></tbody></table><p class="fb-soft">and 30 more</p>'
    """
    if not total:
        return Markup("")
    shown = list(islice(rows, MAX_ROWS))
    head = "".join(f"<th>{_escaped(title)}</th>" for title in columns)
    body = "".join(
        f"<tr><th>{_escaped(row[0])}</th>{''.join(f'<td>{_escaped(cell)}</td>' for cell in row[1:])}</tr>"
        for row in shown
    )
    n_rest = total - len(shown)
    rest = f'<p class="fb-soft">and {n_rest:,} more</p>' if n_rest else ""
    return Markup(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}")


def interval_bar(value: float, low: float, high: float, scale: tuple[float, float]) -> Markup:
    """Draw an estimate and its interval, on a scale from the first to the second number."""
    start, end = scale
    if not all(map(math.isfinite, (value, low, high))) or end <= start:
        return Markup("")
    at, left, right = (100.0 * (min(max(x, start), end) - start) / (end - start) for x in (value, low, high))
    inside = f'<i style="left:{left:.1f}%;width:{right - left:.1f}%"></i><b style="left:{at:.1f}%"></b>'
    return Markup(f'<span class="fb-bar" aria-hidden="true">{inside}</span>')


def _escaped(value: object, length: int = _MAX_NAME) -> str:
    return value if isinstance(value, Markup) else escape(shorten_name(str(value), length), quote=False)
