"""Reference estimates by Open Bandit Pipeline (obp); runs in an environment that contains obp but not fairbandits.

Usage: python obp_reference.py FOLDER writes FOLDER/decisions.npz, a synthetic log of obp with two groups, and
FOLDER/decisions.json, obp's estimates for all rows and for the rows of each group; also FOLDER/slates.npz and
FOLDER/slates.json, the same for slates.
"""

import importlib
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from unittest.mock import MagicMock, patch

import numpy as np
import sklearn.linear_model
import sklearn.utils  # imported before torch is mocked, because it inspects torch

ROUNDS, ARMS, WIDTH, CLIP = 4_000, 6, 5, 3.0
SLATES, POSITIONS = 1_000, 3
# obp has no weights of positions: it gets weighted rewards.
POSITION_WEIGHT = 1.0 / np.log2(np.arange(POSITIONS) + 2.0)


def import_obp(*names):
    """Import single modules of obp without torch and pandas, which they do not use, and without progress bars."""
    root = Path(importlib.util.find_spec("obp").origin).parent
    for name in ("obp", "obp.ope", "obp.dataset"):
        package = ModuleType(name)
        package.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package
    bars = SimpleNamespace(tqdm=lambda rows, **_: rows)
    with patch.dict(sys.modules, torch=MagicMock(), pandas=MagicMock(), tqdm=bars):
        return [importlib.import_module(f"obp.{name}") for name in names]


def estimate(ope, log):
    """Return the estimates of all estimators that both libraries have."""
    shared = {"action_dist": log["probabilities"][:, :, None], "action": log["arm"], "reward": log["reward"]}
    greedy = (log["probabilities"] == log["probabilities"].max(axis=1, keepdims=True)).astype(float)
    weighted = shared | {"pscore": log["propensity"]}
    predictions = {"estimated_rewards_by_reg_model": log["predictions"][:, :, None]}
    return {
        "replay": ope.ReplayMethod().estimate_policy_value(**shared | {"action_dist": greedy[:, :, None]}),
        "ips": ope.InverseProbabilityWeighting().estimate_policy_value(**weighted),
        "ips clipped": ope.InverseProbabilityWeighting(lambda_=CLIP).estimate_policy_value(**weighted),
        "snips": ope.SelfNormalizedInverseProbabilityWeighting().estimate_policy_value(**weighted),
        "direct method": ope.DirectMethod().estimate_policy_value(**shared, **predictions),
        "doubly robust": ope.DoublyRobust().estimate_policy_value(**weighted, **predictions),
        "doubly robust clipped": ope.DoublyRobust(lambda_=CLIP).estimate_policy_value(**weighted, **predictions),
    }


def estimate_slates(ope, log, position_weight):
    """Return the estimates of all estimators for slates that both libraries have."""
    reward = log["reward"] * position_weight[log["position"]]
    # obp counts slates by their ids, and needs those of a selection to start at 0.
    shared = {
        "slate_id": np.unique(log["slate"], return_inverse=True)[1],
        "position": log["position"],
        "reward": reward,
    }
    found = {}
    for form, suffix, name in (
        ("joint", "", "Standard"),
        ("marginal", "_item_position", "Independent"),
        ("prefix", "_cascade", "RewardInteraction"),
    ):
        pscores = {f"pscore{suffix}": log[f"propensity_{form}"]}
        pscores |= {f"evaluation_policy_pscore{suffix}": log[f"probability_{form}"]}
        for kind, estimator in (("ips", f"Slate{name}IPS"), ("snips", f"SelfNormalizedSlate{name}IPS")):
            found[f"{form} {kind}"] = getattr(ope, estimator)(POSITIONS).estimate_policy_value(**shared, **pscores)
    return found | {
        "cascade doubly robust": ope.SlateCascadeDoublyRobust(POSITIONS, ARMS).estimate_policy_value(
            **shared,
            **pscores,
            action=log["arm"],
            q_hat=log["predictions"].ravel(),
            evaluation_policy_action_dist=log["probabilities"].ravel(),
        )
    }


