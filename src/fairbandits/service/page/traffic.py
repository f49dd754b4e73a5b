"""Simulated students, so that the page of the demo is alive at once: they come, see a video, mostly answer."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from fairbandits.service.demo import DemoStudents
from fairbandits.service.engine import Engine
from fairbandits.service.http.problems import RefusedError
from fairbandits.service.log import Settled, Write
from fairbandits.service.log.events import Decided, Rewarded, decision_key
from fairbandits.worlds.noise import with_noise

_log = logging.getLogger(__name__)

# Every so many seconds so many students come: for the first minute more of them, as all is new to the policy.
_STEP = 0.25
_MANY, _FEW, _FIRST = 15, 5, 4000
# How long a reward takes on average, and how many never come, by sex: there is something to see of those as well.
_DELAY = 2.0
_SILENT = {"Female": 0.06, "Male": 0.03}
_NOISE = 0.1


class Traffic:
    """Students who come to the demo.

    Parameters
    ----------
    engine : Engine
        What they come to.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._students = DemoStudents()
        self._rng = np.random.default_rng()
        self._waiting: list[tuple[float, str, float]] = []

    async def run(self) -> None:
        """Send students until cancelled; where the log cannot be written, try again."""
        while True:
            try:
                await self._send_rewards()
                await self._send_students(_MANY if self._engine.monitor.decisions < _FIRST else _FEW)
            except RefusedError as error:
                _log.warning("the demo waits: %s", error)
            await asyncio.sleep(_STEP)

    async def _send_students(self, n: int) -> None:
        came = self._rng.integers(len(self._students), size=n).tolist()
        requests = [self._students.request(number) for number in came]
        made = self._engine.recommender.decide_many(requests)
        decided = {number: one for number, one in zip(came, made, strict=True) if isinstance(one, Decided)}
        await self._engine.writer.write(Write(lambda _: Settled([*decided.values()], None)))
        for number, each in decided.items():
            self._expect_reward(number, each)

    def _expect_reward(self, number: int, decided: Decided) -> None:
        if self._rng.random() < _SILENT[decided.groups["sex"]]:
            return
        due = time.monotonic() + self._rng.exponential(_DELAY)
        expected = np.array([self._students.reward(number, decided.picked[0])])
        self._waiting.append((due, decided.id, float(with_noise(expected, _NOISE, self._rng)[0])))

    async def _send_rewards(self) -> None:
        now = time.monotonic()
        due = [one for one in self._waiting if one[0] <= now]
        if due:
            rewards = [Rewarded(decision, time.time(), reward) for _, decision, reward in due]
            wanted = [key for each in rewards for key in (decision_key(each.decision), each.key)]
            await self._engine.writer.write(Write(partial(_new_ones, rewards), wanted))
        self._waiting = [one for one in self._waiting if one[0] > now]


def _new_ones(rewards: Sequence[Rewarded], found: Mapping[str, Any]) -> Settled:
    """Settle rewards; who looks at the page may have rewarded a decision first."""
    return Settled([each for each in rewards if each.key not in found], None)
