"""A valid log, ways to store it, and the message of the error that reading it raises."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairbandits.logs import Log, LogError

VALID = {
    "arm": ["a", "b", "a", "b"],
    "reward": [1.0, None, 0.0, 0.5],
    "propensity": [0.5, 0.5, 0.25, 1.0],
    "sex": ["f", "m", None, "f"],
    "context_age": [30.0, 40.0, 50.0, 60.0],
    "time": ["2024-05-01", "2024-05-02", "2024-05-03", "2024-05-04"],
}


def error_of(read):
    """Return the message of the LogError that a call raises; it must be a single line."""
    with pytest.raises(LogError) as caught:
        read()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def reading(source, **roles):
    """Return a function that reads a whole log."""

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
    """Return the valid log with one cell changed."""
    values = list(VALID[column])
    values[row] = value
    return VALID | {column: values}