def make_decisions(ope, regression, synthetic):
    """Return a log of single decisions and a function that estimates from it."""
    dataset = synthetic.SyntheticBanditDataset(
        n_actions=ARMS,
        dim_context=WIDTH,
        reward_type="binary",
        reward_function=synthetic.logistic_reward_function,
        beta=-2.0,  # the logging policy prefers arms with low rewards
        random_state=12345,
    )
    found = dataset.obtain_batch_bandit_feedback(n_rounds=ROUNDS)
    model = regression.RegressionModel(
        n_actions=ARMS, base_model=sklearn.linear_model.LogisticRegression(random_state=0)
    )
    predictions = model.fit_predict(
        context=found["context"],
        action=found["action"],
        reward=found["reward"],
        n_folds=3,
        random_state=0,
    )
    preference = np.exp(8.0 * found["expected_reward"])
    log = {
        "context": found["context"],
        "arm": found["action"],
        "reward": found["reward"].astype(float),
        "propensity": found["pscore"],
        "predictions": predictions[:, :, 0],
        "probabilities": preference / preference.sum(axis=1, keepdims=True),
        "group": (found["context"][:, 0] > 0.4).astype(int),
    }
    return log, lambda rows: estimate(ope, rows)


def make_slates(ope, synthetic, reward_function):
    """Return a log of slates without repeated arms and a function that estimates from it."""
    for name in ("sips", "iips", "rips", "cascade_dr"):
        setattr(ope, f"check_{name}_inputs", lambda **_: None)  # the checks of arguments use pandas
    dataset = synthetic.SyntheticSlateBanditDataset(
        n_unique_action=ARMS,
        len_list=POSITIONS,
        dim_context=WIDTH,
        reward_type="binary",
        reward_structure="cascade_additive",
        base_reward_function=reward_function,
        behavior_policy_function=synthetic.linear_behavior_policy_logit,
        random_state=12345,
    )
    found = dataset.obtain_batch_bandit_feedback(n_rounds=SLATES)
    preference = np.random.default_rng(0).normal(size=(SLATES, ARMS))
    joint, marginal, prefix = dataset.obtain_pscore_given_evaluation_policy_logit(found["action"], preference)
    log = {
        "slate": found["slate_id"],
        "position": found["position"],
        "arm": found["action"],
        "reward": found["reward"].astype(float),
        "propensity_joint": found["pscore"],
        "propensity_marginal": found["pscore_item_position"],
        "propensity_prefix": found["pscore_cascade"],
        "probability_joint": joint,
        "probability_marginal": marginal,
        "probability_prefix": prefix,
        "probabilities": dataset.calc_evaluation_policy_action_dist(found["action"], preference).reshape(-1, ARMS),
        "predictions": np.random.default_rng(1).random((SLATES * POSITIONS, ARMS)),
        "group": (found["context"][:, 0] > 0.4).astype(int).repeat(POSITIONS),
    }

    def estimate_both(rows):
        plain = estimate_slates(ope, rows, np.ones(POSITIONS))
        weighted = estimate_slates(ope, rows, POSITION_WEIGHT)
        return plain | {f"{name} weighted": value for name, value in weighted.items()}

    return log, estimate_both


def main(folder):
    ope, slate_ope, regression, synthetic, synthetic_slate = import_obp(
        "ope.estimators",
        "ope.estimators_slate",
        "ope.regression_model",
        "dataset.synthetic",
        "dataset.synthetic_slate",
    )
    logs = {
        "decisions": make_decisions(ope, regression, synthetic),
        "slates": make_slates(slate_ope, synthetic_slate, synthetic.logistic_reward_function),
    }
    for name, (log, estimates) in logs.items():
        np.savez(folder / f"{name}.npz", **log)
        groups = {"overall": log["group"] >= 0, "0": log["group"] == 0, "1": log["group"] == 1}
        found = {group: estimates({key: a[rows] for key, a in log.items()}) for group, rows in groups.items()}
        (folder / f"{name}.json").write_text(
            json.dumps({k: {n: float(v) for n, v in f.items()} for k, f in found.items()})
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
