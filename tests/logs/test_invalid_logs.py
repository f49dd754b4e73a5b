"""Invalid logs: the error names the file, the column and the row."""

import datetime
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairbandits.contexts import NumberEncoder, TableEncoder
from fairbandits.logs import Log, LogError
from tests.logs.helpers import VALID, changed, csv, error_of, parquet, reading


@pytest.mark.parametrize("write", [csv, parquet])
def test_a_valid_log_is_read(tmp_path, write):
    reading(write(tmp_path, VALID))()


@pytest.mark.parametrize("write", [csv, parquet])
@pytest.mark.parametrize(
    ("column", "row", "value", "expected"),
    [
        ("propensity", 2, 0.0, "row 3: propensity must be above 0 and at most 1, got 0.0"),
        ("propensity", 3, 1.5, "row 4: propensity must be above 0 and at most 1, got 1.5"),
        ("propensity", 1, -0.1, "row 2: propensity must be above 0 and at most 1, got -0.1"),
        ("propensity", 1, 1e-60, "row 2: propensity must be at least 1e-50, got 1e-60"),
        ("propensity", 0, None, "row 1: propensity must be above 0 and at most 1, got nothing"),
        ("arm", 2, None, "row 3: arm must not be empty"),
        (
            "reward",
            3,
            float("inf"),
            "row 4: value must be a finite number, got inf; leave it empty if there is no reward",
        ),
        (
            "time",
            1,
            "yesterday",
            "row 2: time must be a number or a date like 2024-05-01 12:30:00, got 'yesterday'",
        ),
    ],
)
def test_an_invalid_value(tmp_path, write, column, row, value, expected):
    path = write(tmp_path, changed(column, row, value))
    assert error_of(reading(path)) == f"{path}, column {column!r}, {expected}"


@pytest.mark.parametrize("column", ["reward", "propensity", "context_age"])
def test_text_instead_of_numbers(tmp_path, column):
    path = csv(tmp_path, changed(column, 2, "high"))
    if column == "context_age":  # text, where the encoder expects numbers
        log = Log.open(path).with_encoder(TableEncoder((NumberEncoder("context_age"),)))
        found = error_of(lambda: list(log.chunks(contexts=True)))
    else:
        found = error_of(reading(path, contexts=[]))
    expected = "value must be a number, got 'high'; leave it empty if it is unknown"
    assert found == f"{path}, column '{column}', row 3: {expected}"
    path = parquet(tmp_path, VALID | {column: [None, "high", "low", "low"]})
    log = Log.open(path).with_encoder(TableEncoder((NumberEncoder("context_age"),)))
    found = error_of(lambda: list(log.chunks(contexts=True)))
    expected = "value must be a number, got 'high' in a column of type string"
    assert found == f"{path}, column '{column}', row 2: {expected}"


def test_an_explicit_nan(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("arm,reward,sex\na,1,f\na,NaN,f\n")
    expected = (
        "column 'reward', row 2: value must be a finite number, got nan; leave it empty if there is no reward"
    )
    assert error_of(reading(path)) == f"{path}, {expected}"
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({"arm": ["a", "b"], "reward": pa.array([1.0, np.nan]), "sex": ["f", "m"]}), path)
    assert error_of(reading(path)) == f"{path}, {expected}"
    frame = pl.DataFrame({"arm": ["a", "b"], "reward": [1.0, np.nan], "sex": ["f", "m"]})
    assert error_of(reading(frame)) == f"dataframe, {expected}"
    # In pandas NaN is the usual way to write a missing value.
    [chunk] = Log.open(frame.to_pandas()).chunks()
    assert np.isnan(chunk.reward[1])


def test_sources_that_are_not_logs(tmp_path):
    missing = tmp_path / "none.csv"
    assert error_of(reading(missing)) == f"{missing}: there is no such file or folder"
    (tmp_path / "log.xlsx").write_text("")
    assert error_of(reading(tmp_path / "log.xlsx")).endswith(
        "a log must be a .csv, .tsv, .jsonl (also .gz or .zst), .parquet, .feather or .arrow file, got '.xlsx'; "
        "or set format=... (--format)"
    )
    (tmp_path / "empty").mkdir()
    assert error_of(reading(tmp_path / "empty")).endswith(
        "contains no .csv, .tsv, .jsonl (also .gz or .zst), .parquet, .feather or .arrow file"
    )
    assert error_of(reading([1, 2])) == (
        "log must be a path, an address, a list of paths or a dataframe, got list"
    )
    csv(tmp_path, VALID)
    parquet(tmp_path, VALID)
    assert error_of(reading(tmp_path)).endswith(
        "contains CSV and Parquet files; keep all files of a log in one format"
    )


