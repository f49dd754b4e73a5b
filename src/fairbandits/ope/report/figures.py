"""The pictures of a judgement: what each policy would have earned for whom, and how far apart groups would be."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from fairbandits.categorical import Label
from fairbandits.ope.results import EstimatorResult, Evaluation
from fairbandits.ope.value_estimate import ValueEstimate
from fairbandits.report import figure_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH = 3.3  # inches: it is shown larger, so that its letters are as large as those of the text
_MOST_GROUPS = 5
_GREY = "#8c949d"
_MARKERS = "osD^vP"


def trusted(found: Evaluation) -> dict[str, EstimatorResult]:
    """Give the verdict to look at first: of the log itself, and of every policy."""
    return {"the log": found.logged} | {one.title: one.verdicts[one.trusted] for one in found.policies}


def earned(found: Evaluation, attribute: str | None) -> Figure:
    """Draw what the log got and what each policy would have earned: for everybody, and for each group."""
    verdicts = trusted(found)
    groups: list[Label] = [] if attribute is None else _largest(found, attribute)
    with figure_style.style_context():
        figure = figure_style.new_figure(_WIDTH, 0.9 + (0.2 + 0.13 * (1 + len(groups))) * len(verdicts))
        axes = figure.subplots()
        made: dict[str, Any] = {}
        for row, verdict in enumerate(verdicts.values()):
            each: Mapping[Label, ValueEstimate | None] = (
                {} if attribute is None else verdict.value.groups[attribute]
            )
            dots = [("everybody", verdict.value.everybody), *((str(name), each[name]) for name in groups)]
            for number, (name, estimate) in enumerate(dots):
                if estimate is not None:
                    made[name] = _dot(axes, estimate, row + _offset(number, len(dots)), number)
        _rows(axes, list(verdicts))
        axes.set_xlabel("mean reward per decision")
        figure_style.add_legend(figure, made)
    return figure


def apart(found: Evaluation, attribute: str) -> Figure:
    """Draw the largest difference between groups: in the log, and with each policy.

    Of two groups the one that is ahead in the log comes first, also with policies that put the other ahead.
    """
    verdicts = trusted(found)
    logged = found.logged.widest(attribute)
    is_pair = logged is not None and len(found.rows.groups[attribute]) == 2
    with figure_style.style_context():
        figure = figure_style.new_figure(_WIDTH, 0.9 + 0.3 * len(verdicts))
        axes = figure.subplots()
        for row, verdict in enumerate(verdicts.values()):
            difference = verdict.widest(attribute)
            if difference is None or logged is None:
                continue
            if is_pair and difference.first != logged.first:
                difference = difference.turned()
            _dot(axes, difference.estimate, row, 0)
        axes.axvline(0.0, color=figure_style.INK, linewidth=0.6)
        _rows(axes, list(verdicts))
        pair = f"{logged.first} gets more than {logged.second}, by" if is_pair and logged is not None else ""
        axes.set_xlabel(pair or "largest difference between groups")
    return figure


def _dot(axes: Axes, estimate: ValueEstimate, y: float, number: int) -> Any:
    colour = figure_style.INK if number == 0 else figure_style.line_style(number - 1)[0]
    axes.hlines(y, estimate.low, estimate.high, color=colour, linewidth=3.0, alpha=0.45, capstyle="round")
    marker = _MARKERS[number % len(_MARKERS)]
    return axes.plot([estimate.value], [y], marker, color=colour, markersize=4, linestyle="")[0]


def _offset(number: int, n: int) -> float:
    return (number - (n - 1) / 2.0) * 0.6 / max(n, 2)


def _rows(axes: Axes, titles: list[str]) -> None:
    axes.set_yticks(range(len(titles)), [shorten(title, 26, placeholder="…") for title in titles])
    axes.set_ylim(len(titles) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=_GREY, alpha=0.25, linewidth=0.5)
    axes.set_axisbelow(True)
    for row in range(1, len(titles)):
        axes.axhline(row - 0.5, color=_GREY, alpha=0.4, linewidth=0.5)


def _largest(found: Evaluation, attribute: str) -> list[Label]:
    """Give the groups to draw: the largest, in the order of their names."""
    rows = found.rows.groups[attribute]
    kept = sorted(rows, key=lambda name: -rows[name])[:_MOST_GROUPS]
    return [name for name in rows if name in kept]
