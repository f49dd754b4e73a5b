"""Sections of a report, each with a title, sentences and a table, for both the page and the terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

from fairbandits.audit.intervals import IntervalEstimate
from fairbandits.audit.results import GroupResult
from fairbandits.report import elements
from fairbandits.report.page import html_table
from fairbandits.views.text import join_names, number_formatter

_MAX_NAMES = 6


@dataclass(frozen=True)
class Section:
    """One section.

    Attributes
    ----------
    title : str
        The title.
    texts : tuple of str
        Sentences above the table, then warnings.
    headers : tuple of str
        The titles of all columns except the first.
    rows : list of tuples
        The name of each row and its cells.
    """

    title: str
    texts: tuple[str, ...]
    headers: tuple[str, ...] = ()
    rows: list[tuple[str, list[str]]] = field(default_factory=list)


def sections_html(sections: Iterable[Section]) -> str:
    """Return sections as HTML."""
    return "\n".join(_section_html(section) for section in sections)


def _section_html(section: Section) -> str:
    parts = [f"<h3>{escape(section.title)}</h3>", elements.paragraphs(section.texts)]
    if section.rows:
        rows = [(name, [escape(cell) for cell in cells]) for name, cells in section.rows]
        parts.append(elements.scrollable(html_table(section.headers, rows)))
    return "\n".join(parts)


def between(estimate: IntervalEstimate, number: Callable[[float], str]) -> str:
    """Format an interval; return an empty string if there is none, or if the estimate is a division by zero.

    Examples
    --------
    >>> [between(IntervalEstimate(2.0, 0.5, high), ratio_text) for high in (8.0, math.inf)]
    ['0.500 to 8.000', 'at least 0.500']
    """
    if math.isnan(estimate.low) or math.isinf(estimate.value):
        return ""
    if math.isinf(estimate.high):
        return f"at least {number(estimate.low)}"
    return f"{number(estimate.low)} to {number(estimate.high)}"


def ratio_text(value: float) -> str:
    """Format a ratio; return an empty string if there is none, or if it is a division by zero."""
    return "" if math.isinf(value) else number_formatter(3)(value)


def list_groups(groups: Sequence[GroupResult]) -> str:
    """Return the names of groups as a list; the labels of an intersection are separated by spaces, not commas."""
    return join_names([" ".join(map(str, group.labels)) for group in groups], _MAX_NAMES)
