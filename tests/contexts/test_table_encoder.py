"""Rows of a table, encoded one by one or column by column."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbandits.contexts import CategoryEncoder, DateEncoder, ItemCatalogue, NumberEncoder, TableEncoder
from fairbandits.contexts.context_encoder import ContextEncoder

ENCODER = TableEncoder(
    (
        NumberEncoder("age", 20.0, 70.0, fill=45.0, marks_missing=True),
        CategoryEncoder("city", ("Paris", "Rome", "3"), groups_others=True, marks_missing=True),
        NumberEncoder("plain", fill=0.0),
        DateEncoder("since", 1.6e9, 1.7e9, fill=1.65e9),
        CategoryEncoder("filled", ("a", "true"), fill="a"),
    ),
    has_constant=True,
)
ROWS = st.fixed_dictionaries(
    {
        "age": st.none() | st.floats(allow_infinity=False) | st.integers(-(10**6), 10**6) | st.booleans(),
        "city": st.none() | st.sampled_from(["Paris", "Rome", "Oslo", 3, 3.0, True, float("nan")]),
        "plain": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "since": st.none() | st.dates().map(str) | st.datetimes(),
        "filled": st.none() | st.sampled_from(["a", True, "b"]),
    }
)


@given(st.lists(ROWS, max_size=20))
def test_many_rows_are_encoded_like_each_of_them(rows):
    expected = [ENCODER.encode_row(row) for row in rows]
    np.testing.assert_array_equal(ENCODER.encode_rows(rows), np.reshape(expected, (len(rows), ENCODER.width)))


@pytest.mark.parametrize("n", [1, 20])
def test_values_that_are_refused(n):
    good = dict.fromkeys(ENCODER.columns)
    with pytest.raises(ValueError, match="row must have a value for 'city', got only 'age', 'plain'"):
        ENCODER.encode_rows([good] * n + [{"age": 1, "plain": 1.0}])
    with pytest.raises(ValueError, match="age must be a number, got inf"):
        ENCODER.encode_rows([good] * n + [good | {"age": float("inf")}])
    with pytest.raises(ValueError, match="age must be a number, got 'old'"):
        ENCODER.encode_rows([good] * n + [good | {"age": "old"}])


def catalogue():
    users, items = (
        TableEncoder((NumberEncoder("age", 0.0, 100.0),)),
        TableEncoder((CategoryEncoder("kind", ("a",)),)),
    )
    return ItemCatalogue(ContextEncoder(users, items, {"sex": ("sex", "speaker")}))


@pytest.mark.parametrize("n", [1, 10])
def test_groups_that_are_not_in_the_rows_are_compared_first(n):
    items = catalogue()
    items.set("x", {"kind": "a", "speaker": "f"})
    users = [{"age": 50, "sex": "m"}] * n
    assert items.offer(users).toarray()[:, -1].tolist() == [0.0] * n
    assert items.offer(users, groups=[{"sex": "f"}] * n).toarray()[:, -1].tolist() == [1.0] * n
    assert items.offer(users, groups=[{"sex": None}] * n).toarray()[:, -1].tolist() == [0.0] * n


def test_an_item_of_another_catalogue():
    one, other = catalogue(), catalogue()
    one.set("x", {"kind": "a", "speaker": "f"})
    other.copy_item("x", one)
    user = [{"age": 50, "sex": "f"}]
    np.testing.assert_array_equal(one.offer(user).toarray(), other.offer(user).toarray())
    assert one.to_json() == other.to_json()
