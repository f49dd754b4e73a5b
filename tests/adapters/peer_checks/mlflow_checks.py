"""Policies as MLflow models: save, log, load, predict; runs in the environment of MLflow."""

import tempfile
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd

import fairbandits
from fairbandits import EvenLinUCB, LinTS, Recommender
from fairbandits.adapters.mlflow import load_policy, log_policy, save_policy
from fairbandits.logs import Log, fit


def make_log(n=400):
    rng = np.random.default_rng(0)
    city, arm = rng.choice(["Paris", "Rome"], n), rng.choice(["algebra", "biology"], n)
    return pd.DataFrame(
        {
            "arm": arm,
            "reward": ((arm == "biology") == (city == "Rome")).astype(float),
            "city": city,
            "age": rng.normal(size=n),
            "sex": rng.choice(["f", "m"], n),
        }
    )


def check_a_fitted_policy(folder):
    frame = make_log()
    log = Log.open(frame, contexts=["city", "age"], groups=["sex"])
    policy = fit(log, EvenLinUCB(alpha=0.1, random_state=0)).policy
    save_policy(policy, folder / "fitted")
    loaded = mlflow.pyfunc.load_model(str(folder / "fitted"))
    assert {column.name for column in loaded.metadata.signature.inputs} == {"city", "age", "sex"}
    found = loaded.predict(frame[["age", "sex", "city"]].iloc[10:14])
    assert found.index.tolist() == [10, 11, 12, 13]
    assert found["arm"].tolist() == ["biology" if city == "Rome" else "algebra" for city in frame["city"][10:14]]
    assert found["probability"].tolist() == [1.0] * 4
    without_group = loaded.predict(frame[["age", "city"]].iloc[:1].assign(sex=None))
    assert len(without_group) == 1
    again = load_policy(folder / "fitted")
    assert again.checksum() == policy.checksum()
    written = [path.name for path in (folder / "fitted").rglob("*") if path.is_file()]
    assert "policy.safetensors" in written
    assert not [name for name in written if name.endswith((".pkl", ".pickle"))]
    requirements = (folder / "fitted" / "requirements.txt").read_text()
    assert f"fairbandits=={fairbandits.__version__}" in requirements


def check_a_policy_of_contexts(folder):
    policy = LinTS(random_state=0)
    rng = np.random.default_rng(0)
    for context in rng.normal(size=(50, 2)):
        decision = policy.choose(np.repeat(context[None], 3, axis=0), arms=[7, 8, 9])
        policy.learn(decision, float(decision.arm == 8))
    mlflow.set_tracking_uri(f"sqlite:///{folder}/runs.db")
    mlflow.create_experiment("policies", artifact_location=(folder / "artifacts").as_uri())
    mlflow.set_experiment("policies")
    with mlflow.start_run():
        info = log_policy(policy, features=["x", "y"], groups=["sex"], pip_requirements=["fairbandits"])
    loaded = mlflow.pyfunc.load_model(info.model_uri)
    found = loaded.predict(pd.DataFrame({"x": [1.0, 0.5], "y": [0.0, 2.0], "sex": ["f", None]}))
    assert set(found["arm"]) <= {7, 8, 9}
    assert found["probability"].between(0.0, 1.0).all()
    assert load_policy(info.model_uri).rounds_learned == 50
    refused = 0
    for frame in (pd.DataFrame({"x": [1.0]}), pd.DataFrame({"x": ["a"], "y": [1.0]})):
        try:
            loaded.predict(frame)
        except mlflow.exceptions.MlflowException:
            refused += 1
    assert refused == 2, "the signature must be enforced"


def check_a_recommender(folder):
    users = pd.DataFrame({"city": ["Paris", "Rome", "Rome"], "sex": ["f", "m", "f"]})
    items = pd.DataFrame({"id": ["algebra", "biology"], "length": [10.0, 20.0]})
    recommender = Recommender(EvenLinUCB(random_state=0), users=users, items=items, groups=["sex"])
    for row in range(3):
        recommender.learn(recommender.choose(users.iloc[row]), 1.0)
    save_policy(recommender, folder / "recommender")
    found = mlflow.pyfunc.load_model(str(folder / "recommender")).predict(users)
    assert found["arm"].tolist() == recommender.choose_many(users).picked
    assert load_policy(folder / "recommender").policy.rounds_learned == 3


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        for check in (check_a_fitted_policy, check_a_policy_of_contexts, check_a_recommender):
            check(Path(name))