def test_empty_files(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("")
    assert error_of(reading(path)) == f"{path}: file is empty; the first line must hold the column names"
    path.write_text("arm,reward,sex\n")
    assert error_of(reading(path)) == f"{path}: has no rows; a log has one row per decision"
    path = parquet(tmp_path, {"arm": pa.array([], pa.string()), "reward": pa.array([], pa.float64())})
    assert error_of(reading(path)) == f"{path}: has no rows; a log has one row per decision"
    path.write_bytes(b"")
    assert error_of(reading(path)).startswith(f"{path}: not a Parquet file, or truncated or damaged (")
    assert error_of(reading(pd.DataFrame({"arm": [], "reward": []}))).startswith("dataframe: has no rows")


def test_a_truncated_or_damaged_parquet_file(tmp_path):
    path = parquet(tmp_path, VALID)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    assert error_of(reading(path)).startswith(f"{path}: not a Parquet file, or truncated or damaged (")
    # Damage in the middle is found when those rows are read.
    path.write_bytes(content[:4] + bytes(200) + content[204:])
    assert error_of(reading(path)).startswith(
        f"{path}, from row 1 on: not a Parquet file, or truncated or damaged ("
    )


def test_another_type_in_another_file(tmp_path):
    parquet(tmp_path, VALID, "1.parquet")
    path = parquet(tmp_path, VALID | {"arm": [1, 2, 3, 4]}, "2.parquet")
    assert error_of(reading(tmp_path)) == (
        f"{path}, column 'arm', row 1: labels must be text as in the rest of the log, got int64"
    )
    path = parquet(tmp_path, VALID | {"reward": ["good"] * 4}, "2.parquet")
    assert error_of(reading(tmp_path)).startswith(
        f"{path}, column 'reward', row 1: value must be a number, got 'good'"
    )
    path = parquet(tmp_path, VALID | {"time": [1, 2, 3, 4]}, "2.parquet")
    assert error_of(reading(tmp_path)) == (
        f"{path}, column 'time', row 1: times must be of the same type throughout the log, got int64 here"
    )
    path = parquet(tmp_path, {name: VALID[name] for name in VALID if name != "sex"}, "2.parquet")
    assert error_of(reading(tmp_path)) == f"{path}: column 'sex' is missing, but other files of the log have it"


def test_mixed_types_in_a_dataframe():
    frame = pd.DataFrame({"arm": ["a", 3], "reward": [1.0, 1.0], "sex": ["f", "m"]})
    assert error_of(reading(frame)) == (
        "dataframe, column 'arm', row 2: value must be of type str, like the values before it, got 3 of type int"
    )


def test_invalid_labels(tmp_path):
    path = parquet(tmp_path, VALID | {"sex": [1.0, None, 0.5, 2.0]})
    assert error_of(reading(path)) == (
        f"{path}, column 'sex', row 3: label must be text or an integer, got 0.5; bin continuous values first"
    )
    path = parquet(tmp_path, VALID | {"sex": [datetime.date(2024, 5, 1)] * 4})
    assert error_of(reading(path)).startswith(
        f"{path}, column 'sex', row 1: labels must be text or integers, got date32"
    )
    path = parquet(tmp_path, VALID | {"sex": [datetime.datetime(2024, 5, 1)] * 4})
    assert "column 'sex', row 1: labels must be text or integers, got timestamp[us]" in error_of(reading(path))
    path = parquet(tmp_path, VALID | {"sex": pa.array([2**63 + 5] * 4, pa.uint64())})
    assert error_of(reading(path)) == (
        f"{path}, column 'sex', row 1: label must be a 64-bit integer, got 9223372036854775813; write it as text"
    )


def test_labels_that_are_whole_floats_or_booleans(tmp_path):
    path = parquet(tmp_path, VALID | {"sex": [1.0, None, 2.0, 2.0]})
    [one, two] = Log.open(path).chunks()
    assert (one.group["sex"].codes.tolist(), two.group["sex"].codes.tolist()) == ([0, -1], [1, 1])
    assert two.group["sex"].labels == [1, 2]
    path = parquet(tmp_path, VALID | {"sex": [True, None, False, True]})
    assert [*Log.open(path).chunks()][1].group["sex"].labels == ["true", "false"]


def test_a_file_without_any_value_leaves_the_type_open(tmp_path):
    parquet(tmp_path, VALID | {"sex": pa.nulls(4), "reward": pa.nulls(4)}, "1.parquet")
    parquet(tmp_path, VALID | {"sex": [1, 2, 1, 2]}, "2.parquet")
    chunks = list(Log.open(tmp_path).chunks())
    assert [chunk.group["sex"].codes.tolist() for chunk in chunks] == [[-1, -1], [-1, -1], [0, 1], [0, 1]]
    assert np.isnan(chunks[0].reward).all()


def test_column_names_that_are_not_strings():
    assert error_of(reading(pd.DataFrame({0: ["a"], 1: [1.0]}))) == (
        "dataframe: column names must be strings, got 0; rename the column"
    )


def test_invalid_arguments():
    log = Log.open(pd.DataFrame(VALID))
    with pytest.raises(ValueError, match=r"^rows must be an integer of at least 1, got 0"):
        log.chunks(rows=0)
    with pytest.raises(ValueError, match=r"^n must be an integer of at least 1, got 0"):
        log.split(0)


def test_a_log_error_can_be_pickled():
    error = pickle.loads(pickle.dumps(LogError("log.csv, row 3: wrong")))  # noqa: S301
    assert (type(error), str(error)) == (LogError, "log.csv, row 3: wrong")


@pytest.mark.parametrize("kind", ["csv", "parquet", "one row group"])
def test_reading_takes_less_memory_than_the_log(tmp_path, kind):
    n = 1_000_000
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "arm": rng.integers(0, 100, n),
            "reward": rng.random(n),
            "propensity": rng.random(n) * 0.9 + 0.1,
            "sex": rng.choice(["f", "m"], n),
            "context_x": rng.random(n),
        }
    )
    path = tmp_path / ("log.csv" if kind == "csv" else "log.parquet")
    if kind == "csv":
        table.to_pandas().to_csv(path, index=False)
    else:
        pq.write_table(table, path, row_group_size=n if kind == "one row group" else 50_000)
    size = table.nbytes
    del table
    log = Log.open(path)
    sum(map(len, log.chunks(contexts=True, rows=10_000)))  # compilation and imports are not counted
    before = pa.total_allocated_bytes()
    pool = pa.default_memory_pool()
    most = 0
    tracemalloc.start()
    rows = 0
    for chunk in log.chunks(contexts=True, rows=10_000):
        rows += len(chunk)
        most = max(most, pool.bytes_allocated() - before)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == n
    assert peak + most < size
