"""Comparisons of groups by every attribute and by their intersections."""

from __future__ import annotations

from fairbandits.audit.fixed_sample import compare_fixed_sample
from fairbandits.audit.grouped_sums import attribute_combinations, group_by
from fairbandits.audit.log_sums import LogSums
from fairbandits.audit.results import Comparison
from fairbandits.audit.sequential import compare_sequentially
from fairbandits.audit.settings import AuditSettings
from fairbandits.audit.unit_sums import UnitSums
from fairbandits.audit.windows import Windows


def compare_all(
    sums: LogSums, units: UnitSums | None, windows: Windows, settings: AuditSettings
) -> tuple[Comparison, ...]:
    """Compare the groups of each attribute and of their intersections.

    The error probability is divided evenly over all comparisons (Bonferroni), so all statements hold jointly.
    Without sums of users, the comparisons are sequential.
    """
    combinations = attribute_combinations(list(sums.labels))
    error = (1.0 - settings.confidence) / len(combinations)
    comparisons = []
    for attributes in combinations:
        grouped = group_by(sums, attributes)
        if units is not None:
            comparisons.append(compare_fixed_sample(grouped, units, windows, settings, error))
        else:
            # Shared by all groups, not by those that are large so far: their number grows while one watches.
            comparisons.append(compare_sequentially(grouped, settings, error / max(len(grouped.labels), 1)))
    return tuple(comparisons)
