"""The HTML page of an audit: the verdict and the omissions, then figures and tables, then the provenance."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape

from fairbandits.audit.audit import Audit
from fairbandits.audit.intervals import IntervalEstimate
from fairbandits.audit.report import page_figures
from fairbandits.audit.report.check_sentences import check_sentences
from fairbandits.audit.report.further_sections import further_sections
from fairbandits.audit.report.notes import describe_log, notes, provenance_rows
from fairbandits.audit.report.omissions import omission_sentences
from fairbandits.audit.report.sections import sections_html
from fairbandits.audit.report.tables import Row, group_table, verdict_notes, verdict_table
from fairbandits.audit.results import Comparison, GapAnalysis
from fairbandits.audit.verdict import FAIR, UNFAIR
from fairbandits.report import elements
from fairbandits.report.page import html_table, render_page
from fairbandits.views.text import percent


def audit_page(audit: Audit) -> str:
    """Return the page, with all figures embedded."""
    first = audit.headline
    others = [comparison for comparison in audit.comparisons if comparison is not first]
    parts = [
        f'<p class="lead">{escape(audit.sentence)}</p>',
        _verdict(audit),
        _table("Verdicts", *verdict_table(audit)),
        elements.paragraphs(verdict_notes(audit)),
        _left_out(audit),
        _section(audit, first, is_headline=True),
        *(_section(audit, comparison) for comparison in others),
        elements.bullet_list("How to read this report", notes(audit)),
        f"<h2>Provenance</h2>\n{elements.definitions(provenance_rows(audit))}",
    ]
    return render_page("Fairness audit", describe_log(audit), "\n".join(filter(None, parts)))


def _verdict(audit: Audit) -> str:
    if audit.verdict is None:
        return ""
    css_class = {FAIR: "fair", UNFAIR: "unfair"}.get(audit.status, "little")
    return f'<p class="verdict {css_class}">{escape(audit.verdict)}</p>'


def _left_out(audit: Audit) -> str:
    """Return the paragraphs on omissions, on problems with the rows, and on the assumptions of the intervals."""
    return elements.paragraphs(
        [*omission_sentences(audit), *check_sentences(audit.checks), audit.sentences.assumption()]
    )


def _section(audit: Audit, comparison: Comparison, is_headline: bool = False) -> str:
    sentences, analysis = audit.sentences, comparison.analysis
    summary = [] if is_headline else [sentences.summary(comparison)]
    too_small = sentences.too_small(comparison)
    groups = _table(f"Groups by {comparison.name}", *group_table(audit, comparison))
    parts = [f"<h2>By {escape(comparison.name)}</h2>", elements.paragraphs(summary)]
    if analysis is not None:
        styles = page_figures.styles_of(comparison)
        parts += [elements.figures([page_figures.group_means(audit, analysis, styles), groups])]
        parts += [
            elements.figures(page_figures.over_time(audit, analysis, styles)) if analysis.has_history else ""
        ]
    else:
        parts.append(groups)
    parts.append(elements.paragraphs([too_small] if too_small else []))
    if analysis is not None:
        missing = elements.paragraphs([sentences.missing(analysis)])
        parts += [_decomposition(audit, analysis), f"<h3>Missing rewards</h3>\n{missing}"]
    parts.append(sections_html(further_sections(audit, comparison)))
    return "\n".join(filter(None, parts))


def _decomposition(audit: Audit, analysis: GapAnalysis) -> str:
    sentences = audit.sentences
    texts = [sentences.effects(analysis), sentences.top_arms(analysis)]
    texts += filter(None, [sentences.one_sided(analysis)])
    drawings = page_figures.decomposition(audit, analysis, " ".join(texts))
    return (
        f"<h3>Decomposition over arms</h3>\n{elements.paragraphs(texts)}\n"
        f"{elements.figures(drawings)}\n{_arm_table(audit, analysis)}"
    )


def _arm_table(audit: Audit, analysis: GapAnalysis) -> str:
    number, fine = audit.sentences.formatter(analysis), audit.sentences.formatter(analysis, extra_digits=1)
    parts, groups = analysis.decomposition, audit.sentences.higher_and_lower(analysis)
    total = [
        fine(float(analysis.gap)),
        _with_interval(parts.exposure_effect, fine),
        _with_interval(parts.within_arm_effect, fine),
        "",
        "",
        *(number(group.mean) for group in groups),
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
    names = [group.name for group in groups]
    headers = ["contribution", "exposure effect", "within-arm effect"]
    headers += [*(f"exposure of {name}" for name in names), *(f"mean of {name}" for name in names)]
    return elements.scrollable(html_table(headers, rows), f"Contributions of arms by {analysis.name}")


def _with_interval(estimate: IntervalEstimate, number: Callable[[float], str]) -> str:
    if math.isnan(estimate.low):
        return number(estimate.value)
    return elements.with_small_print(number(estimate.value), f"{number(estimate.low)} to {number(estimate.high)}")


def _table(title: str, columns: list[str], rows: list[Row]) -> str:
    return elements.scrollable(
        html_table(columns, [(name, list(map(escape, cells))) for name, cells in rows]), title
    )
