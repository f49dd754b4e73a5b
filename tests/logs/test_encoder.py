"""The encoder of users: categories, missing values, errors."""

import pandas as pd
import pytest

from fairbandits.logs import ContextEncoder, Log, LogError
from tests.logs.test_fitting import cities, make


def test_missing_and_unknown_categories_are_zero():
    encoder = ContextEncoder(("city",), {"city": ("Paris", "Rome")})
    values = ["Rome", None, float("nan"), pd.NA, "Oslo", 7]
    assert encoder.encode([*({"city": value} for value in values), {}]).toarray().tolist() == [
        [0.0, 1.0],
        *[[0.0, 0.0]] * 6,
    ]


@pytest.mark.parametrize("names", [["Paris", "Rome"], [1.0, 2.0]])
def test_a_log_without_the_columns_of_an_encoder(names):
    encoder = Log.open(cities(names)).encoder()
    other = Log.open(cities(names).rename(columns={"context_city": "context_cty"}))
    message = r"no column 'context_city', which the encoder needs; did you mean 'context_cty'\?"
    with pytest.raises(LogError, match=message):
        other.with_encoder(encoder)


def test_invalid_values():
    encoder = Log.open(make(50)).encoder()
    with pytest.raises(ValueError, match="encoders must have the same columns to be combined"):
        encoder | ContextEncoder(("age",))
    with pytest.raises(ValueError, match="context_age must be a number, got 'old'"):
        encoder.encode([{"context_age": "old"}])
    with pytest.raises(ValueError, match="encoder must have columns and words, got an invalid one"):
        ContextEncoder.from_dict({"columns": ["age"]})
