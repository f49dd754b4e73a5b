"""Whether the worst-off group receives less than with LinUCB, and whether the tolerance forces that."""

from __future__ import annotations

from collections.abc import Mapping

from fairbandits.compare.policy_specs import BASELINE
from fairbandits.compare.subgroups import Group, group_label

#: The worst-off group's mean reward may be this far below its mean reward with LinUCB before a note is added.
SLACK = 0.005

#: Mean and standard deviation over seeds of each measure.
_Metrics = Mapping[str, tuple[float, float | None]]


def worst_off_note(
    metrics: _Metrics,
    baseline: _Metrics | None,
    oracle: dict[Group, float] | None,
    tolerance: float,
) -> str:
    """Return a note if the worst-off group receives less than with LinUCB, and whether the tolerance forces it."""
    if baseline is None or "worst_off_reward" not in baseline:  # without groups, no group is worst off
        return ""
    reward, reference = metrics["worst_off_reward"][0], baseline["worst_off_reward"][0]
    if reward >= reference - SLACK:
        return ""
    text = (
        f"The worst-off group receives {reward:.3f}, {reference - reward:.3f} less than with {BASELINE} "
        f"({reference:.3f})."
    )
    if oracle is None:
        return f"{text} No policy can keep the gap within {tolerance:g} here."
    lowest = min(oracle.values(), default=reference)
    if lowest < reference - SLACK:
        return f"{text} The tolerance of {tolerance:g} forces this: the oracle gives the group {lowest:.3f}."
    return (
        f"{text} The tolerance does not force this: with a gap of at most {tolerance:g}, the oracle gives every "
        f"group at least {lowest:.3f}."
    )


def levelled_down(
    oracle: Mapping[Group, float] | None, baseline: _Metrics | None
) -> dict[Group, tuple[float, float]]:
    """Return the groups that receive less from the oracle at the tolerance than from LinUCB, with both rewards."""
    if oracle is None or baseline is None:
        return {}
    reference = {group: baseline[f"reward_{group_label(group)}"][0] for group in oracle}
    return {
        group: (reference[group], reward) for group, reward in oracle.items() if reward < reference[group] - SLACK
    }
