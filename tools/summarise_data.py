"""Write `fairbandits/worlds/figures.py` again: the counts of the real data that the stand-in is dealt from.

Usage: python tools/summarise_data.py FOLDER, where FOLDER holds adult/adult.data and youtube/0302/1.txt.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fairbandits.worlds.datasets.stand_in import (
    STUDENT_LINKS,
    VIDEO_LINKS,
    Codes,
    Link,
    strata,
    student_codes,
    video_codes,
)
from fairbandits.worlds.datasets.tables import Table, read_students, read_videos

HEAD = '''"""Counts and quantiles of the real data, for the stand-in; written by tools/summarise_data.py.

Each entry is a table with one row per combination of the columns after the bar, and one column per
combination of those before it (or per quantile, evenly spaced from the least to the greatest). `n*0` stands
for n noughts.
"""

from __future__ import annotations

FIGURES: dict[str, str] = {
'''


def summarise(students: Table, videos: Table) -> dict[str, NDArray[np.intp]]:
    """Return the numbers of every link, as they come out of these tables."""
    people, items = student_codes(students), video_codes(videos)
    summary = {link.name: _numbers(link, people, students) for link in STUDENT_LINKS}
    return summary | {link.name: _numbers(link, items, videos) for link in VIDEO_LINKS}


def _numbers(link: Link, codes: Codes, table: Table) -> NDArray[np.intp]:
    stratum, n_strata = strata(codes, link.given, len(table))
    if link.quantiles:
        levels = np.linspace(0, 1, link.quantiles)
        column = table[link.columns[0]]
        rows = [np.quantile(column[stratum == number], levels) for number in range(n_strata)]
        return np.rint(rows).astype(np.intp).ravel()
    value, n_values = strata(codes, link.columns, len(table))
    return np.bincount(stratum * n_values + value, minlength=n_strata * n_values)


def _words(numbers: NDArray[np.intp]) -> str:
    """Write numbers as words, runs of noughts shortened."""
    words: list[str] = []
    noughts = 0
    for number in [*numbers.tolist(), None]:
        if number == 0:
            noughts += 1
            continue
        words += ["0"] * noughts if noughts < 3 else [f"{noughts}*0"]
        noughts = 0
        words += [] if number is None else [str(number)]
    return " ".join(words)


def main() -> None:
    """Read the folder, write the module."""
    folder = Path(sys.argv[1])
    summary = summarise(read_students(folder / "adult/adult.data"), read_videos(folder / "youtube/0302/1.txt"))
    parts = [HEAD]
    for name, numbers in summary.items():
        body = textwrap.indent(textwrap.fill(_words(numbers), 102), " " * 8)
        parts.append(f'    "{name}": """\n{body}\n    """,\n')
    module = Path(__file__).parents[1] / "src/fairbandits/worlds/figures.py"
    module.write_text("".join(parts) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
