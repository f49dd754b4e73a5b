"""The section of differences and ratios to a reference group."""

from __future__ import annotations

import math

from fairbandits.audit.audit import Audit
from fairbandits.audit.reference import GroupRatio, ReferenceComparison
from fairbandits.audit.report.sections import Section, between, ratio_text
from fairbandits.audit.results import Comparison
from fairbandits.report.phrases import capitalise, describe_users


def reference_section(audit: Audit, comparison: Comparison) -> Section | None:
    """Return the section; None if no group could be compared with the reference group."""
    result = comparison.reference
    if result is None:
        return None
    number, interval = audit.sentences.comparison_formatter(comparison), audit.sentences.interval_name
    rows = [
        (
            each.group.name,
            [
                number(each.difference.value),
                between(each.difference, number),
                ratio_text(each.ratio.value),
                between(each.ratio, ratio_text),
            ],
        )
        for each in result.groups
    ]
    headers = "difference", interval, "ratio", interval
    text = _sentence(audit, comparison, result, _furthest(result))
    return Section(f"Compared with {result.reference.name}", (text,), headers, rows)


def _furthest(result: ReferenceComparison) -> GroupRatio:
    return max(result.groups, key=lambda each: abs(each.difference.value))


def _sentence(audit: Audit, comparison: Comparison, result: ReferenceComparison, each: GroupRatio) -> str:
    if math.isnan(each.ratio.value):
        return "Rewards may be negative, so their ratios have no meaning."
    noun = "harm" if audit.settings.lower_is_better else "reward"
    users, reference = describe_users(comparison.attributes, each.group.labels, result.reference.labels)
    which = "" if len(result.groups) == 1 else ", the group furthest from them"
    return capitalise(
        f"{users} received {ratio_text(each.ratio.value)} times the {noun} of {reference} "
        f"({audit.sentences.interval_name}: {between(each.ratio, ratio_text)}){which}."
    )
