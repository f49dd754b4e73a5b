"""Decisions and slates, with everything that led to them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, make_dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId, as_arm
from fairbandits.fairness import GroupKey, as_group
from fairbandits.fairness.group_rewards import as_reward
from fairbandits.models.rows import Row, checked_entries
from fairbandits.policies import notebook
from fairbandits.views.text import counted, shorten_name

Floats = NDArray[np.float64]

# The largest number of arms that the repr of a slate names.
_MAX_NAMED = 5

#: A reward, as passed to `learn`: a number or, for a slate, one number per arm, with None for an arm that the user
#: did not look at.
Reward = float | Sequence[float | None] | NDArray[np.float64]


@dataclass(slots=True, eq=False, repr=False)
class Scores:
    """The scores of the arms on offer, by component: `total = mean + exploration + fairness`.

    Each component is an array with one entry per arm; for many users, it has one row per user.

    Attributes
    ----------
    mean : array
        The predicted reward.
    width : array
        The uncertainty of the prediction, `sqrt(x' A^-1 x)` for linear models.
    exploration : array
        The exploration term that the policy adds.
    fairness : array
        The fairness term that the policy adds.
    total : array
        The predicted reward plus both terms; arms are compared by this total.

    Examples
    --------
    >>> import numpy as np
    >>> from fairbandits import LinUCB
    >>> policy = LinUCB(alpha=0.5, random_state=0)
    >>> policy.learn(policy.choose(np.eye(2)[:1]), reward=1.0)
    >>> scores = policy.choose(np.eye(2)).scores
    >>> scores.mean.round(2), scores.exploration.round(2), scores.total.round(2)
    (array([0.5, 0. ]), array([0.35, 0.5 ]), array([0.85, 0.5 ]))
    """

    mean: Floats
    width: Floats
    exploration: Floats
    fairness: Floats
    total: Floats

    def __repr__(self) -> str:
        users = f"{counted(len(self.total), 'user')}, " if self.total.ndim > 1 else ""
        return f"<Scores of {users}{counted(self.total.shape[-1], 'arm')}>"

    def user(self, i: int) -> Scores:
        """Return one user's scores, copied if there are other users, so that the others' scores can be freed."""
        own = Scores(self.mean[i], self.width[i], self.exploration[i], self.fairness[i], self.total[i])
        return own if len(self.mean) == 1 else Scores(*(getattr(own, part).copy() for part in Scores.__slots__))

    def as_batch(self) -> Scores:
        """Return the scores of one user as a batch with one row."""
        return Scores(*(getattr(self, part)[None] for part in Scores.__slots__))

    def at(self, indices: NDArray[np.int64]) -> Scores:
        """Return one user's scores for some of the arms."""
        return Scores(*(getattr(self, part)[indices] for part in Scores.__slots__))

    def to_dict(self) -> dict[str, list[float]]:
        """Return the scores as lists."""
        return {part: getattr(self, part).tolist() for part in Scores.__slots__}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Scores:
        """Rebuild scores from the result of `to_dict` or, for a single arm, from one number per component."""
        return cls(*(np.atleast_1d(np.array(values[part], np.float64)) for part in Scores.__slots__))


class RankedArms(NamedTuple):
    """The best arms of many users, stored as arrays instead of one slate per user.

    Attributes
    ----------
    indices : array of int, shape (n_users, k)
        The indices of the picked arms in `arms`, from the first position to the last.
    scores : array of shape (n_users, k)
        The scores of the picked arms.
    probability : array of shape (n_users,)
        The probability with which these arms are picked in this order; NaN if it has no closed form.
    arms : sequence of ids
        The arms that were on offer.

    Examples
    --------
    >>> import numpy as np
    >>> from fairbandits import LinUCB
    >>> best = LinUCB(alpha=1.0, random_state=0).rank([np.diag([0.2, 1.0, 0.6])] * 2, arms=list("abc"), k=2)
    >>> [[best.arms[index] for index in row] for row in best.indices]
    [['b', 'c'], ['b', 'c']]
    >>> best.scores.round(2).tolist(), best.probability.tolist()
    ([[1.0, 0.6], [1.0, 0.6]], [1.0, 1.0])
    """

    indices: NDArray[np.int64]
    scores: NDArray[np.float64]
    probability: NDArray[np.float64]
    arms: Sequence[ArmId]


