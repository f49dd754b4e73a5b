"""The figures of the page, with their captions and alternative text."""

from __future__ import annotations

import math

from fairbandits.audit.audit import Audit
from fairbandits.audit.report import figures, time_figures
from fairbandits.audit.report.figures import Styles
from fairbandits.audit.results import Comparison, GapAnalysis, History, Timeline
from fairbandits.report.figure_style import as_svg
from fairbandits.report.page import svg_figure
from fairbandits.views.group_styles import group_styles

_MAX_NAMED = 20


def styles_of(comparison: Comparison) -> Styles:
    """Return the styles of all groups of a comparison, including those that are too small."""
    return group_styles(group.labels for group in comparison.groups)


def group_means(audit: Audit, analysis: GapAnalysis, styles: Styles) -> str:
    """Return the figure of the groups' mean rewards."""
    number = audit.sentences.formatter(analysis)
    means = "; ".join(f"{group.name} {number(group.mean)}" for group in analysis.groups[:_MAX_NAMED])
    caption = f"Mean reward of each group with its {_interval(audit)} (bar)."
    if audit.settings.tolerance is not None:
        caption += " The grey band is the tolerance, measured from the disadvantaged group."
    return svg_figure(
        as_svg(figures.mean_rewards(analysis, styles, audit.settings.tolerance)),
        f"Mean reward per decision of each group, with its {_interval(audit)}: {means}",
        caption,
    )


def over_time(audit: Audit, analysis: GapAnalysis, styles: Styles) -> list[str]:
    """Return the figures over time: by window for a finished log, cumulative for a log that is being watched."""
    if analysis.timeline is not None:
        return [_cumulative(audit, analysis, analysis.timeline, styles)]
    return [] if analysis.history is None else _windows(audit, analysis, analysis.history, styles)


def _windows(audit: Audit, analysis: GapAnalysis, history: History, styles: Styles) -> list[str]:
    change, interval = audit.sentences.history(analysis), _interval(audit)
    recent = (
        "The intervals hold jointly for all windows, so they are wider than those in the tables. The grey band is "
        "the most recent window."
    )
    return [
        svg_figure(
            as_svg(time_figures.on_page(time_figures.window_means, analysis, history, styles)),
            f"Mean reward of each group in each of {history.windows.n} time windows, with its {interval}.",
            f"Mean reward of each group in each time window, with its {interval} (bar). {recent}",
        ),
        svg_figure(
            as_svg(time_figures.on_page(time_figures.window_gaps, history, styles, audit.settings.tolerance)),
            f"Gap in each of {history.windows.n} time windows, with its {interval}. {change}",
            f"Gap in each time window, with its {interval} (bar), in the colour of the disadvantaged group. "
            f"{recent}",
        ),
    ]


def _cumulative(audit: Audit, analysis: GapAnalysis, timeline: Timeline, styles: Styles) -> str:
    caption = f"Mean of all rewards so far, with its {_interval(audit)} (band)."
    if analysis.is_detectable:
        caption += " The dashed line marks the time since which the gap has been detectable."
    return svg_figure(
        as_svg(time_figures.on_page(time_figures.cumulative_means, analysis, timeline, styles)),
        f"Cumulative mean reward of each group over time. {audit.sentences.history(analysis) or ''}",
        caption,
    )


def decomposition(audit: Audit, analysis: GapAnalysis, text: str) -> list[str]:
    """Return the figures of the two effects and of the contributions of arms."""
    parts = analysis.decomposition
    pair = f"the gap between {analysis.advantaged.name} and {analysis.disadvantaged.name}"
    caption = f"Contributions of arms to {pair}. Negative contributions reduce the gap."
    if math.isnan(parts.exposure_effect.low):
        return [svg_figure(as_svg(figures.arm_contributions(analysis)), f"{caption} {text}", caption)]
    split = f"The two effects that add up to {pair}, with their {_interval(audit)} (bar)."
    sums = f"{caption} The lines are the individual intervals of the sums."
    return [
        svg_figure(as_svg(figures.effects(parts)), f"{split} {text}", split),
        svg_figure(as_svg(figures.arm_contributions(analysis)), f"{caption} {text}", sums),
    ]


def _interval(audit: Audit) -> str:
    kind = "anytime-valid" if audit.settings.sequential else "fixed-sample"
    return f"{kind} {audit.sentences.interval_name}"
