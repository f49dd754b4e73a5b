"""Worlds as Gymnasium environments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.extras import install_hint
from fairbandits.worlds.world import Visit, World, dense

if TYPE_CHECKING:
    import gymnasium


def as_gymnasium(world: World) -> gymnasium.Env[NDArray[np.float64], np.int64]:
    """Return a world as a Gymnasium environment: a step is one round, an episode is the whole world.

    The observation is the matrix of contexts, one row per arm; the action is the index of a row. `info` contains
    the `group` of the current visitor and the `part` of the round; after the last step, those of the last visitor.
    After a step, it also contains `expected` and `best`, the true mean rewards of the chosen and of the best arm,
    and `delay`, because an environment returns every reward at once, even a reward that the world delays. A
    missing reward is NaN.

    Parameters
    ----------
    world : World
        A world with the same number of arms and features in every round.

    Returns
    -------
    gymnasium.Env
        The environment. Gymnasium is installed by the extra `gym`.

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
    try:
        import gymnasium  # noqa: PLC0415 - part of an extra
    except ModuleNotFoundError:
        raise ImportError(f"as_gymnasium needs Gymnasium; {install_hint('gym')}") from None
    shape = _observation(next(world.visits())).shape

    class WorldEnv(gymnasium.Env[NDArray[np.float64], np.int64]):
        """A world, one round per step."""

        action_space = gymnasium.spaces.Discrete(shape[0])
        observation_space = gymnasium.spaces.Box(-np.inf, np.inf, shape, np.float64)

        def __init__(self) -> None:
            self._visits: Iterator[Visit] = iter(())
            self._visit: Visit | None = None

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[NDArray[np.float64], dict[str, Any]]:
            """Go back to the first round; the seed has no effect, because a world is a fixed sequence."""
            super().reset(seed=seed)
            self._visits = world.visits()
            self._visit = next(self._visits)
            return _observation(self._visit), _info(self._visit)

        def step(self, action: np.int64) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
            """Choose an arm; the observation after the last round is all zeros."""
            if self._visit is None:
                raise ValueError("step must be called between reset and the last round; call reset first")
            if not self.action_space.contains(action):
                raise ValueError(f"action must be the index of an arm, from 0 to {shape[0] - 1}, got {action!r}")
            visit = self._visit
            reward = float(visit.rewards[action])
            outcome = {
                "expected": float(visit.expected[action]),
                "best": float(visit.expected.max()),
                "delay": visit.delay,
            }
            self._visit = next(self._visits, None)
            if self._visit is None:
                return np.zeros(shape), reward, True, False, _info(visit) | outcome
            observation = _observation(self._visit)
            if observation.shape != shape:
                raise ValueError(f"contexts must have shape {shape} in every round, got {observation.shape}")
            return observation, reward, False, False, _info(self._visit) | outcome

    return WorldEnv()


def _observation(visit: Visit) -> NDArray[np.float64]:
    return np.asarray(dense(visit.contexts), dtype=np.float64)


def _info(visit: Visit) -> dict[str, Any]:
    return {"group": visit.group, "part": visit.part}
