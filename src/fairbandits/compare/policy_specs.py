"""The compared policies, and how they are written on the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fairbandits import registry
from fairbandits.policies import Policy
from fairbandits.simulate import FixedWorld, Run

#: The reference for the worst-off group's reward: the paper's LinUCB.
BASELINE = "LinUCB"
#: The policy that the summary of a report is about.
DEFAULT = "EvenLinUCB"
#: The default policies, each with the same parameters in all worlds. Add a line to include another one.
POLICIES: tuple[str, ...] = (
    BASELINE,
    "LinUCB(alpha=0.2)",
    "LinUCB(alpha=0.1, model=shared)",
    "LinUCB(alpha=0.1, model=hybrid)",
    "FairLinUCB(gamma=3)",
    "FairLinUCB(gamma=auto)",
    DEFAULT,
    "EvenLinUCB(alpha=0.1, model=shared)",
    "PrimalDualLinUCB(alpha=0.2)",
    "MaxMinLinUCB(alpha=0.2)",
    "EqualRegretLinUCB(alpha=0.2)",
    "AlphaFairLinUCB(alpha=0.2)",
    "ConservativeLinUCB",
    "CounterfactualLinUCB",
    "FUCB",
    "DUCB",
    "FairXUCB",
    "FairXTS",
    "FairGreedy",
    "NeuralLinear",
    "LinTS(alpha=0.05)",
    "Uniform",
)


#: A policy as text, a class with its default parameters, or an object, from which only the parameters are used.
PolicyLike = str | type[Policy] | Policy


@dataclass(frozen=True)
class PolicySpec:
    """A policy with its parameters.

    Parameters
    ----------
    title : str
        The text as written; the name of a class; the representation of an object.
    policy : type
        The class of the policy.
    params : mapping
        Its parameters.
    """

    title: str
    policy: type[Policy]
    params: dict[str, Any]

    def run(
        self, seed: int, world: type | FixedWorld, world_params: Mapping[str, Any], data_source: str | None = None
    ) -> Run:
        """Return the run of this policy in a world with one seed."""
        return Run(self.policy, world, seed, self.params, world_params, data_source=data_source)


def parse_policies(policies: Iterable[PolicyLike]) -> tuple[PolicySpec, ...]:
    """Parse policies written as `Name`, `Name(parameter=value, ...)` or `module:Class(...)`, classes and objects.

    From an object, only the parameters are used: every run starts with a new policy that has learned nothing.

    Examples
    --------
    >>> from fairbandits import LinTS, Uniform
    >>> [(spec.title, spec.params) for spec in parse_policies(["LinUCB(alpha=0.2)", Uniform])]
    [('LinUCB(alpha=0.2)', {'alpha': 0.2}), ('Uniform', {})]
    >>> parse_policies([LinTS(alpha=0.05)])[0].title
    'LinTS(alpha=0.05)'
    """
    specs = tuple(_parse_policy(policy) for policy in policies)
    titles = [spec.title for spec in specs]
    for title in titles:
        if titles.count(title) > 1:
            raise ValueError(f"policies must differ, got {title} twice")
    if not specs:
        raise ValueError("policies must contain at least one policy, got none")
    return specs


def _parse_policy(policy: Any) -> PolicySpec:
    if isinstance(policy, Policy):
        params = {name: value for name, value in policy.get_params(deep=False).items() if name != "random_state"}
        cls = type(policy)
        return PolicySpec(repr(cls(**params)), cls, _changed(cls, params))
    if isinstance(policy, type) and issubclass(policy, Policy):
        return PolicySpec(policy.__name__, policy, {})
    if not isinstance(policy, str):
        raise ValueError(
            f"policy must be text, a subclass of fairbandits.Policy or one of its objects, got {policy!r}"
        )
    name, params = registry.parse_call(policy)
    cls = registry.find_policy(name)
    registry.check_parameters(cls, params)
    return PolicySpec(policy.strip(), cls, params)


def _changed(cls: type[Policy], params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that differ from the defaults; a world may replace the defaults by its own values."""
    defaults = cls().get_params(deep=False)
    return {
        name: value for name, value in params.items() if value is not defaults[name] and value != defaults[name]
    }