class Record(Protocol):
    """A record of decisions that a policy keeps in addition to `groups`.

    The record is saved and merged along with the policy.
    """

    def to_json(self) -> Any:
        """Return all non-numeric content as JSON values."""
        ...

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Return the numeric content as arrays."""
        ...

    def restore(self, names: Any, arrays: dict[str, Any]) -> None:
        """Restore the content that `to_json` and `arrays` returned."""
        ...

    def merge(self, other: Any) -> None:
        """Add the content of another record."""
        ...


class OtherArms(NamedTuple):
    """A summary of the arms that the compact form of a decision leaves out.

    Attributes
    ----------
    n_arms : int
        The number of arms that were on offer.
    regret : float
        The mean predicted reward of the best arms minus that of the picked ones.
    """

    n_arms: int
    regret: float


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """One arm chosen for one user, with everything that learning and audits need later.

    Attributes
    ----------
    arm : str or int
        The arm that was picked.
    probability : float or None
        The probability with which the arm was picked for this user; None if it has no closed form (Thompson
        sampling with a shared model).
    group : tuple of (attribute, value) pairs
        The user's group.
    scores : Scores
        The scores of all arms on offer, in the order of `arms`.
    arms : sequence of ids
        The arms that were on offer.
    index : int
        The index of the picked arm in `arms`.
    row : Row
        The context of the picked arm.
    policy : str
        The id of the policy that made the decision.
    number : int
        The sequential number of the decision within its policy, counted from 0.
    others : OtherArms or None
        A summary of the other arms if the decision was rebuilt from its compact form, in which `arms` and `scores`
        contain only the picked arm; otherwise None.
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
    others: OtherArms | None = None

    @property
    def n_arms(self) -> int:
        """The number of arms that were on offer."""
        return len(self.arms) if self.others is None else self.others.n_arms

    @property
    def regret(self) -> float:
        """The predicted reward of the best arm minus that of the picked one."""
        return regret_of(self.scores.mean, (self.index,)) if self.others is None else self.others.regret

    @property
    def context(self) -> Floats:
        """The context of the picked arm, as a vector."""
        return self.row.dense()

    @property
    def score(self) -> float:
        """The score of the picked arm."""
        return float(self.scores.total[self.index])

    def to_dict(self, *, all_scores: bool = False) -> dict[str, Any]:
        """Return the decision as JSON values, to store it until the reward arrives.

        Parameters
        ----------
        all_scores : bool
            Whether to include all arms on offer, with their scores; an audit may need them. Otherwise, the form is
            compact: it includes only the picked arm and its scores, which is all that learning needs.

        Examples
        --------
        >>> import json
        >>> from fairbandits import Decision, LinUCB
        >>> policy = LinUCB(random_state=0)
        >>> stored = json.dumps(policy.choose([[1.0, 0.0], [0.0, 1.0]], group="female").to_dict())
        >>> policy.learn(Decision.from_dict(json.loads(stored)), reward=0.8)
        """
        if all_scores and self.others is None:
            scores = self.scores.to_dict()
            offered: dict[str, Any] = {"scores": scores, "arms": list(self.arms), "index": self.index}
        else:
            own = {part: getattr(self.scores, part).item(self.index) for part in Scores.__slots__}
            offered = {"scores": own, "n_arms": self.n_arms, "regret": self.regret}
        return {
            "arm": self.arm,
            "probability": self.probability,
            "group": dict(self.group),
            **offered,
            **_row_to_dict(self.row),
            "policy": self.policy,
            "number": self.number,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Decision:
        """Rebuild a decision from either form that `to_dict` returns."""
        try:
            others = _others_from_dict(values)
            arm = as_arm(values["arm"])
            return cls(
                arm,
                values["probability"],
                as_group(values["group"]),
                Scores.from_dict(values["scores"]),
                tuple(values["arms"]) if others is None else (arm,),
                int(values["index"]) if others is None else 0,
                _row_from_dict(values),
                str(values["policy"]),
                int(values["number"]),
                others,
            )
        except (KeyError, TypeError, ValueError) as error:
            hint = "; use Slate.from_dict" if "picked" in values else ""
            raise ValueError(f"values must be those that Decision.to_dict returned, got {error!r}{hint}") from None

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{name}={getattr(self.scores, name)[self.index]:.4g}" for name in ("mean", "exploration", "fairness")
        )
        return f"Decision(number={self.number}, arm={_short(self.arm)}, probability={self.probability}, {parts})"

    def _repr_html_(self) -> str:
        return notebook.decision_html(self)


