"""One figure for each world: the plane of loss and difference, who is worse off, and each group's regret."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbandits.compare.cell_sums import label
from fairbandits.compare.suite import PART_TITLES
from fairbandits.compare.summary import PolicySummary, Spread, WorldSummary
from fairbandits.report import figure_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 7.2  # inches: both columns of a paper
_MARKERS = "osD^vP*X<>hp"
# A policy that loses this many times what most do is written at the edge, or it would press the rest flat.
_FAR = 3.0
# Letters of a policy's name that leave room for the axes; what is longer is broken.
_LONGEST = 32


def world_figure(name: str, found: WorldSummary, tolerance: float, data_source: str, seeds: int) -> Figure:
    """Draw a world.

    Parameters
    ----------
    name : str
        The name of the world.
    found : WorldSummary
        What was found in it.
    tolerance : float
        How large a difference is tolerated.
    data_source : str
        Which data it shows.
    seeds : int
        How many seeds.
    """
    with figure_style.style():
        figure = figure_style.blank(WIDTH, 2.4 + 0.12 * len(found.rows))
        plane, worse, regret = figure.subplots(1, 3, width_ratios=[1.5, 1, 1])
        looks = {title: _look(number) for number, title in enumerate(found.rows)}
        _plane(plane, found, looks, tolerance)
        _worse_off(worse, found, looks)
        _regret(regret, found)
        band = f"mean ± sd of {seeds} seeds" if seeds > 1 else "one seed"
        remark = f"{name}: {PART_TITLES[found.world.measured]}, {band}; filled: on or next to the measured front"
        figure_style.head(figure, data_source, remark)
    return figure


def _look(number: int) -> dict[str, Any]:
    return {"color": figure_style.style_of(number)[0], "marker": _MARKERS[number % len(_MARKERS)]}


def _plane(ax: Axes, found: WorldSummary, looks: dict[str, Any], tolerance: float) -> None:
    points = {title: row.numbers for title, row in found.rows.items()}
    limit = _FAR * float(np.median([numbers["utility_loss"][0] for numbers in points.values()])) + 0.01
    far = {title: numbers for title, numbers in points.items() if numbers["utility_loss"][0] > limit}
    tops, rights = [max((loss for _, loss in found.frontier), default=0.0)], [2 * tolerance]
    for title in (title for title in points if title not in far):
        (loss, loss_sd), (gap, gap_sd) = points[title]["utility_loss"], points[title]["reward_difference"]
        _point(ax, (gap, gap_sd), (loss, loss_sd), found.rows[title], looks[title])
        tops.append(loss + (loss_sd or 0.0))
        rights.append(gap + (gap_sd or 0.0))
    # With room above for the lines about those that are far off.
    top, right = (1.1 + 0.07 * len(far)) * max(tops) + 0.002, 1.08 * max(rights)
    _frontier(ax, found, right)
    ax.axvline(tolerance, color="0.6", linewidth=0.7, linestyle=(0, (2, 2)))
    _beside(ax, "tolerated", (tolerance, top), va="top")
    _far_off(ax, far, top, right)
    ax.set_xlim(-0.02 * right, right)
    ax.set_ylim(-0.03 * top, top)
    ax.set_xlabel("reward difference")
    ax.set_ylabel("utility loss")


def _point(ax: Axes, x: Spread, y: Spread, row: PolicySummary, look: dict[str, Any]) -> None:
    """Draw a policy: filled where it is on or next to the front."""
    fill = "white" if row.front == "off" else look["color"]
    bars: dict[str, Any] = {"xerr": x[1] or 0.0, "yerr": y[1] or 0.0}
    ax.errorbar(x[0], y[0], **bars, linestyle="", elinewidth=0.7, markersize=5, mfc=fill, **look)


def _beside(ax: Axes, text: str, place: tuple[float, float], va: str) -> None:
    ax.annotate(text, place, fontsize=6.5, color="0.3", va=va, xytext=(3, 0), textcoords="offset points")


def _frontier(ax: Axes, found: WorldSummary, right: float) -> None:
    """Draw what the oracle loses, and shade what nobody reaches."""
    if not found.frontier:
        return
    gaps, losses = (list(side) for side in zip(*found.frontier, strict=True))
    # What is tolerated beyond the last one costs no more.
    line = [*gaps, max(right, gaps[-1])], [*losses, losses[-1]]
    ax.plot(*line, color="black", linewidth=1.4, zorder=1)
    ax.fill_between(*line, -1.0, color="0.9", zorder=0, linewidth=0)
    _beside(ax, "oracle", (gaps[0], losses[0]), va="bottom")


def _far_off(ax: Axes, far: dict[str, Any], top: float, right: float) -> None:
    """Say at the edge where those are that the plane does not reach: loss and difference."""
    lines = (
        f"↑ {title}: {numbers['utility_loss'][0]:.2f}, {numbers['reward_difference'][0]:.2f}"
        for title, numbers in far.items()
    )
    text = "\n".join(["", *lines])  # below what is written beside the tolerance
    ax.text(right, top, text, fontsize=6, ha="right", va="top", color="0.3")


def _rows(ax: Axes, titles: Sequence[str], labelled: bool) -> None:
    ax.set_yticks(range(len(titles)), [fill(title, _LONGEST) if labelled else "" for title in titles])
    ax.set_ylim(len(titles) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    for place in range(len(titles)):
        ax.axhline(place, color="0.92", linewidth=0.6, zorder=0)


def _worse_off(ax: Axes, found: WorldSummary, looks: dict[str, Any]) -> None:
    for place, (title, row) in enumerate(found.rows.items()):
        _point(ax, row.numbers["worst_off_reward"], (place, None), row, looks[title])
    if found.oracle:
        ax.axvline(min(found.oracle.values()), color="black", linewidth=1.0)
    _rows(ax, list(found.rows), labelled=True)
    ax.set_xlabel("worse-off group's reward\n(line: oracle at the tolerance)")


def _regret(ax: Axes, found: WorldSummary) -> None:
    for number, group in enumerate(found.groups):
        means = [row.numbers[f"regret_{label(group)}"][0] for row in found.rows.values()]
        ax.plot(
            means, range(len(means)), linestyle="", markersize=4, mfc="none", label=label(group), **_look(number)
        )
    _rows(ax, list(found.rows), labelled=False)
    ax.set_xlim(left=0.0)
    ax.set_xlabel("each group's own regret")
    ax.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=6, frameon=False,
        handletextpad=0.1, columnspacing=0.8,
    )  # fmt: skip
