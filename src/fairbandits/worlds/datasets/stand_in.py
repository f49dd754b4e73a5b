"""The stand-in for the two datasets: synthetic students and videos with the contingency tables of the real ones.

`stand_in_counts` holds the tables, each described by a `Contingency`: the counted columns, and the columns they
are conditioned on. Within each stratum of the latter, rows receive the counted values in random order. So the
stand-in has exactly these tables in common with the real data, and is conditionally independent otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fairbandits.worlds.datasets.stand_in_counts import COUNTS
from fairbandits.worlds.datasets.tables import CATEGORIES, RANGES, Table
from fairbandits.worlds.features import QUARTILES, education_step, quartile_bin, rate_bin

_SEED = 20070302  # fixed, so that the stand-in is the same on every machine


@dataclass(frozen=True)
class Contingency:
    """Columns counted, or summarised by quantiles, within each combination of the given columns."""

    columns: tuple[str, ...]
    given: tuple[str, ...]
    quantiles: int = 0

    @property
    def name(self) -> str:
        """The key of the table in `stand_in_counts.COUNTS`."""
        return " x ".join(self.columns) + (" | " + " x ".join(self.given) if self.given else "")


#: The number of values of each coded column.
SIZES: dict[str, int] = {
    **{name: len(values) for name, values in CATEGORIES.items()},
    "step": 5,
    "married": 2,
    "stars": 6,
    "rate-bin": 5,
    **dict.fromkeys(QUARTILES, 4),
}

#: The tables of the students, in the order in which their columns are generated.
STUDENT_TABLES = (
    Contingency(("sex", "education"), given=()),
    Contingency(("marital-status", "relationship"), given=("sex", "step")),
    Contingency(("occupation",), given=("sex", "step")),
    Contingency(("income",), given=("sex", "step", "married")),
    Contingency(("workclass",), given=("occupation",)),
    Contingency(("race",), given=("sex",)),
    Contingency(("native-country",), given=("race",)),
    Contingency(("age",), given=("marital-status",), quantiles=11),
    Contingency(("hours-per-week",), given=("sex",), quantiles=21),
)

#: The tables of the videos. Rates depend on the number of ratings, and so do views and comments.
VIDEO_TABLES = (
    Contingency(("ratings",), given=()),
    Contingency(("stars", "rate-bin"), given=("ratings",)),
    Contingency(("views",), given=("ratings",)),
    Contingency(("comments",), given=("ratings",)),
    Contingency(("age",), given=()),
    Contingency(("length",), given=()),
)

Codes = dict[str, NDArray[np.intp]]


def student_codes(students: Table) -> Codes:
    """Return the coded columns of students that the tables use."""
    codes = {name: students[name] for name in CATEGORIES}
    return codes | _derived(codes)


def video_codes(videos: Table) -> Codes:
    """Return the coded columns of videos that the tables use."""
    codes = {name: quartile_bin(videos, name) for name in QUARTILES}
    return codes | {"stars": np.rint(videos["rate"]).astype(np.intp), "rate-bin": rate_bin(videos)}


def strata(codes: Codes, names: tuple[str, ...], rows: int) -> tuple[NDArray[np.intp], int]:
    """Return each row's combination of the named columns, as an index, and the number of combinations."""
    stratum = np.zeros(rows, dtype=np.intp)
    for name in names:
        stratum = stratum * SIZES[name] + codes[name]
    return stratum, int(np.prod([SIZES[name] for name in names], dtype=np.intp))


@cache
def stand_in_students() -> Table:
    """Return 32,561 synthetic students.

    Examples
    --------
    >>> students = stand_in_students()
    >>> len(students), int((students.labels("sex") == "Male").sum())
    (32561, 21790)
    """
    rng = np.random.default_rng(_SEED)
    codes: Codes = {}
    numbers: dict[str, NDArray[np.float64]] = {}
    for table in STUDENT_TABLES:
        if table.quantiles:
            numbers[table.columns[0]] = _sample_numbers(table, codes, rng)
        else:
            codes |= _sample_codes(table, codes, rng)
            codes |= _derived(codes)
    numbers["education-num"] = (codes["education"] + 1).astype(np.float64)
    return Table({**{name: codes[name] for name in CATEGORIES}, **{name: numbers[name] for name in RANGES}}, False)


@cache
def stand_in_videos() -> Table:
    """Return 1,580 synthetic videos; every number is the middle of its bin.

    Examples
    --------
    >>> len(stand_in_videos())
    1580
    """
    rng = np.random.default_rng(_SEED + 1)
    codes: Codes = {}
    for table in VIDEO_TABLES:
        codes |= _sample_codes(table, codes, rng)
    columns = {name: _midpoints(QUARTILES[name])[codes[name]] for name in QUARTILES}
    # Place the rate a quarter of a star from the whole stars, towards the bin, so that it rounds to these stars
    # and lies in this bin.
    offset = np.where(codes["rate-bin"] < codes["stars"], -0.25, 0.25)
    columns["rate"] = np.where(codes["stars"] == 0, 0.0, codes["stars"] + offset)
    return Table(columns, real=False)


def _derived(codes: Codes) -> Codes:
    """Return the columns that are functions of the columns generated so far."""
    derived: Codes = {}
    if "education" in codes:
        derived["step"] = education_step(Table({"education-num": codes["education"] + 1}, real=False))
    if "marital-status" in codes:
        civil = CATEGORIES["marital-status"].index("Married-civ-spouse")
        derived["married"] = (codes["marital-status"] == civil).astype(np.intp)
    return derived


def _sample_codes(table: Contingency, codes: Codes, rng: np.random.Generator) -> Codes:
    """Assign the counted combinations to the rows of each stratum, in random order."""
    counts = read_counts(table.name)
    stratum, n_strata = strata(codes, table.given, int(counts.sum()))
    counts = counts.reshape(n_strata, -1)
    sample = np.empty(len(stratum), dtype=np.intp)
    for number, row in enumerate(counts):
        sample[stratum == number] = rng.permutation(np.repeat(np.arange(len(row)), row))
    shape = [SIZES[name] for name in table.columns]
    return dict(zip(table.columns, np.unravel_index(sample, shape), strict=True))


def _sample_numbers(table: Contingency, codes: Codes, rng: np.random.Generator) -> NDArray[np.float64]:
    """Assign integers with the given quantiles to the rows of each stratum, in random order."""
    stratum, n_strata = strata(codes, table.given, len(codes[table.given[0]]))
    quantiles = read_counts(table.name).reshape(n_strata, table.quantiles)
    levels = np.linspace(0, 1, table.quantiles)
    sample = np.empty(len(stratum))
    for number, row in enumerate(quantiles):
        members = stratum == number
        values = np.interp(np.linspace(0, 1, members.sum()), levels, row)
        sample[members] = rng.permutation(np.rint(values))
    return sample


def _midpoints(edges: tuple[float, float, float]) -> NDArray[np.float64]:
    """Return one number inside each of the four bins that three edges make."""
    first, second, third = edges
    return np.array([first / 2, (first + second) / 2, (second + third) / 2, third + 1])


def read_counts(name: str) -> NDArray[np.intp]:
    """Return the numbers of one entry of `COUNTS`, as a flat array.

    Examples
    --------
    >>> int(read_counts("sex x education").sum())
    32561
    """
    numbers: list[int] = []
    for token in COUNTS[name].split():
        numbers += [0] * int(token[:-2]) if token.endswith("*0") else [int(token)]
    return np.array(numbers, dtype=np.intp)
