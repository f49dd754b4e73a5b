"""Every way in which a log can be wrong: an error that names the file, the column and the row."""

import datetime
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairbandits.logs import ContextEncoder, Log, LogError, Roles
from fairbandits.logs.roles import read_roles

FINE = {
    "arm": ["a", "b", "a", "b"],
    "reward": [1.0, None, 0.0, 0.5],
    "propensity": [0.5, 0.5, 0.25, 1.0],
    "sex": ["f", "m", None, "f"],
    "context_age": [30.0, 40.0, 50.0, 60.0],
    "time": ["2024-05-01", "2024-05-02", "2024-05-03", "2024-05-04"],
}


def message(read):
    with pytest.raises(LogError) as caught:
        read()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def consume(source, **roles):
    def read():
        for _ in Log.open(source, **roles).chunks(contexts=True):
            pass

    return read


def csv(folder, columns, name="log.csv"):
    pd.DataFrame(columns).to_csv(folder / name, index=False)
    return folder / name


def parquet(folder, columns, name="log.parquet"):
    pq.write_table(pa.table(columns), folder / name, row_group_size=2)
    return folder / name


def changed(column, row, value):
    values = list(FINE[column])
    values[row] = value
    return FINE | {column: values}


@pytest.mark.parametrize("write", [csv, parquet])
def test_what_is_fine_is_read(tmp_path, write):
    consume(write(tmp_path, FINE))()


@pytest.mark.parametrize("write", [csv, parquet])
@pytest.mark.parametrize(
    ("column", "row", "value", "expected"),
    [
        (
            "propensity",
            2,
            0.0,
            "column 'propensity', row 3: 0.0 came; expected a propensity, above 0 and at most 1",
        ),
        ("propensity", 3, 1.5, "column 'propensity', row 4: 1.5 came; expected a propensity"),
        ("propensity", 1, -0.1, "column 'propensity', row 2: -0.1 came; expected a propensity"),
        (
            "propensity",
            1,
            1e-60,
            "column 'propensity', row 2: 1e-60 came; expected a propensity of at least 1e-50",
        ),
        ("propensity", 0, None, "column 'propensity', row 1: nothing came; expected a propensity"),
        ("arm", 2, None, "column 'arm', row 3: it is empty; expected the arm that was picked"),
        ("context_age", 3, None, "column 'context_age', row 4: it is empty; fill in features that are numbers"),
        (
            "reward",
            3,
            float("inf"),
            "column 'reward', row 4: inf came; expected a number; leave it empty where no",
        ),
        ("time", 1, "yesterday", "column 'time', row 2: 'yesterday' came; expected a time such as"),
    ],
)
def test_a_wrong_value(tmp_path, write, column, row, value, expected):
    path = write(tmp_path, changed(column, row, value))
    assert message(consume(path)).startswith(f"{path}, {expected}")


@pytest.mark.parametrize("column", ["reward", "propensity", "context_age"])
def test_words_where_numbers_should_be(tmp_path, column):
    path = csv(tmp_path, changed(column, 2, "high"))
    roles = {"contexts": []} if column != "context_age" else {}
    if column == "context_age":  # words, where the encoder knows it as a number
        log = Log.open(path).with_encoder(ContextEncoder(("context_age",), {}))
        found = message(lambda: list(log.chunks(contexts=True)))
    else:
        found = message(consume(path, **roles))
    expected = "'high' came; expected a number; leave it empty where it is not known"
    assert found == f"{path}, column '{column}', row 3: {expected}"
    kept = parquet(tmp_path, FINE | {column: [None, "high", "low", "low"]})
    log = Log.open(kept).with_encoder(ContextEncoder(("context_age",), {}))
    found = message(lambda: list(log.chunks(contexts=True)))
    assert (
        found == f"{kept}, column '{column}', row 2: 'high' came; expected a number, and the column holds string"
    )


def test_a_nan_that_somebody_wrote(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("arm,reward,sex\na,1,f\na,NaN,f\n")
    expected = "column 'reward', row 2: nan came; expected a number; leave it empty where no reward came"
    assert message(consume(path)) == f"{path}, {expected}"
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({"arm": ["a", "b"], "reward": pa.array([1.0, np.nan]), "sex": ["f", "m"]}), path)
    assert message(consume(path)) == f"{path}, {expected}"
    frame = pl.DataFrame({"arm": ["a", "b"], "reward": [1.0, np.nan], "sex": ["f", "m"]})
    assert message(consume(frame)) == f"dataframe, {expected}"
    # In pandas a NaN is how one writes that there is nothing.
    [chunk] = Log.open(frame.to_pandas()).chunks()
    assert np.isnan(chunk.reward[1])


