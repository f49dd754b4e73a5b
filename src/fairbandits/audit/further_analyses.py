"""Analyses of an audit besides gaps: a reference group, exposure, impact ratios and adjusted gaps.

The verdict does not depend on them. Each kind of analysis has its own error probability, which is divided among
all comparisons, so the intervals of one kind hold jointly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from fairbandits.audit.adjusted_gaps import adjust
from fairbandits.audit.aggregation import merged
from fairbandits.audit.exposure import analyse_exposure
from fairbandits.audit.grouped_sums import group_by
from fairbandits.audit.impact_ratios import impact_ratios
from fairbandits.audit.log_sums import LogSums
from fairbandits.audit.reference import check_reference, compare_with_reference, find_reference
from fairbandits.audit.results import Comparison
from fairbandits.audit.row_sample import RowSample, sample_rows
from fairbandits.audit.selection_rates import selection_rates
from fairbandits.audit.settings import AuditSettings
from fairbandits.audit.strata_sums import StrataSums, aggregate_strata
from fairbandits.audit.unit_sums import UnitSums
from fairbandits.cluster import map_reduce
from fairbandits.logs.log import Log


def add_further_analyses(
    comparisons: Sequence[Comparison],
    log: Log,
    sums: tuple[LogSums, UnitSums],
    settings: AuditSettings,
    cluster: Any = None,
) -> tuple[Comparison, ...]:
    """Return comparisons with a reference group, exposure and, if requested, the other analyses.

    Parameters
    ----------
    comparisons : sequence of Comparison
        The fixed-sample comparisons.
    log : Log
        The log. It is read again for adjusted gaps, and for the median of scores if there is no user column.
    sums : tuple
        The sums from both passes over the log.
    settings : AuditSettings
        The settings.
    cluster : str or Client, optional
        The cluster on which to read the log.
    """
    check_reference(comparisons, settings.reference)
    log_sums, units = sums
    error = (1.0 - settings.confidence) / len(comparisons)

    @cache
    def rows() -> RowSample:
        return map_reduce(log.split, sample_rows, merged, cluster)

    factors = _read_factors(log, log_sums.reward_range[0], cluster) if log.roles.given else None
    results = []
    for comparison in comparisons:
        grouped = group_by(log_sums, comparison.attributes)
        if settings.impact_ratios:
            rates = selection_rates(grouped, units, settings.lower_is_better, rows)
            comparison = replace(comparison, impact=impact_ratios(comparison, rates, error))  # noqa: PLW2901
        chosen = find_reference(comparison, settings.reference)
        reference = None if chosen is None else compare_with_reference(comparison, grouped, chosen)
        if chosen is not None and reference is not None:
            comparison = replace(  # noqa: PLW2901
                comparison,
                reference=reference,
                exposure=analyse_exposure(comparison, grouped, units, chosen, error),
                adjusted=None if factors is None else adjust(reference, grouped, factors, error),
            )
        results.append(comparison)
    return tuple(results)


def _read_factors(log: Log, lowest: float, cluster: Any) -> StrataSums | RowSample:
    """Return the rewards by stratum or, if there are too many strata, the rows."""
    strata = map_reduce(log.split, partial(aggregate_strata, lowest=lowest), merged, cluster)
    if not strata.is_too_many:
        return strata
    return map_reduce(log.split, partial(sample_rows, factors=log.roles.given), merged, cluster)
