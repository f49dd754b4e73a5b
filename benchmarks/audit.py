"""W6: an audit of a log, compared with plain polars group-by-means of the same file.

    python benchmarks/audit.py [--rows 10000000] [--turns 5]
    python benchmarks/audit.py --table    # the table of docs/audit.md, from the last results

The log is a Parquet file of five columns: the arm (one of a hundred), the reward, the propensity, and two
attributes. Both sides run interleaved in one process and use all cores; medians are reported. Peak memory and the
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
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import results
from fairbandits.audit import audit

ROW_GROUP = 1_000_000
ARMS, SEXES, RACES = [f"video {i}" for i in range(100)], ["female", "male"], ["Asian", "Black", "White", "other"]
# Run in a separate process, without polars.
_PEAK = "import sys, measure, fairbandits.audit as a; a.audit(sys.argv[1]); print(measure.peak_bytes())"


def write_log(path: Path, rows: int) -> None:
    """Write a log with a small gap in favour of male users, one row group at a time."""
    rng = np.random.default_rng(0)
    writer = None
    for start in range(0, rows, ROW_GROUP):
        n = min(ROW_GROUP, rows - start)
        sex = rng.integers(0, 2, n)
        reward = rng.beta(2.0 + 0.2 * sex, 2.0)
        table = pa.table(
            {
                "arm": _text_column(ARMS, rng.integers(0, len(ARMS), n)),
                "reward": pa.array(reward, mask=rng.random(n) < 0.03),
                "propensity": rng.uniform(0.1, 1.0, n),
                "sex": _text_column(SEXES, sex),
                "race": _text_column(RACES, rng.choice(len(RACES), n, p=[0.1, 0.15, 0.7, 0.05])),
            }
        )
        writer = pq.ParquetWriter(path, table.schema) if writer is None else writer
        writer.write_table(table)
    assert writer is not None  # noqa: S101 - a log has at least one row
    writer.close()


def _text_column(labels: list[str], codes: Any) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(labels)).cast(pa.string())


def polars_means(path: Path, *columns: str) -> Callable[[], Any]:
    """Return a function that computes the group-by-mean with polars."""
    return lambda: pl.scan_parquet(path).group_by(*columns).agg(pl.col("reward").mean()).collect()


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


def peak_bytes(path: Path) -> int:
    """Return the peak memory of an audit in a separate process."""
    command = [sys.executable, "-c", _PEAK, str(path)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True, cwd=results.ROOT).stdout)


def command_seconds(path: Path, out: Path) -> float:
    """Return the time of the whole command, from the start of Python to the report."""
    command = [sys.executable, "-m", "fairbandits", "audit", str(path), "--out", str(out)]
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def markdown(result: dict[str, Any]) -> str:
    """Return the table of the documentation: seconds, and ratios to polars."""
    names = ["audit", *result["ratios"]]
    lines = [f"| rows | {' | '.join(names)} |", "| --- " * (len(names) + 1) + "|"]
    for rows, seconds in result["seconds"].items():
        cells = [f"{seconds[name]:.3f} s" for name in names]
        lines.append(f"| {int(rows):,} | {' | '.join(cells)} |")
    ratios = [f"{ratio:.2f} times" for ratio in result["ratios"].values()]
    lines.append(f"| ratio for {result['rows']:,} rows | | {' | '.join(ratios)} |")
    return "\n".join(lines)


def main() -> int:
    """Measure, print and store the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        print(markdown(results.read()["audit"]))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        seconds = {}
        for rows in (options.rows // 100, options.rows // 10, options.rows):
            path = Path(folder) / f"{rows}.parquet"
            write_log(path, rows)
            tasks: dict[str, Callable[[], Any]] = {
                "audit": partial(audit, path),
                "polars, by sex": polars_means(path, "sex"),
                "polars, by sex and race": polars_means(path, "sex", "race"),
                "polars, by arm, sex and race": polars_means(path, "arm", "sex", "race"),
            }
            seconds[rows] = measure_interleaved(tasks, options.turns)
            print(f"{rows:,} rows: " + ", ".join(f"{name} {value:.3f} s" for name, value in seconds[rows].items()))
        peak, whole_command = peak_bytes(path), command_seconds(path, Path(folder))
    last = seconds[options.rows]
    ratios = {name: last["audit"] / value for name, value in last.items() if name != "audit"}
    print("time of the audit: " + ", ".join(f"{ratio:.2f} times {name}" for name, ratio in ratios.items()))
    print(f"peak memory: {peak / 2**20:.0f} MiB; the whole command: {whole_command:.1f} s")
    results.save(
        "audit",
        {
            "machine": results.machine(),
            "rows": options.rows,
            "seconds": {str(rows): medians for rows, medians in seconds.items()},
            "ratios": ratios,
            "peak_bytes": peak,
            "whole_command_s": whole_command,
        },
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
