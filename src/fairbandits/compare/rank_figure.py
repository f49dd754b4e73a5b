"""The figure of average ranks with their critical difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairbandits.compare.figures import WIDTH, policy_styles, set_policy_axis
from fairbandits.compare.ranking import Ranking
from fairbandits.report import figure_style
from fairbandits.views import plot_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLES = {"worst_off_reward": "worst-off group's reward", "reward_gap": "reward gap", "reward": "mean reward"}


def draw_ranks(rankings: Sequence[Ranking], titles: Sequence[str]) -> Figure:
    """Draw the average rank of each policy by each measure, and the critical difference from the best one."""
    ranked = [title for title in titles if any(title in ranking.average for ranking in rankings)]
    styles = policy_styles(titles)
    with figure_style.style_context():
        figure = figure_style.new_figure(WIDTH, 1.1 + 0.17 * len(ranked))
        panels = figure.subplots(1, len(rankings), squeeze=False)[0]
        for number, (ax, ranking) in enumerate(zip(panels, rankings, strict=True)):
            _draw_measure(ax, ranking, ranked, styles)
            set_policy_axis(ax, ranked, labelled=number == 0)
        figure.suptitle(
            "Average rank over worlds (1 is the best). Policies within the shaded band do not differ\n"
            "significantly from the best one (Nemenyi, 5%).",
            fontsize=6.5,
            color="0.25",
            linespacing=1.4,
        )
    return figure


def _draw_measure(ax: Axes, ranking: Ranking, titles: Sequence[str], styles: dict[str, dict[str, Any]]) -> None:
    for row, title in enumerate(titles):
        if title in ranking.average:
            ax.plot(ranking.average[title], row, linestyle="", markersize=5, **styles[title])
    if ranking.test is not None and ranking.average:
        best = min(ranking.average.values())
        ax.axvspan(best, best + ranking.test.critical_difference, color=plot_style.GREY, alpha=0.18, linewidth=0)
    ax.set_xlim(0.5, max(len(ranking.average), 1) + 0.5)
    ax.set_xlabel(f"average rank, {_TITLES.get(ranking.measure, ranking.measure)}")
