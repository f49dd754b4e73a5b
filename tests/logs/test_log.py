"""The log: whatever it is kept in, the same chunks come out."""

import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits.logs import ContextEncoder, Log, LogError, Roles

N = 1000
NAMES = {"arm": "arm", "reward": "reward", "propensity": "propensity", "time": "time", "decision": "id"}


def make(n=N, seed=0, arms="text"):
    """Make the columns of a log, with what may be missing missing here and there."""
    rng = np.random.default_rng(seed)

    def some(values, share=0.1):
        return [None if hole else value for value, hole in zip(values, rng.random(n) < share, strict=True)]

    start = datetime.datetime(2024, 5, 1)
    return {
        "arm": [f'video "{i}", part' if arms == "text" else int(i) for i in rng.integers(0, 7, n)],
        "reward": some(rng.random(n).round(3).tolist()),
        "propensity": rng.uniform(0.01, 1.0, n).round(3).tolist(),
        "sex": some(rng.choice(["female", "male"], n).tolist()),
        "race": rng.choice(5, n).tolist(),
        "time": [start + datetime.timedelta(seconds=int(s)) for s in rng.integers(0, 10**6, n).cumsum()],
        "id": list(range(n)),
        "context_age": rng.integers(18, 80, n).astype(float).tolist(),
        "context_city": some(rng.choice(["Paris", "Rome", "São Paulo\nSP"], n).tolist()),
    }


def read(log, **how):
    """Put the chunks of a log together, labels in place of codes."""
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
    """Keep a log in one of the ways that are read."""
    table, frame = pa.table(columns), pd.DataFrame(columns)
    stretches = [slice(start, start + 300) for start in range(0, len(frame), 300)]
    if kind == "csv":
        frame.to_csv(folder / "log.csv", index=False)
        return folder / "log.csv"
    if kind == "parquet":
        pq.write_table(table, folder / "log.parquet", row_group_size=300)
        return folder / "log.parquet"
    if kind == "polars parquet":
        pl.DataFrame(columns).write_parquet(folder / "log.parquet", row_group_size=300)
        return folder / "log.parquet"
    for i, rows in enumerate(stretches if "folder" in kind else ()):
        if kind == "folder":
            pq.write_table(table[rows], folder / f"part-{i}.parquet", row_group_size=70)
        else:
            frame[rows].to_csv(folder / f"part-{i}.csv", index=False)
    frames = {"pandas": frame, "polars": pl.DataFrame(columns), "lazy": pl.LazyFrame(columns), "arrow": table}
    return frames.get(kind, folder)


