"""Policies: a reward model, a fairness term and a picker."""

from fairbandits.policies.alpha_fair_linucb import AlphaFairLinUCB
from fairbandits.policies.batch_learning import SufficientStatistics
from fairbandits.policies.conservative_linucb import ConservativeLinUCB
from fairbandits.policies.counterfactual_linucb import CounterfactualLinUCB
from fairbandits.policies.d_ucb import DUCB
from fairbandits.policies.decisions import Decisions
from fairbandits.policies.device_decisions import DeviceDecisions, DeviceSlates
from fairbandits.policies.epsilon_greedy import EpsilonGreedy
from fairbandits.policies.equal_regret_linucb import EqualRegretLinUCB
from fairbandits.policies.even_linucb import EvenLinUCB
from fairbandits.policies.f_ucb import FUCB
from fairbandits.policies.fair_greedy import FairGreedy
from fairbandits.policies.fair_linucb import FairLinUCB
from fairbandits.policies.fairx_ts import FairXTS
from fairbandits.policies.fairx_ucb import FairXUCB
from fairbandits.policies.lints import LinTS
from fairbandits.policies.linucb import LinUCB
from fairbandits.policies.max_min_linucb import MaxMinLinUCB
from fairbandits.policies.naive_linucb import NaiveLinUCB
from fairbandits.policies.neural_linear import NeuralLinear
from fairbandits.policies.persistence import PolicyFileError
from fairbandits.policies.picker import GreedyPicker, Picker, share_of_best
from fairbandits.policies.policy import Policy
from fairbandits.policies.predictions import Predictions
from fairbandits.policies.primal_dual_linucb import PrimalDualLinUCB
from fairbandits.policies.records import Decision, RankedArms, Scores, Slate
from fairbandits.policies.twins import twin_rewards
from fairbandits.policies.uniform import Uniform

__all__ = [
    "DUCB",
    "FUCB",
    "AlphaFairLinUCB",
    "ConservativeLinUCB",
    "CounterfactualLinUCB",
    "Decision",
    "Decisions",
    "DeviceDecisions",
    "DeviceSlates",
    "EpsilonGreedy",
    "EqualRegretLinUCB",
    "EvenLinUCB",
    "FairGreedy",
    "FairLinUCB",
    "FairXTS",
    "FairXUCB",
    "GreedyPicker",
    "LinTS",
    "LinUCB",
    "MaxMinLinUCB",
    "NaiveLinUCB",
    "NeuralLinear",
    "Picker",
    "Policy",
    "PolicyFileError",
    "Predictions",
    "PrimalDualLinUCB",
    "RankedArms",
    "Scores",
    "Slate",
    "SufficientStatistics",
    "Uniform",
    "share_of_best",
    "twin_rewards",
]
