"""Mixtures of policies: for each group, the shares of its users that different policies serve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.ope.group_index import GroupIndex
from fairbandits.report.phrases import describe_users
from fairbandits.views.short_repr import ShortRepr

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Mixture(ShortRepr):
    """A policy that serves each user by one of three policies, drawn with probabilities that depend on the group.

    Attributes
    ----------
    attribute : str
        The attribute whose groups have different shares.
    fitted, uniform : arrays of shape (n_groups,)
        The shares of the fitted policy and of the uniform policy, by group number. The rest, and all users of
        unknown group (number 0), are served by the logging policy.
    """

    attribute: str
    fitted: Floats
    uniform: Floats

    @property
    def logging(self) -> Floats:
        """The shares of the logging policy."""
        return 1.0 - self.fitted - self.uniform

    @property
    def is_logging_policy(self) -> bool:
        """Whether all users are served by the logging policy."""
        return not self.fitted.any() and not self.uniform.any()

    def is_logging_policy_of(self, group: int) -> bool:
        """Return whether all users in a group of the attribute are served by the logging policy."""
        return not self.fitted[group] and not self.uniform[group]

    def max_weights(self, min_propensity: float, n_arms: int) -> Floats:
        """Return the largest possible importance weight of each group."""
        return self.logging + (self.fitted + self.uniform / n_arms) / min_propensity

    def title(self, groups: GroupIndex) -> str:
        """Describe the shares in words; the logging policy serves the rest."""
        texts = []
        numbers = groups.numbers(self.attribute)
        users = describe_users([self.attribute], *([label] for label in numbers))
        for name, shares in (("fitted", self.fitted), ("uniform", self.uniform)):
            both = zip(users, numbers.values(), strict=True)
            named = [f"{shares[number]:.1%} of {text}" for text, number in both if shares[number]]
            if named:
                texts.append(f"{name} policy for {', '.join(named)}".replace(".0%", "%"))
        return "; ".join(texts) or "logging policy"

    def to_dict(self, groups: GroupIndex) -> dict[str, Any]:
        """Return the shares by group as JSON values."""
        return {
            "attribute": self.attribute,
            "groups": {
                str(label): {
                    "fitted": float(self.fitted[number]),
                    "logging": float(self.logging[number]),
                    "uniform": float(self.uniform[number]),
                }
                for label, number in groups.numbers(self.attribute).items()
            },
        }
