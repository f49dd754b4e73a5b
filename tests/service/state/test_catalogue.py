"""The served catalogue: arms of the log as items of the library's recommender."""

import numpy as np
import pytest

from fairbandits.service.log.events import ArmAdded, ArmChanged, ArmRetired
from fairbandits.service.state.recommender import ServedRecommender
from tests.service.small import small_config


@pytest.fixture
def catalogue():
    features = {
        "w": {"values": ["a", "b"], "default": "b"},
        "x": {"low": -1, "high": 3},
    }
    arm_features = {"hours": {"low": 0, "high": 40, "default": 10}}
    config = small_config(features=features, arm_features=arm_features, matches=["gender"], arms=[])
    return ServedRecommender(config).catalogue


def test_features_are_scaled_and_one_hot_encoded(catalogue):
    catalogue.set(ArmAdded("a", 1, 0.0, {}, {}))
    users = [({"w": "a", "x": 0}, {}), ({"w": None, "x": 3}, {}), ({"x": -1}, {})]
    for n in (1, 5):  # few users are encoded one by one, many by column
        encoded = catalogue.offer(users * n).toarray()[:3, :3]
        np.testing.assert_array_equal(encoded, [[1.0, 0.0, 0.25], [0.0, 1.0, 1.0], [0.0, 1.0, 0.0]])


def test_arms_keep_their_order(catalogue):
    for name in ("a", "b", "c"):
        catalogue.set(ArmAdded(name, 1, 0.0, {}, {}))
    assert catalogue.offer([({"x": 0}, {})]).arms == ("a", "b", "c")
    catalogue.set(ArmChanged("b", 2, 0.0, {"hours": 40}, {}))
    catalogue.retire(ArmRetired("a", 2, 0.0), 5)
    catalogue.set(ArmAdded("d", 1, 0.0, {}, {}))
    catalogue.retire(ArmRetired("d", 2, 0.0), 7)
    catalogue.set(ArmAdded("a", 3, 0.0, {}, {}))
    offer = catalogue.offer([({"x": 0}, {})])
    assert list(offer.arms) == ["b", "c", "a"] == list(catalogue.arms)
    assert offer.toarray()[:, 3].tolist() == [1.0, 0.25, 0.25]


def test_a_group_matches_by_itself_even_if_a_feature_has_its_name():
    features = {"gender": {"values": ["female", "male"]}}
    config = small_config(features=features, matches=["gender"], arms=[])
    catalogue = ServedRecommender(config).catalogue
    catalogue.set(ArmAdded("a", 1, 0.0, {"hours": 0}, {"gender": "female"}))
    users = [({"gender": "female"}, {}), ({"gender": "male"}, {"gender": "female"})]
    assert catalogue.offer(users).toarray()[:, -1].tolist() == [0.0, 1.0]


def test_sorted_names_follow_the_arms(catalogue):
    for name in ("b", "a", "d"):
        catalogue.set(ArmAdded(name, 1, 0.0, {}, {}))
    names = catalogue.names()
    assert names == ["a", "b", "d"]
    catalogue.set(ArmChanged("b", 2, 0.0, {"hours": 40}, {}))
    catalogue.set(ArmAdded("c", 1, 0.0, {}, {}))
    catalogue.retire(ArmRetired("a", 2, 0.0), 6)
    assert catalogue.names() == ["b", "c", "d"]
    assert catalogue.names() is names, "they are not sorted for every request"
    catalogue.restore({"arms": [["z", {}, {}], ["y", {}, {}]], "versions": {"y": 1, "z": 1}, "retired": {}})
    assert catalogue.names() == ["y", "z"]
