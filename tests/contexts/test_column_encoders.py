"""Encoders of columns, beside those of scikit-learn."""

import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from fairbandits.contexts import CategoryEncoder, DateEncoder, NumberEncoder
from fairbandits.contexts.column_encoders import (
    MissingValueError,
    as_categorical,
    category_text,
    column_encoder_from_dict,
)


def dense(encoder, column):
    """The features of a column as a matrix."""
    entries = encoder.encode(column)
    matrix = np.zeros((len(entries[0][0]), len(encoder.features)))
    for places, values in entries:
        rows = np.flatnonzero(places >= 0)
        matrix[rows, places[rows]] = values[rows]
    return matrix


def by_value(encoder, values):
    """The same, value by value."""
    matrix = np.zeros((len(values), len(encoder.features)))
    for row, value in enumerate(values):
        for place, entry in encoder.encode_value(value):
            matrix[row, place] = entry
    return matrix


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20), st.lists(st.floats(-2e6, 2e6), min_size=1))
@example([0.0, 2.2250738585e-313], [1.0])
def test_numbers_are_scaled_as_by_scikit_learn(known, new):
    scaler = MinMaxScaler(clip=True).fit(np.array(known)[:, None])
    encoder = NumberEncoder("x", min(known), max(known))
    if max(known) - min(known) > 1e-9:
        np.testing.assert_allclose(
            dense(encoder, np.array(new)), scaler.transform(np.array(new)[:, None]), atol=1e-6
        )
    np.testing.assert_array_equal(dense(encoder, np.array(new)), by_value(encoder, new))


@given(st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=1))
def test_categories_are_encoded_as_by_scikit_learn(values):
    encoder = CategoryEncoder("x", ("a", "b", "c"))
    known = pd.DataFrame({"x": ["a", "b", "c"]})
    theirs = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(known)
    expected = theirs.transform(pd.DataFrame({"x": [value or "nothing" for value in values]}))
    np.testing.assert_array_equal(dense(encoder, as_categorical(values)), expected)
    np.testing.assert_array_equal(by_value(encoder, values), expected)


def test_gaps_of_numbers():
    encoder = NumberEncoder("age", 20.0, 70.0, fill=45.0, marks_missing=True)
    expected = [[0.0, 0.0], [0.5, 1.0]]
    assert dense(encoder, np.array([20.0, np.nan])).tolist() == expected
    for missing in (None, float("nan"), np.nan, pd.NA, np.float64("nan")):
        assert by_value(encoder, [20, missing]).tolist() == expected
    strict = NumberEncoder("age", 20.0, 70.0)
    with pytest.raises(MissingValueError, match="age must not be missing, because the encoder has no value"):
        strict.encode_value(None)
    with pytest.raises(MissingValueError) as caught:
        strict.encode(np.array([30.0, np.nan]))
    assert caught.value.row == 1


def test_gaps_of_categories():
    values = ["Rome", None, "Oslo"]
    assert by_value(CategoryEncoder("city", ("Rome",)), values).tolist() == [[1], [0], [0]]
    assert by_value(CategoryEncoder("city", ("Rome",), fill="Rome"), values).tolist() == [[1], [1], [0]]
    marked = CategoryEncoder("city", ("Rome",), groups_others=True, marks_missing=True)
    assert marked.features == ("city=Rome", "city is another", "city is missing")
    assert by_value(marked, values).tolist() == dense(marked, as_categorical(values)).tolist()
    assert by_value(marked, values).tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]


def test_dates_in_all_spellings():
    encoder = DateEncoder("since", 1704067200.0, 1735689600.0)
    middle = pd.Timestamp("2024-07-02")
    for value in (
        "2024-07-02",
        "2024-07-02T00:00:00+00:00",
        "2024-07-02T02:00:00+02:00",
        datetime.date(2024, 7, 2),
        datetime.datetime(2024, 7, 2),
        middle,
        middle.to_datetime64(),
    ):
        assert encoder.encode_value(value) == [(0, 0.5)], value


@pytest.mark.parametrize(
    ("encoder", "value", "message"),
    [
        (NumberEncoder("age"), "old", "age must be a number, got 'old'"),
        (NumberEncoder("age"), "41", "age must be a number, got '41'"),
        (NumberEncoder("age"), [41], r"age must be a number, got \[41\]"),
        (NumberEncoder("age"), float("inf"), "age must be a number, got inf"),
        (DateEncoder("since"), 1704067200000, "since must be a date such as 2024-05-01, got 1704067200000"),
        (DateEncoder("since"), "yesterday", "since must be a date such as 2024-05-01, got 'yesterday'"),
    ],
)
def test_invalid_values(encoder, value, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        encoder.encode_value(value)


def test_numbers_for_categories():
    with pytest.raises(ValueError, match="city must be a column of categories, got numbers"):
        CategoryEncoder("city", ("Rome",)).encode(np.array([1.0]))


@pytest.mark.parametrize(
    "encoder",
    [
        NumberEncoder("age", 1.0, 2.0, 1.5, True),
        DateEncoder("since", 1.0, 2.0),
        CategoryEncoder("city", ("a", "b"), "a", True, True),
        NumberEncoder("raw"),
    ],
)
def test_round_trip(encoder):
    assert column_encoder_from_dict(encoder.to_dict()) == encoder


def test_equal_categories():
    assert {category_text(value) for value in (3, 3.0, np.int64(3), np.float32(3), "3")} == {"3"}
    assert {category_text(value) for value in (True, np.bool_(True), "true")} == {"true"}
