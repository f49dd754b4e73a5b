"""Reading a log gives the same chunks whatever its storage format."""

import datetime
import zoneinfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits.logs import Log, Roles

N = 1000
NAMES = {"arm": "arm", "reward": "reward", "propensity": "propensity", "time": "time", "decision": "id"}


def make(n=N, seed=0, arms="text"):
    """Make the columns of a log; values that may be missing are missing here and there."""
    rng = np.random.default_rng(seed)

    def with_gaps(values, share=0.1):
        return [None if is_gap else value for value, is_gap in zip(values, rng.random(n) < share, strict=True)]

    start = datetime.datetime(2024, 5, 1)
    return {
        "arm": [f'video "{i}", part' if arms == "text" else int(i) for i in rng.integers(0, 7, n)],
        "reward": with_gaps(rng.random(n).round(3).tolist()),
        "propensity": rng.uniform(0.01, 1.0, n).round(3).tolist(),
        "sex": with_gaps(rng.choice(["female", "male"], n).tolist()),
        "race": rng.choice(5, n).tolist(),
        "time": [start + datetime.timedelta(seconds=int(s)) for s in rng.integers(0, 10**6, n).cumsum()],
        "id": list(range(n)),
        "context_age": rng.integers(18, 80, n).astype(float).tolist(),
        "context_city": with_gaps(rng.choice(["Paris", "Rome", "São Paulo\nSP"], n).tolist()),
    }


def read(log, **how):
    """Concatenate the chunks of a log, with labels instead of codes."""
    chunks = list(log.chunks(**how))
    row = 0
    for chunk in chunks:
        assert chunk.first_row == row
        row += len(chunk)

    def labels(coded):
        return [coded.labels[code] if code >= 0 else None for code in coded.codes.tolist()]

    found = {
        "arm": [label for chunk in chunks for label in labels(chunk.arm)],
        "reward": [None if np.isnan(r) else r for chunk in chunks for r in chunk.reward.tolist()],
    }
    if chunks[0].propensity is not None:
        found["propensity"] = [p for chunk in chunks for p in chunk.propensity.tolist()]
    for name in chunks[0].group:
        found[name] = [label for chunk in chunks for label in labels(chunk.group[name])]
    if chunks[0].time is not None:
        found["time"] = [when for chunk in chunks for when in chunk.time.tolist()]
    if chunks[0].contexts is not None:
        parts = [chunk.contexts for chunk in chunks]
        found["contexts"] = np.concatenate([p.toarray() if hasattr(p, "toarray") else p for p in parts])
    return found


def write(folder, columns, kind):
    """Store a log in one of the supported formats."""
    table, frame = pa.table(columns), pd.DataFrame(columns)
    slices = [slice(start, start + 300) for start in range(0, len(frame), 300)]
    if kind == "csv":
        frame.to_csv(folder / "log.csv", index=False)
        return folder / "log.csv"
    if kind == "parquet":
        pq.write_table(table, folder / "log.parquet", row_group_size=300)
        return folder / "log.parquet"
    if kind == "polars parquet":
        pl.DataFrame(columns).write_parquet(folder / "log.parquet", row_group_size=300)
        return folder / "log.parquet"
    for i, rows in enumerate(slices if "folder" in kind else ()):
        if kind == "folder":
            pq.write_table(table[rows], folder / f"part-{i}.parquet", row_group_size=70)
        else:
            frame[rows].to_csv(folder / f"part-{i}.csv", index=False)
    frames = {"pandas": frame, "polars": pl.DataFrame(columns), "lazy": pl.LazyFrame(columns), "arrow": table}
    return frames.get(kind, folder)


