"""The encoding of features."""

import numpy as np

from fairbandits.service.features import CategoricalFeature, NumericFeature
from fairbandits.service.state.catalogue import FeatureEncoder


def test_features_are_scaled_and_one_hot_encoded():
    encoder = FeatureEncoder(
        {"w": CategoricalFeature(values=("a", "b"), default="b"), "x": NumericFeature(low=-1, high=3)}
    )
    assert encoder.columns == ("w=a", "w=b", "x")
    np.testing.assert_array_equal(encoder.encode({"w": "a", "x": 0}), [1.0, 0.0, 0.25])
    np.testing.assert_array_equal(encoder.encode({"w": None, "x": 3}), [0.0, 1.0, 1.0])
    np.testing.assert_array_equal(encoder.encode({"x": -1}), [0.0, 1.0, 0.0])
