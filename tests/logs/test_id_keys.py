"""Keys of users and decisions: equal for equal ids, whatever stores them."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits.logs import Log
from fairbandits.logs.errors import Location, LogError
from fairbandits.logs.id_keys import as_keys

PLACE = Location("log.csv")
TEXT_TYPES = [pa.string(), pa.large_string(), pa.string_view(), pa.large_binary()]


def keys(values, arrow_type=None):
    return as_keys(pa.array(values, arrow_type), "user", PLACE).tolist()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.none(), st.text()), max_size=20), st.integers(0, 5))
def test_text_of_all_types(values, start):
    found = [as_keys(pa.array(values, pa.string()).cast(kind)[start:], "user", PLACE) for kind in TEXT_TYPES]
    found.append(as_keys(pa.array(values, pa.string()).dictionary_encode()[start:], "user", PLACE))
    assert all(each.dtype == np.uint64 for each in found)
    assert all((each == found[0]).all() for each in found)
    assert (found[0] == 0).tolist() == [not value for value in values[start:]]
    # Equal keys mean equal ids.
    assert len(set(found[0].tolist())) == len({value or None for value in values[start:]})


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), max_size=20))
def test_an_integer_has_the_key_of_its_decimal_text(values):
    text = [None if value is None else str(value) for value in values]
    assert keys(values, pa.int64()) == keys(text, pa.string())
    assert (np.array(keys(values, pa.int64())) == 0).tolist() == [value is None for value in values]


def test_numbers_of_all_types():
    expected = keys([3, 0, None, 250])
    for kind in (pa.uint8(), pa.int16(), pa.uint64(), pa.float64(), pa.decimal128(22, 2)):
        assert as_keys(pa.array([3, 0, None, 250]).cast(kind), "user", PLACE).tolist() == expected
    assert len({*keys([2**64 - 1, 2**63], pa.uint64()), 0}) == 3
    assert keys([None, None]) == [0, 0]
    assert keys([True, None, False]) == keys(["true", None, "false"])
    assert keys([]) == []


def test_ids_are_kept_as_written():
    different = ["7", "07", "+7", "-7", "7.0", " 7", "-0", "0", "A", "a", "é", "e", "-", "99999999999999999999"]
    assert len(set(keys(different))) == len(different)
    assert len(set(keys([b"a" * n for n in range(1, 40)], pa.binary()))) == 39
    assert len(set(keys([b"a" * 15 + b"b", b"a" * 16], pa.binary(16)))) == 2


def test_a_dictionary_longer_than_the_rows():
    array = pa.array([f"u{i}" for i in range(100)]).dictionary_encode()
    assert as_keys(array[40:43], "user", PLACE).tolist() == keys(["u40", "u41", "u42"])


def test_keys_of_similar_ids_are_well_mixed():
    found = np.array(keys(list(range(100_000))) + keys([f"user {i}" for i in range(100_000)]), np.uint64)
    assert len(np.unique(found)) == 200_000
    for bits in (found >> np.uint64(48), found & np.uint64(0xFFFF)):
        # 65,536 cells with three keys each: the variance of a cell is its mean.
        assert np.bincount(bits.astype(int), minlength=1 << 16).var() == pytest.approx(200_000 / 65_536, rel=0.05)


def test_invalid_ids():
    for values, expected in (
        ([[1]], "column 'user', row 1: ids must be text or integers, got list<item: int64>"),
        ([1.0, 1.5], "column 'user', row 2: id must be text or an integer, got 1.5; ids are text or integers"),
    ):
        with pytest.raises(LogError, match=f"^log.csv, {expected}$"):
            keys(values)


def test_keys_are_the_same_in_another_process():
    code = "from tests.logs.test_id_keys import keys; print(keys(['anna', '12', None]), keys([12]))"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    ).stdout
    assert found == f"{keys(['anna', '12', None])} {keys([12])}\n"


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
@pytest.mark.parametrize("ids", [[5, 7, 5, 12], ["005", "x", "005", "12"], ["5", "7", "5", None]])
def test_users_and_decisions_of_a_log(tmp_path, kind, ids):
    n = 4000
    table = pa.table({"user_id": ids * n, "id": [*range(4 * n)], "arm": ["a"] * 4 * n, "reward": [1.0] * 4 * n})
    source = table
    if kind == "csv":
        source = tmp_path / "log.csv"
        table.to_pandas().to_csv(source, index=False)
    elif kind == "parquet":
        source = tmp_path / "log.parquet"
        pq.write_table(table, source, row_group_size=3000)
    log = Log.open(source)
    assert log.guessed["user"] == "user_id"
    for parts in ([log], log.split(3)):
        chunks = [chunk for part in parts for chunk in part.chunks(rows=1000)]
        assert np.concatenate([chunk.user for chunk in chunks]).tolist() == keys(ids * n)
        assert chunks[0].decision is None
    chunks = list(log.chunks(columns=["id"]))
    assert np.concatenate([chunk.decision for chunk in chunks]).tolist() == keys(range(4 * n))
    assert chunks[0].user is None


def test_factors(tmp_path):
    columns = {
        "arm": ["a"] * 4,
        "reward": [1.0] * 4,
        "sex": ["f", None, "m", "f"],
        "race": [2, 1, None, 2],
        "context_age": [30.0, 40.0, 41.0, 50.0],
        "education": ["low", "high", None, "low"],
        "married": [True, False, None, True],
    }
    pd.DataFrame(columns).to_csv(tmp_path / "log.csv", index=False)
    pq.write_table(pa.table(columns), tmp_path / "log.parquet", row_group_size=2)
    for source in (tmp_path / "log.csv", tmp_path / "log.parquet", pa.table(columns)):
        log = Log.open(source, given=["education", "race", "sex", "context_age", "married"])
        assert log.roles.contexts == ("context_age",)
        assert log.roles.groups == ("sex", "race")
        chunks = list(log.chunks(contexts=True))
        assert list(chunks[0].given) == list(log.roles.given)
        for name in ("education", "sex", "married"):
            labels = [*chunks[-1].given[name].labels, None]
            found = [labels[code] for chunk in chunks for code in chunk.given[name].codes]
            assert [label if label is None else label.lower() for label in found] == [
                value if value is None else str(value).lower() for value in columns[name]
            ]
        for name in ("race", "context_age"):
            found = np.concatenate([chunk.given[name] for chunk in chunks])
            np.testing.assert_array_equal(found, np.array(columns[name], float))
        assert [*next(log.chunks(columns=["sex", "education"])).given] == ["education", "sex"]
    with pytest.raises(LogError, match="column 'time', row 1: labels must be text or integers, got timestamp"):
        next(Log.open(pa.table(columns | {"time": [pd.Timestamp(0)] * 4}), given="time").chunks())
