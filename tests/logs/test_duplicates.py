"""Rows that repeat a decision: found, counted and dropped, in the whole log and in its parts."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits import LinUCB
from fairbandits.logs import Log, fit
from tests.logs.helpers import error_of

IDS = st.one_of(st.none(), st.integers(0, 30))


def make(ids, arms, kind="integer"):
    """Make the columns of a log; the context tells the row."""
    if kind == "text":
        ids = [None if each is None else f"d{each}" for each in ids]
    rows = np.arange(len(ids))
    return pa.table({"id": ids, "arm": arms, "reward": rows % 2 * 1.0, "context_x": rows * 1.0, "sex": arms})


def write(folder, table, kind):
    if kind == "csv":
        table.to_pandas().to_csv(folder / "log.csv", index=False)
        return folder / "log.csv"
    if kind == "parquet":
        pq.write_table(table, folder / "log.parquet", row_group_size=7)
        return folder / "log.parquet"
    return table


def kept(ids, arms):
    """Return the rows that are left, computed in the simplest way."""
    seen, rows = set(), []
    for row, pair in enumerate(zip(ids, arms, strict=True)):
        if pair[0] is None or pair not in seen:
            rows.append(row)
        seen.add(pair)
    return rows


def rows_of(logs, **how):
    logs = [log.with_encoder(log.encoder().unscaled()) for log in logs]
    chunks = [chunk for log in logs for chunk in log.chunks(contexts=True, **how)]
    first = 0
    for chunk in chunks:
        assert chunk.first_row == first
        first += len(chunk)
    return [int(x) for chunk in chunks for x in chunk.contexts[:, 0]]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(IDS, st.sampled_from("ab")), min_size=1, max_size=80),
    st.integers(1, 20),
    st.sampled_from(["integer", "text"]),
)
def test_the_first_of_equal_rows_is_kept(pairs, rows, kind):
    ids, arms = zip(*pairs, strict=True)
    table = make(ids, arms, kind)
    expected = kept(ids, arms)
    log = Log.open(table, duplicates="drop")
    assert rows_of([log], rows=rows) == expected
    assert log.count_duplicates() == len(ids) - len(expected)
    keeping = Log.open(table)
    assert keeping.count_duplicates() == len(ids) - len(expected)
    assert rows_of([keeping], rows=rows) == [*range(len(ids))]


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_parts_of_a_log(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("fairbandits.logs.text_blocks.BLOCK_SIZE", 200)
    monkeypatch.setattr("fairbandits.logs.frames._ROWS", 9)
    monkeypatch.setattr("fairbandits.logs.duplicates._MIN_SLOTS", 4)
    rng = np.random.default_rng(0)
    ids, arms = rng.integers(0, 40, 100).tolist(), rng.choice(["a", "b"], 100).tolist()
    source = write(tmp_path, make(ids, arms), kind)
    log = Log.open(source, duplicates="drop", contexts="context_x")
    expected = kept(ids, arms)
    assert len(expected) < 70
    assert rows_of([log], rows=5) == expected
    parts = log.split(4)
    assert len(parts) == 4
    assert rows_of(parts) == expected
    assert fit(log, LinUCB(random_state=0)).learned == len(expected)
    assert log.fingerprint() == Log.open(source).fingerprint()


def test_increasing_ids_need_no_search(tmp_path, monkeypatch):
    monkeypatch.setattr("fairbandits.logs.duplicates._insert", None)
    path = write(tmp_path, make([*range(100)], ["a"] * 100), "parquet")
    assert Log.open(path).count_duplicates() == 0
    assert Log.open(path, duplicates="drop").count_duplicates() == 0


def test_the_arms_of_a_slate_are_no_duplicates():
    assert Log.open(make([1, 1, 2, 2], ["a", "b", "a", "a"])).count_duplicates() == 1


def test_a_chunk_of_duplicates_alone_is_left_out():
    assert rows_of([Log.open(make([1, 1, 1, 2], ["a"] * 4), duplicates="drop")], rows=1) == [0, 3]


def test_errors_name_the_row_of_the_file():
    frame = make([1, 1, 2, 3], ["a"] * 4).to_pandas().assign(propensity=[0.5, 0.5, 0.5, 2.0])
    message = error_of(lambda: list(Log.open(frame, duplicates="drop").chunks()))
    assert message.startswith("dataframe, column 'propensity', row 4: propensity must be")
    frame["propensity"] = 0.5
    frame["reward"] = [0.0, 0.0, 0.0, 7.0]
    log = Log.open(frame, duplicates="drop")
    assert "column 'reward', row 4: reward must be" in error_of(lambda: fit(log, LinUCB(random_state=0)))


def test_a_log_without_decisions():
    frame = pd.DataFrame({"arm": ["a"], "reward": [1.0]})
    assert Log.open(frame).count_duplicates() is None
    assert error_of(lambda: Log.open(frame, duplicates="drop")) == (
        "dataframe: finding duplicates requires a decision column; set decision=... (--decision)"
    )
    with pytest.raises(ValueError, match=r"^duplicates must be 'keep' or 'drop', got 'first'$"):
        Log.open(frame, duplicates="first")
