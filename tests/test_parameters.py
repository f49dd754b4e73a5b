"""Nested parameters, as scikit-learn has them."""

import pytest
from sklearn.base import clone
from sklearn.preprocessing import PolynomialFeatures

from fairbandits import LinUCB, Model, RewardModel, Uniform
from tests.helpers import teach


def test_nested_parameters_are_listed():
    params = LinUCB(model="shared").get_params()
    assert (params["model"], params["model__kind"], params["model__discount"]) == ("shared", "shared", 1.0)
    assert "model__kind" not in LinUCB().get_params(deep=False)
    assert not any(name.startswith("model__") for name in Uniform().get_params())


def test_nested_parameters_make_a_new_model():
    model = Model(kind="hybrid", discount=0.9)
    policy = LinUCB(model=model).set_params(model__discount=0.5, alpha=2.0)
    assert policy.model == Model(kind="hybrid", discount=0.5)
    assert (model.discount, policy.alpha) == (0.9, 2.0)
    assert LinUCB(model="shared").set_params(model__link="logistic").model == Model(kind="shared", link="logistic")
    both = LinUCB().set_params(model="shared", model__discount=0.9)
    assert both.model == Model(kind="shared", discount=0.9)
    mapped = Model(feature_map=PolynomialFeatures(2).fit([[0.0, 1.0]]))
    assert clone(LinUCB(model=mapped)).set_params(model__discount=0.9).model.feature_map is mapped.feature_map


def test_what_stays_the_same_stays_as_it_was_given():
    policy, _ = teach(LinUCB(model="shared"))
    assert policy.set_params(**policy.get_params()).model == "shared"
    with pytest.raises(ValueError, match="model cannot be changed after learning"):
        policy.set_params(model__discount=0.5)


class Constant(RewardModel):
    """A custom model, which has no parameters."""


@pytest.mark.parametrize(
    ("policy", "params", "message"),
    [
        (LinUCB(), {"model__colour": 1}, "colour is not a parameter of Model; its parameters are kind, link"),
        (LinUCB(), {"alpha__x": 1}, "alpha must be an object with parameters to set alpha__x, got 0.5"),
        (LinUCB(), {"beta__x": 1}, "beta__x is not a parameter of LinUCB; its parameters are"),
        (LinUCB(), {"model__discount": 2}, "discount must be a number above 0 and at most 1, got 2"),
        (
            LinUCB(model=Constant),
            {"model__discount": 0.9},
            "model must be an object with parameters to set model__discount, got <cl",
        ),
    ],
)
def test_nested_parameters_that_are_not_there(policy, params, message):
    before = policy.get_params()
    with pytest.raises(ValueError, match=message):
        policy.set_params(**params)
    assert policy.get_params() == before
