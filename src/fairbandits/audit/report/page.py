"""The HTML page of an audit: sentences first, then figures, then tables."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from fairbandits.audit.audit import Audit
from fairbandits.audit.intervals import IntervalEstimate
from fairbandits.audit.report import figures
from fairbandits.audit.report.further_sections import further_sections
from fairbandits.audit.report.sections import sections_html
from fairbandits.audit.results import Comparison, GapAnalysis
from fairbandits.audit.verdict import FAIR, UNFAIR
from fairbandits.report import elements
from fairbandits.report.figure_style import as_svg
from fairbandits.report.page import html_table, render_page, svg_figure
from fairbandits.report.phrases import percent


def audit_page(audit: Audit) -> str:
    """Return the page, with all figures inside it."""
    first = audit.headline
    others = [comparison for comparison in audit.comparisons if comparison is not first]
    parts = [
        f'<p class="lead">{escape(audit.sentence)}</p>',
        _verdict(audit),
        _section(audit, first, is_headline=True),
        _overview(audit) if others else "",
        *(_section(audit, comparison) for comparison in others),
        elements.bullet_list("How to read this report", _notes(audit)),
    ]
    return render_page("Fairness audit", describe_log(audit), "\n".join(filter(None, parts)))


def describe_log(audit: Audit) -> str:
    """Return the log, its size and the roles of its columns."""
    missing = f", {audit.missing:,} of them without a reward" if audit.missing else ""
    given = audit.roles.to_dict()
    roles = {role: given[role] for role in ("arm", "reward", "groups", "time") if role in given}
    columns = "; ".join(
        f"{role} = {', '.join(names) if isinstance(names, list) else names}" for role, names in roles.items()
    )
    guessed = [role for role in roles if role in audit.guessed]
    guesses = f" Guessed from column names: {', '.join(guessed)}." if guessed else ""
    return f"{audit.name}: {audit.rows:,} decisions{missing}. Columns: {columns}.{guesses}"


def _verdict(audit: Audit) -> str:
    if audit.verdict is None:
        return ""
    css_class = {FAIR: "fair", UNFAIR: "unfair"}.get(audit.status, "little")
    return f'<p class="verdict {css_class}">{escape(audit.verdict)}</p>'


def _overview(audit: Audit) -> str:
    rows = []
    for comparison in audit.comparisons:
        analysis = comparison.analysis
        if analysis is None:
            cells = ["", "", "", ""]
        else:
            number, gap = audit.sentences.formatter(analysis), analysis.gap
            cells = [
                number(float(gap)),
                f"{number(gap.low)} to {number(gap.high)}",
                escape(analysis.disadvantaged.name),
                escape(analysis.advantaged.name),
            ]
        rows.append((comparison.name, [*cells, comparison.conclusion]))
    headers = ["gap", audit.sentences.interval_name, "disadvantaged", "advantaged", "conclusion"]
    return f"<h2>All comparisons</h2>\n{elements.scrollable(html_table(headers, rows))}"


def _section(audit: Audit, comparison: Comparison, is_headline: bool = False) -> str:
    sentences, analysis = audit.sentences, comparison.analysis
    summary = [] if is_headline else [sentences.summary(comparison)]
    too_small = sentences.too_small(comparison)
    parts = [f"<h2>By {escape(comparison.name)}</h2>", elements.paragraphs(summary)]
    if analysis is not None:
        parts.append(_figures(audit, analysis))
    parts += [_group_table(audit, comparison), elements.paragraphs([too_small] if too_small else [])]
    if analysis is not None:
        missing = elements.paragraphs([sentences.missing(analysis)])
        parts += [_decomposition(audit, analysis), f"<h3>Missing rewards</h3>\n{missing}"]
    parts.append(sections_html(further_sections(audit, comparison)))
    return "\n".join(filter(None, parts))


def _figures(audit: Audit, analysis: GapAnalysis) -> str:
    number, interval = audit.sentences.formatter(analysis), audit.sentences.interval_name
    means = "; ".join(f"{group.name} {number(group.mean)}" for group in analysis.groups[:20])
    caption = f"Mean reward of each group with its anytime-valid {interval} (bar)."
    if audit.settings.tolerance is not None:
        caption += " The grey band is the tolerance, from the disadvantaged group upwards."
    drawings = [
        svg_figure(
            as_svg(figures.mean_rewards(analysis, audit.settings.tolerance)),
            f"Mean reward per decision of each group, with its {interval}: {means}",
            caption,
        )
    ]
    if analysis.has_history:
        caption = f"Mean of all rewards so far with its anytime-valid {interval} (band)."
        if analysis.is_detectable:
            caption += " The dashed line marks since when the gap has been detectable."
        drawings.append(
            svg_figure(
                as_svg(figures.history(analysis)),
                f"Cumulative mean reward of each group over time. {audit.sentences.history(analysis)}",
                caption,
            )
        )
    return elements.figures(drawings)


def _group_table(audit: Audit, comparison: Comparison) -> str:
    number = audit.sentences.comparison_formatter(comparison)
    rows = [
        (
            group.name,
            [
                f"{group.rewards:,}",
                number(group.mean),
                f"{number(group.low)} to {number(group.high)}" if group.is_large_enough else "too small",
                percent(group.missing_share.value),
            ],
        )
        for group in comparison.groups
    ]
    headers = ["rewards", "mean reward", audit.sentences.interval_name, "rewards missing"]
    return elements.scrollable(html_table(headers, rows))


def _decomposition(audit: Audit, analysis: GapAnalysis) -> str:
    sentences = audit.sentences
    texts = [sentences.effects(analysis), sentences.top_arms(analysis)]
    texts += filter(None, [sentences.one_sided(analysis)])
    caption = (
        f"Contributions of arms to the gap between {analysis.advantaged.name} and {analysis.disadvantaged.name}. "
        "Negative contributions reduce the gap."
    )
    drawing = svg_figure(as_svg(figures.arm_contributions(analysis)), f"{caption} {' '.join(texts)}", caption)
    return (
        f"<h3>Decomposition over arms</h3>\n{elements.paragraphs(texts)}\n"
        f"{elements.figures([drawing])}\n{_arm_table(audit, analysis)}"
    )


def _arm_table(audit: Audit, analysis: GapAnalysis) -> str:
    number, fine = audit.sentences.formatter(analysis), audit.sentences.formatter(analysis, extra_digits=1)
    parts = analysis.decomposition
    total = [
        fine(float(analysis.gap)),
        _with_interval(parts.exposure_effect, fine),
        _with_interval(parts.within_arm_effect, fine),
        "",
        "",
        number(analysis.advantaged.mean),
        number(analysis.disadvantaged.mean),
    ]
    rows = [("all arms", total)]
    rows += [
        (
            str(part.arm),
            [
                _with_interval(part.total, fine),
                fine(part.exposure_effect),
                fine(part.within_arm_effect),
                *(percent(share) for share in part.shares),
                *(number(mean) or "never shown" for mean in part.means),
            ],
        )
        for part in parts.arms
    ]
    if parts.n_arms > len(parts.arms):
        rows.append((f"the other {parts.n_arms - len(parts.arms):,} arms", [fine(parts.rest), *[""] * 6]))
    names = analysis.advantaged.name, analysis.disadvantaged.name
    headers = ["contribution", "exposure effect", "within-arm effect"]
    headers += [*(f"exposure of {name}" for name in names), *(f"mean of {name}" for name in names)]
    return elements.scrollable(html_table(headers, rows))


def _with_interval(estimate: IntervalEstimate, number: Callable[[float], str]) -> str:
    return elements.with_small_print(number(estimate.value), f"{number(estimate.low)} to {number(estimate.high)}")


def _notes(audit: Audit) -> list[str]:
    low, high = audit.reward_range
    n = len(audit.comparisons)
    confidence = f"{audit.settings.confidence * 100:g}%"
    return [
        f"The reward gap is the difference in mean reward between groups (demographic parity of rewards). Missing "
        f"rewards are left out of means. Rewards lie between {low:g} and {high:g}.",
        f"The intervals of mean rewards and gaps are anytime-valid confidence sequences. They hold jointly and at "
        f"all times with {confidence} confidence: the error probability is divided over {n} "
        f"comparison{'s' if n > 1 else ''} and their groups (Bonferroni). They do not assume that decisions are "
        "independent. The intervals of the shares of missing rewards hold jointly as well, on their own.",
        "The decomposition is that of Kitagawa, Oaxaca and Blinder. The exposure of a group is the share of its "
        "rewards that came from the arm.",
        f"The intervals of the decomposition (small print) are {confidence} Wald intervals from a bootstrap that "
        "treats decisions as independent. Each of them holds by itself.",
        f"A group needs {audit.settings.min_rows:,} rewards to be compared.",
        "A gap does not prove a cause: groups that differ in one attribute may differ in others as well.",
    ]