KINDS = ["csv", "parquet", "polars parquet", "folder", "csv folder", "pandas", "polars", "lazy", "arrow"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("arms", ["text", "integer"])
@pytest.mark.parametrize("rows", [70, 1 << 18])
def test_all_formats_give_the_same_chunks(tmp_path, kind, arms, rows):
    columns = make(arms=arms)
    log = Log.open(write(tmp_path, columns, kind))
    assert log.encoder().features[:2] == ("constant", "context_age")
    log = log.with_encoder(log.encoder().unscaled())
    found = read(log, rows=rows, contexts=True)
    contexts = found.pop("contexts")
    assert log.encoder().features == (
        "context_age",
        "context_city=Paris",
        "context_city=Rome",
        "context_city=São Paulo\nSP",
    )
    assert contexts[:, 0].tolist() == columns["context_age"]
    cities = ["Paris", "Rome", "São Paulo\nSP"]
    assert contexts[:, 1:].tolist() == [[float(c == city) for city in cities] for c in columns["context_city"]]
    assert found == {name: columns[name] for name in found}
    assert set(found) == {"arm", "reward", "propensity", "sex", "race", "time"}
    assert log.guessed == {**NAMES, "groups": ("sex", "race"), "contexts": ("context_age", "context_city")}
    assert log.roles == Roles(**log.guessed)


@pytest.mark.parametrize("kind", KINDS)
def test_the_parts_of_a_split_log_make_up_the_log(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("fairbandits.logs.text_blocks.BLOCK_SIZE", 5000)
    monkeypatch.setattr("fairbandits.logs.frames._ROWS", 90)
    columns = make()
    log = Log.open(write(tmp_path, columns, kind))
    parts = log.split(3)
    assert len(parts) == 3
    rows = [sum(map(len, part.chunks())) for part in parts]
    assert min(rows) > 150
    assert sum(rows) == N
    assert [next(part.chunks()).first_row for part in parts] == [0, rows[0], rows[0] + rows[1]]
    arms = [label for part in parts for label in _arms(part)]
    assert arms == columns["arm"]


def _arms(log):
    return [chunk.arm.labels[code] for chunk in log.chunks(rows=37) for code in chunk.arm.codes]


@pytest.mark.parametrize("times", [["2024-05-01"], [17], [pd.Timestamp("2024-05-01")]])
@pytest.mark.parametrize("first", [True, False])
def test_a_file_may_have_no_times(tmp_path, times, first):
    frame = pd.DataFrame({"arm": ["a"], "reward": [1.0], "time": times})
    frame.to_parquet(tmp_path / "1.parquet")
    pq.write_table(
        pa.table({"arm": ["b"], "reward": [0.0], "time": pa.nulls(1)}),
        tmp_path / ("0.parquet" if first else "2.parquet"),
    )
    chunks = list(Log.open(tmp_path).chunks())
    assert chunks[0].time.dtype == chunks[1].time.dtype
    assert [bool(pd.isna(chunk.time[0])) for chunk in chunks] == [first, not first]


def test_only_requested_columns_are_read(tmp_path):
    log = Log.open(write(tmp_path, make(), "parquet"))
    chunks = list(log.chunks(columns=["sex"]))
    assert sum(map(len, chunks)) == N
    for chunk in chunks:
        assert chunk.propensity is None
        assert chunk.time is None
        assert list(chunk.group) == ["sex"]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.integers(-3, 5), st.integers(-(2**62), 2**62)), min_size=1, max_size=40),
    st.integers(1, 9),
)
def test_integer_labels(values, rows):
    frame = pl.DataFrame({"arm": ["a"] * len(values), "reward": [1.0] * len(values), "group": values})
    if all(value is None for value in values):
        frame = frame.with_columns(pl.col("group").cast(pl.Int64))
    found = read(Log.open(frame), rows=rows)
    assert found["group"] == values


def test_times_in_all_types(tmp_path):
    when = [datetime.datetime(2024, 5, 1, 12, 30), datetime.datetime(2024, 5, 2)]
    base = {"arm": ["a", "b"], "reward": [1.0, 0.0]}
    zone = zoneinfo.ZoneInfo("Etc/GMT-2")  # by name: pyarrow 17 writes no offsets to CSV
    types = {
        "naive": (when, when),
        "nanoseconds": (pa.array(when, pa.timestamp("ns")), when),
        "with a zone": (
            pa.array([w.replace(tzinfo=zone) for w in when]),
            [w - datetime.timedelta(hours=2) for w in when],
        ),
        "dates": ([w.date() for w in when], [w.replace(hour=0, minute=0) for w in when]),
        "text": ([w.isoformat() for w in when], when),
        "text with a zone": (["2024-05-01T14:30:00+02:00", "2024-05-02T00:00:00Z"], when),
        "numbers": ([3, 7], [3.0, 7.0]),
    }
    for name, (given_times, expected) in types.items():
        pq.write_table(pa.table(base | {"time": given_times}), tmp_path / "log.parquet")
        assert read(Log.open(tmp_path / "log.parquet"))["time"] == expected, name
        pa.csv.write_csv(pa.table(base | {"time": given_times}), tmp_path / "log.csv")
        assert read(Log.open(tmp_path / "log.csv"))["time"] == expected, name


def test_numbers_in_all_types():
    types = {
        "integer": pa.array([1, None, 0]),
        "boolean": pa.array([True, None, False]),
        "decimal": pa.array([1, None, 0]).cast(pa.decimal128(22, 2)),
        "single": pa.array([1.0, None, 0.0], pa.float32()),
        "categories": pa.array([1.0, None, 0.0]).dictionary_encode(),
    }
    for name, rewards in types.items():
        found = read(Log.open(pa.table({"arm": ["a", "b", "c"], "reward": rewards, "context_x": [1, 2, 3]})))
        assert found["reward"] == [1.0, None, 0.0], name
