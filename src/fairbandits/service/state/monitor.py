"""What people look at: who gained what, when and from which arms, and who bore the experiments."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.audit.log_sums import COUNT, SQUARES, TOTAL
from fairbandits.audit.time_blocks import TimeBlocks
from fairbandits.policies.persistence import PolicyState as State
from fairbandits.service.config import Config
from fairbandits.service.log.events import Decided, Entry, Rewarded
from fairbandits.service.state.recommender import spread

Floats = NDArray[np.float64]

#: So many of the last decisions are kept to be looked at.
RECENT = 50
_SECOND = 1_000_000  # blocks of time are counted in microseconds
_NUMBERS = ("seq", "decisions", "rewards", "last")
_ARRAYS = ("decided", "explored", "in_all", "by_block", "by_arm")


class Monitor:
    """A fold of the log: sums by group, by block of time and by arm, and the last decisions.

    Nothing here depends on how long the log is: time is kept in at most some hundred blocks, which grow longer.

    Parameters
    ----------
    config : Config
        Whose attributes and groups are told apart.

    Attributes
    ----------
    seq : int
        The last entry that was applied.
    decisions, rewards : int
        How many there were in all, also of users without a group.
    last : float
        When the last reward came, in seconds since 1970.
    groups : list of (attribute, group)
        All groups, in the order of the arrays.
    decided, explored : arrays of shape (groups,)
        How many decisions there were, and how many of them were experiments.
    in_all : array of shape (groups, 3)
        Count, sum and sum of squares of the rewards, counted from the lowest one.
    blocks : TimeBlocks
        The blocks of time.
    by_block : array of shape (blocks, groups, 3)
        The same by the time at which rewards came.
    arms : list of str
        The arms from which rewards came, retired ones too.
    by_arm : array of shape (arms or more, groups, 3)
        The same by arm. The arms of a slate share its one round evenly, so that they add up to `in_all`.
    recent : dict of str to dict
        The last decisions by id, the oldest first.
    """

    def __init__(self, config: Config) -> None:
        self.reward_range = (config.reward.low, config.reward.high)
        self.groups = [(attribute, group) for attribute, named in config.attributes.items() for group in named]
        self._number = {name: number for number, name in enumerate(self.groups)}
        self.seq = self.decisions = self.rewards = 0
        self.last = 0.0
        n = len(self.groups)
        self.decided, self.explored = np.zeros(n), np.zeros(n)
        self.in_all = np.zeros((n, 3))
        self.blocks = TimeBlocks("date")
        self.by_block = np.zeros((0, n, 3))
        self.arms: list[str] = []
        self._row: dict[str, int] = {}
        self.by_arm = np.zeros((0, n, 3))
        self.recent: dict[str, dict[str, Any]] = {}

    # -- following the log -----------------------------------------------------------------------------

    def apply(self, entry: Entry) -> None:
        """Take the next entry of the log."""
        event = entry.event
        if isinstance(event, Decided):
            self._note_decision(event)
        elif isinstance(event, Rewarded) and entry.decided is not None:
            self._note_reward(event, entry.decided)
        self.seq = entry.seq

    def _note_decision(self, decided: Decided) -> None:
        self.decisions += 1
        for number in self._numbers(decided.groups):
            self.decided[number] += 1.0
            self.explored[number] += decided.explored
        self.recent[decided.id] = _as_recent(decided)
        if len(self.recent) > RECENT:
            del self.recent[next(iter(self.recent))]

    def _note_reward(self, rewarded: Rewarded, decided: Decided) -> None:
        self.rewards += 1
        self.last = max(self.last, rewarded.time)
        gain, rewards = spread(rewarded.reward, len(decided.picked))
        if decided.id in self.recent:
            self.recent[decided.id]["reward"] = gain
        numbers = self._numbers(decided.groups)
        if not numbers:
            return
        low = self.reward_range[0]
        place = self._place(round(rewarded.time * _SECOND))
        came = [
            (self._claim(arm), each - low)
            for arm, each in zip(decided.picked, rewards, strict=True)
            if each is not None
        ]
        for number in numbers:
            _add(self.in_all[number], 1.0, gain - low)
            _add(self.by_block[place, number], 1.0, gain - low)
            for row, each in came:
                _add(self.by_arm[row, number], 1.0 / len(came), each)

    def _numbers(self, groups: Mapping[str, str]) -> list[int]:
        # A log may name groups that the configuration has dropped since.
        return [number for name in groups.items() if (number := self._number.get(name)) is not None]

    def _place(self, tick: int) -> int:
        """Give the block of a time, and have room for it."""
        place = self.blocks.number(tick)
        if place is None:
            blocks = self.blocks.covering(tick, tick)
            longer = np.zeros((blocks.n, len(self.groups), 3))
            np.add.at(longer, self.blocks.numbers_in(blocks), self.by_block)
            self.by_block, self.blocks = longer, blocks
            place = int(blocks.numbers(np.array(tick)))
        return place

    def _claim(self, arm: str) -> int:
        """Give the row of an arm, and have room for it: by doubling, so that the cost per arm stays constant."""
        row = self._row.setdefault(arm, len(self.arms))
        if row == len(self.arms):
            self.arms.append(arm)
            if row == len(self.by_arm):
                more = np.zeros((max(1, row), len(self.groups), 3))
                self.by_arm = np.concatenate([self.by_arm, more])
        return row

    # -- keeping ---------------------------------------------------------------------------------------

    def frozen(self) -> Monitor:
        """Take a copy that another thread can read while this one goes on."""
        taken = copy.copy(self)
        for name in _ARRAYS:
            setattr(taken, name, getattr(self, name).copy())
        taken.arms, taken._row = list(self.arms), {}
        taken.recent = {key: dict(each) for key, each in self.recent.items()}
        return taken

    def snapshot(self) -> Callable[[], bytes]:
        """Take a copy, of which another thread can make what `restore` takes."""
        taken = self.frozen()
        return lambda: State(taken._header(), {name: getattr(taken, name) for name in _ARRAYS}).to_bytes()

    def _header(self) -> dict[str, Any]:
        blocks = self.blocks
        return {
            **{name: getattr(self, name) for name in _NUMBERS},
            "groups": [list(name) for name in self.groups],
            "blocks": [blocks.level, blocks.first, blocks.n],
            "arms": self.arms,
            "recent": list(self.recent.values()),
        }

    def restore(self, content: bytes) -> None:
        """Take the state from what `snapshot` gave; where that is damaged, a ValueError and no change."""
        state = State.from_bytes(content, "the snapshot of the monitor")
        if state.header["groups"] != [list(name) for name in self.groups]:
            raise ValueError("the groups of the configuration have changed")
        for name in _NUMBERS:
            setattr(self, name, state.header[name])
        for name in _ARRAYS:
            setattr(self, name, np.array(state.arrays[name]))
        self.arms = state.header["arms"]
        self._row = {arm: row for row, arm in enumerate(self.arms)}
        self.blocks = TimeBlocks("date", *state.header["blocks"])
        self.recent = {each["decision"]: each for each in state.header["recent"]}


def _add(cell: Floats, weight: float, value: float) -> None:
    cell[COUNT] += weight
    cell[TOTAL] += weight * value
    cell[SQUARES] += weight * value * value


def _as_recent(decided: Decided) -> dict[str, Any]:
    """Take of a decision what can be shown: nothing of the user but the groups."""
    return {
        "decision": decided.id,
        "time": decided.time,
        "groups": dict(decided.groups),
        "picked": list(decided.picked),
        "scores": list(decided.scores),
        "offered": decided.offered,
        "propensity": decided.propensity,
        "explored": decided.explored,
        "reward": None,
    }