def test_unknown_columns(tmp_path):
    path = csv(tmp_path, FINE)
    columns = "The columns are arm, reward, propensity, sex, context_age, time"
    assert message(consume(path, reward="rewrad")) == (
        f"{path}: there is no column 'rewrad'; did you mean 'reward'? {columns}"
    )
    assert message(consume(path, groups=["sex", "Tim"])) == (
        f"{path}: there is no column 'Tim'; did you mean 'time'? {columns}"
    )
    assert message(consume(path, arm="price")) == f"{path}: there is no column 'price'; {columns}"
    path = parquet(tmp_path, FINE)
    assert message(consume(path, propensity="propensities")).startswith(
        f"{path}: there is no column 'propensities'; did you mean 'propensity'?"
    )


def test_roles_that_nobody_plays(tmp_path):
    frame = pd.DataFrame({"what": ["a"], "gain": [1.0]})
    assert message(consume(frame)) == (
        "dataframe: which column is the arm? None is given, nor found by its name; name it: arm=... (--arm). "
        "The columns are what, gain"
    )
    assert message(consume(frame, arm="what", guess=False)) == (
        "dataframe: which column is the reward? None is given; name it: reward=... (--reward). "
        "The columns are what, gain"
    )
    many = pd.DataFrame({f"column {i}": [1] for i in range(30)})
    assert message(consume(many)).endswith("column 19 and 10 more")


def test_guesses_can_be_refused():
    frame = pd.DataFrame(FINE)
    log = Log.open(frame, arm="arm", reward="reward", guess=False)
    assert log.guessed == {}
    assert log.roles == Roles("arm", "reward")
    assert Log.open(frame, Roles("arm", "reward")).guessed == {}
    assert Log.open(frame, Roles("arm", "reward"), groups="sex").roles.groups == ("sex",)
    assert Log.open(frame.rename(columns=str.upper)).roles.reward == "REWARD"
    # A group may be a feature too; whatever is named by hand is nothing else.
    assert Log.open(frame, contexts=["sex"]).guessed["groups"] == ("sex",)
    assert "groups" not in Log.open(frame, time="sex").guessed
    assert "time" not in Log.open(frame, contexts=["time"]).guessed


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"arm": "arm", "reward": "arm"}, "column 'arm' was given more than one role"),
        ({"groups": ["sex", "sex"]}, "column 'sex' was given more than one role, or one role twice"),
        ({"time": "sex", "groups": ["sex"]}, "column 'sex' was given more than one role"),
        ({"arm": 3}, "arm must be the name of a column; got 3"),
        ({"groups": 3}, "groups must be names of columns, in a list; got 3"),
        ({"groups": [3]}, "groups must be the name of a column; got 3"),
        ({"rewards": "reward"}, "there is no role 'rewards'; did you mean 'reward'? The roles are arm, reward"),
    ],
)
def test_roles_that_make_no_sense(given, expected):
    with pytest.raises(ValueError, match="^" + expected.replace("?", r"\?")):
        Log.open(pd.DataFrame(FINE), **given)


def test_roles_from_a_file(tmp_path):
    path = tmp_path / "roles.toml"
    path.write_text('arm = "video"\ngroups = ["sex"]\n')
    assert read_roles(path) == {"arm": "video", "groups": ("sex",)}
    path.write_text('arms = "video"\n')
    assert message(lambda: read_roles(path)).startswith(f"{path}: there is no role 'arms'; did you mean 'arm'?")
    path.write_text("arm: video\n")
    assert message(lambda: read_roles(path)).startswith(f"{path}: not TOML (")
    assert message(lambda: read_roles(tmp_path / "none")).startswith(
        f"{tmp_path / 'none'}: cannot be read (No such"
    )


