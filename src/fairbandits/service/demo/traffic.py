"""Simulated students who visit the demo, watch a video and, most of them, send a reward."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbandits.service.demo.students import DemoStudents
from fairbandits.service.engine import Engine
from fairbandits.service.log.appender import AppendEvents, AppendRequest, Settlement
from fairbandits.service.log.errors import LogBrokenError, LogUnavailableError
from fairbandits.service.log.events import Decided, Rewarded, decision_key
from fairbandits.service.state.decider import decide_many
from fairbandits.worlds.noise import with_noise

_log = logging.getLogger(__name__)

# The number of students per step, and the seconds per step. There are more students during the first decisions,
# from which the policy learns most.
_STEP_SECONDS = 0.25
_MANY, _FEW, _FIRST = 15, 5, 4000
# The mean delay of a reward in seconds, and, so that some rewards are missing, the share that never arrives, by
# sex.
_DELAY = 2.0
_SILENT = {"Female": 0.06, "Male": 0.03}
_NOISE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class _NewRewards(AppendRequest):
    """Rewards that are appended unless the decision has already been rewarded by somebody else."""

    rewards: Sequence[Rewarded]

    def settle(self, found: Mapping[str, Any]) -> Settlement:
        """Append the new rewards."""
        return Settlement([reward for reward in self.rewards if reward.key not in found], b"")


class DemoTraffic:
    """Students who visit the demo.

    Parameters
    ----------
    engine : Engine
        The engine of the demo.
    pseudonymise : callable, optional
        A function that returns the pseudonym of a student. Without it, decisions have no user.
    """

    def __init__(self, engine: Engine, pseudonymise: Callable[[str], str] | None = None) -> None:
        self._engine = engine
        self._pseudonymise = pseudonymise
        self._students = DemoStudents()
        self._rng = np.random.default_rng()
        self._waiting: list[tuple[float, str, float]] = []

    async def run(self) -> None:
        """Send students until cancelled; while the log cannot be written, keep trying."""
        while True:
            try:
                await self._send_rewards()
                await self._send_students(_MANY if self._engine.monitor.decisions < _FIRST else _FEW)
            except (LogUnavailableError, LogBrokenError) as error:
                _log.warning("the demo is waiting: %s", error)
            await asyncio.sleep(_STEP_SECONDS)

    async def _send_students(self, n: int) -> None:
        numbers = self._rng.integers(len(self._students), size=n).tolist()
        requests = [self._students.request(number) | self._user(number) for number in numbers]
        decisions = decide_many(self._engine.recommender, requests)
        made = {number: each for number, each in zip(numbers, decisions, strict=True) if isinstance(each, Decided)}
        await self._engine.writer.write(AppendEvents(events=[*made.values()]))
        for number, decided in made.items():
            self._expect_reward(number, decided)

    def _user(self, number: int) -> dict[str, str]:
        return {} if self._pseudonymise is None else {"user": self._pseudonymise(self._students.user_id(number))}

    def _expect_reward(self, number: int, decided: Decided) -> None:
        if self._rng.random() < _SILENT[decided.groups["sex"]]:
            return
        due = time.monotonic() + self._rng.exponential(_DELAY)
        expected = np.array([self._students.reward(number, decided.picked[0])])
        self._waiting.append((due, decided.id, float(with_noise(expected, _NOISE, self._rng)[0])))

    async def _send_rewards(self) -> None:
        now = time.monotonic()
        due = [each for each in self._waiting if each[0] <= now]
        if due:
            rewards = [Rewarded(decision, time.time(), reward) for _, decision, reward in due]
            keys = [key for reward in rewards for key in (decision_key(reward.decision), reward.key)]
            await self._engine.writer.write(_NewRewards(rewards=rewards, depends_on=keys))
        self._waiting = [each for each in self._waiting if each[0] > now]
