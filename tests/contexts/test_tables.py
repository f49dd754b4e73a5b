"""Encoders found from tables of pandas and polars, and the rows they encode."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from fairbandits.contexts import CategoryEncoder, FrameTable, NumberEncoder, TableEncoder, fit_encoder
from fairbandits.contexts.table_statistics import MAX_CATEGORIES
from fairbandits.contexts.tables import as_row, column_label

COLUMNS = {
    "age": [31, 52, None, 19, 44, 70, 23, 36, 28, 61, 33, 47],
    "city": ["Rome", "Paris", None, "Rome", "Oslo", "Rome", "Paris", "Oslo", "Rome", "Rome", "Oslo", "Paris"],
    "member": [True, False, True, True, False, True, False, False, True, True, False, True],
    "since": [datetime.datetime(2024, month, 1) for month in range(1, 13)],
    "visits": list(range(12)),
    "name": [f"user {i}" for i in range(12)],
}
FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]


def table(columns):
    return FrameTable(pd.DataFrame(columns), "users")


def dense(features):
    return features.toarray() if sparse.issparse(features) else features


@pytest.mark.parametrize("make", FRAMES)
def test_the_encoder_of_a_table(make):
    table = FrameTable(make(COLUMNS), "users")
    encoder = fit_encoder(table, list(COLUMNS), has_constant=True)
    assert encoder.features == (
        "constant",
        "age",
        "age is missing",
        "city=Oslo",
        "city=Paris",
        "city=Rome",
        "city is missing",
        "member",
        "since",
        "visits",
    )
    assert encoder.columns == tuple(COLUMNS)
    encoded = dense(encoder.encode_table(table))
    np.testing.assert_allclose(encoded[2, 1], (np.nanmean(np.array(COLUMNS["age"], float)) - 19) / 51)
    assert encoded[2, 2] == encoded[2, 6] == 1.0
    assert encoded[:, 9].tolist() == [i / 11 for i in range(12)]
    np.testing.assert_allclose(encoded[:, 8], [(d - COLUMNS["since"][0]).days / 335 for d in COLUMNS["since"]])
    for row, expected in zip(table.rows(), encoded, strict=True):
        np.testing.assert_array_equal(encoder.encode_row(row), expected)
    assert TableEncoder.from_dict(encoder.to_dict()) == encoder


def test_it_is_what_a_column_transformer_does():
    frame = pd.DataFrame(COLUMNS).drop(columns=["name", "since"])
    numbers = make_pipeline(SimpleImputer(add_indicator=True), MinMaxScaler(clip=True))
    theirs = make_column_transformer(
        (numbers, ["age"]), (OneHotEncoder(), ["city"]), (MinMaxScaler(), ["member", "visits"])
    )
    encoder = fit_encoder(FrameTable(frame, "users"), list(frame))
    np.testing.assert_allclose(
        dense(encoder.encode_table(FrameTable(frame, "users"))), dense(theirs.fit_transform(frame)), atol=1e-8
    )


@pytest.mark.parametrize("make", FRAMES)
def test_frames_of_all_libraries_are_encoded_alike(make):
    encoder = fit_encoder(FrameTable(pd.DataFrame(COLUMNS), "users"), list(COLUMNS))
    expected = dense(encoder.encode_table(FrameTable(pd.DataFrame(COLUMNS), "users")))
    np.testing.assert_array_equal(dense(encoder.encode_table(FrameTable(make(COLUMNS), "users"))), expected)
    assert fit_encoder(FrameTable(make(COLUMNS), "users"), list(COLUMNS)) == encoder


def test_types_of_pandas():
    frame = pd.DataFrame(COLUMNS).convert_dtypes()
    frame["city"] = frame["city"].astype("category")
    encoder = fit_encoder(FrameTable(frame, "users"), list(frame))
    assert encoder == fit_encoder(FrameTable(pd.DataFrame(COLUMNS), "users"), list(COLUMNS))
    frame["member"] = frame["member"].astype(object)
    assert fit_encoder(FrameTable(frame, "users"), ["member"]).features == ("member",)
    frame.loc[0, "member"] = None
    assert fit_encoder(FrameTable(frame, "users"), ["member"]).features == ("member", "member is missing")


def test_rare_categories_share_a_feature():
    many = [f"c{i % 80:02d}" for i in range(160)] + ["c03"] * 5
    encoder = fit_encoder(FrameTable(pd.DataFrame({"c": many}), "users"), ["c"])
    assert len(encoder.features) == MAX_CATEGORIES + 1
    assert "c=c03" in encoder.features
    assert encoder.encode_row({"c": "c79"})[-1] == encoder.encode_row({"c": "new"})[-1] == 1.0
    lazy = fit_encoder(FrameTable(pl.LazyFrame({"c": many}), "users"), ["c"])
    assert lazy == encoder


def test_numbers_that_are_categories():
    frame = pd.DataFrame({"zip": [100, 200, None, 100]})
    encoder = fit_encoder(FrameTable(frame, "users"), ["zip"], categories=["zip"])
    assert encoder.features == ("zip=100", "zip=200", "zip is missing")
    assert encoder.encode_row({"zip": 200}).tolist() == encoder.encode_row({"zip": 200.0}).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FrameTable([1, 2], "users"), "users must be a data frame, got list"),
        (
            lambda: FrameTable(pd.DataFrame({0: [1]}), "users"),
            "users must have strings as column names, got 0; rename the column",
        ),
        (
            lambda: fit_encoder(FrameTable(pd.DataFrame({"a": []}), "users"), ["a"]),
            "the table must have at least one row to fit an encoder, got none",
        ),
        (
            lambda: FrameTable(pd.DataFrame({"a": [[1], [2]]}), "users").kind("a"),
            "users must have columns of numbers, text, booleans or dates, got 'a' with list; convert the column, "
            "or leave it out",
        ),
        (
            lambda: FrameTable(pd.DataFrame({"a": [1, "x"]}), "users").kind("a"),
            "users must have columns of numbers, text, booleans or dates, got 'a' with int, str; convert the "
            "column, or leave it out",
        ),
        (
            lambda: TableEncoder((NumberEncoder("a"),)).encode_table(table({"a": ["x"]})),
            "users must have numbers in column 'a', as when the encoder was fitted, got String",
        ),
        (
            lambda: TableEncoder((NumberEncoder("a"),)).encode_table(table({"b": [1]})),
            "users must have the column 'a', as when the encoder was fitted, got b",
        ),
        (
            lambda: TableEncoder((NumberEncoder("a"),)).encode_row({"b": 1}),
            "row must have a value for 'a', got only 'b'; give None if it is unknown",
        ),
        (lambda: TableEncoder.from_dict({"columns": ["age"]}), "encoder must have columns, got an invalid one"),
        (lambda: column_label(2.5, "age"), "age must have text or whole numbers, got 2.5; bin numbers and dates"),
        (lambda: as_row(pd.DataFrame({"a": [1, 2]}), "user"), "user must be one row, got 2; use choose_many"),
        (
            lambda: FrameTable(pd.DataFrame({"name": ["x"]}), "items").ids(None, ("item", "id")),
            "items must have ids: an index, or a column named 'item' or 'id', got name; name the column",
        ),
        (
            lambda: FrameTable(pd.DataFrame({"id": ["x", None]}), "items").ids(None, ("item", "id")),
            "items must have an id in every row, got none in row 1",
        ),
        (
            lambda: FrameTable(pd.DataFrame({"a": [1, 2]}, index=["x", "x"]), "items").ids(None, ()),
            r"arm ids must be unique, got \['x'\] more than once",
        ),
    ],
)
def test_messages(call, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace(")", r"\)")):
        call()


def test_ids():
    assert FrameTable(pd.DataFrame({"a": [1, 2]}, index=["x", "y"]), "items").ids(None, ("a",)) == (
        ("x", "y"),
        None,
    )
    assert FrameTable(pd.DataFrame({"id": [7.0, 8.0]}), "items").ids(None, ("id",)) == ((7, 8), "id")
    assert FrameTable(pl.DataFrame({"sku": ["p", "q"]}), "items").ids("sku", ("id",)) == (("p", "q"), "sku")


def test_rows_of_all_kinds():
    frame = pd.DataFrame(COLUMNS)
    encoder = fit_encoder(FrameTable(frame, "users"), ["age", "city", "member"])
    expected = encoder.encode_row({"age": 31, "city": "Rome", "member": True}).tolist()
    rows = [frame.iloc[0], frame.iloc[[0]], next(frame.itertuples(index=False)), pl.DataFrame(COLUMNS)[0]]
    for row in rows:
        assert encoder.encode_row(as_row(row, "user")).tolist() == expected


def test_files_of_the_first_release():
    encoder = TableEncoder.from_dict({"columns": ["age", "city"], "words": {"city": ["Paris", "Rome"]}})
    assert encoder == TableEncoder((NumberEncoder("age"), CategoryEncoder("city", ("Paris", "Rome"))))
    assert TableEncoder.from_dict({"columns": [], "words": {}}).features == ("constant",)
