"""Who is left behind? Group rewards as a stream, and what fairness adds to a score. Knows no models."""

from fairbandits.fairness.gaps import Gap, Standing
from fairbandits.fairness.group_rewards import GroupRewards
from fairbandits.fairness.group_weights import dual_prices, hedge_weights, of_users
from fairbandits.fairness.groups import Group, GroupKey, as_group, as_groups
from fairbandits.fairness.individual import IndividualGaps
from fairbandits.fairness.penalty import arm_penalty, mapped_penalty
from fairbandits.fairness.tolerance import arm_pull, debt_of
from fairbandits.statistics.confidence_sequence import confidence_radius

__all__ = [
    "Gap",
    "Group",
    "GroupKey",
    "GroupRewards",
    "IndividualGaps",
    "Standing",
    "arm_penalty",
    "arm_pull",
    "as_group",
    "as_groups",
    "confidence_radius",
    "debt_of",
    "dual_prices",
    "hedge_weights",
    "mapped_penalty",
    "of_users",
]
