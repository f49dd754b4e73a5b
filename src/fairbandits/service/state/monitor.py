"""The monitor: rewards by group, over time and by arm, and the exploration burden of each group."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.log_sums import COUNT, SQUARES, TOTAL
from fairbandits.audit.time_blocks import TimeBlocks
from fairbandits.policies.persistence import PolicyState
from fairbandits.service.config import Config
from fairbandits.service.log.events import Decided, Entry, Rewarded, rewards_by_arm
from fairbandits.service.state.clock_jumps import ClockJump, ClockJumps

Floats = NDArray[np.float64]

#: The number of recent decisions that are kept to be shown.
N_RECENT = 50
_MICROSECONDS = 1_000_000  # blocks of time are counted in microseconds
_NUMBERS = ("seq", "decisions", "rewards", "last")
# The arrays, by attribute of the object, with their names in snapshots, which are those of version 0.1.0.
_ARRAYS = {
    "decided": "decided",
    "explored": "explored",
    "totals": "in_all",
    "by_block": "by_block",
    "by_arm": "by_arm",
}
# The axis of each array that stands for the groups.
_GROUP_AXES = {"decided": 0, "explored": 0, "totals": 0, "by_block": 1, "by_arm": 1}
#: The maximum number of groups of an attribute that are compared if the configuration does not name them.
MAX_OPEN_GROUPS = 20


class Monitor:
    """A fold of the log: sums of rewards by group, by block of time and by arm, and the recent decisions.

    Its size does not depend on the length of the log: there are at most 120 time blocks, which become longer.

    Parameters
    ----------
    config : Config
        The configuration, which declares the attributes and their groups.

    Attributes
    ----------
    seq : int
        The last entry that was applied.
    decisions, rewards : int
        The numbers of all decisions and rewards, including those of users without a group.
    last : float
        The time of the last reward, in seconds since 1970.
    groups : list of (attribute, group)
        All groups, in the order of the arrays: those of the configuration or, where it names none, those that
        occur, up to 20 per attribute.
    decided, explored : arrays of shape (groups,)
        The number of decisions, and the number of decisions that were due to exploration.
    totals : array of shape (groups, 3)
        Count, sum and sum of squares of the rewards, measured from the lowest possible reward.
    blocks : TimeBlocks
        The blocks of time.
    by_block : array of shape (blocks, groups, 3)
        The same sums by the time of the reward.
    arms : list of str
        The arms that received rewards, including retired ones.
    by_arm : array of shape (arms or more, groups, 3)
        The same sums by arm. A slate's decision is divided evenly among its arms, so that counts and sums add up
        to `totals`.
    """

    def __init__(self, config: Config) -> None:
        self.reward_range = (config.reward.low, config.reward.high)
        attributes = config.inputs.attributes
        self._open = {attribute for attribute, groups in attributes.items() if groups is None}
        self.groups = [(attribute, group) for attribute, groups in attributes.items() for group in groups or ()]
        self._group_index = {group: index for index, group in enumerate(self.groups)}
        self.seq = self.decisions = self.rewards = 0
        self.last = 0.0
        n = len(self.groups)
        self.decided, self.explored = np.zeros(n), np.zeros(n)
        self.totals = np.zeros((n, 3))
        self.blocks = TimeBlocks("date")
        self.by_block = np.zeros((0, n, 3))
        self.arms: list[str] = []
        self._arm_index: dict[str, int] = {}
        self.by_arm = np.zeros((0, n, 3))
        # Recent decisions, either as they arrived or as restored from a snapshot, and their rewards.
        self._recent: dict[str, Decided | dict[str, Any]] = {}
        self._recent_rewards: dict[str, float] = {}
        self._jumps = ClockJumps()

    # -- following the log -----------------------------------------------------------------------------

    def apply(self, entry: Entry) -> None:
        """Add the next entry of the log."""
        event = entry.event
        if isinstance(event, Decided):
            self._add_decision(event)
        elif isinstance(event, Rewarded) and entry.decided is not None:
            self._add_reward(event, entry.decided)
        self.seq = entry.seq

    def _add_decision(self, decided: Decided) -> None:
        self.decisions += 1
        for index in self._group_indices(decided.groups):
            self.decided[index] += 1.0
            self.explored[index] += decided.explored
        self._recent[decided.id] = decided
        if len(self._recent) > N_RECENT:
            oldest = next(iter(self._recent))
            del self._recent[oldest]
            self._recent_rewards.pop(oldest, None)

    def _add_reward(self, rewarded: Rewarded, decided: Decided) -> None:
        self.rewards += 1
        mean, rewards = rewards_by_arm(rewarded.reward, len(decided.picked))
        if decided.id in self._recent:
            self._recent_rewards[decided.id] = mean
        groups = self._group_indices(decided.groups)
        block = self._block_index(round(rewarded.time * _MICROSECONDS)) if groups else 0
        self.last = max(self.last, rewarded.time)
        low = self.reward_range[0]
        observed = [
            (self._claim_arm(arm), each - low)
            for arm, each in zip(decided.picked, rewards, strict=True)
            if each is not None
        ]
        for group in groups:
            _add(self.totals[group], 1.0, mean - low)
            _add(self.by_block[block, group], 1.0, mean - low)
            for arm_index, each in observed:
                _add(self.by_arm[arm_index, group], 1.0 / len(observed), each)

    def _group_indices(self, groups: Mapping[str, Any]) -> list[int]:
        # The log may name groups that have since been removed from the configuration.
        found = [self._claim_group(attribute, str(group)) for attribute, group in groups.items()]
        return [index for index in found if index is not None]

    def _claim_group(self, attribute: str, group: str) -> int | None:
        """Return the index of a group, making room for it if it is new; None if the group is not compared."""
        index = self._group_index.get((attribute, group))
        if index is not None or attribute not in self._open:
            return index
        if sum(name == attribute for name, _ in self.groups) == MAX_OPEN_GROUPS:
            return None
        self._group_index[attribute, group] = len(self.groups)
        self.groups = [*self.groups, (attribute, group)]
        for name, axis in _GROUP_AXES.items():
            array = getattr(self, name)
            shape = [*array.shape]
            shape[axis] = 1
            setattr(self, name, np.concatenate([array, np.zeros(shape)], axis=axis))
        return len(self.groups) - 1

    def _block_index(self, tick: int) -> int:
        """Return the block of a time, after extending the blocks to cover it."""
        jump = self._jumps.end(tick)
        if jump is not None:
            self.by_block, self.blocks, self.last = jump.undone(self.by_block), jump.blocks, jump.last
        index = self.blocks.number(tick)
        if index is None:
            blocks = self.blocks.covering(tick, tick)
            self._jumps.note(tick, self.blocks, blocks, self.by_block, self.last)
            longer = np.zeros((blocks.n, len(self.groups), 3))
            np.add.at(longer, self.blocks.numbers_in(blocks), self.by_block)
            self.by_block, self.blocks = longer, blocks
            index = int(blocks.numbers(np.array(tick)))
        return index

    def _claim_arm(self, arm: str) -> int:
        """Return the index of an arm, making room if it is new; capacity doubles, for O(1) amortised cost."""
        index = self._arm_index.setdefault(arm, len(self.arms))
        if index == len(self.arms):
            self.arms.append(arm)
            if index == len(self.by_arm):
                more = np.zeros((max(1, index), len(self.groups), 3))
                self.by_arm = np.concatenate([self.by_arm, more])
        return index

    @property
    def recent(self) -> dict[str, dict[str, Any]]:
        """The recent decisions by id, oldest first."""
        # The values are created only when somebody wants to see them, because most decisions are never shown.
        return {key: _shown(each, self._recent_rewards.get(key)) for key, each in self._recent.items()}

    def forget_recent(self) -> None:
        """Discard the recent decisions, but keep the sums."""
        self._recent, self._recent_rewards = {}, {}

    # -- snapshots -------------------------------------------------------------------------------------

    def frozen(self) -> Monitor:
        """Return a copy that another thread can read while this monitor changes."""
        frozen = copy.copy(self)
        for attribute in _ARRAYS:
            setattr(frozen, attribute, getattr(self, attribute).copy())
        frozen.arms, frozen._arm_index = list(self.arms), {}
        frozen._recent, frozen._recent_rewards = dict(self._recent), dict(self._recent_rewards)
        frozen._jumps = copy.copy(self._jumps)
        return frozen

    def snapshot(self) -> Callable[[], bytes]:
        """Copy the state; return a function that serialises the copy, to be called in another thread."""
        frozen = self.frozen()
        arrays = {name: getattr(frozen, attribute) for attribute, name in _ARRAYS.items()}
        # The sums of past jumps no longer change, so they need not be copied.
        arrays |= {f"jump{index}": jump.sums for index, jump in enumerate(frozen._jumps.kept)}
        return lambda: PolicyState(frozen._header(), arrays).to_bytes()

    def _header(self) -> dict[str, Any]:
        blocks = self.blocks
        return {
            **{name: getattr(self, name) for name in _NUMBERS},
            "groups": [list(group) for group in self.groups],
            "blocks": [blocks.level, blocks.first, blocks.n],
            "arms": self.arms,
            "recent": list(self.recent.values()),
            "jumps": [jump.to_list() for jump in self._jumps.kept],
        }

    def restore(self, content: bytes) -> None:
        """Replace the state with a serialised one; raise ValueError, and change nothing, if it is damaged."""
        state = PolicyState.from_bytes(content, "the snapshot of the monitor")
        groups = [(attribute, group) for attribute, group in state.header["groups"]]
        if [each for each in groups if each[0] not in self._open] != self.groups:
            raise ValueError("the configured groups have changed")
        self.groups, self._group_index = groups, {group: index for index, group in enumerate(groups)}
        for name in _NUMBERS:
            setattr(self, name, state.header[name])
        for attribute, name in _ARRAYS.items():
            setattr(self, attribute, np.array(state.arrays[name]))
        self.arms = state.header["arms"]
        self._arm_index = {arm: index for index, arm in enumerate(self.arms)}
        self.blocks = TimeBlocks("date", *state.header["blocks"])
        self._recent = {each["decision"]: each for each in state.header["recent"]}
        self._recent_rewards = {
            each["decision"]: each["reward"] for each in state.header["recent"] if each["reward"] is not None
        }
        jumps = enumerate(state.header.get("jumps", []))  # none in snapshots of 0.1.0
        self._jumps.kept = [ClockJump.from_list(plain, state.arrays[f"jump{index}"]) for index, plain in jumps]


def _add(cell: Floats, weight: float, value: float) -> None:
    cell[COUNT] += weight
    cell[TOTAL] += weight * value
    cell[SQUARES] += weight * value * value


def _shown(decided: Decided | dict[str, Any], reward: float | None) -> dict[str, Any]:
    """Return the parts of a decision that may be shown, which include only the groups of the user."""
    if isinstance(decided, dict):
        return decided | {"reward": reward}
    return {
        "decision": decided.id,
        "time": decided.time,
        "groups": {attribute: str(group) for attribute, group in decided.groups.items()},
        "picked": list(decided.picked),
        "scores": list(decided.scores),
        "offered": decided.offered,
        "propensity": decided.propensity,
        "explored": decided.explored,
        "reward": reward,
    }
