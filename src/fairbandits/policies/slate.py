"""What a policy hands out where a user gets several arms at once, in an order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId, as_arm
from fairbandits.fairness import GroupKey, as_group
from fairbandits.fairness.group_rewards import as_reward
from fairbandits.models import Row, checked_entries
from fairbandits.policies.decision import Scores, row_from_dict, row_to_dict

#: What `learn` takes: a number; for a slate also one for each of its arms, None where nobody looked.
Reward = float | Sequence[float | None] | NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Slate:
    """Several arms for one user, in an order: all that learning needs later, and all that an audit asks for.

    Attributes
    ----------
    picked : tuple of ids
        The arms that were picked, the first place first.
    probability : float or None
        The probability with which these arms were picked in this order; None where it has no closed form
        (Thompson sampling).
    group : tuple of (attribute, value) pairs
        The user's group.
    scores : Scores
        The scores of all arms on offer, in the order of `arms`.
    arms : sequence of ids
        The arms that were on offer.
    indices : tuple of int
        The places of the picked arms among them.
    rows : tuple of Row
        The contexts of the picked arms.
    policy : str
        The policy that decided.
    number : int
        The how-manieth of its decisions this is, from 0: a slate is one decision.

    Examples
    --------
    >>> from fairbandits import LinUCB
    >>> policy = LinUCB(random_state=0)
    >>> slate = policy.choose([[1.0, 0.0], [0.0, 0.5], [0.0, 0.2]], group="female", k=2)
    >>> slate.picked, slate.probability
    ((0, 1), 1.0)
    >>> policy.learn(slate, [0.8, None])  # nobody looked at the second one
    """

    picked: tuple[ArmId, ...]
    probability: float | None
    group: GroupKey
    scores: Scores
    arms: Sequence[ArmId]
    indices: tuple[int, ...]
    rows: tuple[Row, ...]
    policy: str
    number: int

    def __len__(self) -> int:
        return len(self.picked)

    def to_dict(self) -> dict[str, Any]:
        """Give the slate as plain values that JSON can hold, to keep it until the rewards come."""
        return {
            "picked": list(self.picked),
            "probability": self.probability,
            "group": dict(self.group),
            "scores": self.scores.to_dict(),
            "arms": list(self.arms),
            "indices": list(self.indices),
            "rows": [row_to_dict(row) for row in self.rows],
            "policy": self.policy,
            "number": self.number,
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Slate:
        """Make the slate of which `to_dict` gave the values."""
        try:
            picked = tuple(as_arm(arm) for arm in plain["picked"])
            indices = tuple(int(index) for index in plain["indices"])
            rows = tuple(row_from_dict(row) for row in plain["rows"])
            if not 0 < len(picked) == len(indices) == len(rows):
                raise ValueError(f"{len(picked)} arms, {len(indices)} places, {len(rows)} contexts")
            # So that no arm can be refused after others were learned.
            for row in rows:
                checked_entries(row, rows[0].width)
            return cls(
                picked,
                plain["probability"],
                as_group(plain["group"]),
                Scores.from_dict(plain["scores"]),
                tuple(plain["arms"]),
                indices,
                rows,
                str(plain["policy"]),
                int(plain["number"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"these are not the values of a slate ({error!r}); keep what to_dict gave") from None

    def __repr__(self) -> str:
        return f"Slate(number={self.number}, picked={list(self.picked)}, probability={self.probability})"


def as_slate_size(k: Any, n_arms: int) -> int:
    """Check how many arms a slate is to have."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"k is how many arms a slate has, a whole number from 1; got {k!r}")
    if k > n_arms:
        raise ValueError(f"k={k} arms were asked for, and {n_arms} are on offer; offer more, or ask for fewer")
    return int(k)


def as_slate_rewards(
    reward: Any, slate: Slate, reward_range: tuple[float, float]
) -> tuple[float, list[float | None]]:
    """Check what a slate brought: give what the user gained from it in all, and the reward of each of its arms.

    A single number is the slate's, and every one of its arms is credited with it.
    """
    if not _are_several(reward):
        value = as_reward(reward, reward_range)
        return value, [value] * len(slate)
    values = [None if each is None else as_reward(each, reward_range) for each in reward]
    if len(values) != len(slate):
        raise ValueError(
            f"got {len(values)} reward(s) for a slate of {len(slate)} arm(s); give one for each in their order, "
            "None for one that nobody looked at, or a single number for the whole slate"
        )
    came = [value for value in values if value is not None]
    if not came:
        raise ValueError("no arm of the slate has a reward: there is nothing to learn from it; leave it unlearned")
    return math.fsum(came) / len(came), values


def _are_several(reward: Any) -> bool:
    if isinstance(reward, Mapping | AbstractSet):
        raise ValueError(f"rewards of a slate come in the order of its arms; got a {type(reward).__name__}")
    is_number = isinstance(reward, np.ndarray) and reward.ndim == 0
    return isinstance(reward, Iterable) and not isinstance(reward, str) and not is_number
