"""What a policy hands out: an arm, and everything that led to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, make_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId, as_arm
from fairbandits.fairness import GroupKey, as_group
from fairbandits.models import Row

Floats = NDArray[np.float64]


@dataclass(slots=True, eq=False)
class Scores:
    """The scores of the arms on offer, by part: `total = mean + exploration + fairness`.

    Each is an array with one entry per arm; with one line per user where many were scored at once.

    Attributes
    ----------
    mean : array
        The predicted reward.
    width : array
        How unsure that is: `sqrt(x' A^-1 x)`.
    exploration : array
        What the policy adds for being unsure.
    fairness : array
        What fairness adds.
    total : array
        The sum, by which arms are compared.
    """

    mean: Floats
    width: Floats
    exploration: Floats
    fairness: Floats
    total: Floats

    def user(self, i: int) -> Scores:
        """Take out the scores of one user: copied from many, so that one can be kept without the others."""
        own = Scores(self.mean[i], self.width[i], self.exploration[i], self.fairness[i], self.total[i])
        return own if len(self.mean) == 1 else Scores(*(getattr(own, part).copy() for part in Scores.__slots__))

    def at(self, places: NDArray[np.int64]) -> Scores:
        """Take out the scores of some arms of one user."""
        return Scores(*(getattr(self, part)[places] for part in Scores.__slots__))

    def to_dict(self) -> dict[str, list[float]]:
        """Give the scores as plain lists."""
        return {part: getattr(self, part).tolist() for part in Scores.__slots__}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Scores:
        """Make the scores of which `to_dict` gave the lists."""
        return cls(*(np.array(plain[part], np.float64) for part in Scores.__slots__))


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """One arm for one user: all that learning needs later, and all that an audit asks for.

    Attributes
    ----------
    arm : str or int
        The arm that was picked.
    probability : float or None
        The probability with which this arm was picked for this user; None where it has no closed form
        (Thompson sampling with a shared model).
    group : tuple of (attribute, value) pairs
        The user's group.
    scores : Scores
        The scores of all arms on offer, in the order of `arms`.
    arms : sequence of ids
        The arms that were on offer.
    index : int
        The place of the arm among them.
    row : Row
        The context of the arm that was picked.
    policy : str
        The policy that decided.
    number : int
        The how-manieth of its decisions this is, from 0.
    """

    arm: ArmId
    probability: float | None
    group: GroupKey
    scores: Scores
    arms: Sequence[ArmId]
    index: int
    row: Row
    policy: str
    number: int

    @property
    def context(self) -> Floats:
        """The context of the arm that was picked, as a plain vector."""
        return self.row.dense()

    @property
    def score(self) -> float:
        """The score of the arm that was picked."""
        return float(self.scores.total[self.index])

    def to_dict(self) -> dict[str, Any]:
        """Give the decision as plain values that JSON can hold, to keep it until the reward comes.

        Examples
        --------
        >>> import json
        >>> from fairbandits import Decision, LinUCB
        >>> policy = LinUCB(random_state=0)
        >>> kept = json.dumps(policy.choose([[1.0, 0.0], [0.0, 1.0]], group="female").to_dict())
        >>> policy.learn(Decision.from_dict(json.loads(kept)), reward=0.8)
        """
        return {
            "arm": self.arm,
            "probability": self.probability,
            "group": dict(self.group),
            "scores": self.scores.to_dict(),
            "arms": list(self.arms),
            "index": self.index,
            **row_to_dict(self.row),
            "policy": self.policy,
            "number": self.number,
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Decision:
        """Make the decision of which `to_dict` gave the values."""
        try:
            return cls(
                as_arm(plain["arm"]),
                plain["probability"],
                as_group(plain["group"]),
                Scores.from_dict(plain["scores"]),
                tuple(plain["arms"]),
                int(plain["index"]),
                row_from_dict(plain),
                str(plain["policy"]),
                int(plain["number"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"these are not the values of a decision ({error!r}); keep what to_dict gave"
            ) from None

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{name}={getattr(self.scores, name)[self.index]:.4g}" for name in ("mean", "exploration", "fairness")
        )
        return f"Decision(number={self.number}, arm={self.arm!r}, probability={self.probability}, {parts})"


_Draft = make_dataclass("_Draft", [field.name for field in fields(Decision)], slots=True)


def decided(*values: Any) -> Decision:
    """Make a decision, as `Decision(...)` does, in a third of the time: one is made in every round.

    What is frozen writes every field by a call; this is written while it is not, and then is a decision.
    """
    draft: Any = _Draft(*values)
    draft.__class__ = Decision
    decision: Decision = draft
    return decision


def row_to_dict(row: Row) -> dict[str, Any]:
    """Give a context as plain values."""
    columns, values, n_common = row.entries()
    return {"columns": columns.tolist(), "values": values.tolist(), "n_common": n_common, "width": row.width}


def row_from_dict(plain: dict[str, Any]) -> Row:
    """Make the context of which `row_to_dict` gave the values."""
    columns, values = np.array(plain["columns"], np.int64), np.array(plain["values"], np.float64)
    return Row.of(columns, values, int(plain["n_common"]), int(plain["width"]))
