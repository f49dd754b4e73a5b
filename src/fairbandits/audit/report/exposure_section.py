"""The section on exposure: how the decisions of each group are spread over arms."""

from __future__ import annotations

import math

from fairbandits.audit.audit import Audit
from fairbandits.audit.exposure import Exposure, GroupExposure
from fairbandits.audit.report.group_phrases import describe_groups
from fairbandits.audit.report.sections import Section, between, list_groups, ratio_text
from fairbandits.audit.results import Comparison
from fairbandits.views.text import confidence_percent, number_formatter, percent

_METHOD = (
    "Larger groups are shown more arms by chance, so groups are compared at the same number of decisions: half "
    "that of the smaller one. The Gini coefficient is 0 if a group is shown all arms equally often; its "
    "differences, too, are at the same number of decisions. The intervals are from a jackknife over 64 folds of "
    "users."
)


def exposure_section(audit: Audit, comparison: Comparison) -> Section | None:
    """Return the section, or None if there is a single arm."""
    result = comparison.exposure
    if result is None:
        return None
    count, interval = number_formatter(1), audit.sentences.interval_name
    rows = [
        (
            each.group.name,
            [
                f"{each.arms_shown:,} ({percent(each.coverage)})",
                _arms(each),
                between(each.arms_difference, count),
                ratio_text(each.gini),
                between(each.gini_difference, ratio_text),
            ],
        )
        for each in result.groups
    ]
    headers = (
        f"arms shown, of {result.n_arms:,}",
        f"arms at the same number of decisions, vs {result.reference.name}",
        f"difference to {result.reference.name} ({interval})",
        "Gini coefficient",
        f"difference to {result.reference.name} ({interval})",
    )
    return Section("Exposure to arms", (_sentence(audit, comparison, result), _METHOD), headers, rows)


def _sentence(audit: Audit, comparison: Comparison, result: Exposure) -> str:
    confidence = f"{confidence_percent(audit.settings.confidence)} confidence"
    [reference] = describe_groups(comparison, result.reference)
    if not result.narrower:
        return f"No group is demonstrably shown a narrower catalogue than {reference} ({confidence})."
    names = list_groups([each.group for each in result.narrower])
    return f"Shown a narrower catalogue than {reference} ({confidence}): {names}."


def _arms(each: GroupExposure) -> str:
    if math.isnan(each.decisions):
        return ""
    arms = each.reference_arms + each.arms_difference.value
    return f"{arms:,.1f} vs {each.reference_arms:,.1f} arms in {each.decisions:,.0f} decisions"
