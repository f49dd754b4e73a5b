"""Audits in notebooks: the HTML view and the plots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairbandits.audit.audit import Audit
from fairbandits.audit.report import time_figures
from fairbandits.audit.report.figures import draw_mean_rewards
from fairbandits.audit.report.page_figures import styles_of
from fairbandits.audit.report.tables import Row, group_table, verdict_notes, verdict_table
from fairbandits.audit.results import Comparison, GapAnalysis
from fairbandits.views import html
from fairbandits.views.plot_style import legend_beside, plot_axes
from fairbandits.views.text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_PLOTTED = 20


def audit_html(audit: Audit) -> str:
    """Return the view of an audit: its sentences, the groups of the headline comparison, and all comparisons."""
    headline = audit.headline
    texts = [audit.sentence, audit.verdict or "", _table(headline.name, *group_table(audit, headline))]
    if len(audit.comparisons) > 1 or audit.settings.tolerance is not None:
        texts += [_table("", *verdict_table(audit)), *verdict_notes(audit)]
    return html.card(f"Audit of {audit.name}", *texts, note=counted(audit.rows, "decision"))


def _table(title: str, columns: list[str], rows: list[Row]) -> html.Markup:
    return html.table([title, *columns], ([name, *cells] for name, cells in rows), len(rows))


def plot_audit(audit: Audit, ax: Axes | None, attributes: str | tuple[str, ...] | None, over_time: bool) -> Axes:
    """Plot the mean rewards of the groups of a comparison, or their gap over time."""
    comparison = audit.headline if attributes is None else audit[attributes]
    analysis = comparison.analysis
    if analysis is None:
        n = len(comparison.compared)
        raise ValueError(f"a plot needs at least two groups that are large enough, got {n} by {comparison.name}")
    draw = _plot_over_time if over_time else _plot_means
    return draw(audit, ax, comparison, analysis)


def _plot_means(audit: Audit, ax: Axes | None, comparison: Comparison, analysis: GapAnalysis) -> Axes:
    n, tolerance = min(len(analysis.groups), _MAX_PLOTTED), audit.settings.tolerance
    with plot_axes(ax, 6.4, 1.2 + 0.3 * n) as axes:
        draw_mean_rewards(axes, analysis, styles_of(comparison), tolerance, _MAX_PLOTTED)
        if tolerance is not None:
            axes.set_xlabel(
                f"{axes.get_xlabel()}\ngrey band: tolerance of {tolerance:g}, measured from the disadvantaged "
                "group"
            )
        axes.set_title(f"Mean reward by {comparison.name}, with its {audit.sentences.interval_name} (bar)")
    return axes


def _plot_over_time(audit: Audit, ax: Axes | None, comparison: Comparison, analysis: GapAnalysis) -> Axes:
    if not analysis.has_history:
        raise ValueError("over_time needs a log with more than one time window, got one; name its time column")
    interval, styles = audit.sentences.interval_name, styles_of(comparison)
    with plot_axes(ax, 7.2, 3.4) as axes:
        if analysis.timeline is not None:
            legend = time_figures.cumulative_means(axes, analysis, analysis.timeline, styles)
            title = f"Cumulative mean reward by {comparison.name}, with its anytime-valid {interval} (band)"
        else:
            assert analysis.history is not None  # noqa: S101 - implied by has_history
            legend = time_figures.window_gaps(axes, analysis.history, styles, audit.settings.tolerance)
            title = f"Reward gap by {comparison.name} over time, with its {interval} (bar)"
        axes.set_title(title)
        legend_beside(axes, legend)
    return axes
