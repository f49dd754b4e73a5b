"""Reference estimates by Open Bandit Pipeline (obp); runs in an environment that contains obp but not fairbandits.

Usage: python obp_reference.py FOLDER writes FOLDER/data.npz, a synthetic log of obp with two groups, and
FOLDER/estimates.json, obp's estimates for all rows and for the rows of each group.
"""

import importlib
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from unittest.mock import MagicMock, patch

import numpy as np
import sklearn.linear_model
import sklearn.utils  # imported before torch is mocked, because it inspects torch

ROUNDS, ARMS, WIDTH, CLIP = 4_000, 6, 5, 3.0


def import_obp(*names):
    """Import single modules of obp without torch and pandas, which they do not use."""
    root = Path(importlib.util.find_spec("obp").origin).parent
    for name in ("obp", "obp.ope", "obp.dataset"):
        package = ModuleType(name)
        package.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package
    with patch.dict(sys.modules, torch=MagicMock(), pandas=MagicMock()):
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


def main(folder):
    ope, regression, synthetic = import_obp("ope.estimators", "ope.regression_model", "dataset.synthetic")
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
    np.savez(folder / "data.npz", **log)
    groups = {"overall": np.ones(ROUNDS, bool), "0": log["group"] == 0, "1": log["group"] == 1}
    found = {name: estimate(ope, {key: a[rows] for key, a in log.items()}) for name, rows in groups.items()}
    (folder / "estimates.json").write_text(
        json.dumps({k: {n: float(v) for n, v in f.items()} for k, f in found.items()})
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
