"""Worlds for those who have agents of Gymnasium's kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.worlds.world import Visit, World, dense

if TYPE_CHECKING:
    import gymnasium


def as_gymnasium(world: World) -> gymnasium.Env[NDArray[np.float64], np.int64]:
    """Show a world as a Gymnasium environment: one step is one round, one episode is the whole world.

    The observation is the contexts, one row per arm; the action is the number of a row. `info` holds the
    `group` of the visitor who is there and the `part` of the round; after the last step, where nobody comes any
    more, those of the last visitor. After a step it also holds `expected` and `best`: what the chosen arm and
    the best one gave on average.

    Parameters
    ----------
    world : World
        A world with the same number of arms and features in every round.

    Returns
    -------
    gymnasium.Env
        The environment; Gymnasium comes with `fairbandits[gym]`.

    Examples
    --------
    >>> from fairbandits.worlds import LinearWorld
    >>> env = as_gymnasium(LinearWorld(n_arms=3, rounds=2))
    >>> observation, info = env.reset()
    >>> observation.shape, info["group"]
    ((3, 4), 'a')
    >>> observation, reward, terminated, truncated, info = env.step(0)
    >>> terminated, truncated
    (False, False)
    """
    import gymnasium  # noqa: PLC0415 - part of an extra

    shape = _observed(next(world.visits())).shape

    class WorldEnv(gymnasium.Env[NDArray[np.float64], np.int64]):
        """One world, round by round."""

        action_space = gymnasium.spaces.Discrete(shape[0])
        observation_space = gymnasium.spaces.Box(-np.inf, np.inf, shape, np.float64)

        def __init__(self) -> None:
            self._coming: Iterator[Visit] = iter(())
            self._visit: Visit | None = None

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[NDArray[np.float64], dict[str, Any]]:
            """Go back to the first round; a world is the same every time, whatever the seed."""
            super().reset(seed=seed)
            self._coming = world.visits()
            self._visit = next(self._coming)
            return _observed(self._visit), _info(self._visit)

        def step(self, action: np.int64) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
            """Take an arm; the observation after the last round is all zeros."""
            if self._visit is None:
                raise ValueError("step came before reset or after the last round; call reset first")
            if not self.action_space.contains(action):
                raise ValueError(f"the action {action!r} came; expected the number of an arm, 0 to {shape[0] - 1}")
            done = self._visit
            reward = float(done.rewards[action])
            outcome = {"expected": float(done.expected[action]), "best": float(done.expected.max())}
            self._visit = next(self._coming, None)
            if self._visit is None:
                return np.zeros(shape), reward, True, False, _info(done) | outcome
            observation = _observed(self._visit)
            if observation.shape != shape:
                raise ValueError(f"contexts of shape {observation.shape} came; expected {shape} in every round")
            return observation, reward, False, False, _info(self._visit) | outcome

    return WorldEnv()


def _observed(visit: Visit) -> NDArray[np.float64]:
    return np.asarray(dense(visit.contexts), dtype=np.float64)


def _info(visit: Visit) -> dict[str, Any]:
    return {"group": visit.group, "part": visit.part}
