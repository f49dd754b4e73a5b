"""A world from labelled data: classes are arms, and the right class has the highest reward."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId, as_arms
from fairbandits.contexts import FrameTable
from fairbandits.contexts.column_encoders import category_text
from fairbandits.validation import check_integer, check_number, check_random_state
from fairbandits.worlds.grouping import read_groups, sensitive_params
from fairbandits.worlds.table_contexts import contexts_of_arms
from fairbandits.worlds.table_files import read_table, select_rows, table_name
from fairbandits.worlds.world import Visit

RewardTable = Mapping[Any, Mapping[Any, float]]


class LabelledWorld:
    """Rows of a labelled table, for each of which a policy chooses a class.

    This is the supervised-to-bandit conversion: the reward of the right class is 1, that of all others is 0, and
    the policy sees only the reward of the class that it chose. `expected` is the reward given the label: the label
    counts as the truth, even if similar rows have different labels.

    A context consists of a constant, the columns of the row, and the class of the arm, encoded as in
    `fairbandits.Recommender`; the columns of groups are also features, unless `features` leaves them out.

    Parameters
    ----------
    table : data frame, or path of a CSV or Parquet file
        One row per user. Rows without a label are dropped.
    label : str
        The column of labels.
    group : str or sequence of str
        The columns that define groups. One name gives labels such as "female"; a sequence gives mappings such as
        {"sex": "female", "race": "Black"}.
    features : sequence of str, optional
        The columns that are features; by default all but the label.
    categories : sequence of str
        Numeric columns that hold categories.
    rewards : mapping of arm to mapping of label to float, optional
        The reward of each arm for each label, in [0, 1], such as
        {"lend": {"repaid": 1, "defaulted": 0}, "refuse": {"repaid": 0.3, "defaulted": 0.6}}. By default the arms
        are the labels, and the reward is 1 for the right one.
    rounds : int, optional
        The number of rounds; by default one per row. Rows are drawn without replacement as long as there are
        enough. All rounds belong to the test part.
    random_state : int, numpy Generator or None
        The seed, or the source of randomness, which determines the order of the rows.

    Attributes
    ----------
    arms : tuple of ids
        The classes.
    columns : tuple of str
        The names of the columns of contexts.
    policy_params : dict
        The sensitive columns, as the parameters `drop` and `swap` of policies that refer to them.
    data_source : str
        One line that names the data, with a hash of the labels.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [20, 40, 60], "sex": ["f", "m", "f"], "dose": ["low", "high", "low"]})
    >>> world = LabelledWorld(table, label="dose", group="sex")
    >>> for visit in world.visits():
    ...     print(visit.group, visit.arms, visit.expected)
    f ('high', 'low') [0. 1.]
    f ('high', 'low') [0. 1.]
    m ('high', 'low') [1. 0.]
    """

    def __init__(
        self,
        table: Any,
        *,
        label: str,
        group: str | Sequence[str],
        features: Sequence[str] | None = None,
        categories: Sequence[str] = (),
        rewards: RewardTable | None = None,
        rounds: int | None = None,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        rows = read_table(table, "table")
        rows.require([label], "label")
        rows, labels, n_dropped = _with_label(rows, label)
        self.rounds = len(rows) if rounds is None else check_integer("rounds", rounds, 1)
        rng = check_random_state(random_state)
        drawn = rng.choice(len(rows), self.rounds, replace=self.rounds > len(rows))
        used, self._visitors = (part.tolist() for part in np.unique(drawn, return_inverse=True))
        visitors = select_rows(rows, used, list(rows.columns), "table")
        classes = sorted({*labels}, key=str)
        if rewards is not None:
            # Boolean labels are read as text, and arms may be labels.
            rewards = {category_text(arm) if isinstance(arm, bool) else arm: row for arm, row in rewards.items()}
        self.arms: tuple[ArmId, ...] = as_arms(classes if rewards is None else list(rewards))
        by_label = _rewards_by_label(classes, self.arms, rewards)
        self._expected = [by_label[labels[row]] for row in used]
        self._groups = read_groups(visitors, group)
        self._contexts = contexts_of_arms(
            rows, self.arms, left_out=(label,), features=features, categories=categories, visitors=visitors
        )
        self.columns = self._contexts.columns
        self.policy_params = sensitive_params(self.columns, group)
        self.data_source = _describe(table_name(table, "table"), labels, len(classes), n_dropped)

    def __len__(self) -> int:
        return self.rounds

    def visits(self) -> Iterator[Visit]:
        """Iterate over the rounds from the start; contexts are offers of a catalogue."""
        for visitor in self._visitors:
            expected = self._expected[visitor]
            yield Visit(self._contexts.offer(visitor), self._groups[visitor], expected, expected, self.arms)


def _with_label(table: FrameTable, label: str) -> tuple[FrameTable, list[Any], int]:
    """Return the rows that have a label, their labels, and the number of other rows."""
    labels = table.labels(label)
    known = [row for row, value in enumerate(labels) if value is not None]
    if not known:
        raise ValueError(f"table must have at least one label in column {label!r}, got none")
    n_dropped = len(labels) - len(known)
    if n_dropped:
        table = select_rows(table, known, list(table.columns), "table")
    return table, [labels[row] for row in known], n_dropped


def _rewards_by_label(
    labels: Sequence[Any], arms: Sequence[ArmId], rewards: RewardTable | None
) -> dict[Any, NDArray[np.float64]]:
    """Return for each label the rewards of all arms."""
    found: dict[Any, NDArray[np.float64]] = {}
    for label in labels:
        found[label] = np.array(
            [float(arm == label) if rewards is None else _reward(rewards, arm, label) for arm in arms]
        )
        found[label].flags.writeable = False
    return found


def _reward(rewards: RewardTable, arm: Any, label: Any) -> float:
    # Keys in JSON are text, and Boolean labels are read as text.
    of_arm = {category_text(key): value for key, value in rewards[arm].items()}
    text = category_text(label)
    if text not in of_arm:
        raise ValueError(
            f"rewards must have the reward of every arm for every label, got none of {arm!r} for {label!r}"
        )
    return check_number(f"rewards[{arm!r}][{label!r}]", of_arm[text], 0, 1)


def _describe(name: str, labels: Sequence[Any], n_classes: int, n_dropped: int) -> str:
    digest = hashlib.sha256("\n".join(map(str, labels)).encode()).hexdigest()
    dropped = f", {n_dropped:,} rows without a label dropped" if n_dropped else ""
    return f"{name}: {len(labels):,} rows with {n_classes} labels{dropped} ({digest[:12]})"
