"""The columns of a log that hold the probabilities of a policy for slates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class SlateProbabilities:
    """The columns with the probabilities of one policy, each for one of three events; at least one is needed.

    Attributes
    ----------
    position : str, optional
        The probability of this arm at this position, summed over the arms at all other positions. The independent
        estimator needs it.
    cascade : str, optional
        The probability of the arms from the first position to this one, which is the product of the conditional
        probabilities. The reward-interaction estimator needs it. At the last position, it is the probability of
        the whole slate.
    slate : str, optional
        The probability of the whole slate in this order, which is the same in all of its rows. The whole-slate
        estimator needs it. If omitted, it is taken from `cascade`.

    Examples
    --------
    >>> SlateProbabilities(cascade="p").events
    {'cascade': 'p', 'slate': 'p'}
    """

    position: str | None = None
    cascade: str | None = None
    slate: str | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            column = getattr(self, field.name)
            if column is not None and not (isinstance(column, str) and column):
                raise ValueError(f"{field.name} must be a column name, got {column!r}")
        if not self.columns:
            raise ValueError(
                "SlateProbabilities must name at least one column, got none; set position, cascade or slate"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are given."""
        return tuple(column for field in fields(self) if (column := getattr(self, field.name)) is not None)

    @property
    def events(self) -> Mapping[str, str]:
        """The column for each event whose probability is known."""
        known = {"position": self.position, "cascade": self.cascade, "slate": self.slate or self.cascade}
        return {event: column for event, column in known.items() if column is not None}


def check_columns(policies: Mapping[str, SlateProbabilities], propensity: SlateProbabilities) -> None:
    """Raise an error unless each policy and the log have the probabilities of a common event."""
    if not isinstance(propensity, SlateProbabilities):
        raise ValueError(f"propensity must be SlateProbabilities, got {propensity!r}")
    if not isinstance(policies, Mapping) or not policies:
        raise ValueError(f"policies must be a dictionary of titles and SlateProbabilities, got {policies!r}")
    for title, policy in policies.items():
        if not isinstance(policy, SlateProbabilities):
            raise ValueError(f"{title}: a policy must be SlateProbabilities, got {policy!r}")
        if not policy.events.keys() & propensity.events.keys():
            raise ValueError(
                f"{title}: the policy and the log must have probabilities of the same event, got those of "
                f"{', '.join(policy.events)} and of {', '.join(propensity.events)}"
            )
