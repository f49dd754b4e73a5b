"""Plots of estimates with intervals, one row per name, in the width of a column of a report page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: In inches. Pages scale figures up, so that their labels are as large as the text.
WIDTH = 3.3
GREY = "#8c949d"


def draw_interval(
    axes: Axes,
    y: float,
    value: float,
    low: float,
    high: float,
    *,
    colour: str,
    marker: str = "o",
    size: float = 5.0,
) -> Any:
    """Draw an estimate as a marker and its interval as a bar; return the marker."""
    axes.hlines(y, low, high, color=colour, linewidth=0.9 * size, alpha=0.45, capstyle="round")
    return axes.plot([value], [y], marker, color=colour, markersize=size, linestyle="")[0]


def label_rows(axes: Axes, names: Sequence[str]) -> None:
    """Label rows 0, 1, 2, ... from top to bottom."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


def add_grid(axes: Axes, axis: Any = "x") -> None:
    """Draw a light grid behind the data."""
    axes.grid(axis=axis, color=GREY, alpha=0.25, linewidth=0.5)
    axes.set_axisbelow(True)


def shorten_name(name: str, length: int = 24) -> str:
    """Cut a name in the middle, because names that begin alike may end differently.

    Examples
    --------
    >>> shorten_name("a rather long name of group 7")
    'a rather lo…e of group 7'
    """
    half = length // 2
    return name if len(name) <= length else f"{name[: half - 1].rstrip()}…{name[-half:].lstrip()}"