#: A decision under construction. Initialising a frozen class takes three times as long as initialising an ordinary
#: one, and a decision is made in every round. So a draft is created first, and its class is then set to
#: `Decision`.
DecisionDraft: Any = make_dataclass("DecisionDraft", [field.name for field in fields(Decision)], slots=True)


@dataclass(frozen=True, slots=True, eq=False)
class Slate:
    """Several arms chosen for one user, in order, with everything that learning and audits need later.

    Attributes
    ----------
    picked : tuple of ids
        The arms that were picked, from the first position to the last.
    probability : float or None
        The probability with which these arms were picked in this order; None if it has no closed form (Thompson
        sampling).
    group : tuple of (attribute, value) pairs
        The user's group.
    scores : Scores
        The scores of all arms on offer, in the order of `arms`.
    arms : sequence of ids
        The arms that were on offer.
    indices : tuple of int
        The indices of the picked arms in `arms`.
    rows : tuple of Row
        The contexts of the picked arms.
    policy : str
        The id of the policy that made the decision.
    number : int
        The sequential number of the decision within its policy, counted from 0; a slate is one decision.
    others : OtherArms or None
        A summary of the other arms if the slate was rebuilt from its compact form, in which `arms` and `scores`
        contain only the picked arms; otherwise None.

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
    others: OtherArms | None = None

    def __len__(self) -> int:
        return len(self.picked)

    @property
    def n_arms(self) -> int:
        """The number of arms that were on offer."""
        return len(self.arms) if self.others is None else self.others.n_arms

    @property
    def regret(self) -> float:
        """The mean predicted reward of the best arms minus that of the picked ones."""
        return regret_of(self.scores.mean, self.indices) if self.others is None else self.others.regret

    def to_dict(self, *, all_scores: bool = False) -> dict[str, Any]:
        """Return the slate as JSON values, to store it until the rewards arrive.

        Parameters
        ----------
        all_scores : bool
            Whether to include all arms on offer with their scores; see `Decision.to_dict`.
        """
        if all_scores and self.others is None:
            scores = self.scores.to_dict()
            offered: dict[str, Any] = {"scores": scores, "arms": list(self.arms), "indices": list(self.indices)}
        else:
            own = self.scores.at(np.array(self.indices, np.int64)).to_dict()
            offered = {"scores": own, "n_arms": self.n_arms, "regret": self.regret}
        return {
            "picked": list(self.picked),
            "probability": self.probability,
            "group": dict(self.group),
            **offered,
            "rows": [_row_to_dict(row) for row in self.rows],
            "policy": self.policy,
            "number": self.number,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Slate:
        """Rebuild a slate from either form that `to_dict` returns."""
        try:
            others = _others_from_dict(values)
            picked = tuple(as_arm(arm) for arm in values["picked"])
            indices = tuple(range(len(picked)) if others else (int(index) for index in values["indices"]))
            rows = tuple(_row_from_dict(row) for row in values["rows"])
            if not 0 < len(picked) == len(indices) == len(rows):
                raise ValueError(f"{len(picked)} arms, {len(indices)} indices, {len(rows)} contexts")
            # Checked here, so that no arm can be rejected after the policy has learned from others.
            for row in rows:
                checked_entries(row, rows[0].width)
            return cls(
                picked,
                values["probability"],
                as_group(values["group"]),
                Scores.from_dict(values["scores"]),
                tuple(values["arms"]) if others is None else picked,
                indices,
                rows,
                str(values["policy"]),
                int(values["number"]),
                others,
            )
        except (KeyError, TypeError, ValueError) as error:
            hint = "; use Decision.from_dict" if "arm" in values else ""
            raise ValueError(f"values must be those that Slate.to_dict returned, got {error!r}{hint}") from None

    def __repr__(self) -> str:
        picked = [*map(_short, self.picked[:_MAX_NAMED]), *(["..."] if len(self) > _MAX_NAMED else [])]
        return f"Slate(number={self.number}, picked=[{', '.join(picked)}], probability={self.probability})"

    def _repr_html_(self) -> str:
        return notebook.slate_html(self)


def _short(arm: ArmId) -> str:
    return repr(shorten_name(arm) if isinstance(arm, str) else arm)


def regret_of(mean: Floats, picked: Sequence[int] | NDArray[np.int64]) -> float:
    """Return the mean predicted reward of the best arms minus that of the picked ones."""
    best = np.sort(mean)[-len(picked) :]
    return max(0.0, float(best.mean() - mean[list(picked)].mean()))


def _others_from_dict(values: Mapping[str, Any]) -> OtherArms | None:
    return None if "arms" in values else OtherArms(int(values["n_arms"]), float(values["regret"]))


def _row_to_dict(row: Row) -> dict[str, Any]:
    columns, values, n_shared = row.entries()
    return {"columns": columns.tolist(), "values": values.tolist(), "n_shared": n_shared, "width": row.width}


def _row_from_dict(values: Mapping[str, Any]) -> Row:
    columns, entries = np.array(values["columns"], np.int64), np.array(values["values"], np.float64)
    # Up to version 0.1.0, the number of shared entries had another name.
    n_shared = values["n_common"] if "n_common" in values else values["n_shared"]
    return Row.of(columns, entries, int(n_shared), int(values["width"]))


def as_slate_size(k: Any, n_arms: int) -> int:
    """Check the number of arms in a slate."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"k must be a positive integer, got {k!r}")
    if k > n_arms:
        raise ValueError(f"k must be at most the {n_arms} arm(s) on offer, got {k}; offer more, or ask for fewer")
    return int(k)


