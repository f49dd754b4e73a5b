"""Settings tried on a log: fitted to some users, compared on others, and the chosen one evaluated on the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fairbandits.logs.errors import LogError
from fairbandits.logs.fitting import fit
from fairbandits.logs.log import Log
from fairbandits.ope import PolicyEvaluation, evaluate
from fairbandits.ope.certification.user_split import CERTIFICATION, FITTING, SELECTION, assign_parts
from fairbandits.policies import Policy
from fairbandits.simulate.parallel import run_all
from fairbandits.tuning.results import Trial
from fairbandits.tuning.settings import Params, with_params

LogObjective = Callable[[PolicyEvaluation], float]

# The parts of 21 equal shares of the users. 21 and the folds of the evaluation, which come from the same hash of
# users, have no common divisor, so that every part contains users of all folds.
_PARTS = np.array([FITTING] * 8 + [SELECTION] * 6 + [CERTIFICATION] * 7)


class UserParts:
    """A log, split by users into a part for fitting, one for selection, and one that is held out."""

    def __init__(self, log: Log) -> None:
        user = log.roles.user
        parts, n_rows = [], 0
        for chunk in log.chunks(columns=[] if user is None else [user]):
            rows = n_rows + np.arange(len(chunk))
            parts.append(assign_parts(chunk.user, rows, _PARTS))
            n_rows += len(chunk)
        part = np.concatenate(parts)
        # The row numbers within the files, in which duplicates count.
        duplicates = np.empty(0, np.int64) if log.dropped is None else log.dropped
        numbers = np.delete(np.arange(n_rows + len(duplicates)), duplicates)
        self.fitting, self.selection, self.held_out = (
            _without(
                log, np.sort(np.concatenate([numbers[part != number], duplicates])), int((part == number).sum())
            )
            for number in (FITTING, SELECTION, CERTIFICATION)
        )


def _without(log: Log, rows: Any, n_left: int) -> Log:
    if not n_left:
        raise LogError(
            f"{log.name}: the log has too few users for fitting, selection and a held-out test; use a larger log"
        )
    return replace(log, dropped=rows)


def try_on_log(
    policy: Policy,
    settings: Sequence[Params],
    parts: UserParts,
    objective: LogObjective | None,
    options: Mapping[str, Any],
    jobs: int,
    progress: bool,
) -> tuple[list[Trial], list[Policy]]:
    """Fit a policy with each of the settings, and evaluate it on the selection users.

    The settings are evaluated one by one, because an evaluation of all at once would also compare every pair of
    them.
    """
    tasks = [partial(_try, with_params(policy, params), params, parts, objective, options) for params in settings]
    trials, fitted = zip(*run_all(tasks, jobs=jobs, progress=progress), strict=True)
    return list(trials), list(fitted)


def _try(
    policy: Policy, params: Params, parts: UserParts, objective: LogObjective | None, options: Mapping[str, Any]
) -> tuple[Trial, Policy]:
    fitted = fit(parts.fitting, policy, table=options["table"]).policy
    [found] = evaluate(parts.selection, fitted, **options).policies
    figures = figures_of_policy(found)
    value = figures["reward"] if objective is None else float(objective(found))
    return Trial(params, figures, value, figures["reward_gap"]), fitted


def figures_of_policy(policy: PolicyEvaluation) -> dict[str, float]:
    """Return the estimated reward and the gap of each attribute, with their intervals, and the largest gap."""
    result = policy.preferred
    value = result.value.overall
    reward = (np.nan,) * 3 if value is None else (value.value, value.low, value.high)
    figures = dict(zip(("reward", "reward_low", "reward_high"), reward, strict=True))
    gaps = {}
    for attribute in result.value.by_group:
        gap = result.largest_gap(attribute)
        gaps[attribute] = np.nan if gap is None else gap.estimate.value
        if gap is not None:
            name = f"reward_gap_{attribute}"
            figures |= {
                name: gap.estimate.value,
                f"{name}_low": gap.estimate.low,
                f"{name}_high": gap.estimate.high,
            }
    # An attribute whose gap is unknown makes the largest one unknown (NaN).
    return figures | {"reward_gap": float(np.max([*gaps.values(), 0.0]))}
