"""Rules for accepting a reward: for a known decision, once, in time, and in the shape of the decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairbandits.service.log.events import Decided, Rewarded, decision_key, reward_key
from fairbandits.service.log.requests import Refusal, RefusalReason

_DAY = 86400.0


def settle_reward(reward: Rewarded, window: float, found: Mapping[str, Any]) -> Rewarded | Refusal:
    """Return the reward that the log records for a decision, or the reason why this reward is refused.

    Parameters
    ----------
    reward : Rewarded
        The reward.
    window : float
        The number of seconds after a decision during which its reward is accepted.
    found : mapping of str to Event
        The decision and its earlier reward by their keys, if they exist.
    """
    decision = reward.decision
    decided: Decided | None = found.get(decision_key(decision))
    if decided is None:
        if decision_key(decision) not in found:
            return Refusal(RefusalReason.UNKNOWN_DECISION, f"there is no decision {decision}")
        return Refusal(RefusalReason.REWARD_TOO_LATE, f"the content of decision {decision} was deleted")
    earlier: Rewarded | None = found.get(reward_key(decision))
    if earlier is not None:
        detail = f"decision {decision} already has a different reward, which is kept"
        is_same = earlier.reward == reward.reward
        return earlier if is_same else Refusal(RefusalReason.REWARD_DIFFERS, detail)
    if reward.time - decided.time > window:
        detail = f"decision {decision} is more than {window / _DAY:g} days old"
        return Refusal(RefusalReason.REWARD_TOO_LATE, detail)
    if isinstance(reward.reward, list) and (error := _slate_error(reward.reward, decided)):
        return Refusal(RefusalReason.INVALID, error)
    return reward


def _slate_error(rewards: list[float | None], decided: Decided) -> str:
    if not decided.slate:
        return "reward must be one number, got a list; the decision is a single arm, not a slate"
    n = len(decided.picked)
    if len(rewards) != n:
        return f"reward must have one value for each of the {n} arms, null where there is none, got {len(rewards)}"
    return (
        "" if any(each is not None for each in rewards) else "reward must have at least one value, got only nulls"
    )
