"""Policies for Open Bandit Pipeline (obp), and its bandit feedback as logs.

Off-policy evaluation accepts obp policies directly: `fairbandits.ope.evaluate(log, policy)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.adapters.user_contexts import GroupOf, UserContexts, as_context
from fairbandits.arms import ArmId
from fairbandits.logs.log import as_log
from fairbandits.logs.roles import Roles
from fairbandits.policies import Decision, Policy
from fairbandits.validation import check_integer
from fairbandits.worlds.world import dense

if TYPE_CHECKING:
    import pandas as pd

# The columns of a log, with their names in bandit feedback.
_COLUMNS = {
    "decision": "slate_id",
    "arm": "action",
    "reward": "reward",
    "propensity": "pscore",
    "propensity_position": "pscore_item_position",
    "propensity_cascade": "pscore_cascade",
    "position": "position",
}


class ObpPolicy:
    """A policy with the interface of obp's contextual policies, for use in obp's simulators.

    Parameters
    ----------
    policy : Policy
        The policy, which learns. Its model needs a part for each arm, because obp has one context per user.
    n_actions : int
        The number of arms, which are numbered from 0.
    len_list : int
        The number of arms that are selected at once.
    group : callable, optional
        A function of a user's context, as a vector, that returns the user's group.

    Examples
    --------
    >>> import numpy as np
    >>> from fairbandits import LinUCB
    >>> policy = ObpPolicy(LinUCB(random_state=0), n_actions=3)
    >>> context = np.array([[1.0, 0.5]])
    >>> action = policy.select_action(context)[0]
    >>> policy.update_params(action=action, reward=1.0, context=context)
    >>> policy.policy.rounds_learned
    1
    """

    def __init__(self, policy: Policy, n_actions: int, *, len_list: int = 1, group: GroupOf | None = None) -> None:
        self.policy = policy
        self.n_actions = check_integer("n_actions", n_actions, 2)
        self.len_list = check_integer("len_list", len_list, 1)
        self.policy_name = repr(policy)
        self._users = UserContexts(policy, group)
        self._last: tuple[NDArray[np.float64], Decision] | None = None

    @property
    def policy_type(self) -> Any:
        """The policy type of contextual policies; obp must be installed."""
        try:
            from obp.policy.policy_type import PolicyType  # noqa: PLC0415 - not a dependency
        except ImportError:
            raise ImportError("policy_type needs obp, which is not installed: pip install obp") from None
        return PolicyType.CONTEXTUAL

    def select_action(self, context: Any) -> NDArray[np.int64]:
        """Select `len_list` arms for a user, in order of preference."""
        user = as_context(context)
        if self.len_list > 1:
            slate = self._users.choose_slate(user, range(self.n_actions), self.len_list)
            return np.array(slate.indices, np.int64)
        decision = self._users.choose(user, range(self.n_actions))
        self._last = user, decision
        return np.array([decision.index], np.int64)

    def update_params(self, action: Any, reward: Any, context: Any) -> None:
        """Learn the reward of an arm, from the last selection, an earlier selection or a log."""
        user, arm, value = as_context(context), int(action), float(np.asarray(reward).item())
        if self._last is not None and self._last[1].index == arm and np.array_equal(self._last[0], user):
            self.policy.learn(self._last[1], value)
            self._last = None
        else:
            self._users.learn_one(user, arm, value)

    def predict(self, context: Any) -> NDArray[np.float64]:
        """Return the probabilities of all arms in the shape that obp's estimators need, (users, actions, 1)."""
        if self.len_list > 1:
            raise ValueError(f"len_list must be 1 for probabilities, got {self.len_list}")
        contexts = np.asarray(context, np.float64)
        offer = self._users.offer(contexts, range(self.n_actions))
        return self.policy.probabilities(offer, self._users.groups(contexts))[:, :, None]


