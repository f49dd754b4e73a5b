"""A world that replays a log whose arms were chosen uniformly at random."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId, as_arms
from fairbandits.categorical import Categorical
from fairbandits.contexts import FrameTable
from fairbandits.contexts.column_encoders import NUMBER
from fairbandits.validation import check_integer, check_random_state
from fairbandits.worlds.grouping import read_groups
from fairbandits.worlds.reward_scaling import scale_rewards
from fairbandits.worlds.table_contexts import contexts_of_arms
from fairbandits.worlds.table_files import read_table, select_rows, table_name
from fairbandits.worlds.world import Visit

# A uniform log looks less uniform than this with a probability of one in a million.
_LEAST_P_VALUE = 1e-6


class ReplayWorld:
    """The rounds of a log whose arms were chosen uniformly at random, by the replay method.

    The reward of a row is known for the arm that was shown, and for no other. In the replay method (Li, Chu,
    Langford and Wang, 2011), a round counts only if the policy chooses that arm: then the policy sees and learns
    the reward; otherwise the round is ignored. Because the arms of the log are independent of everything else, the
    rounds that count are distributed like rounds in which the policy itself had decided, and means over them
    estimate the policy's mean reward in as many rounds. With K arms, about one row in K counts, so a run of n
    rounds needs a log of n K rows.

    So `expected` and `rewards` are the logged reward for the arm that was shown, and NaN (unknown) for all others.
    In a trace, mean rewards and gaps are computed from the rounds that count. Anything that needs the rewards of
    arms that were not shown is unknown (NaN): the best arm, utility loss and regret. There is no oracle. Logs
    whose arms were not chosen uniformly need importance weighting: see `fairbandits.ope`.

    Parameters
    ----------
    log : data frame, or path of a CSV or Parquet file
        One row per decision, in which every arm could have been chosen. Rows without arm or reward are dropped.
    arm, reward : str
        The columns of arms and rewards.
    group : str or sequence of str
        The columns that define groups. One name gives labels such as "female"; a sequence gives mappings such as
        {"sex": "female", "race": "Black"}.
    propensity : str, optional
        The column with the probability of the arm that was shown, which must be the same in all rows. Without it,
        a log in which some arms are more frequent than chance explains is rejected.
    features : sequence of str, optional
        The columns that are features; by default all but arm, reward and propensity.
    categories : sequence of str
        Numeric columns that hold categories.
    reward_range : pair of floats, optional
        The rewards that become 0 and 1; by default the lowest and the highest of the log.
    rounds : int, optional
        The number of rows; by default all.
    random_state : int, numpy Generator or None
        The seed, or the source of randomness, which determines the order of the rows; the method assumes that the
        rows are independent.

    Attributes
    ----------
    arms : tuple of ids
        The arms.
    columns : tuple of str
        The names of the columns of contexts.
    data_source : str
        One line that names the data, with a hash of arms and rewards.

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame({"arm": ["a", "b"], "reward": [1.0, 0.0], "sex": ["f", "m"], "age": [20, 40]})
    >>> for visit in ReplayWorld(log, arm="arm", reward="reward", group="sex").visits():
    ...     print(visit.group, visit.arms, visit.rewards)
    f ('a', 'b') [ 1. nan]
    m ('a', 'b') [nan  0.]
    """

    def __init__(
        self,
        log: Any,
        *,
        arm: str,
        reward: str,
        group: str | Sequence[str],
        propensity: str | None = None,
        features: Sequence[str] | None = None,
        categories: Sequence[str] = (),
        reward_range: tuple[float, float] | None = None,
        rounds: int | None = None,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        rows, shown, rewards, n_dropped = _read_log(read_table(log, "log"), arm, reward)
        _check_uniform(rows, shown, propensity)
        self.arms: tuple[ArmId, ...] = as_arms(shown.labels)
        self.rounds = len(rows) if rounds is None else check_integer("rounds", rounds, 1)
        if self.rounds > len(rows):
            raise ValueError(f"rounds must be at most the {len(rows)} rows of the log, got {rounds}")
        drawn = check_random_state(random_state).permutation(len(rows))[: self.rounds]
        visitors = select_rows(rows, drawn, list(rows.columns), "log")
        self._shown: list[int] = shown.codes[drawn].tolist()
        self._rewards: list[float] = scale_rewards(rewards, reward_range)[drawn].tolist()
        self._groups = read_groups(visitors, group)
        self._contexts = contexts_of_arms(
            rows,
            self.arms,
            left_out=(arm, reward, *([propensity] if propensity else [])),
            features=features,
            categories=categories,
            visitors=visitors,
        )
        self.columns = self._contexts.columns
        self.data_source = _describe(table_name(log, "log"), shown, rewards, n_dropped)

    def __len__(self) -> int:
        return self.rounds

    def visits(self) -> Iterator[Visit]:
        """Iterate over the rounds from the start; contexts are offers of a catalogue."""
        unknown = np.full(len(self.arms), np.nan)
        for visitor, (shown, reward) in enumerate(zip(self._shown, self._rewards, strict=True)):
            rewards = unknown.copy()
            rewards[shown] = reward
            yield Visit(self._contexts.offer(visitor), self._groups[visitor], rewards, rewards, self.arms)


def _read_log(log: FrameTable, arm: str, reward: str) -> tuple[FrameTable, Categorical, NDArray[np.float64], int]:
    """Return the rows with arm and reward, both columns, and the number of other rows."""
    log.require([arm], "arm")
    log.require([reward], "reward")
    if log.kind(reward) != NUMBER:
        raise ValueError(f"reward must be a column of numbers, got {reward!r} with text or dates")
    shown = Categorical.encode(log.labels(arm))
    rewards = np.asarray(log.read(reward, NUMBER), np.float64)
    (complete,) = np.nonzero((shown.codes >= 0) & ~np.isnan(rewards))
    if not complete.size:
        raise ValueError("log must have a row with arm and reward, got none")
    n_dropped = len(rewards) - len(complete)
    if n_dropped:
        log = select_rows(log, complete, list(log.columns), "log")
        shown, rewards = Categorical.encode(log.labels(arm)), rewards[complete]
    return log, shown, rewards, n_dropped


def _check_uniform(log: FrameTable, shown: Categorical, propensity: str | None) -> None:
    """Raise ValueError for a log whose arms were not chosen uniformly."""
    from scipy.stats import chisquare  # noqa: PLC0415 - slow to import

    remedy = "evaluate it with importance weighting: fairbandits evaluate"
    n_arms = len(shown.labels)
    if n_arms < 2:
        raise ValueError(f"log must have at least two arms, got {n_arms}")
    if propensity is not None:
        log.require([propensity], "propensity")
        given = np.asarray(log.read(propensity, NUMBER), np.float64)
        wrong = given[~np.isclose(given, 1 / n_arms)]
        if wrong.size:
            raise ValueError(
                f"propensity must be {1 / n_arms:g} in every row, for {n_arms} arms chosen uniformly at random, "
                f"got {wrong[0]:g}; {remedy}"
            )
        return
    counts = np.bincount(shown.codes)
    if chisquare(counts).pvalue < _LEAST_P_VALUE:
        raise ValueError(
            f"log must have arms chosen uniformly at random, got {counts.min():,} to {counts.max():,} rows per "
            f"arm; {remedy}"
        )


def _describe(name: str, shown: Categorical, rewards: NDArray[np.float64], n_dropped: int) -> str:
    digest = hashlib.sha256(shown.codes.tobytes() + rewards.tobytes()).hexdigest()
    dropped = f", {n_dropped:,} incomplete rows dropped" if n_dropped else ""
    return f"{name}: replay of {len(rewards):,} rows with {len(shown.labels)} arms{dropped} ({digest[:12]})"
