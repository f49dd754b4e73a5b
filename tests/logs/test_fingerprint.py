"""Fingerprints: the hash of the files, or of the values of sources that have none."""

import datetime
import hashlib

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from fairbandits.logs import Fingerprint, Log
from tests.logs.helpers import VALID, csv, error_of, parquet
from tests.logs.test_log import make


@pytest.mark.parametrize("write", [csv, parquet])
def test_a_file_has_the_hash_of_its_bytes(tmp_path, write):
    path = write(tmp_path, VALID)
    assert Log.open(path).fingerprint() == Fingerprint(hashlib.sha256(path.read_bytes()).hexdigest(), 4)


def test_files_are_hashed_in_order(tmp_path):
    paths = [csv(tmp_path, make(300, seed), f"{seed}.csv") for seed in range(3)]
    found = Log.open(tmp_path).fingerprint()
    assert found == Fingerprint(hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest(), 900)
    assert Log.open(paths[::-1]).fingerprint() != found
    assert Log.open(tmp_path, reward="propensity", propensity=None, groups="race").fingerprint() == found
    log = Log.open(tmp_path)
    paths[1].unlink()
    assert error_of(log.fingerprint) == f"{paths[1]}: cannot be read (No such file or directory)"


def test_partition_values_are_data(tmp_path):
    found = []
    for sexes in ("fm", "mf"):
        table = pa.table({"arm": ["a", "b"], "reward": [1.0, 0.0], "sex": list(sexes)})
        folder = tmp_path / sexes
        ds.write_dataset(table, folder, format="csv", partitioning=["sex"], partitioning_flavor="hive")
        found.append(Log.open(folder).fingerprint().sha256)
    assert found[0] != found[1]


def fingerprint(columns):
    return Log.open(pd.DataFrame(columns)).fingerprint()


def test_dataframes_have_the_hash_of_their_values(monkeypatch):
    columns = make(500)
    found = fingerprint(columns)
    assert found.rows == 500
    for size in (7, 500):  # whatever the batches
        monkeypatch.setattr("fairbandits.logs.fingerprint.BATCH_ROWS", size)
        assert fingerprint(columns) == found
    assert Log.open(pl.DataFrame(columns)).fingerprint() == found
    assert Log.open(pa.table(columns)).fingerprint() == found
    assert fingerprint(columns | {"unused": range(500)}) == found
    other = {
        "arm": columns["arm"][::-1],
        "reward": [0.5, *columns["reward"][1:]],
        "sex": [None if each == "male" else each for each in columns["sex"]],
        "time": [each + datetime.timedelta(microseconds=1) for each in columns["time"]],
        "race": [each + 1 for each in columns["race"]],
    }
    different = {fingerprint(columns | {name: values}).sha256 for name, values in other.items()}
    assert len(different | {found.sha256}) == 6


def test_bytes_cannot_move_from_one_value_to_the_next():
    columns = {"arm": ["a", "b"], "reward": [1.0, 0.0], "sex": ["ab", "c"]}
    assert fingerprint(columns) != fingerprint(columns | {"sex": ["a", "bc"]})
    assert fingerprint(columns | {"sex": ["", "a"]}) != fingerprint(columns | {"sex": [None, "a"]})


def test_values_of_all_types():
    base = {"arm": ["a", "b"], "reward": [1.0, 0.0]}
    values = [[True, False], [1, 2], [1.0, None], [datetime.date(2024, 5, 1)] * 2, [b"x", b"y"], ["x", None]]
    tables = [pa.table(base | {"context_x": column}) for column in values]
    tables += [pa.table(base | {"context_x": pa.nulls(2)})]
    tables += [pa.table(base | {"context_x": pa.array([2**60, 2**60 + n])}) for n in (1, 2)]
    assert len({Log.open(table).fingerprint().sha256 for table in tables}) == len(tables)
