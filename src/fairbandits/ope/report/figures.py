"""The figures of an evaluation: values and gaps of the policies, compared with those of the log."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from fairbandits.categorical import Label
from fairbandits.ope.results import Estimate, EstimatorResult, Evaluation
from fairbandits.report import figure_style
from fairbandits.views import plot_style
from fairbandits.views.interval_plots import add_grid, draw_interval, label_rows
from fairbandits.views.plot_style import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_GROUPS = 5
_MARKERS = "osD^vP"


def preferred_results(evaluation: Evaluation) -> dict[str, EstimatorResult]:
    """Return the results of the log, and those of the preferred estimator for each policy."""
    return {"the log": evaluation.logged} | {policy.title: policy.preferred for policy in evaluation.policies}


def values(evaluation: Evaluation, attribute: str | None) -> Figure:
    """Plot the value of the log and of each policy, overall and by group."""
    with figure_style.style_context():
        figure = figure_style.new_figure(figure_style.PAGE_WIDTH, 0.9 + values_height(evaluation, attribute))
        figure_style.add_legend(figure, draw_values(figure.subplots(), evaluation, attribute))
    return figure


def values_height(evaluation: Evaluation, attribute: str | None) -> float:
    """Return the height of the rows that `draw_values` draws, in inches."""
    n_groups = 0 if attribute is None else len(_largest_groups(evaluation, attribute))
    return (0.2 + 0.13 * (1 + n_groups)) * (1 + len(evaluation.policies))


def draw_values(ax: Axes, evaluation: Evaluation, attribute: str | None) -> dict[str, Any]:
    """Draw the value of the log and of each policy; return the entries of the legend."""
    results = preferred_results(evaluation)
    groups: list[Label] = [] if attribute is None else _largest_groups(evaluation, attribute)
    handles: dict[str, Any] = {}
    for row, result in enumerate(results.values()):
        by_group: Mapping[Label, Estimate | None] = {} if attribute is None else result.value.by_group[attribute]
        estimates = [("overall", result.value.overall), *((str(label), by_group[label]) for label in groups)]
        for number, (name, estimate) in enumerate(estimates):
            if estimate is not None:
                handles[name] = _draw(ax, estimate, row + _offset(number, len(estimates)), number)
    _label_policies(ax, list(results))
    ax.set_xlabel("mean reward per decision")
    return handles


def gaps(evaluation: Evaluation, attribute: str) -> Figure:
    """Plot the largest gap between groups for the log and for each policy.

    With two groups, the group that is advantaged in the log comes first for every policy.
    """
    results = preferred_results(evaluation)
    logged = evaluation.logged.largest_gap(attribute)
    is_pair = logged is not None and len(evaluation.rows.by_group[attribute]) == 2
    with figure_style.style_context():
        figure = figure_style.new_figure(figure_style.PAGE_WIDTH, 0.9 + 0.3 * len(results))
        axes = figure.subplots()
        for row, result in enumerate(results.values()):
            gap = result.largest_gap(attribute)
            if gap is None or logged is None:
                continue
            if is_pair and gap.first != logged.first:
                gap = gap.swapped()
            _draw(axes, gap.estimate, row, 0)
        axes.axvline(0.0, color=plot_style.ink(), linewidth=0.6)
        _label_policies(axes, list(results))
        pair = f"mean reward of {logged.first} minus {logged.second}" if is_pair and logged is not None else ""
        axes.set_xlabel(pair or "largest gap between groups")
    return figure


def _draw(axes: Axes, estimate: Estimate, y: float, number: int) -> Any:
    colour = plot_style.ink() if number == 0 else plot_style.line_style(number - 1)[0]
    marker = _MARKERS[number % len(_MARKERS)]
    bounds = estimate.value, estimate.low, estimate.high
    return draw_interval(axes, y, *bounds, colour=colour, marker=marker, size=4.0)


def _offset(number: int, n: int) -> float:
    return (number - (n - 1) / 2.0) * 0.6 / max(n, 2)


def _label_policies(axes: Axes, titles: list[str]) -> None:
    label_rows(axes, [shorten(title, 26, placeholder="…") for title in titles])
    add_grid(axes)
    for row in range(1, len(titles)):
        axes.axhline(row - 0.5, color=GREY, alpha=0.4, linewidth=0.5)


def _largest_groups(evaluation: Evaluation, attribute: str) -> list[Label]:
    """Return the largest groups, sorted by name."""
    rows = evaluation.rows.by_group[attribute]
    largest = sorted(rows, key=lambda label: -rows[label])[:_MAX_GROUPS]
    return [label for label in rows if label in largest]
