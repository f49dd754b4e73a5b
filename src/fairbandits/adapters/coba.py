"""Policies as Coba learners, and Coba environments as worlds.

Off-policy evaluation accepts Coba learners directly: `fairbandits.ope.evaluate(log, learner)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.adapters.user_contexts import GroupOf, check_no_records
from fairbandits.arms import ArmId
from fairbandits.extras import install_hint
from fairbandits.models import Model, as_model
from fairbandits.policies import Decision, Policy
from fairbandits.worlds.world import Visit

Floats = NDArray[np.float64]


class ActionEncoder:
    """Encodes Coba's contexts and actions as contexts of arms; the id of an arm is the text of its action.

    Parameters
    ----------
    features : sequence of str and numbers
        Coba's notation: "x" for the context, "a" for the action, "xa" for their products, 1 for a constant.
    """

    def __init__(self, features: Sequence[str | float]) -> None:
        self.features = tuple(features)
        encoder = _import_coba("encodings").InteractionsEncoder
        self._encoder = encoder(list(features))
        # The encoder for environments without contexts.
        self._of_actions = encoder([each for each in features if "x" not in str(each)] or [1])
        self._uses_actions = any("a" in str(each) for each in features)

    def rows(self, context: Any, actions: Sequence[Any]) -> Floats:
        """Return one row per action."""
        encoder = self._of_actions if context is None else self._encoder
        given = {} if context is None else {"x": context}
        rows = [encoder.encode(**given, **({"a": action} if self._uses_actions else {})) for action in actions]
        if any(isinstance(row, Mapping) for row in rows):
            raise ValueError(
                f"contexts and actions must be numbers, got {context!r} and {actions[0]!r}; encode them first: "
                'environments.repr("onehot", "onehot"), environments.dense(...)'
            )
        return np.array(rows, np.float64)

    @staticmethod
    def arms(actions: Sequence[Any]) -> list[ArmId]:
        """Return the ids of the arms."""
        return [str(action) for action in actions]


class PolicyLearner:
    """A policy as a Coba learner, for use in Coba experiments.

    Parameters
    ----------
    policy : Policy
        The policy, which learns. Rewards must lie within its `reward_range`.
    features : sequence of str and numbers, optional
        The features of an arm in Coba's notation. The default is `(1, "x")` or, with a shared model, which
        distinguishes arms by their features alone, `(1, "a", "xa")`, as for Coba's own learners.
    group : callable, optional
        A function of Coba's context that returns the user's group.

    Examples
    --------
    >>> from fairbandits import LinUCB
    >>> learner = PolicyLearner(LinUCB(alpha=0.2, random_state=0))
    >>> action, probability, decision = learner.predict((1.0, 0.5), ["algebra", "biology"])
    >>> learner.learn((1.0, 0.5), action, 1.0, probability, **decision)
    >>> learner.score((1.0, 0.5), ["algebra", "biology"], action)
    1.0
    """

    def __init__(
        self, policy: Policy, features: Sequence[str | float] | None = None, group: GroupOf | None = None
    ) -> None:
        builder = as_model(policy.model)
        is_shared = isinstance(builder, Model) and builder.kind == "shared"
        default = (1, "a", "xa") if is_shared else (1, "x")
        self.policy, self._group = policy, group
        self._encoder = ActionEncoder(default if features is None else features)

    @property
    def params(self) -> dict[str, Any]:
        """The parameters, as shown in the tables of an experiment."""
        params = self.policy.get_params(deep=False)
        plain = {n: value if isinstance(value, str | int | float) else repr(value) for n, value in params.items()}
        return {
            "family": f"fairbandits {type(self.policy).__name__}",
            **plain,
            "features": list(self._encoder.features),
        }

    def score(self, context: Any, actions: Any, action: Any) -> float:
        """Return the probability of an action."""
        arms = self._encoder.arms(actions)
        rows = self._encoder.rows(context, actions)
        probabilities = self.policy.probabilities(rows[None], [self._group_of(context)], arms)
        return float(probabilities[0, list(actions).index(action)])

    def predict(self, context: Any, actions: Any) -> tuple[Any, float, dict[str, Decision]]:
        """Choose an action; return it with its probability and the decision, which must be passed to `learn`."""
        rows, arms = self._encoder.rows(context, actions), self._encoder.arms(actions)
        decision = self.policy.choose(rows, self._group_of(context), arms)
        probability = decision.probability
        if probability is None:  # estimated from draws, as by Coba's own learners
            probability = self.score(context, actions, actions[decision.index])
        return actions[decision.index], probability, {"decision": decision}

    def learn(
        self, context: Any, action: Any, reward: float, probability: float, decision: Decision | None = None
    ) -> None:
        """Learn the reward of an action chosen by `predict` or, if no decision is given, by another policy."""
        if decision is None:
            check_no_records(self.policy)
            rows, arms = self._encoder.rows(context, [action]), self._encoder.arms([action])
            decision = self.policy.choose(rows, self._group_of(context), arms)
        self.policy.learn(decision, float(reward))

    def _group_of(self, context: Any) -> Any:
        return None if self._group is None else self._group(context)


class CobaWorld:
    """A Coba environment as a world: each interaction is a visit.

    Its rewards are assumed to be true means, which they are unless the environment adds noise to them.

    Parameters
    ----------
    environment : coba environment
        One environment with the rewards of all actions, such as `coba.Environments.from_linear_synthetic(500)[0]`.
        It is read once and kept in memory.
    features : sequence of str and numbers
        The features of an arm in Coba's notation; see `PolicyLearner`.
    group : callable, optional
        A function of Coba's context that returns the visitor's group.

    Examples
    --------
    >>> import coba
    >>> from fairbandits import LinUCB
    >>> from fairbandits.simulate import simulate
    >>> environment = coba.Environments.from_linear_synthetic(100, n_actions=3, n_action_features=0)[0]
    >>> world = CobaWorld(environment, group=lambda context: "a" if context[0] > 0 else "b")
    >>> trace = simulate(LinUCB(reward_range=(-1, 2), random_state=0), world)
    >>> len(trace), sorted(set(trace.group["group"]))
    (100, ['a', 'b'])
    """

    def __init__(
        self, environment: Any, features: Sequence[str | float] = (1, "x"), group: GroupOf | None = None
    ) -> None:
        if not hasattr(environment, "read"):
            raise ValueError(f"environment must be a single one, got {environment!r}; take one: environments[0]")
        encoder = ActionEncoder(features)
        self.data_source = f"Coba: {getattr(environment, 'params', environment)}"
        self._visits = [_visit(interaction, encoder, group) for interaction in environment.read()]
        if not self._visits:
            raise ValueError("environment must have interactions, got none")

    def __len__(self) -> int:
        return len(self._visits)

    def visits(self) -> Iterator[Visit]:
        """Iterate over the interactions."""
        return iter(self._visits)


def _visit(interaction: Mapping[str, Any], encoder: ActionEncoder, group: GroupOf | None) -> Visit:
    if not interaction.get("actions") or "rewards" not in interaction:
        raise ValueError(
            "interactions must have the rewards of all actions, got "
            f"{', '.join(interaction)}; a log is evaluated, not simulated: fairbandits.ope.evaluate"
        )
    context, actions, given = (interaction[name] for name in ("context", "actions", "rewards"))
    rewards = np.array([given(action) for action in actions] if callable(given) else given, np.float64)
    rows = encoder.rows(context, actions)
    return Visit(rows, None if group is None else group(context), rewards, rewards, encoder.arms(actions))


def _import_coba(module: str) -> Any:
    from importlib import import_module  # noqa: PLC0415 - needed only here

    try:
        return import_module(f"coba.{module}")
    except ImportError:
        raise ImportError(f"learners and worlds of Coba need coba; {install_hint('coba')}") from None
