"""Choosing the parameters of a policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairbandits.logs.log import as_log
from fairbandits.logs.offers import ArmTable
from fairbandits.ope import evaluate
from fairbandits.policies import Policy
from fairbandits.tuning import log_trials, world_trials
from fairbandits.tuning.results import TuningResult, choose
from fairbandits.tuning.settings import Params, make_settings, with_params
from fairbandits.validation import check_integer, check_number


def tune(
    policy: Policy,
    grid: Any,
    world_or_log: Any,
    *,
    tolerance: float | None = None,
    objective: Callable[[Any], float] | None = None,
    n_iter: int | None = None,
    seeds: int = 5,
    table: ArmTable | None = None,
    evaluation: Mapping[str, Any] | None = None,
    random_state: int = 0,
    jobs: int = 1,
    progress: bool = False,
) -> TuningResult:
    """Try settings of a policy's parameters, and choose the best one whose gap is within the tolerance.

    In worlds, every setting runs in the same worlds, and the one with the lowest mean utility loss is chosen. On a
    log, the users are split at random: 38% are used to fit the policies, 29% are used to compare the policies by
    off-policy evaluation, and the setting with the highest estimated reward is chosen.

    The figures by which a setting was chosen are too optimistic for that setting. `TuningResult.held_out` has
    figures that are not: from new worlds, if `world_or_log` is a function of a seed, or from the remaining users
    of the log, with confidence intervals that hold for the fitted policy.

    Parameters
    ----------
    policy : Policy
        The policy. It does not change; its learned state is not used.
    grid : dict, or list of dicts
        Lists of values by parameter, all combinations of which are tried; or scipy distributions, from which
        `n_iter` settings are drawn. Parameters of the model are nested: `model__discount`.
    world_or_log : World, list of worlds, callable, Log, path or dataframe
        A function of a seed that returns a world, or a class of worlds with the parameter `random_state`; a list
        of worlds; a single world, in which only the policy's draws differ between runs; or a log with
        propensities.
    tolerance : float, optional
        The largest gap between the mean rewards of two groups. If no setting is within it, the one with the
        smallest gap is chosen.
    objective : callable, optional
        The quantity to maximise instead: a function of a `Trace`, averaged over runs, or, on a log, a function of
        a `PolicyEvaluation`.
    n_iter : int, optional
        The number of settings to draw from the grid.
    seeds : int
        The number of runs of each setting; each world of a list is used once.
    table : ArmTable, optional
        On a log: the features of the arms; see `read_arms`.
    evaluation : mapping, optional
        On a log: options of `fairbandits.ope.evaluate`, such as `{"uniform": True}`.
    random_state : int
        The seed of draws from the grid.
    jobs : int
        The number of processes; -1 for one per core. More than one needs joblib.
    progress : bool
        Whether to show a progress bar on a terminal.

    Examples
    --------
    >>> from fairbandits import FairLinUCB
    >>> from fairbandits.worlds import LinearWorld
    >>> def world(seed):
    ...     return LinearWorld(rounds=300, random_state=seed)
    >>> result = tune(FairLinUCB(), {"alpha": [0.1, 2.0], "model__kind": ["disjoint", "shared"]}, world, seeds=3)
    >>> result.best_params
    {'alpha': 0.1, 'model__kind': 'shared'}
    >>> result.held_out["utility_loss"] < 0.05
    True
    """
    if not isinstance(policy, Policy):
        raise ValueError(f"policy must be a Policy, got {policy!r}")
    if tolerance is not None:
        tolerance = check_number("tolerance", tolerance, 0.0)
    settings = make_settings(grid, n_iter, random_state)
    for params in settings:  # raises for invalid parameters, before anything runs
        with_params(policy, params)
    if world_trials.Worlds.accepts(world_or_log):
        if table is not None or evaluation is not None:
            raise ValueError(
                "table and evaluation must be None for worlds, got other values; they apply only to logs"
            )
        worlds = world_trials.Worlds(world_or_log, check_integer("seeds", seeds, 1))
        return _tune_in_worlds(policy, settings, worlds, tolerance, objective, jobs, progress)
    options = {"table": table, "reward_range": tuple(policy.reward_range), **(evaluation or {})}
    return _tune_on_log(policy, settings, world_or_log, tolerance, objective, options, jobs, progress)


def _tune_in_worlds(
    policy: Policy,
    settings: Sequence[Params],
    worlds: world_trials.Worlds,
    tolerance: float | None,
    objective: Callable[[Any], float] | None,
    jobs: int,
    progress: bool,
) -> TuningResult:
    trials, objectives = world_trials.try_in_worlds(policy, settings, worlds, objective, jobs, progress)
    order = choose(trials, tolerance)
    behind = world_trials.paired_differences(objectives, order[0]).tolist()
    ranked = [
        replace(
            trials[number],
            figures={
                **trials[number].figures,
                "behind_best": behind[number][0],
                "behind_best_error": behind[number][1],
            },
        )
        for number in order
    ]
    held_out = None
    if worlds.has_more:
        held_out = world_trials.try_in_new_worlds(policy, ranked[0].params, worlds, objective, jobs)
    return TuningResult(policy, ranked, tolerance, held_out)


def _tune_on_log(
    policy: Policy,
    settings: Sequence[Params],
    log: Any,
    tolerance: float | None,
    objective: Callable[[Any], float] | None,
    options: Mapping[str, Any],
    jobs: int,
    progress: bool,
) -> TuningResult:
    parts = log_trials.UserParts(as_log(log))
    trials, fitted = log_trials.try_on_log(policy, settings, parts, objective, options, jobs, progress)
    order = choose(trials, tolerance)
    chosen = fitted[order[0]]
    evaluation = evaluate(parts.held_out, {"chosen": chosen}, **options)
    figures = log_trials.figures_of_policy(evaluation["chosen"])
    return TuningResult(policy, [trials[number] for number in order], tolerance, figures, evaluation, chosen)
