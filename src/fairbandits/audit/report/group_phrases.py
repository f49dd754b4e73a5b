"""Groups of a comparison as they appear in sentences."""

from __future__ import annotations

from fairbandits.audit.results import Comparison, GapAnalysis, GroupResult
from fairbandits.report.phrases import describe_users


def describe_groups(comparison: Comparison | GapAnalysis, *groups: GroupResult) -> list[str]:
    """Return a noun phrase for the users in each group, of the same form for all groups of the comparison."""
    compared = comparison.groups if isinstance(comparison, GapAnalysis) else comparison.compared
    return describe_users(
        comparison.attributes,
        *(group.labels for group in groups),
        among=[group.labels for group in compared],
    )
