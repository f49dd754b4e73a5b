"""Comparisons of groups by every attribute and by their intersections."""

from __future__ import annotations

import numpy as np

from fairbandits.audit.fixed_sample import compare_fixed_sample
from fairbandits.audit.group_means import group_means
from fairbandits.audit.grouped_sums import attribute_combinations, group_by
from fairbandits.audit.log_sums import LogSums
from fairbandits.audit.results import Comparison
from fairbandits.audit.sequential import compare_sequentially
from fairbandits.audit.settings import AuditSettings
from fairbandits.audit.small_cells import Cell, hidden_cells, is_recognisable
from fairbandits.audit.unit_sums import UnitSums
from fairbandits.audit.windows import Windows


def compare_all(
    sums: LogSums, units: UnitSums | None, windows: Windows, settings: AuditSettings
) -> tuple[Comparison, ...]:
    """Compare the groups of each attribute and of their intersections.

    The error probability is divided evenly among all comparisons (Bonferroni), so all statements hold jointly.
    Without sums by user, the comparisons are sequential.
    """
    combinations = attribute_combinations(list(sums.labels))
    error = (1.0 - settings.confidence) / len(combinations)
    comparisons = []
    hidden = _hidden_cells(sums, units, settings) if units is not None and settings.min_cell else set()
    for attributes in combinations:
        grouped = group_by(sums, attributes)
        if units is not None:
            # A group that may not be shown cannot be compared either.
            is_hidden = np.array([(attributes, labels) in hidden for labels in grouped.labels], bool)
            comparisons.append(compare_fixed_sample(grouped, units, windows, settings, error, is_hidden))
        else:
            # The error is shared by all groups, not only by those that are already large enough, because the
            # number of the latter grows while the log is being watched.
            comparisons.append(compare_sequentially(grouped, settings, error / max(len(grouped.labels), 1)))
    return tuple(comparisons)


def _hidden_cells(sums: LogSums, units: UnitSums, settings: AuditSettings) -> set[Cell]:
    users: dict[Cell, float] = {}
    for attributes in attribute_combinations(list(sums.labels)):
        grouped = group_by(sums, attributes)
        counts = group_means(grouped, units).whole.users
        users |= {(attributes, labels): float(n) for labels, n in zip(grouped.labels, counts, strict=True)}
    # The counts of the other hidden cells are not shown either, but these cells are large enough to be compared.
    return {
        cell for cell in hidden_cells(users, settings.min_cell) if is_recognisable(users[cell], settings.min_cell)
    }
