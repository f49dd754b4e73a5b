"""Plots of estimates with intervals, one row per name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from fairbandits.views.plot_style import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = TypeVar("Row")


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
    for label in axes.get_yticklabels():
        label.set_parse_math(False)  # a name may contain dollar signs
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


def extremes_of(rows: Sequence[Row], n: int) -> list[Row]:
    """Return the rows to show: all rows or, if there are more than n, those at either end.

    Examples
    --------
    >>> extremes_of("abcdefg", 4)
    ['a', 'b', 'f', 'g']
    """
    half = n // 2
    return list(rows) if len(rows) <= n else [*rows[:half], *rows[-half:]]


def add_grid(axes: Axes, axis: Any = "x") -> None:
    """Draw a light grid behind the data."""
    axes.grid(axis=axis, color=GREY, alpha=0.25, linewidth=0.5)
    axes.set_axisbelow(True)
