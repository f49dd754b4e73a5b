"""Reasons to doubt an evaluation of slates."""

from __future__ import annotations

from collections.abc import Iterator

from fairbandits.ope.slates.headline import SlateHeadline, SlateWeights
from fairbandits.ope.slates.reading import LoggedSlates
from fairbandits.ope.slates.results import MIN_EFFECTIVE_SLATES
from fairbandits.views.text import percent

# If the mean weight differs from 1 by more than this number of standard errors, the cause is not chance.
_MAX_Z = 4.0


def log_warnings(slates: LoggedSlates, missing: float) -> Iterator[str]:
    """Yield warnings about the log, given the share of slates without a reward at a position."""
    if slates.user is None:
        yield "The log has no user column (--user), so the intervals assume that slates are independent."
    if missing:
        yield (
            f"{percent(missing)} of the slates lack a reward at a position and are left out; the estimates are "
            "biased if rewards are not missing at random."
        )
    if (slates.groups < 0).any():
        yield "Slates of users whose group is unknown count overall, but in no group."


def weight_warnings(
    where: str, headline: SlateHeadline, weights: SlateWeights, effective_slates: float
) -> Iterator[str]:
    """Yield warnings about the importance weights of a policy."""
    if effective_slates < MIN_EFFECTIVE_SLATES:
        yield (
            f"{where}: the estimate rests on {effective_slates:,.0f} effective slates of "
            f"{len(weights.weight):,}; do not base decisions on it."
        )
    elif abs(headline.mean_weight_z(weights)) > _MAX_Z:
        yield (
            f"{where}: the mean importance weight is {weights.weight.mean():.2f} and should be 1. The "
            "probabilities are wrong, or the policy shows slates that the logging policy never shows."
        )
