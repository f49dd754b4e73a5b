"""Open Bandit Pipeline's side of the comparison; runs in its own environment, which holds nothing of ours.

Usage: python obp_side.py FOLDER writes FOLDER/data.npz, a synthetic log of obp with two groups, and
FOLDER/estimates.json, what obp estimates from it: of all rows, and of the rows of each group.
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
import sklearn.utils  # before torch is stood in for: it asks what torch is

ROUNDS, ARMS, WIDTH, CLIP = 4_000, 6, 5, 3.0


def import_obp(*names):
    """Import single modules: the packages would load torch and pandas, which these do not use."""
    root = Path(importlib.util.find_spec("obp").origin).parent
    for name in ("obp", "obp.ope", "obp.dataset"):
        package = ModuleType(name)
        package.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package
    with patch.dict(sys.modules, torch=MagicMock(), pandas=MagicMock()):
        return [importlib.import_module(f"obp.{name}") for name in names]


def estimate(ope, log):
    """ValueEstimate with everything that both sides have."""
    shared = {"action_dist": log["chances"][:, :, None], "action": log["arm"], "reward": log["reward"]}
    greedy = (log["chances"] == log["chances"].max(axis=1, keepdims=True)).astype(float)
    weighed = shared | {"pscore": log["propensity"]}
    predicted = {"estimated_rewards_by_reg_model": log["predicted"][:, :, None]}
    return {
        "replay": ope.ReplayMethod().estimate_policy_value(**shared | {"action_dist": greedy[:, :, None]}),
        "ips": ope.InverseProbabilityWeighting().estimate_policy_value(**weighed),
        "ips clipped": ope.InverseProbabilityWeighting(lambda_=CLIP).estimate_policy_value(**weighed),
        "snips": ope.SelfNormalizedInverseProbabilityWeighting().estimate_policy_value(**weighed),
        "direct": ope.DirectMethod().estimate_policy_value(**shared, **predicted),
        "doubly robust": ope.DoublyRobust().estimate_policy_value(**weighed, **predicted),
        "doubly robust clipped": ope.DoublyRobust(lambda_=CLIP).estimate_policy_value(**weighed, **predicted),
    }


def main(folder):
    ope, regression, synthetic = import_obp("ope.estimators", "ope.regression_model", "dataset.synthetic")
    dataset = synthetic.SyntheticBanditDataset(
        n_actions=ARMS,
        dim_context=WIDTH,
        reward_type="binary",
        reward_function=synthetic.logistic_reward_function,
        beta=-2.0,  # a log that is poor in what is good
        random_state=12345,
    )
    found = dataset.obtain_batch_bandit_feedback(n_rounds=ROUNDS)
    model = regression.RegressionModel(
        n_actions=ARMS, base_model=sklearn.linear_model.LogisticRegression(random_state=0)
    )
    predicted = model.fit_predict(
        context=found["context"],
        action=found["action"],
        reward=found["reward"],
        n_folds=3,
        random_state=0,
    )
    better = np.exp(8.0 * found["expected_reward"])
    log = {
        "context": found["context"],
        "arm": found["action"],
        "reward": found["reward"].astype(float),
        "propensity": found["pscore"],
        "predicted": predicted[:, :, 0],
        "chances": better / better.sum(axis=1, keepdims=True),
        "group": (found["context"][:, 0] > 0.4).astype(int),
    }
    np.savez(folder / "data.npz", **log)
    cells = {"all": np.ones(ROUNDS, bool), "0": log["group"] == 0, "1": log["group"] == 1}
    found = {name: estimate(ope, {key: a[rows] for key, a in log.items()}) for name, rows in cells.items()}
    (folder / "estimates.json").write_text(
        json.dumps({k: {n: float(v) for n, v in f.items()} for k, f in found.items()})
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
