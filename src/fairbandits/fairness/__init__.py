"""Streaming group rewards, and the fairness terms of a score. They depend on groups, not on models."""

from fairbandits.fairness.gaps import Gap, GroupSummary
from fairbandits.fairness.group_rewards import GroupRewards
from fairbandits.fairness.group_weights import dual_prices, hedge_weights, per_user, welfare_weights
from fairbandits.fairness.groups import Group, GroupKey, as_group, as_groups
from fairbandits.fairness.individual import IndividualGaps
from fairbandits.fairness.penalty import arm_penalty, scaled_penalty
from fairbandits.fairness.tolerance import arm_correction, group_debt
from fairbandits.statistics.confidence_sequence import confidence_radius

__all__ = [
    "Gap",
    "Group",
    "GroupKey",
    "GroupRewards",
    "GroupSummary",
    "IndividualGaps",
    "arm_correction",
    "arm_penalty",
    "as_group",
    "as_groups",
    "confidence_radius",
    "dual_prices",
    "group_debt",
    "hedge_weights",
    "per_user",
    "scaled_penalty",
    "welfare_weights",
]
