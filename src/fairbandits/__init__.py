"""Contextual bandits that treat their users fairly."""

from typing import TYPE_CHECKING, Any

from fairbandits.contexts import Catalogue, Offer
from fairbandits.fairness import Gap, GroupRewards, GroupSummary, IndividualGaps
from fairbandits.models import (
    Model,
    RewardModel,
    alpha_from_delta,
    alpha_schedule,
    fair_linucb_regret_bound,
    linucb_regret_bound,
)
from fairbandits.models.device import Device
from fairbandits.parameters import number, one_of, parameter
from fairbandits.policies import (
    DUCB,
    FUCB,
    AlphaFairLinUCB,
    ConservativeLinUCB,
    CounterfactualLinUCB,
    Decision,
    Decisions,
    EpsilonGreedy,
    EqualRegretLinUCB,
    EvenLinUCB,
    FairGreedy,
    FairLinUCB,
    FairXTS,
    FairXUCB,
    GreedyPicker,
    LinTS,
    LinUCB,
    MaxMinLinUCB,
    NaiveLinUCB,
    NeuralLinear,
    Picker,
    Policy,
    PolicyFileError,
    Predictions,
    PrimalDualLinUCB,
    Scores,
    Slate,
    Uniform,
    twin_rewards,
)

if TYPE_CHECKING:
    from fairbandits.recommender import Recommender

    __version__: str

__all__ = [
    "DUCB",
    "FUCB",
    "AlphaFairLinUCB",
    "Catalogue",
    "ConservativeLinUCB",
    "CounterfactualLinUCB",
    "Decision",
    "Decisions",
    "Device",
    "EpsilonGreedy",
    "EqualRegretLinUCB",
    "EvenLinUCB",
    "FairGreedy",
    "FairLinUCB",
    "FairXTS",
    "FairXUCB",
    "Gap",
    "GreedyPicker",
    "GroupRewards",
    "GroupSummary",
    "IndividualGaps",
    "LinTS",
    "LinUCB",
    "MaxMinLinUCB",
    "Model",
    "NaiveLinUCB",
    "NeuralLinear",
    "Offer",
    "Picker",
    "Policy",
    "PolicyFileError",
    "Predictions",
    "PrimalDualLinUCB",
    "Recommender",
    "RewardModel",
    "Scores",
    "Slate",
    "Uniform",
    "alpha_from_delta",
    "alpha_schedule",
    "fair_linucb_regret_bound",
    "linucb_regret_bound",
    "number",
    "one_of",
    "parameter",
    "twin_rewards",
]


def __getattr__(name: str) -> Any:
    # These imports take a tenth of the time of importing the package, and most programs need neither.
    if name == "Recommender":
        from fairbandits.recommender import Recommender  # noqa: PLC0415

        return Recommender
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("fairbandits")
    raise AttributeError(f"module 'fairbandits' has no attribute {name!r}")
