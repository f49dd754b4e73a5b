"""The compared policies, and how they are written on the command line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fairbandits import registry
from fairbandits.simulate import Run

#: The reference for the worst-off group's reward: the paper's LinUCB.
BASELINE = "LinUCB"
#: The policy that the summary of a report is about.
DEFAULT = "EvenLinUCB"
#: The default policies, each with the same parameters in all worlds. Add a line to include another one.
POLICIES: tuple[str, ...] = (
    BASELINE,
    "LinUCB(alpha=0.2)",
    "LinUCB(alpha=0.1, model=shared)",
    "FairLinUCB(gamma=3)",
    "FairLinUCB(gamma=auto)",
    DEFAULT,
    "EvenLinUCB(alpha=0.1, model=shared)",
    "PrimalDualLinUCB(alpha=0.2)",
    "MaxMinLinUCB(alpha=0.2)",
    "EqualRegretLinUCB(alpha=0.2)",
    "CounterfactualLinUCB",
    "LinTS(alpha=0.05)",
    "Uniform",
)


@dataclass(frozen=True)
class PolicySpec:
    """A policy with its parameters, as written on the command line.

    Parameters
    ----------
    title : str
        The text as written.
    policy : str
        The name of the policy, or `module:Class`.
    params : mapping
        Its parameters.
    """

    title: str
    policy: str
    params: dict[str, Any]

    def run(self, seed: int, world_params: dict[str, Any]) -> Run:
        """Return the run of this policy with one seed."""
        return registry.make_run(
            self.policy, "StudentsAndVideos", seed=seed, policy_params=self.params, world_params=world_params
        )


def parse_policies(texts: Iterable[str]) -> tuple[PolicySpec, ...]:
    """Parse policies written as `Name`, `Name(parameter=value, ...)` or `module:Class(...)`.

    Examples
    --------
    >>> [spec.params for spec in parse_policies(["LinUCB", "FairLinUCB(gamma=2, model=shared)"])]
    [{}, {'gamma': 2, 'model': 'shared'}]
    """
    specs = tuple(_parse_policy(text.strip()) for text in texts)
    titles = [spec.title for spec in specs]
    for title in titles:
        if titles.count(title) > 1:
            raise ValueError(f"policies must differ, got {title} twice")
    if not specs:
        raise ValueError("policies must contain at least one policy, got none")
    return specs


def _parse_policy(text: str) -> PolicySpec:
    spec = PolicySpec(text, *registry.parse_call(text))
    spec.run(0, {}).make_policy()  # raises for invalid parameters, before anything runs
    return spec