def as_slate_rewards(
    reward: Any, slate: Slate, reward_range: tuple[float, float]
) -> tuple[float, list[float | None]]:
    """Check the rewards of a slate; return the user's overall reward, and the reward of each arm.

    A single number is the reward of the whole slate, and each of its arms is credited with that number.
    """
    if not _are_several(reward):
        value = as_reward(reward, reward_range)
        return value, [value] * len(slate)
    values = [None if each is None else as_reward(each, reward_range) for each in reward]
    if len(values) != len(slate):
        raise ValueError(
            "rewards of a slate must have one entry per arm, in order, None for an arm that was not viewed, or be "
            f"a single number, got {len(values)} for {len(slate)} arm(s)"
        )
    known = [value for value in values if value is not None]
    if not known:
        raise ValueError(
            "rewards of a slate must have at least one number, got none; do not learn an unseen slate"
        )
    return math.fsum(known) / len(known), values


def _are_several(reward: Any) -> bool:
    if isinstance(reward, Mapping | AbstractSet):
        raise ValueError(f"rewards of a slate must be in the order of its arms, got a {type(reward).__name__}")
    is_number = isinstance(reward, np.ndarray) and reward.ndim == 0
    return isinstance(reward, Iterable) and not isinstance(reward, str) and not is_number
