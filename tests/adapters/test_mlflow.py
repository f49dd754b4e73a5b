"""What MLflow calls, without MLflow; the models themselves are tested by test_peers.py."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

from fairbandits import EvenLinUCB, LinTS, LinUCB, Policy, Recommender
from fairbandits.adapters import mlflow
from fairbandits.logs import Log, fit
from tests.ope.logs import ARMS, groups_of, make_log


@pytest.fixture(scope="module")
def frame():
    return make_log(500)


@pytest.fixture(scope="module")
def policy(frame):
    return fit(Log.open(frame), EvenLinUCB(random_state=0)).policy


def test_predictions_are_those_of_the_policy(frame, policy):
    model = mlflow.PolicyModel(policy, groups=["sex"], arms=ARMS)
    users = frame.iloc[5:25]
    found = model.predict(users)
    encoded = model.encoder.encode_rows(users.to_dict("records"))
    contexts = np.repeat(encoded[:, None], len(ARMS), axis=1)
    expected = policy.choose_many(contexts, groups_of(users), ARMS)
    assert found["arm"].tolist() == expected.picked
    assert found.index.tolist() == users.index.tolist()
    assert model.get_raw_model() is policy


def test_unknown_probabilities_and_groups():
    policy = LinTS(model="hybrid", random_state=0)
    model = mlflow.PolicyModel(policy, ["x"], ["sex"], ["a", "b"])
    found = model.predict({"x": [1.0, 2.0], "sex": ["f", None]})
    assert found["probability"].isna().all()
    with pytest.raises(ValueError, match="features and groups must name columns of model_input, got 'sex'"):
        model.predict({"x": [1.0]})


def test_objects_with_choose_many_get_the_frame(frame, policy):
    class Wrapper:
        def choose_many(self, users):
            return policy.choose_many(np.ones((len(users), 1, 3)), arms=["algebra"])

    assert mlflow.PolicyModel(Wrapper()).predict(frame[:2])["arm"].tolist() == ["algebra"] * 2


def test_the_files_of_a_model(tmp_path, policy):
    policy.save(tmp_path / "policy.safetensors")
    serving = mlflow._serving(policy, None, None, None)
    assert serving == {"features": ("x_low", "x_high"), "groups": ("sex",), "arms": policy.arms_learned}
    (tmp_path / "serving.json").write_text(json.dumps({"class": "fairbandits:Policy", **serving}))
    loaded = mlflow._load_pyfunc(str(tmp_path))
    assert loaded.policy.checksum() == policy.checksum()
    assert isinstance(loaded.policy, Policy)
    assert loaded.encoder.columns == ("x_low", "x_high")


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        (LinUCB(), (None, None, ["a"]), "features must name the columns of the users' features, got None"),
        (LinUCB(), (["x"], None, None), "arms must be given for a policy that has learned nothing, got none"),
        (object(), (["x"], None, None), "features, groups and arms must be None for a object, got other values"),
    ],
)
def test_what_is_missing_is_named(policy, options, message):
    with pytest.raises(ValueError, match=message):
        mlflow._serving(policy, *options)


def test_a_policy_that_does_not_fit(policy):
    with pytest.raises(ValueError, match=r"features must be None or the features of the fit, .* got \('x',\)"):
        mlflow._serving(policy, ["x"], None, None)
    narrow = LinUCB(random_state=0)
    narrow.learn(narrow.choose(np.ones((2, 2))), 1.0)
    with pytest.raises(
        ValueError, match=r"features must have 2 names, one per column of contexts, got 1: \['x'\]"
    ):
        mlflow._serving(narrow, ["x"], None, None)
    items = pd.DataFrame({"id": ["a", "b"], "length": [1.0, 2.0]})
    recommender = Recommender(LinUCB(), users=make_log(50)[["x_low"]], items=items)
    narrow.metadata["encoder"] = recommender.encoder.to_dict()
    with pytest.raises(
        ValueError, match="policy must be fitted without items and transformers, got one fitted with them"
    ):
        mlflow._serving(narrow, ["x"], None, ["a"])


@pytest.mark.parametrize("function", ["save_policy", "log_policy"])
def test_without_mlflow_the_error_names_the_extra_to_install(monkeypatch, function, policy):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(ImportError, match=rf"{function} needs MLflow; .* pip install 'fairbandits\[mlflow\]'"):
        getattr(mlflow, function)(policy, "here")
    with pytest.raises(ImportError, match="load_policy needs MLflow"):
        mlflow.load_policy("here")


def test_arms_may_be_numbers():
    policy = LinUCB(random_state=0)
    policy.learn(policy.choose(np.ones((2, 1)), arms=[3, 4]), 1.0)
    found = mlflow.PolicyModel(policy, ["x"], (), [3, 4]).predict(pd.DataFrame({"x": [1.0]}))
    assert found["arm"].dtype == np.int64
