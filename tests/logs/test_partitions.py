"""Hive-partitioned datasets: columns encoded in folder names as `column=value`."""

import datetime
import pickle

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from fairbandits.contexts import CategoryEncoder, TableEncoder
from fairbandits.logs import Log, LogError
from tests.logs.helpers import changed, csv, error_of, parquet, reading
from tests.logs.test_log import make, read

KINDS = pytest.mark.parametrize("kind", ["parquet", "csv"])
NULL = "__HIVE_DEFAULT_PARTITION__"


@KINDS
def test_a_partitioned_dataset(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("fairbandits.logs.text_blocks.BLOCK_SIZE", 5000)
    columns = make()
    ds.write_dataset(
        pa.table(columns), tmp_path, format=kind, partitioning=["sex", "race"], partitioning_flavor="hive"
    )
    log = Log.open(tmp_path)
    found = read(log, rows=100)
    keys = ("arm", "sex", "race", "propensity")

    def rows(table):
        return sorted(zip(*(table[key] for key in keys), strict=True), key=repr)

    assert rows(found) == rows(columns)
    assert isinstance(found["race"][0], int)
    parts = [pickle.loads(pickle.dumps(part)) for part in log.split(3)]  # noqa: S301 - as for another process
    races = [chunk.group["race"] for part in parts for chunk in part.chunks()]
    assert [race.labels[code] for race in races for code in race.codes] == found["race"]


def partitioned(root, column, values, kind, columns=None):
    """Write a file of two decisions into a partition folder for each value."""
    frame = pd.DataFrame(columns or {"arm": ["a", "b"], "reward": [1.0, 0.0]})
    for value in values:
        folder = root / f"{column}={value}"
        folder.mkdir(parents=True)
        if kind == "csv":
            frame.to_csv(folder / "0.csv", index=False)
        else:
            frame.to_parquet(folder / "0.parquet")
    return root


@KINDS
def test_integers_are_labels_times_and_features(tmp_path, kind):
    integers = partitioned(tmp_path / "gaps", "n", [3, 7, NULL], kind)
    assert read(Log.open(integers, groups="n"))["n"] == [3, 3, 7, 7, None, None]
    assert read(Log.open(integers, time="n"))["time"][:4] == [3.0, 3.0, 7.0, 7.0]
    known = Log.open(integers).with_encoder(TableEncoder((CategoryEncoder("n", ("3", "7")),)))
    assert read(known, contexts=True)["contexts"].tolist() == [[1, 0], [1, 0], [0, 1], [0, 1], [0, 0], [0, 0]]
    filled = partitioned(tmp_path / "filled", "n", [3, 7], kind)
    encoded = read(Log.open(filled, contexts="n"), contexts=True)["contexts"].tolist()
    assert encoded == [[1, 0], [1, 0], [1, 1], [1, 1]]


@KINDS
def test_text_is_url_decoded(tmp_path, kind):
    log = Log.open(
        partitioned(tmp_path, "city", ["Paris", "S%C3%A3o%20Paulo", NULL], kind), groups="city", contexts="city"
    )
    found = read(log, contexts=True)
    assert found["city"] == ["Paris", "Paris", "São Paulo", "São Paulo", None, None]
    assert log.encoder().features == ("constant", "city=Paris", "city=São Paulo", "city is missing")
    assert found["contexts"][:, 1:].tolist() == [[1, 0, 0]] * 2 + [[0, 1, 0]] * 2 + [[0, 0, 1]] * 2


@KINDS
def test_dates(tmp_path, kind):
    days = partitioned(tmp_path, "day", ["2024-05-01", "2024-05-02"], kind)
    assert read(Log.open(days, time="day"))["time"][1:3] == [datetime.datetime(2024, 5, d) for d in (1, 2)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3, 10**20], ["100000000000000000000", "3"]),  # beyond 64 bits
        ([3, 10**12], [10**12, 3]),  # beyond the 32 bits of pyarrow's own inference
        (["-4", "5"], [-4, 5]),
        (["007", "8"], ["007", "8"]),  # a leading zero is kept
        (["+4", "5"], ["+4", "5"]),
    ],
)
def test_values_are_integers_only_if_all_are_written_as_64_bit_integers(tmp_path, values, expected):
    log = Log.open(partitioned(tmp_path, "id", values, "csv"), groups="id")
    assert read(log)["id"] == [value for value in expected for _ in range(2)]


def test_column_names_are_url_decoded(tmp_path):
    table = pa.table({"arm": ["a", "b"], "reward": [1.0, 0.0], "age group": ["young", "old"]})
    ds.write_dataset(table, tmp_path, format="parquet", partitioning=["age group"], partitioning_flavor="hive")
    assert sorted(read(Log.open(tmp_path, groups="age group"))["age group"]) == ["old", "young"]


def test_folders_must_be_utf_8(tmp_path):
    message = error_of(lambda: Log.open(partitioned(tmp_path, "city", ["%ff"], "csv")))
    assert message.startswith(f"{tmp_path}: folder names must be UTF-8, URL-encoded or not (")


@pytest.mark.parametrize("write", [csv, parquet])
def test_all_files_must_have_the_same_partition_columns(tmp_path, write):
    paths = []
    for folder in ("sex=f", "race=1"):
        (tmp_path / folder).mkdir()
        paths.append(write(tmp_path / folder, {"arm": ["a"], "reward": [1.0]}))
    assert error_of(reading(tmp_path)) == (
        f"{paths[0]}: partition columns must be ['race'] as in {paths[1]}, got ['sex']"
    )


def test_errors_name_the_file_within_the_partition(tmp_path):
    (tmp_path / "sex=f").mkdir()
    path = csv(tmp_path / "sex=f", changed("propensity", 2, 1.5))
    expected = "column 'propensity', row 3: propensity must be above 0 and at most 1, got 1.5"
    assert error_of(reading(tmp_path)) == f"{path}, {expected}"
    path.write_text("arm,reward\na,1\n")
    (tmp_path / "sex=m").mkdir()
    other = tmp_path / "sex=m" / "log.csv"
    other.write_text("arm,reward\na,1\nb,1,2\n")
    # Even if only partition columns are read, as here for the encoder, the rows of the files are counted.
    log = Log.open(tmp_path, contexts="sex")
    assert error_of(log.encoder) == f"{other}, row 2: row must have 2 cells, got 3"


@KINDS
def test_the_partition_takes_precedence_over_a_column_of_the_file(tmp_path, kind):
    for sex in "fm":
        # polars writes the partition columns into the files too.
        partitioned(tmp_path, "sex", [sex], kind, {"sex": ["x", sex], "arm": ["a", "b"], "reward": [1.0, 0.0]})
    log = Log.open(tmp_path)
    assert log.roles.groups == ("sex",)
    assert read(log)["sex"] == ["f", "f", "m", "m"]
    with pytest.raises(LogError, match=r"there is no column 'price'; the columns are arm, reward, sex$"):
        Log.open(tmp_path, arm="price")