def from_bandit_feedback(feedback: Mapping[str, Any], groups: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """Return obp's bandit feedback as a log, with one row per round.

    The columns are `arm`, `reward`, `propensity`, `position` if there is one, `context_0`, `context_1`, ..., and
    the groups. Feedback of slates (with `slate_id`) becomes a log of slates: `decision` is the slate, and the
    propensities of its events are `propensity`, `propensity_position` and `propensity_cascade`.

    Parameters
    ----------
    feedback : dict
        The result of the method `obtain_batch_bandit_feedback` of an obp dataset.
    groups : mapping of str to sequence, optional
        The sensitive attributes of the users, with one value per round; obp does not provide any.

    Examples
    --------
    >>> feedback = {"context": np.eye(2), "action": np.array([1, 0]), "reward": np.array([1, 0]),
    ...             "pscore": np.array([0.5, 0.5]), "position": None}
    >>> from_bandit_feedback(feedback, {"sex": ["f", "m"]}).columns.tolist()
    ['arm', 'reward', 'propensity', 'context_0', 'context_1', 'sex']
    """
    pd = _import_pandas("from_bandit_feedback")
    for name in ("context", "action", "reward"):
        if feedback.get(name) is None:
            raise ValueError(f"feedback must have {name!r}, got {', '.join(map(str, feedback))}")
    found = {name: feedback.get(theirs) for name, theirs in _COLUMNS.items()}
    rows: dict[str, Any] = {name: np.asarray(values) for name, values in found.items() if values is not None}
    contexts = np.asarray(feedback["context"], np.float64)
    if "decision" in rows:
        contexts = contexts[np.unique(rows["decision"], return_inverse=True)[1]]
    rows |= {f"context_{k}": column for k, column in enumerate(contexts.T)}
    rows |= {} if groups is None else {name: list(values) for name, values in groups.items()}
    lengths = {name: len(values) for name, values in rows.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"feedback and groups must have one entry per round, got {lengths}")
    return pd.DataFrame(rows)


def to_bandit_feedback(log: Any, roles: Roles | None = None, **named_roles: Any) -> dict[str, Any]:
    """Return a log as obp's bandit feedback; unlike for an evaluation, the log must fit into memory.

    Rows without a reward are left out. `action` contains indices, starting at 0, into the additional entry `arms`,
    which holds the ids of the arms. Numbers stay as they are, and text becomes one column for each value.

    Parameters
    ----------
    log : Log, path or dataframe
        The log, or a source that `Log.open` accepts.
    roles : Roles, optional
        The roles of the columns; if omitted, they are guessed from the column names.
    **named_roles
        Individual roles: `arm="video", contexts=["age"]`.

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame({"arm": ["b", "a"], "reward": [1.0, 0.0], "propensity": 0.5, "age": [31.0, 40.0]})
    >>> feedback = to_bandit_feedback(log, contexts=["age"])
    >>> feedback["arms"], feedback["action"], feedback["context"].tolist()
    (['a', 'b'], array([1, 0]), [[31.0], [40.0]])
    """
    opened = as_log(log, roles, **named_roles)
    opened = opened.with_encoder(opened.plain_encoder())
    named = (opened.roles.propensity, opened.roles.position, *opened.roles.contexts)
    wanted = [name for name in named if name is not None]
    columns: dict[str, list[Any]] = {}
    for chunk in opened.chunks(contexts=True, columns=wanted):
        rows = ~np.isnan(chunk.reward)
        labels = np.array(chunk.arm.labels, object)
        read: dict[str, Any] = {
            "arm": labels[chunk.arm.codes],
            "reward": chunk.reward,
            "context": dense(chunk.contexts),
        }
        read |= {"pscore": chunk.propensity, "position": chunk.position}
        for name, values in read.items():
            columns.setdefault(name, []).append(None if values is None else values[rows])
    arrays: dict[str, Any] = {
        name: None if parts[0] is None else np.concatenate(parts) for name, parts in columns.items()
    }
    chosen: list[ArmId] = arrays.pop("arm").tolist()
    arms = sorted(set(chosen), key=lambda arm: (isinstance(arm, str), arm))
    return {
        "n_rounds": len(chosen),
        "n_actions": len(arms),
        "action_context": np.eye(len(arms), dtype=int),
        "arms": arms,
        "action": np.array([*map({arm: number for number, arm in enumerate(arms)}.get, chosen)], np.int64),
        **arrays,
    }


def _import_pandas(what: str) -> Any:
    try:
        import pandas as pd  # noqa: PLC0415 - optional
    except ImportError:
        raise ImportError(f"{what} needs pandas, which is not installed: pip install pandas") from None
    return pd
