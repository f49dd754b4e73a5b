"""The section on differences from a reference group, and ratios to it."""

from __future__ import annotations

import math

from fairbandits.audit.audit import Audit
from fairbandits.audit.reference import GroupRatio, ReferenceComparison
from fairbandits.audit.report.group_phrases import describe_groups
from fairbandits.audit.report.sections import Section, between, ratio_text
from fairbandits.audit.results import Comparison
from fairbandits.report.phrases import capitalise


def reference_section(audit: Audit, comparison: Comparison) -> Section | None:
    """Return the section, or None if no group could be compared with the reference group."""
    result = comparison.reference
    if result is None:
        return None
    number, interval = audit.sentences.comparison_formatter(comparison), audit.sentences.interval_name
    rows = [
        (each.group.name, [number(each.difference.value), between(each.difference, number)])
        for each in result.groups
    ]
    headers = ["difference", interval]
    if audit.reward_range[0] == 0.0:
        headers += ["ratio", interval]
        for (_, cells), each in zip(rows, result.groups, strict=True):
            cells += [ratio_text(each.ratio.value), between(each.ratio, ratio_text)]
    text = _sentence(audit, comparison, result, _furthest(result))
    return Section(f"Compared with {result.reference.name}", (text,), tuple(headers), rows)


def _furthest(result: ReferenceComparison) -> GroupRatio:
    return max(result.groups, key=lambda each: abs(each.difference.value))


def _sentence(audit: Audit, comparison: Comparison, result: ReferenceComparison, each: GroupRatio) -> str:
    noun, lowest = "harm" if audit.settings.lower_is_better else "reward", audit.reward_range[0]
    if lowest != 0.0:
        return (
            f"Ratios are left out: the lowest possible reward is {lowest:g}, not 0, so they would depend on the "
            "choice of zero."
        )
    users, reference = describe_groups(comparison, each.group, result.reference)
    if not math.isfinite(each.ratio.value):
        return capitalise(f"{reference} received no {noun}, so ratios are not defined.")
    which = "" if len(result.groups) == 1 else " No other group differs more from the reference group."
    return capitalise(
        f"{users} received {ratio_text(each.ratio.value)} times the {noun} of {reference} "
        f"({audit.sentences.interval_name}: {between(each.ratio, ratio_text)}).{which}"
    )