def test_what_is_no_log(tmp_path):
    assert message(consume(tmp_path / "none.csv")) == f"{tmp_path / 'none.csv'}: there is no such file or folder"
    (tmp_path / "log.xlsx").write_text("")
    assert message(consume(tmp_path / "log.xlsx")).endswith(
        "a log is a .csv or .parquet file, or a folder of such; got '.xlsx'"
    )
    (tmp_path / "empty").mkdir()
    assert message(consume(tmp_path / "empty")).endswith("there is no .parquet or .csv file in this folder")
    assert message(consume([1, 2])) == (
        "a list came; expected a path (.csv, .parquet, a folder of such) or a dataframe"
    )
    csv(tmp_path, FINE)
    parquet(tmp_path, FINE)
    assert message(consume(tmp_path)).endswith("it holds CSV and Parquet files; keep a log in files of one kind")


def test_empty_files(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("")
    assert (
        message(consume(path))
        == f"{path}: it is empty; expected a line with the names of the columns, then the rows"
    )
    path.write_text("arm,reward,sex\n")
    assert message(consume(path)) == f"{path}: it holds no rows; expected one for each decision"
    path = parquet(tmp_path, {"arm": pa.array([], pa.string()), "reward": pa.array([], pa.float64())})
    assert message(consume(path)) == f"{path}: it holds no rows; expected one for each decision"
    path.write_bytes(b"")
    assert message(consume(path)).startswith(f"{path}: not a Parquet file, or cut short or damaged (")
    assert message(consume(pd.DataFrame({"arm": [], "reward": []}))).startswith("dataframe: it holds no rows")


def test_a_truncated_parquet_file(tmp_path):
    path = parquet(tmp_path, FINE)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert message(consume(path)).startswith(f"{path}: not a Parquet file, or cut short or damaged (")
    # Damaged in the middle: found where those rows are read.
    path.write_bytes(whole[:4] + bytes(200) + whole[204:])
    assert message(consume(path)).startswith(
        f"{path}, from row 1 on: not a Parquet file, or cut short or damaged ("
    )


def test_another_type_in_another_file(tmp_path):
    parquet(tmp_path, FINE, "1.parquet")
    path = parquet(tmp_path, FINE | {"arm": [1, 2, 3, 4]}, "2.parquet")
    assert message(consume(tmp_path)) == (
        f"{path}, column 'arm', row 1: it holds int64 here, and words before; write one type in all of the log"
    )
    path = parquet(tmp_path, FINE | {"reward": ["good"] * 4}, "2.parquet")
    assert message(consume(tmp_path)).startswith(f"{path}, column 'reward', row 1: 'good' came; expected a number")
    path = parquet(tmp_path, FINE | {"time": [1, 2, 3, 4]}, "2.parquet")
    assert message(consume(tmp_path)).startswith(
        f"{path}, column 'time', row 1: it holds int64 here, and another type"
    )
    path = parquet(tmp_path, {name: FINE[name] for name in FINE if name != "sex"}, "2.parquet")
    assert message(consume(tmp_path)) == f"{path}: column 'sex' is not in this file, but in others of the log"


def test_another_type_in_another_chunk(tmp_path, monkeypatch):
    path = tmp_path / "log.csv"
    rows = [f"{i % 7},0.5,f" for i in range(4000)]
    rows[3500] = "seven,0.5,f"
    path.write_text("\n".join(["arm,reward,sex", *rows]))
    monkeypatch.setattr("fairbandits.logs.csv_files.BLOCK", 8000)
    assert message(consume(path)) == (
        f"{path}, column 'arm', row 3,501: 'seven' came; expected a whole number, as before in this column; keep "
        "one type, or write the log as Parquet"
    )
    frame = pd.DataFrame({"arm": ["a", 3], "reward": [1.0, 1.0], "sex": ["f", "m"]})
    assert message(consume(frame)) == (
        "dataframe, column 'arm', row 2: 3 came, a int, and str before; keep one type"
    )


def test_labels_that_are_no_labels(tmp_path):
    path = parquet(tmp_path, FINE | {"sex": [1.0, None, 0.5, 2.0]})
    assert message(consume(path)).startswith(
        f"{path}, column 'sex', row 3: 0.5 came; expected a label, a word or a whole number. Bin numbers first"
    )
    path = parquet(tmp_path, FINE | {"sex": [datetime.date(2024, 5, 1)] * 4})
    assert message(consume(path)).startswith(f"{path}, column 'sex', row 1: it holds date32")
    path = parquet(tmp_path, FINE | {"sex": [1.0, None, 2.0, 2.0]})
    [one, two] = Log.open(path).chunks()
    assert (one.group["sex"].codes.tolist(), two.group["sex"].codes.tolist()) == ([0, -1], [1, 1])
    assert two.group["sex"].labels == [1, 2]
    path = parquet(tmp_path, FINE | {"sex": [True, None, False, True]})
    assert [*Log.open(path).chunks()][1].group["sex"].labels == ["true", "false"]


def test_what_a_file_says_of_itself_may_be_out_of_date(tmp_path):
    table = pa.table(FINE)
    for said in (b'{"arm": "arm", "groups": ["sex", "race"], "time": "gone"}', b"[1]", b"nonsense"):
        pq.write_table(table.replace_schema_metadata({b"fairbandits.roles": said}), tmp_path / "log.parquet")
        log = Log.open(tmp_path / "log.parquet")
        assert log.roles == Roles("arm", "reward", ("sex",), "propensity", ("context_age",), "time")
        assert ("groups" in log.guessed) == (not said.startswith(b"{"))


def test_a_file_in_which_all_is_missing_says_no_type(tmp_path):
    parquet(tmp_path, FINE | {"sex": pa.nulls(4), "reward": pa.nulls(4)}, "1.parquet")
    parquet(tmp_path, FINE | {"sex": [1, 2, 1, 2]}, "2.parquet")
    chunks = list(Log.open(tmp_path).chunks())
    assert [chunk.group["sex"].codes.tolist() for chunk in chunks] == [[-1, -1], [-1, -1], [0, 1], [0, 1]]
    assert np.isnan(chunks[0].reward).all()


def test_a_quote_in_the_middle_of_a_cell(tmp_path, monkeypatch):
    path = tmp_path / "log.csv"
    arms = ['5" pipe', 'a "b" c', '"x, ""y""\nz"', "plain"]
    path.write_text("arm,reward,sex\r\n" + "".join(f"{arm},1,f\r\n\r\n" for arm in arms * 30))
    for block in (100, 1 << 20):
        monkeypatch.setattr("fairbandits.logs.csv_files.BLOCK", block)
        log = Log.open(path)
        expected = ['5" pipe', 'a "b" c', 'x, "y"\nz', "plain"] * 30
        found = [chunk.arm.labels[code] for chunk in log.chunks() for code in chunk.arm.codes]
        assert found == expected
        rows = [next(part.chunks()).first_row for part in log.split(5)]
        sizes = [sum(map(len, part.chunks())) for part in log.split(5)]
        assert sum(sizes) == 120
        assert rows == np.cumsum([0, *sizes[:-1]]).tolist()


def test_names_and_labels_that_cannot_be(tmp_path):
    assert message(consume(pd.DataFrame({0: ["a"], 1: [1.0]}))).startswith(
        "dataframe: columns have words as names"
    )
    path = parquet(tmp_path, FINE | {"sex": pa.array([2**63 + 5] * 4, pa.uint64())})
    assert message(consume(path)).startswith(
        f"{path}, column 'sex', row 1: 9223372036854775813 came, too large for a label"
    )


def test_csv_that_is_not_well_formed(tmp_path, monkeypatch):
    path = tmp_path / "log.csv"
    path.write_text("arm;reward;sex\na;1;f\n")
    assert message(consume(path, arm="arm")) == (
        f"{path}: there is no column 'arm'; its columns must be separated by commas. "
        "The columns are arm;reward;sex"
    )
    path.write_text("arm,reward,sex\na,1,f\na,1\n")
    assert message(consume(path)) == f"{path}, row 2: it has 2 cell(s); expected 3, one a column"
    path.write_text("arm,reward,arm\na,1,f\n")
    assert message(consume(path)).endswith("column 'arm' stands there more than once; rename one of them")
    path.write_bytes("arm,reward,sex\na,1,f\né,1,f\n".encode("latin-1"))
    assert message(consume(path)).startswith(f"{path}, row 2: b'\\xe9' is not UTF-8")
    path.write_text('arm,reward,sex\na,1,f\n"a,1,f\n' + "b,1,f\n" * 100)
    monkeypatch.setattr("fairbandits.logs.csv_files.BLOCK", 50)
    monkeypatch.setattr("fairbandits.logs.csv_files._LONGEST_ROW", 200)
    assert message(consume(path)).endswith("row 2: it does not end; is a quote opened and never closed?")
    csv(tmp_path, {"arm": ["a"], "reward": [1]}, "log.csv")
    second = csv(tmp_path, {"arm": ["a"], "gain": [1]}, "more.csv")
    assert message(consume(tmp_path)) == f"{second}: its columns are not those of {path}; keep a log in one form"


@pytest.mark.parametrize("write", [csv, parquet])
def test_folders_that_do_not_fit(tmp_path, write):
    for folder in ("sex=f", "race=1"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder, {"arm": ["a"], "reward": [1.0]})
    assert "its folders name ['sex'], and those of" in message(consume(tmp_path))


def test_a_wrong_value_in_a_folder_that_names_a_column(tmp_path):
    (tmp_path / "sex=f").mkdir()
    path = csv(tmp_path / "sex=f", changed("propensity", 2, 1.5))
    assert message(consume(tmp_path)).startswith(f"{path}, column 'propensity', row 3: 1.5 came; expected")
    path.write_text("arm,reward\na,1\n")
    (tmp_path / "sex=m").mkdir()
    other = tmp_path / "sex=m" / "log.csv"
    other.write_text("arm,reward\na,1\nb,1,2\n")
    # Where folders name all that is read, as here for the encoder, the rows are still those of the files.
    log = Log.open(tmp_path, contexts="sex")
    assert message(log.encoder) == f"{other}, row 2: it has 3 cell(s); expected 2, one a column"


def test_arguments_that_make_no_sense():
    log = Log.open(pd.DataFrame(FINE))
    with pytest.raises(ValueError, match=r"^rows must be an integer of at least 1, got 0"):
        log.chunks(rows=0)
    with pytest.raises(ValueError, match=r"^n must be an integer of at least 1, got 0"):
        log.split(0)


def test_an_error_travels_between_processes():
    error = pickle.loads(pickle.dumps(LogError("log.csv, row 3: wrong")))  # noqa: S301
    assert (type(error), str(error)) == (LogError, "log.csv, row 3: wrong")


@pytest.mark.parametrize("kind", ["csv", "parquet", "one row group"])
def test_a_log_larger_than_what_is_held_of_it(tmp_path, kind):
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
    whole = table.nbytes
    del table
    log = Log.open(path)
    sum(map(len, log.chunks(contexts=True, rows=10_000)))  # what is compiled and imported counts once
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
    assert peak + most < whole


@pytest.mark.parametrize("cell", ["1_0", "\u0661", "0,5"])
def test_what_python_takes_for_a_number_and_csv_does_not(tmp_path, cell):
    path = csv(tmp_path, changed("reward", 2, cell))
    assert message(consume(path)).startswith(f"{path}, column 'reward', row 3: {cell!r} came; expected a number")


def test_a_whole_number_that_is_too_large_later_on(tmp_path):
    path = csv(tmp_path, {"arm": [1] * 200_000 + [10**20], "reward": [1.0] * 200_001})
    assert "column 'arm', row 200,001: '100000000000000000000' came; expected a whole number of at most 64" in (
        message(consume(path))
    )


def test_lines_that_end_as_nobody_ends_them(tmp_path):
    (tmp_path / "log.csv").write_bytes(b"arm,reward\ra,1\rb,0\r")
    assert "write it with newlines" in message(consume(tmp_path / "log.csv"))


def test_empty_lines_are_no_rows(tmp_path):
    (tmp_path / "log.csv").write_bytes(b"arm,reward\n\n\r\n\n")
    assert "it holds no rows" in message(consume(tmp_path / "log.csv"))


def test_another_separator_is_pointed_out_before_anybody_names_a_column(tmp_path):
    (tmp_path / "log.csv").write_text("arm;reward\na;1\n")
    assert "its columns must be separated by commas" in message(consume(tmp_path / "log.csv"))


def test_times_are_no_labels(tmp_path):
    path = parquet(tmp_path, FINE | {"sex": [datetime.datetime(2024, 5, 1)] * 4})
    assert "column 'sex', row 1: it holds timestamp[us]; expected labels" in message(consume(path))