KINDS = ["csv", "parquet", "polars parquet", "folder", "csv folder", "pandas", "polars", "lazy", "arrow"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("arms", ["text", "whole"])
@pytest.mark.parametrize("rows", [70, 1 << 18])
def test_the_same_comes_out_of_whatever_it_is_kept_in(tmp_path, kind, arms, rows):
    columns = make(arms=arms)
    log = Log.open(write(tmp_path, columns, kind))
    found = read(log, rows=rows, contexts=True)
    contexts = found.pop("contexts")
    assert log.encoder().features == (
        "context_age",
        "context_city=Paris",
        "context_city=Rome",
        "context_city=São Paulo\nSP",
    )
    assert contexts[:, 0].tolist() == columns["context_age"]
    words = ["Paris", "Rome", "São Paulo\nSP"]
    assert contexts[:, 1:].tolist() == [[float(c == word) for word in words] for c in columns["context_city"]]
    assert found == {name: columns[name] for name in found}
    assert set(found) == {"arm", "reward", "propensity", "sex", "race", "time"}
    assert log.guessed == {**NAMES, "groups": ("sex", "race"), "contexts": ("context_age", "context_city")}
    assert log.roles == Roles(**log.guessed)


@pytest.mark.parametrize("kind", KINDS)
def test_a_log_in_pieces_is_the_log(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("fairbandits.logs.csv_files.BLOCK", 5000)
    monkeypatch.setattr("fairbandits.logs.frames._STEP", 90)
    columns = make()
    log = Log.open(write(tmp_path, columns, kind))
    pieces = log.split(3)
    assert len(pieces) == 3
    rows = [sum(map(len, piece.chunks())) for piece in pieces]
    assert min(rows) > 150
    assert sum(rows) == N
    assert [next(piece.chunks()).first_row for piece in pieces] == [0, rows[0], rows[0] + rows[1]]
    arms = [label for piece in pieces for label in _arms(piece)]
    assert arms == columns["arm"]


def _arms(log):
    return [chunk.arm.labels[code] for chunk in log.chunks(rows=37) for code in chunk.arm.codes]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_partitioned_dataset_whose_files_hold_the_column_too(tmp_path, kind):
    for sex in "fm":
        # As polars does; and with something else than what the folder says, which counts.
        in_folders(tmp_path, "sex", [sex], kind, {"sex": ["x", sex], "arm": ["a", "b"], "reward": [1.0, 0.0]})
    log = Log.open(tmp_path)
    assert log.roles.groups == ("sex",)
    assert read(log)["sex"] == ["f", "f", "m", "m"]
    with pytest.raises(LogError, match=r"there is no column 'price'; The columns are arm, reward, sex$"):
        Log.open(tmp_path, arm="price")


@pytest.mark.parametrize("times", [["2024-05-01"], [17], [pd.Timestamp("2024-05-01")]])
@pytest.mark.parametrize("first", [True, False])
def test_a_file_may_have_no_times_at_all(tmp_path, times, first):
    frame = pd.DataFrame({"arm": ["a"], "reward": [1.0], "time": times})
    frame.to_parquet(tmp_path / "1.parquet")
    pq.write_table(
        pa.table({"arm": ["b"], "reward": [0.0], "time": pa.nulls(1)}),
        tmp_path / ("0.parquet" if first else "2.parquet"),
    )
    chunks = list(Log.open(tmp_path).chunks())
    assert chunks[0].time.dtype == chunks[1].time.dtype
    assert [bool(pd.isna(chunk.time[0])) for chunk in chunks] == [first, not first]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_partitioned_dataset(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("fairbandits.logs.csv_files.BLOCK", 5000)
    columns = make()
    ds.write_dataset(
        pa.table(columns), tmp_path, format=kind, partitioning=["sex", "race"], partitioning_flavor="hive"
    )
    log = Log.open(tmp_path)
    found = read(log, rows=100)
    keys = ("arm", "sex", "race", "propensity")

    def as_set(of):
        return sorted(zip(*(of[key] for key in keys), strict=True), key=repr)

    assert as_set(found) == as_set(columns)
    assert isinstance(found["race"][0], int)
    pieces = [pickle.loads(pickle.dumps(piece)) for piece in log.split(3)]  # noqa: S301 - as for another process
    races = [chunk.group["race"] for piece in pieces for chunk in piece.chunks()]
    assert [race.labels[code] for race in races for code in race.codes] == found["race"]


def in_folders(root, column, values, kind, columns=None):
    """Write a file of two decisions for each value, in a folder that names it."""
    frame = pd.DataFrame(columns or {"arm": ["a", "b"], "reward": [1.0, 0.0]})
    for value in values:
        folder = root / f"{column}={value}"
        folder.mkdir(parents=True)
        if kind == "csv":
            frame.to_csv(folder / "0.csv", index=False)
        else:
            frame.to_parquet(folder / "0.parquet")
    return root


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_what_a_folder_says_may_be_anything(tmp_path, kind):
    whole = in_folders(tmp_path / "whole", "n", [3, 7, "__HIVE_DEFAULT_PARTITION__"], kind)
    assert read(Log.open(whole, groups="n"))["n"] == [3, 3, 7, 7, None, None]
    assert read(Log.open(whole, time="n"))["time"][:4] == [3.0, 3.0, 7.0, 7.0]
    known = Log.open(whole).with_encoder(ContextEncoder(("n",), {"n": ("3", "7")}))
    assert read(known, contexts=True)["contexts"].tolist() == [[1, 0], [1, 0], [0, 1], [0, 1], [0, 0], [0, 0]]
    filled = in_folders(tmp_path / "filled", "n", [3, 7], kind)
    assert read(Log.open(filled, contexts="n"), contexts=True)["contexts"].tolist() == [[3], [3], [7], [7]]
    cities = ["Paris", "S%C3%A3o%20Paulo", "__HIVE_DEFAULT_PARTITION__"]
    words = in_folders(tmp_path / "words", "city", cities, kind)
    log = Log.open(words, groups="city", contexts="city")
    found = read(log, contexts=True)
    assert found["city"] == ["Paris", "Paris", "São Paulo", "São Paulo", None, None]
    assert log.encoder().words == {"city": ("Paris", "São Paulo")}
    assert found["contexts"].tolist() == [[1, 0], [1, 0], [0, 1], [0, 1], [0, 0], [0, 0]]
    days = in_folders(tmp_path / "days", "day", ["2024-05-01", "2024-05-02"], kind)
    assert read(Log.open(days, time="day"))["time"][1:3] == [datetime.datetime(2024, 5, d) for d in (1, 2)]
    large = in_folders(tmp_path / "large", "id", [3, 10**20], kind)
    assert read(Log.open(large, groups="id"))["id"] == ["100000000000000000000"] * 2 + ["3"] * 2


def test_only_the_columns_asked_for(tmp_path):
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
def test_labels_that_are_numbers(values, rows):
    frame = pl.DataFrame({"arm": ["a"] * len(values), "reward": [1.0] * len(values), "group": values})
    if all(value is None for value in values):
        frame = frame.with_columns(pl.col("group").cast(pl.Int64))
    found = read(Log.open(frame), rows=rows)
    assert found["group"] == values


def test_times_in_every_way_to_write_them(tmp_path):
    when = [datetime.datetime(2024, 5, 1, 12, 30), datetime.datetime(2024, 5, 2)]
    base = {"arm": ["a", "b"], "reward": [1.0, 0.0]}
    zone = datetime.timezone(datetime.timedelta(hours=2))
    ways = {
        "naive": (when, when),
        "nanoseconds": (pa.array(when, pa.timestamp("ns")), when),
        "with a zone": (
            pa.array([w.replace(tzinfo=zone) for w in when]),
            [w - zone.utcoffset(None) for w in when],
        ),
        "dates": ([w.date() for w in when], [w.replace(hour=0, minute=0) for w in when]),
        "words": ([w.isoformat() for w in when], when),
        "words with a zone": (["2024-05-01T14:30:00+02:00", "2024-05-02T00:00:00Z"], when),
        "numbers": ([3, 7], [3.0, 7.0]),
    }
    for name, (given_times, expected) in ways.items():
        pq.write_table(pa.table(base | {"time": given_times}), tmp_path / "log.parquet")
        assert read(Log.open(tmp_path / "log.parquet"))["time"] == expected, name
        pa.csv.write_csv(pa.table(base | {"time": given_times}), tmp_path / "log.csv")
        assert read(Log.open(tmp_path / "log.csv"))["time"] == expected, name


def test_numbers_of_every_kind():
    kinds = {
        "whole": pa.array([1, None, 0]),
        "yes or no": pa.array([True, None, False]),
        "decimal": pa.array([1, None, 0]).cast(pa.decimal128(22, 2)),
        "single": pa.array([1.0, None, 0.0], pa.float32()),
        "categories": pa.array([1.0, None, 0.0]).dictionary_encode(),
    }
    for name, rewards in kinds.items():
        found = read(Log.open(pa.table({"arm": ["a", "b", "c"], "reward": rewards, "context_x": [1, 2, 3]})))
        assert found["reward"] == [1.0, None, 0.0], name
