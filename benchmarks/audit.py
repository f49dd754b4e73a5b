"""W6: a whole audit of a log, beside a bare polars group-by-mean of the same file.

    python benchmarks/audit.py [--rows 10000000] [--turns 5]
    python benchmarks/audit.py --table    # the table of docs/audit.md, of the last results

The log is a Parquet file of five columns: the arm (one of a hundred words), the reward, the propensity, and two
attributes. Both sides take turns in one process and use all cores; medians count. Memory, and the whole command
from its start to its report, are measured in processes of their own. Writes the part "audit" of results.json.
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
# In a process that does nothing else, and without polars.
_PEAK = "import sys, measure, fairbandits.audit as a; a.audit(sys.argv[1]); print(measure.peak_bytes())"


def write_log(path: Path, rows: int) -> None:
    """Write a log in which male users gain a little more, a row group at a time."""
    rng = np.random.default_rng(0)
    writer = None
    for start in range(0, rows, ROW_GROUP):
        n = min(ROW_GROUP, rows - start)
        sex = rng.integers(0, 2, n)
        reward = rng.beta(2.0 + 0.2 * sex, 2.0)
        table = pa.table(
            {
                "arm": _words(ARMS, rng.integers(0, len(ARMS), n)),
                "reward": pa.array(reward, mask=rng.random(n) < 0.03),
                "propensity": rng.uniform(0.1, 1.0, n),
                "sex": _words(SEXES, sex),
                "race": _words(RACES, rng.choice(len(RACES), n, p=[0.1, 0.15, 0.7, 0.05])),
            }
        )
        writer = pq.ParquetWriter(path, table.schema) if writer is None else writer
        writer.write_table(table)
    assert writer is not None  # noqa: S101 - there is at least one row
    writer.close()


def _words(words: list[str], codes: Any) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(words)).cast(pa.string())


def by_polars(path: Path, *columns: str) -> Callable[[], Any]:
    """Give the bare group-by-mean."""
    return lambda: pl.scan_parquet(path).group_by(*columns).agg(pl.col("reward").mean()).collect()


def in_turns(works: dict[str, Callable[[], Any]], turns: int) -> dict[str, float]:
    """Give the median seconds of each, taking turns; the first turn only warms up."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(turns + 1):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            if turn:
                taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def peak_bytes(path: Path) -> int:
    """Give the most memory that an audit takes in a process of its own."""
    command = [sys.executable, "-c", _PEAK, str(path)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True, cwd=results.ROOT).stdout)


def whole_seconds(path: Path, out: Path) -> float:
    """Time the whole command: start, imports, audit, page and JSON."""
    command = [sys.executable, "-m", "fairbandits", "audit", str(path), "--out", str(out)]
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def markdown(found: dict[str, Any]) -> str:
    """Write the table of the documentation: seconds, and how many times those of polars the audit takes."""
    names = ["audit", *found["ratios"]]
    lines = [f"| rows | {' | '.join(names)} |", "| --- " * (len(names) + 1) + "|"]
    for rows, seconds in found["seconds"].items():
        cells = [f"{seconds[name]:.3f} s" for name in names]
        lines.append(f"| {int(rows):,} | {' | '.join(cells)} |")
    ratios = [f"{ratio:.2f} times" for ratio in found["ratios"].values()]
    lines.append(f"| the last, as a ratio | | {' | '.join(ratios)} |")
    return "\n".join(lines)


def main() -> int:
    """Measure, print, and keep it."""
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
            works: dict[str, Callable[[], Any]] = {
                "audit": partial(audit, path),
                "polars, by sex": by_polars(path, "sex"),
                "polars, by sex and race": by_polars(path, "sex", "race"),
                "polars, by arm, sex and race": by_polars(path, "arm", "sex", "race"),
            }
            seconds[rows] = in_turns(works, options.turns)
            print(f"{rows:,} rows: " + ", ".join(f"{name} {value:.3f} s" for name, value in seconds[rows].items()))
        peak, whole = peak_bytes(path), whole_seconds(path, Path(folder))
    last = seconds[options.rows]
    ratios = {name: last["audit"] / value for name, value in last.items() if name != "audit"}
    print("the audit takes " + ", ".join(f"{ratio:.2f} times {name}" for name, ratio in ratios.items()))
    print(f"most memory: {peak / 2**20:.0f} MiB; the whole command: {whole:.1f} s")
    results.save(
        "audit",
        {
            "machine": results.machine(),
            "rows": options.rows,
            "seconds": {str(rows): found for rows, found in seconds.items()},
            "ratios": ratios,
            "peak_bytes": peak,
            "whole_command_s": whole,
        },
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
