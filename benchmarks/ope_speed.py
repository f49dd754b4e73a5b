"""W7: an evaluation of a policy given as a column of probabilities, compared with three bare passes over the file.

    python benchmarks/ope_speed.py [--rows 10000000] [--turns 3]
    python benchmarks/ope_speed.py --table    # the table of docs/reference/evaluation.md, from the last results

The log has a user (10 decisions each), an arm (one of twenty), the reward, the propensity, one attribute and the
probability of the policy. A bare pass reads all columns with pyarrow and does nothing with them. Both sides run
interleaved in one process; medians are reported. Peak memory is measured in a separate process. The exit status is
1 if the evaluation takes more than three times as long as three passes, or 1 GiB. Writes the section "ope" of
results.json.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

import results
from audit import ROW_GROUP, measure_interleaved, peak_bytes, read_options
from fairbandits.ope import ProbabilityColumn, evaluate

ROWS_PER_USER, ARMS = 10, 20
GOAL_ROWS, MAX_RATIO, MAX_BYTES = 10_000_000, 3.0, 2**30
_PEAK = (
    "import sys, measure; from fairbandits.ope import evaluate; evaluate(sys.argv[1], 'column:p_new'); "
    "print(measure.peak_bytes())"
)


def write_log(path: Path, rows: int) -> None:
    """Write a log of a uniform policy, one row group at a time."""
    rng = np.random.default_rng(0)
    writer: Any = None
    for start in range(0, rows, ROW_GROUP):
        n = min(ROW_GROUP, rows - start)
        user, arm = rng.integers(0, max(rows // ROWS_PER_USER, 100), n), rng.integers(0, ARMS, n)
        table = pa.table(
            {
                "user": user,
                "arm": np.array([f"arm {number}" for number in range(ARMS)])[arm],
                "reward": (rng.random(n) < 0.3 + 0.01 * arm) * 1.0,
                "propensity": np.full(n, 1.0 / ARMS),
                "sex": np.array(["female", "male"])[user % 2],
                "p_new": np.where(arm == 3, 0.62, 0.02),
            }
        )
        if writer is None:
            opener = pq.ParquetWriter if path.suffix == ".parquet" else pc.CSVWriter
            writer = opener(path, table.schema)
        writer.write_table(table)
    writer.close()


def bare_passes(path: Path) -> None:
    """Read all columns of the file three times."""
    for _ in range(3):
        reader = pq.ParquetFile(path).iter_batches() if path.suffix == ".parquet" else pc.open_csv(path)
        for _batch in reader:
            pass


def markdown(result: dict[str, Any]) -> str:
    """Return the table of the documentation."""
    lines = ["| file | three bare passes | evaluation | ratio | peak memory |", "| --- " * 5 + "|"]
    for name, each in result["files"].items():
        cells = [f"{each['bare']:.1f} s", f"{each['evaluate']:.1f} s", f"{each['evaluate'] / each['bare']:.2f}"]
        lines.append(f"| {name} | {' | '.join(cells)} | {each['bytes'] / 2**20:,.0f} MiB |")
    return "\n".join(lines)


def main() -> int:
    """Measure, print and store the results."""
    options = read_options(__doc__.splitlines()[0], GOAL_ROWS)
    if options.table:
        print(markdown(results.read()["ope"]))
        return 0
    files: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("CSV", "Parquet"):
            path = Path(folder) / f"log.{name.lower()}"
            write_log(path, options.rows)
            tasks: dict[str, Callable[[], Any]] = {
                "bare": partial(bare_passes, path),
                "evaluate": partial(evaluate, path, ProbabilityColumn("p_new")),
            }
            files[name] = {**measure_interleaved(tasks, options.turns), "bytes": peak_bytes(path, _PEAK)}
            print(f"{name}: {files[name]}", flush=True)
            path.unlink()
    result = {"machine": results.machine(), "rows": options.rows, "files": files}
    print(markdown(result))
    results.save("ope", result)
    worst = max(each["evaluate"] / each["bare"] for each in files.values())
    return int(worst > MAX_RATIO or max(each["bytes"] for each in files.values()) > MAX_BYTES)


if __name__ == "__main__":
    sys.exit(main())
