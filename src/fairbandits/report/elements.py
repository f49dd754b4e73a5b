"""HTML elements shared by the report pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape


def paragraphs(sentences: Iterable[str]) -> str:
    """Return one paragraph per text."""
    return "\n".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)


def bullet_list(title: str, lines: Iterable[str]) -> str:
    """Return a heading and a bullet list."""
    items = "".join(f"<li>{escape(line)}</li>\n" for line in lines)
    return f"<h2>{escape(title)}</h2>\n<ul>{items}</ul>"


def with_small_print(text: str, *notes: str) -> str:
    """Return a table cell with small print below its text.

    Examples
    --------
    >>> with_small_print("0.05", "0.01 to 0.09")
    '0.05<span class="below">0.01 to 0.09</span>'
    """
    return escape(text) + "".join(f'<span class="below">{escape(note)}</span>' for note in notes)


def figures(drawings: Iterable[str]) -> str:
    """Arrange drawings side by side."""
    return f'<div class="figures drawn">{"".join(drawings)}</div>'


def definitions(values: Mapping[str, str]) -> str:
    """Return a list of names with their values.

    Examples
    --------
    >>> definitions({"rows": "400"})
    '<dl><div><dt>rows</dt><dd>400</dd></div></dl>'
    """
    items = (f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in values.items())
    return f"<dl>{''.join(items)}</dl>"


def scrollable(table: str, title: str | None = None) -> str:
    """Make a table scroll horizontally on narrow screens; a title makes it a landmark."""
    landmark = "" if title is None else f' role="region" aria-label="{escape(title)}"'
    return f'<div class="scroll"{landmark} tabindex="0">{table}</div>'
