"""Settings tried in worlds: all of them in the same worlds, so that differences are paired."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.policies import Policy
from fairbandits.simulate import Trace, simulate
from fairbandits.simulate.parallel import run_all, without_threads
from fairbandits.simulate.runs import POLICY_SEED
from fairbandits.tuning.results import Trial
from fairbandits.tuning.settings import Params, with_params
from fairbandits.worlds import World

Floats = NDArray[np.float64]
Objective = Callable[[Trace], float]
#: The figures of a run.
FIGURES = ("utility_loss", "reward_gap", "worst_off_reward")


class Worlds:
    """The worlds in which settings are tried.

    Parameters
    ----------
    source : World, list of worlds, or callable
        A world, which is used for every seed; worlds, one for each run; or a function of a seed that returns a
        world. A class gets the seed as `random_state`.
    seeds : int
        The number of runs of each setting; ignored for a list.
    """

    def __init__(self, source: Any, seeds: int) -> None:
        self._source = source
        self.count = len(source) if isinstance(source, list | tuple) else seeds
        #: Whether there are worlds that have not been used.
        self.has_more = callable(source)

    @staticmethod
    def accepts(source: Any) -> bool:
        """Return whether an object stands for worlds."""
        if isinstance(source, list | tuple):
            return bool(source) and all(isinstance(each, World) for each in source)
        return isinstance(source, World) or callable(source)

    def make(self, seed: int) -> World:
        """Return the world of a seed."""
        if isinstance(self._source, list | tuple):
            world = self._source[seed]
        elif isinstance(self._source, type):
            world = self._source(random_state=seed)
        else:
            world = self._source(seed) if callable(self._source) else self._source
        if not isinstance(world, World):
            raise ValueError(f"the function must return a world, with visits() and a length, got {world!r}")
        return world


def try_in_worlds(
    policy: Policy,
    settings: Sequence[Params],
    worlds: Worlds,
    objective: Objective | None,
    jobs: int,
    progress: bool,
) -> tuple[list[Trial], Floats]:
    """Simulate all settings in all worlds; return the trials, and their objectives in every world."""
    runs = [
        partial(_run, policy, params, worlds, seed, objective)
        for params in settings
        for seed in range(worlds.count)
    ]
    found = np.array(run_all(runs, jobs=jobs, progress=progress)).reshape(len(settings), worlds.count, -1)
    return [_trial(params, each) for params, each in zip(settings, found, strict=True)], found[:, :, -1]


def try_in_new_worlds(
    policy: Policy, params: Params, worlds: Worlds, objective: Objective | None, jobs: int
) -> dict[str, float]:
    """Simulate one setting in worlds that no setting has seen; return its figures."""
    seeds = range(worlds.count, 2 * worlds.count)
    runs = [partial(_run, policy, params, worlds, seed, objective) for seed in seeds]
    return figures_of(np.array(run_all(runs, jobs=jobs)))


def paired_differences(objectives: Floats, best: int) -> Floats:
    """Return how far each setting is behind the best: mean and standard error over worlds, of shape (n, 2)."""
    behind = objectives[best] - objectives
    return np.column_stack([behind.mean(axis=1), _errors(behind.T)])


def figures_of(runs: Floats) -> dict[str, float]:
    """Return the means over runs, with their standard errors; the last column is the objective."""
    means, errors = runs.mean(axis=0), _errors(runs)
    found: dict[str, float] = {}
    for name, mean, error in zip((*FIGURES, "objective"), means.tolist(), errors.tolist(), strict=True):
        found |= {name: mean, f"{name}_error": error}
    return found


def _trial(params: Params, runs: Floats) -> Trial:
    figures = figures_of(runs)
    objective = figures.pop("objective")
    return Trial(params, figures, objective, figures["reward_gap"])


def _run(policy: Policy, params: Params, worlds: Worlds, seed: int, objective: Objective | None) -> list[float]:
    seeded = params if "random_state" in params else {**params, "random_state": seed + POLICY_SEED}
    with without_threads():
        trace = simulate(with_params(policy, seeded), worlds.make(seed))
    metrics = trace.metrics(trace.parts[-1])
    value = -metrics["utility_loss"] if objective is None else float(objective(trace))
    return [*(metrics[name] for name in FIGURES), value]


def _errors(values: Floats) -> Floats:
    """Return the standard error of each column; NaN for a single run."""
    n = len(values)
    return values.std(axis=0, ddof=1) / n**0.5 if n > 1 else np.full(values.shape[1], np.nan)
