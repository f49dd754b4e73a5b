"""Labels: text and integers; nothing that is equal to something else by accident."""

import enum

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbandits.labels import as_label, column_labels, is_missing, labels_of

RULE = "id must be a string or an integer"
COLUMN = "groups must have text or integers as values"
MIXED = "; convert the column, for example with astype(str)"


class Sex(str, enum.Enum):  # noqa: UP042 - one whose str() is not its value
    FEMALE = "f"


@pytest.mark.parametrize(
    ("value", "label"),
    [("a", "a"), (3, 3), (np.str_("a"), "a"), (np.int64(3), 3), (np.uint8(3), 3), (Sex.FEMALE, "f"), (-1, -1)],
)
def test_what_is_a_label(value, label):
    found = as_label(value, RULE)
    assert (found, type(found)) == (label, type(label))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, "got True of type bool; write 'true' or 1"),
        (np.bool_(False), "got False of type bool; write 'false' or 0"),
        (1.0, "got 1.0 of type float; write 1 or '1'"),
        (np.float64(1.0), "got 1.0 of type float64; write 1 or '1'"),
        (0.5, "got 0.5 of type float; bin numbers first"),
        (1e300, "got 1e+300 of type float; bin numbers first"),
        (float("inf"), "got inf of type float; bin numbers first"),
        (None, "got None of type NoneType; write it as text"),
        (b"a", "got b'a' of type bytes; write it as text"),
        (np.datetime64("2020-01-01"), "got np.datetime64('2020-01-01') of type datetime64; write it as text"),
    ],
    ids=str,
)
def test_what_is_none(value, message):
    with pytest.raises(ValueError, match="must be a string") as error:
        as_label(value, RULE)
    assert str(error.value) == f"{RULE}, {message}".replace("of type bool;", f"of type {type(value).__name__};")


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        (np.array([True, False]), ["true", "false"]),
        (pd.Series([True, None]), ["true", None]),
        (pd.Series([True, None], dtype="boolean"), ["true", None]),
        (pl.Series([True, None]), ["true", None]),
        (pd.Series([1, None]), [1, None]),
        (pd.Series([1, None], dtype="Int64"), [1, None]),
        (pl.Series([1, None]), [1, None]),
        (np.array([3.0, np.nan]), [3, None]),
        (pd.Series(["a", None]), ["a", None]),
        (pd.Series([1, "1", None], dtype=object), [1, "1", None]),
        (pd.Series([1, 2]).astype("category"), [1, 2]),
        (pd.Series(["a", pd.NA], dtype="category"), ["a", None]),
        (pl.Series(["a", None], dtype=pl.Categorical), ["a", None]),
        (pd.Index(["a", "b"]), ["a", "b"]),
        (pa.chunked_array([["a", None]]), ["a", None]),
        (np.array([np.int64(1), np.str_("a")], dtype=object), [1, "a"]),
        (pd.Series([], dtype=object), []),
    ],
    ids=lambda value: f"{type(value).__name__} {getattr(value, 'dtype', '')}",
)
def test_the_values_of_a_column_have_a_type(column, labels):
    found = column_labels(column, "groups")
    assert found == labels
    assert [type(label) for label in found] == [type(label) for label in labels]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.Series([1.0, 0.5]), f"{COLUMN}, got 0.5 in row 1; bin numbers first"),
        (np.array([np.inf]), f"{COLUMN}, got inf in row 0; bin numbers first"),
        (pl.Series([1e17]), f"{COLUMN}, got 1e+17 in row 0; bin numbers first"),
        (
            pd.Series([1, True], dtype=object),
            f"groups must not mix types that may be equal, got bool and int{MIXED}",
        ),
        (
            pd.Series([1, 1.0], dtype=object),
            f"groups must not mix types that may be equal, got float and int{MIXED}",
        ),
        (
            pd.Series(["a", True], dtype=object),
            f"groups must not mix types that may be equal, got bool and str{MIXED}",
        ),
        (
            pd.Series(pd.to_datetime(["2020-01-01"])),
            f"{COLUMN}, got Timestamp('2020-01-01 00:00:00') of type Timestamp in row 0; write it as text",
        ),
        (
            np.array(["2020-01-01"], "M8[ns]"),
            f"{COLUMN}, got np.datetime64('2020-01-01T00:00:00.000000000') of type datetime64 in row 0; write it "
            "as text",
        ),
        (np.array([["a"]]), "groups must have one dimension, got an array of shape (1, 1)"),
    ],
    ids=str,
)
def test_columns_without_labels(column, message):
    with pytest.raises(ValueError, match="groups must") as error:
        column_labels(column, "groups")
    assert str(error.value) == message


def test_a_list_holds_single_values():
    assert column_labels(["a"], "groups") is None
    assert labels_of(["a", 1, None, float("nan"), np.int64(2)], "groups") == ["a", 1, None, None, 2]
    with pytest.raises(ValueError, match=r"^groups must have text or integers as values, got 1.0 of type float; "):
        labels_of(["a", 1.0], "groups")


@pytest.mark.parametrize("value", [None, float("nan"), np.nan, np.float32("nan"), pd.NA, pd.NaT])
def test_missing_values(value):
    assert is_missing(value)
    assert labels_of(pd.Series([value, "a"], dtype=object), "groups") == [None, "a"]


@given(st.lists(st.one_of(st.none(), st.integers(-(2**53), 2**53)), min_size=1))
def test_integers_survive_a_column_with_gaps(values):
    """pandas turns integers with gaps into floats, polars does not."""
    assert column_labels(pd.Series(values, dtype="float64"), "groups") == values
    assert column_labels(pl.Series(values, dtype=pl.Int64), "groups") == values
