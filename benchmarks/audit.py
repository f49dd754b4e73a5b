"""W6: an audit of a log with users who come back, compared with DuckDB's `GROUP BY user, group` of the same file.

    python benchmarks/audit.py [--rows 50000000] [--turns 3]
    python benchmarks/audit.py --table    # the table of docs/reference/audit.md, from the last results

The log is a Parquet file: the user (25 decisions each), the arm (one of a hundred), the reward, the time and one
attribute. Both sides run interleaved in one process and use all cores; medians are reported. Peak memory and the
time of the whole command are measured in separate processes. Writes the section "audit" of results.json.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import results
from fairbandits.audit import audit

ROW_GROUP = 1_000_000
ROWS_PER_USER = 25
ARMS, SEXES = [f"video {i}" for i in range(100)], ["female", "male"]
DUCKDB = "DuckDB, GROUP BY user, sex"
GOAL_ROWS, MAX_RATIO, MAX_BYTES = 50_000_000, 4.0, 2 * 2**30
# Run in a separate process, without DuckDB.
_PEAK = "import sys, measure, fairbandits.audit as a; a.audit(sys.argv[1]); print(measure.peak_bytes())"


def write_log(path: Path, rows: int) -> None:
    """Write a log with a small gap in favour of male users, one row group at a time."""
    rng = np.random.default_rng(0)
    n_users = max(rows // ROWS_PER_USER, 100)
    writer = None
    for start in range(0, rows, ROW_GROUP):
        n = min(ROW_GROUP, rows - start)
        user = rng.integers(0, n_users, n)
        sex = user % 2
        time_ = np.datetime64("2026-01-01", "us") + ((start + np.arange(n)) * (90 * 86_400_000_000 // rows))
        table = pa.table(
            {
                "user": user,
                "arm": _text_column(ARMS, rng.integers(0, len(ARMS), n)),
                "reward": pa.array(rng.beta(2.0 + 0.2 * sex, 2.0), mask=rng.random(n) < 0.03),
                "time": pa.array(time_),
                "sex": _text_column(SEXES, sex),
            }
        )
        writer = pq.ParquetWriter(path, table.schema) if writer is None else writer
        writer.write_table(table)
    assert writer is not None  # noqa: S101 - a log has at least one row
    writer.close()


def _text_column(labels: list[str], codes: Any) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(labels)).cast(pa.string())


def duckdb_groups(path: Path) -> Callable[[], Any]:
    """Return a function that groups the log by user and sex with DuckDB."""
    query = f"SELECT user, sex, count(reward), sum(reward) FROM '{path}' GROUP BY user, sex"  # noqa: S608
    # A cast, because DuckDB declares that a statement may have no result.
    return lambda: cast(Any, duckdb.sql(query)).to_arrow_table()


def measure_interleaved(tasks: dict[str, Callable[[], Any]], turns: int) -> dict[str, float]:
    """Return the median seconds of each task over interleaved turns, after a warm-up."""
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for turn in range(turns + 1):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            if turn:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def peak_bytes(path: Path, code: str = _PEAK) -> int:
    """Return the peak memory of code that reads a log, by default an audit, in a separate process."""
    command = [sys.executable, "-c", code, str(path)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True, cwd=results.ROOT).stdout)


def command_seconds(path: Path, out: Path) -> float:
    """Return the time of the whole command, from the start of Python to the report."""
    command = [sys.executable, "-m", "fairbandits", "audit", str(path), "--out", str(out)]
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def markdown(result: dict[str, Any]) -> str:
    """Return the table of the documentation: seconds, and the ratio to DuckDB."""
    names = ["audit", *result["ratios"]]
    lines = [f"| rows | {' | '.join(names)} |", "| --- " * (len(names) + 1) + "|"]
    for rows, seconds in result["seconds"].items():
        cells = [f"{seconds[name]:.3f} s" for name in names]
        lines.append(f"| {int(rows):,} | {' | '.join(cells)} |")
    ratios = [f"{ratio:.2f} times" for ratio in result["ratios"].values()]
    lines.append(f"| ratio for {result['rows']:,} rows | | {' | '.join(ratios)} |")
    return "\n".join(lines)


def read_options(title: str, rows: int) -> argparse.Namespace:
    """Return the options of a benchmark that reads a log of some rows."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--rows", type=int, default=rows)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--table", action="store_true")
    return parser.parse_args()


def main() -> int:
    """Measure, print and store the results."""
    options = read_options(__doc__.splitlines()[0], GOAL_ROWS)
    if options.table:
        print(markdown(results.read()["audit"]))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        seconds = {}
        for rows in sorted({max(options.rows // divisor, 1_000) for divisor in (500, 50, 5, 1)}):
            path = Path(folder) / f"{rows}.parquet"
            write_log(path, rows)
            tasks: dict[str, Callable[[], Any]] = {
                "audit": partial(audit, path, tolerance=0.01),
                DUCKDB: duckdb_groups(path),
            }
            seconds[str(rows)] = measure_interleaved(tasks, options.turns)
            print(f"{rows:,}: {seconds[str(rows)]}", flush=True)
        largest = seconds[str(options.rows)]
        result = {
            "machine": results.machine(),
            "rows": options.rows,
            "seconds": seconds,
            "ratios": {DUCKDB: largest["audit"] / largest[DUCKDB]},
            "peak_bytes": peak_bytes(path),
            "command_s": command_seconds(path, Path(folder) / "out"),
        }
    results.save("audit", result)
    print(markdown(result))
    print(f"peak memory {result['peak_bytes'] / 2**30:.2f} GiB; the whole command {result['command_s']:.1f} s")
    # Of a short log, starting takes most of the time.
    is_long = options.rows >= GOAL_ROWS
    return int(is_long and (result["ratios"][DUCKDB] > MAX_RATIO or result["peak_bytes"] > MAX_BYTES))


if __name__ == "__main__":
    sys.exit(main())
