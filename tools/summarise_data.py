"""Regenerate `fairbandits/worlds/datasets/stand_in_counts.py`: the counts of the real data for the stand-in.

Usage: python tools/summarise_data.py FOLDER, where FOLDER holds adult/adult.data and youtube/0302/1.txt.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fairbandits.worlds.datasets.stand_in import (
    STUDENT_TABLES,
    VIDEO_TABLES,
    Codes,
    Contingency,
    strata,
    student_codes,
    video_codes,
)
from fairbandits.worlds.datasets.tables import Table, read_students, read_videos

HEADER = '''"""Counts and quantiles of the real data, for the stand-in; written by tools/summarise_data.py.

Each entry is a table. Its rows are the combinations of the columns after the bar; its columns are the
combinations of the columns before the bar, or evenly spaced quantiles from minimum to maximum. `n*0` stands
for n zeros.
"""

from __future__ import annotations

COUNTS: dict[str, str] = {
'''


def summarise(students: Table, videos: Table) -> dict[str, NDArray[np.intp]]:
    """Return the numbers of every contingency table of these data."""
    student_columns, video_columns = student_codes(students), video_codes(videos)
    summary = {table.name: _numbers(table, student_columns, students) for table in STUDENT_TABLES}
    return summary | {table.name: _numbers(table, video_columns, videos) for table in VIDEO_TABLES}


def _numbers(table: Contingency, codes: Codes, data: Table) -> NDArray[np.intp]:
    stratum, n_strata = strata(codes, table.given, len(data))
    if table.quantiles:
        levels = np.linspace(0, 1, table.quantiles)
        column = data[table.columns[0]]
        rows = [np.quantile(column[stratum == number], levels) for number in range(n_strata)]
        return np.rint(rows).astype(np.intp).ravel()
    value, n_values = strata(codes, table.columns, len(data))
    return np.bincount(stratum * n_values + value, minlength=n_strata * n_values)


def _encode(numbers: NDArray[np.intp]) -> str:
    """Return numbers separated by spaces, with runs of zeros abbreviated."""
    tokens: list[str] = []
    zeros = 0
    for number in [*numbers.tolist(), None]:
        if number == 0:
            zeros += 1
            continue
        tokens += ["0"] * zeros if zeros < 3 else [f"{zeros}*0"]
        zeros = 0
        tokens += [] if number is None else [str(number)]
    return " ".join(tokens)


def main() -> None:
    """Read the files in the folder and write the module."""
    folder = Path(sys.argv[1])
    summary = summarise(read_students(folder / "adult/adult.data"), read_videos(folder / "youtube/0302/1.txt"))
    parts = [HEADER]
    for name, numbers in summary.items():
        body = textwrap.indent(textwrap.fill(_encode(numbers), 102), " " * 8)
        parts.append(f'    "{name}": """\n{body}\n    """,\n')
    module = Path(__file__).parents[1] / "src/fairbandits/worlds/datasets/stand_in_counts.py"
    module.write_text("".join(parts) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
