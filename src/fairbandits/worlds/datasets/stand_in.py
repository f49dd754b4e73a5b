"""The stand-in for the two datasets: people and videos that never were, dealt from counts of the real ones.

`figures` holds the counts. A link says which columns are counted together, given which others; the real
counts are then dealt at random within each stratum. So every table of a link comes out exactly as in the real
data, and what no link ties together is independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fairbandits.worlds.datasets.tables import CATEGORIES, RANGES, Table
from fairbandits.worlds.encode import QUARTILES, education_step, quarter, rate_bin
from fairbandits.worlds.figures import FIGURES

_SEED = 20070302  # fixed: the stand-in is one dataset, the same for everyone


@dataclass(frozen=True)
class Link:
    """Columns that are counted, or summarised by quantiles, within each combination of the given ones."""

    columns: tuple[str, ...]
    given: tuple[str, ...]
    quantiles: int = 0

    @property
    def name(self) -> str:
        """The key of its numbers in `figures.FIGURES`."""
        return " x ".join(self.columns) + (" | " + " x ".join(self.given) if self.given else "")


#: How many values each coded column can take, those of `student_codes` and `video_codes` among them.
SIZES: dict[str, int] = {
    **{name: len(values) for name, values in CATEGORIES.items()},
    "step": 5,
    "married": 2,
    "stars": 6,
    "rate-bin": 5,
    **dict.fromkeys(QUARTILES, 4),
}

#: The students, in the order in which their columns are dealt.
STUDENT_LINKS = (
    Link(("sex", "education"), given=()),
    Link(("marital-status", "relationship"), given=("sex", "step")),
    Link(("occupation",), given=("sex", "step")),
    Link(("income",), given=("sex", "step", "married")),
    Link(("workclass",), given=("occupation",)),
    Link(("race",), given=("sex",)),
    Link(("native-country",), given=("race",)),
    Link(("age",), given=("marital-status",), quantiles=11),
    Link(("hours-per-week",), given=("sex",), quantiles=21),
)

#: The videos. Few ratings make extreme rates, and what is much viewed is much rated and commented on.
VIDEO_LINKS = (
    Link(("ratings",), given=()),
    Link(("stars", "rate-bin"), given=("ratings",)),
    Link(("views",), given=("ratings",)),
    Link(("comments",), given=("ratings",)),
    Link(("age",), given=()),
    Link(("length",), given=()),
)

Codes = dict[str, NDArray[np.intp]]


def student_codes(students: Table) -> Codes:
    """Return the coded columns of students that links count, or count within."""
    codes = {name: students[name] for name in CATEGORIES}
    return codes | _derived(codes)


def video_codes(videos: Table) -> Codes:
    """Return the coded columns of videos that links count, or count within."""
    codes = {name: quarter(videos, name) for name in QUARTILES}
    return codes | {"stars": np.rint(videos["rate"]).astype(np.intp), "rate-bin": rate_bin(videos)}


def strata(codes: Codes, names: tuple[str, ...], rows: int) -> tuple[NDArray[np.intp], int]:
    """Return which combination of these columns each row has, as a number, and how many there can be."""
    number = np.zeros(rows, dtype=np.intp)
    for name in names:
        number = number * SIZES[name] + codes[name]
    return number, int(np.prod([SIZES[name] for name in names], dtype=np.intp))


@cache
def standin_students() -> Table:
    """Return 32,561 students that never were.

    Examples
    --------
    >>> students = standin_students()
    >>> len(students), int((students.labels("sex") == "Male").sum())
    (32561, 21790)
    """
    rng = np.random.default_rng(_SEED)
    codes: Codes = {}
    numbers: dict[str, NDArray[np.float64]] = {}
    for link in STUDENT_LINKS:
        if link.quantiles:
            numbers[link.columns[0]] = _deal_numbers(link, codes, rng)
        else:
            codes |= _deal(link, codes, rng)
            codes |= _derived(codes)
    numbers["education-num"] = (codes["education"] + 1).astype(np.float64)
    return Table({**{name: codes[name] for name in CATEGORIES}, **{name: numbers[name] for name in RANGES}}, False)


@cache
def standin_videos() -> Table:
    """Return 1,580 videos that never were; each number is one from the middle of its bin.

    Examples
    --------
    >>> len(standin_videos())
    1580
    """
    rng = np.random.default_rng(_SEED + 1)
    codes: Codes = {}
    for link in VIDEO_LINKS:
        codes |= _deal(link, codes, rng)
    columns = {name: _middles(QUARTILES[name])[codes[name]] for name in QUARTILES}
    # A quarter off the whole stars, towards the bin: the rate then has the stars and the bin of its cell.
    towards = np.where(codes["rate-bin"] < codes["stars"], -0.25, 0.25)
    columns["rate"] = np.where(codes["stars"] == 0, 0.0, codes["stars"] + towards)
    return Table(columns, real=False)


def _derived(codes: Codes) -> Codes:
    """Return the columns that follow from those that are known so far."""
    derived: Codes = {}
    if "education" in codes:
        derived["step"] = education_step(Table({"education-num": codes["education"] + 1}, real=False))
    if "marital-status" in codes:
        civil = CATEGORIES["marital-status"].index("Married-civ-spouse")
        derived["married"] = (codes["marital-status"] == civil).astype(np.intp)
    return derived


def _deal(link: Link, codes: Codes, rng: np.random.Generator) -> Codes:
    """Deal the counted combinations to the rows of each stratum, as a shuffled pack of cards."""
    counts = read_figures(link.name)
    stratum, n_strata = strata(codes, link.given, int(counts.sum()))
    counts = counts.reshape(n_strata, -1)
    dealt = np.empty(len(stratum), dtype=np.intp)
    for number, row in enumerate(counts):
        dealt[stratum == number] = rng.permutation(np.repeat(np.arange(len(row)), row))
    shape = [SIZES[name] for name in link.columns]
    return dict(zip(link.columns, np.unravel_index(dealt, shape), strict=True))


def _deal_numbers(link: Link, codes: Codes, rng: np.random.Generator) -> NDArray[np.float64]:
    """Deal whole numbers that have the given quantiles, evenly spaced, in each stratum."""
    stratum, n_strata = strata(codes, link.given, len(codes[link.given[0]]))
    quantiles = read_figures(link.name).reshape(n_strata, link.quantiles)
    levels = np.linspace(0, 1, link.quantiles)
    dealt = np.empty(len(stratum))
    for number, row in enumerate(quantiles):
        mine = stratum == number
        spread = np.interp(np.linspace(0, 1, mine.sum()), levels, row)
        dealt[mine] = rng.permutation(np.rint(spread))
    return dealt


def _middles(edges: tuple[float, float, float]) -> NDArray[np.float64]:
    """Return one number inside each of the four bins that three edges make."""
    first, second, third = edges
    return np.array([first / 2, (first + second) / 2, (second + third) / 2, third + 1])


def read_figures(name: str) -> NDArray[np.intp]:
    """Read the numbers of one entry of the figures, one after the other.

    Examples
    --------
    >>> int(read_figures("sex x education").sum())
    32561
    """
    numbers: list[int] = []
    for word in FIGURES[name].split():
        numbers += [0] * int(word[:-2]) if word.endswith("*0") else [int(word)]
    return np.array(numbers, dtype=np.intp)
