"""The results of tuning."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbandits.ope.results import Evaluation
from fairbandits.policies import Policy
from fairbandits.tuning.settings import with_params

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Trial:
    """One setting and its results.

    Attributes
    ----------
    params : dict
        The parameters that were set.
    figures : mapping of str to float
        In worlds, `utility_loss` and `reward_gap`, means over the runs, each with its standard error
        (`utility_loss_error`), and `behind_best`, the amount by which the objective is worse than that of the
        chosen setting in the same worlds. On a log, `reward` and `reward_gap`, estimated from the selection users,
        with the 95% confidence interval of the reward (`reward_low`, `reward_high`), which is valid for a setting
        that was not selected because of its result.
    objective : float
        The value that was maximised; NaN if it could not be estimated.
    reward_gap : float
        The gap that is compared with the tolerance; NaN if it is unknown.
    """

    params: dict[str, Any]
    figures: Mapping[str, float]
    objective: float
    reward_gap: float


@dataclass(frozen=True, eq=False)
class TuningResult:
    """The settings that were tried, and the chosen one.

    Attributes
    ----------
    policy : Policy
        The policy that was tuned.
    trials : sequence of Trial
        All settings, the chosen one first: those within the tolerance by objective, then the others by gap.
    tolerance : float or None
        The largest gap that is tolerated.
    held_out : mapping of str to float, or None
        The figures of the chosen setting on data that were not used to choose it: in new worlds, or on held-out
        users of the log. The figures in `trials` are too optimistic for the chosen setting, because it was chosen
        by them; these are not. None if there are no new worlds.
    evaluation : Evaluation or None
        The off-policy evaluation of the chosen setting on the held-out users.
    fitted_policy : Policy or None
        The policy to which `held_out` and `evaluation` refer: the chosen policy, fitted to the fitting users.

    Examples
    --------
    >>> from fairbandits import LinUCB
    >>> from fairbandits.tuning import tune
    >>> from fairbandits.worlds import LinearWorld
    >>> def world(seed):
    ...     return LinearWorld(rounds=200, random_state=seed)
    >>> result = tune(LinUCB(), {"model__kind": ["disjoint", "shared"]}, world, seeds=2)
    >>> result.best_params, result.is_within_tolerance, len(result.trials)
    ({'model__kind': 'shared'}, True, 2)
    >>> result.best_policy
    LinUCB(model=Model(kind='shared'))
    """

    policy: Policy
    trials: Sequence[Trial]
    tolerance: float | None = None
    held_out: Mapping[str, float] | None = None
    evaluation: Evaluation | None = field(default=None, repr=False)
    fitted_policy: Policy | None = field(default=None, repr=False)

    @property
    def best_params(self) -> dict[str, Any]:
        """The chosen parameters."""
        return dict(self.trials[0].params)

    @property
    def best_policy(self) -> Policy:
        """A new policy with the chosen parameters, which has learned nothing."""
        return with_params(self.policy, self.best_params)

    @property
    def is_within_tolerance(self) -> bool:
        """Whether the chosen setting's gap was within the tolerance when chosen; True without a tolerance."""
        return is_within(self.trials[0].reward_gap, self.tolerance)

    def table(self) -> list[dict[str, Any]]:
        """Return one row per setting, in the order of `trials`."""
        return [
            {
                **trial.params,
                **trial.figures,
                "objective": trial.objective,
                "is_within_tolerance": is_within(trial.reward_gap, self.tolerance),
            }
            for trial in self.trials
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return `table` as a pandas DataFrame."""
        try:
            import pandas as pd  # noqa: PLC0415 - an extra
        except ImportError:
            raise ImportError("to_frame needs pandas, which is not installed: pip install pandas") from None
        return pd.DataFrame(self.table())

    def __repr__(self) -> str:
        lines = [f"<TuningResult: {self.best_policy!r}, of {len(self.trials)} settings"]
        if not self.is_within_tolerance:
            lines.append(f"  no setting is within the tolerance {self.tolerance:g}; this one has the smallest gap")
        if self.held_out is None:
            lines.append(
                "  no held-out estimates; the estimates of the trials are optimistic for the chosen setting"
            )
        else:
            lines.append(f"  held out: {_in_words(self.held_out)}")
        return "\n".join(lines) + ">"


def _in_words(figures: Mapping[str, float]) -> str:
    """Return figures with their standard errors, or with their intervals.

    Examples
    --------
    >>> _in_words({"utility_loss": 0.05, "utility_loss_error": 0.002}), _in_words({"reward_gap": 0.5})
    ('utility_loss 0.050 ± 0.002', 'reward_gap 0.500')
    >>> _in_words({"reward": 0.5, "reward_low": 0.45, "reward_high": 0.56})
    'reward 0.500 [0.450, 0.560]'
    """
    words = []
    for name, value in figures.items():
        if f"{name}_error" in figures:
            words.append(f"{name} {value:.3f} ± {figures[f'{name}_error']:.3f}")
        elif f"{name}_low" in figures:
            words.append(f"{name} {value:.3f} [{figures[f'{name}_low']:.3f}, {figures[f'{name}_high']:.3f}]")
        elif not name.endswith(("_error", "_low", "_high")):
            words.append(f"{name} {value:.3f}")
    return ", ".join(words)


def choose(trials: Sequence[Trial], tolerance: float | None) -> list[int]:
    """Return the numbers of the trials in the order of preference.

    Examples
    --------
    >>> one, two = Trial({}, {}, objective=0.9, reward_gap=0.2), Trial({}, {}, objective=0.8, reward_gap=0.01)
    >>> choose([one, two], tolerance=0.05), choose([one, two], tolerance=None)
    ([1, 0], [0, 1])
    """

    def order(number: int) -> tuple[bool, bool, float, float]:
        trial = trials[number]
        within = is_within(trial.reward_gap, tolerance)
        rank = -trial.objective if within else np.nan_to_num(trial.reward_gap, nan=np.inf)
        return math.isnan(trial.objective), not within, rank, -trial.objective

    found = sorted(range(len(trials)), key=order)
    if math.isnan(trials[found[0]].objective):
        raise ValueError(
            "the objective must be a number for at least one setting, got none; the log may have too few rows of "
            "the arms that the settings choose"
        )
    return found


def is_within(gap: float, tolerance: float | None) -> bool:
    """Return whether a gap is within the tolerance, if there is one; an unknown gap is not."""
    return tolerance is None or gap <= tolerance
