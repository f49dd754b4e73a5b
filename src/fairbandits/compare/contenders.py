"""The policies that are compared, as they are written on the command line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fairbandits import registry
from fairbandits.simulate import Run

#: What worse-off groups are measured by: the paper's LinUCB.
BASELINE = "LinUCB"
#: The one of ours that reports summarise_world.
DEFAULT = "EvenLinUCB"
#: One setting for all worlds. To have another policy in every comparison, add a line.
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
class Contender:
    """A policy in a comparison.

    Parameters
    ----------
    title : str
        As it was written.
    policy : str
        Its name, or `module:Class`.
    params : mapping
        Its parameters.
    """

    title: str
    policy: str
    params: dict[str, Any]

    def run(self, seed: int, world_params: dict[str, Any]) -> Run:
        """Say what to simulate for one seed."""
        return registry.as_run(
            self.policy, "StudentsAndVideos", seed=seed, policy_params=self.params, world_params=world_params
        )


def as_contenders(texts: Iterable[str]) -> tuple[Contender, ...]:
    """Read policies: `Name`, or `Name(parameter=value,...)`; `module:Class` for one's own.

    Examples
    --------
    >>> [contender.params for contender in as_contenders(["LinUCB", "FairLinUCB(gamma=2, model=shared)"])]
    [{}, {'gamma': 2, 'model': 'shared'}]
    """
    found = tuple(_contender(text.strip()) for text in texts)
    titles = [contender.title for contender in found]
    for title in titles:
        if titles.count(title) > 1:
            raise ValueError(f"{title} is given twice; give every policy once")
    if not found:
        raise ValueError("no policy came; expected at least one")
    return found


def _contender(text: str) -> Contender:
    contender = Contender(text, *registry.parse_policy(text))
    contender.run(0, {}).make_policy()  # refuses what is wrong before anything is run
    return contender
