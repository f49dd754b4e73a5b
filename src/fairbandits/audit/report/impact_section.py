"""The section on impact ratios and the four-fifths rule."""

from __future__ import annotations

import math

from fairbandits.audit.audit import Audit
from fairbandits.audit.impact_ratios import FOUR_FIFTHS, ImpactRatio, ImpactRatios
from fairbandits.audit.report.sections import Section, between, list_groups, ratio_text
from fairbandits.audit.results import Comparison
from fairbandits.views.text import percent

_SCREENING = (
    "The four-fifths rule is a screening rule: a ratio below 0.8 calls for a closer look and is not a finding of "
    "discrimination, and a ratio above it does not rule discrimination out."
)


def impact_section(audit: Audit, comparison: Comparison) -> Section | None:
    """Return the section, or None if impact ratios were not requested."""
    result = comparison.impact
    if result is None:
        return None
    has_test = result.no_test is None
    counted = audit.sentences.user_name if result.kind == "scoring" else "decisions"
    rate = "selection rate" if result.kind == "selection" else "scoring rate"
    headers = [counted, "share of the data", "selected", rate, "impact ratio", audit.sentences.interval_name]
    headers += ["Fisher's p", "corrected"] if has_test else []
    rows = [
        (each.group.name, _cells(each) + ([_p(each.p_value), _p(each.corrected_p_value)] if has_test else []))
        for each in result.categories
    ]
    texts = (
        _definition(audit, result),
        _four_fifths(result),
        _left_out(audit, result),
        _test(audit, result),
        _SCREENING,
    )
    return Section("Impact ratios", tuple(filter(None, texts)), tuple(headers), rows)


def _cells(each: ImpactRatio) -> list[str]:
    flag = " (below 2%)" if each.is_below_two_percent else ""
    cells = [f"{each.n:,}", percent(each.share) + flag, f"{each.selected:,}", percent(each.rate)]
    interval = "" if each.ratio.low == each.ratio.high else between(each.ratio, ratio_text)
    return [*cells, ratio_text(each.ratio.value), interval]


def _p(value: float) -> str:
    return "" if math.isnan(value) else "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def _definition(audit: Audit, result: ImpactRatios) -> str:
    lower, users = audit.settings.lower_is_better, audit.sentences.user_name
    if result.kind == "selection":
        outcome = f"reward {audit.reward_range[0 if lower else 1]:g}"
        what = f"The selection rate is the share of decisions with the favourable outcome ({outcome})."
    else:
        side = "below" if lower else "above"
        median = f"the overall median, {result.median:g}"
        what = f"The scoring rate is the share of {users} whose score is {side} {median}."
    if result.sample_share != 1.0:
        what += f" It is computed from a random sample of {percent(result.sample_share)} of them."
    if result.most_selected is None:
        return f"{what} Nobody was selected, so impact ratios are not defined."
    name = result.most_selected.name
    return f"{what} The impact ratio is this rate divided by that of the most selected category, {name}."


def _four_fifths(result: ImpactRatios) -> str | None:
    if result.most_selected is None:
        return None
    below = [each.group for each in result.categories if each.is_below_four_fifths]
    if not below:
        return "No impact ratio is below four fifths."
    surely = [each.group for each in result.categories if each.ratio.high < FOUR_FIFTHS]
    certain = f" For {list_groups(surely)}, the whole interval is below four fifths." if surely else ""
    return f"Below four fifths: {list_groups(below)}.{certain}"


def _left_out(audit: Audit, result: ImpactRatios) -> str:
    text = f"The category of {result.unknown:,.0f} {audit.sentences.user_name} is unknown; no rate includes them."
    if not result.unknown:
        text = f"The categories of all {audit.sentences.user_name} are known."
    if any(each.is_below_two_percent for each in result.categories):
        text += (
            " Categories with less than 2% of the data are flagged. They are never the most selected category, "
            "and Local Law 144 allows leaving them out."
        )
    return text


def _test(audit: Audit, result: ImpactRatios) -> str:
    if result.no_test is not None:
        return f"Fisher's exact test does not apply: {result.no_test}."
    assumed = "" if audit.roles.user else " There is no user column, so the test assumes one decision per user."
    return (
        "Fisher's exact test compares each category with the most selected one; its p-values are also shown "
        f"corrected for all pairs of categories (Bonferroni).{assumed}"
    )
