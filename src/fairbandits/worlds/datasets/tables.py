"""The two files that the students and the videos come from: what is in them, and how they are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_COUNTRIES = """
? Cambodia Canada China Columbia Cuba Dominican-Republic Ecuador El-Salvador England France Germany Greece
Guatemala Haiti Holand-Netherlands Honduras Hong Hungary India Iran Ireland Italy Jamaica Japan Laos Mexico
Nicaragua Outlying-US(Guam-USVI-etc) Peru Philippines Poland Portugal Puerto-Rico Scotland South Taiwan
Thailand Trinadad&Tobago United-States Vietnam Yugoslavia
"""

#: The values of every categorical column of Adult, in the order of their one-hot columns.
CATEGORIES: dict[str, tuple[str, ...]] = {
    name: tuple(values.split())
    for name, values in {
        "workclass": "? Federal-gov Local-gov Never-worked Private Self-emp-inc Self-emp-not-inc State-gov "
        "Without-pay",
        # In the order of education-num, which counts the same sixteen steps from 1.
        "education": "Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th HS-grad Some-college Assoc-voc "
        "Assoc-acdm Bachelors Masters Prof-school Doctorate",
        "marital-status": "Divorced Married-AF-spouse Married-civ-spouse Married-spouse-absent Never-married "
        "Separated Widowed",
        "occupation": "? Adm-clerical Armed-Forces Craft-repair Exec-managerial Farming-fishing "
        "Handlers-cleaners Machine-op-inspct Other-service Priv-house-serv Prof-specialty "
        "Protective-serv Sales Tech-support Transport-moving",
        "relationship": "Husband Not-in-family Other-relative Own-child Unmarried Wife",
        "race": "Amer-Indian-Eskimo Asian-Pac-Islander Black Other White",
        "sex": "Female Male",
        "native-country": _COUNTRIES,
        "income": "<=50K >50K",
    }.items()
}

#: The least and the greatest value of every numeric column of Adult that becomes a feature.
RANGES: dict[str, tuple[int, int]] = {"age": (17, 90), "education-num": (1, 16), "hours-per-week": (1, 99)}

_ADULT_FIELDS = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *(
        "relationship",
        "race",
        "sex",
        "capital-gain",
        "capital-loss",
        "hours-per-week",
        "native-country",
        "income",
    ),
)

_VIDEO_FIELDS = ("id", "uploader", "age", "category", "length", "views", "rate", "ratings", "comments")
_VIDEO_NUMBERS = ("age", "length", "views", "rate", "ratings", "comments")


#: What to do about a file that is not the published one.
MEND = "Replace it by the original one, or remove it to have it downloaded."


class DataError(ValueError):
    """A dataset is damaged: the message names the file, what came, what was expected and what to do."""


class DataMissingError(DataError):
    """A dataset could not be had at all: the message lists everything that was tried."""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of one dataset, column by column; categorical columns hold positions in `CATEGORIES`.

    Parameters
    ----------
    columns : mapping of name to array
        The columns, all of one length.
    real : bool
        Whether these are the published rows, rather than the stand-in's.

    Examples
    --------
    >>> import numpy as np
    >>> table = Table({"sex": np.array([1, 0, 1])}, real=False)
    >>> len(table), table.labels("sex").tolist()
    (3, ['Male', 'Female', 'Male'])
    """

    columns: Mapping[str, NDArray[Any]]
    real: bool

    def __post_init__(self) -> None:
        # Tables are shared between worlds, so nobody may write to them.
        for column in self.columns.values():
            column.flags.writeable = False

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def take(self, rows: NDArray[np.intp]) -> Table:
        """Return the table of these rows, in this order."""
        return Table({name: column[rows] for name, column in self.columns.items()}, self.real)

    def labels(self, name: str) -> NDArray[np.str_]:
        """Return a categorical column as text."""
        text: NDArray[np.str_] = np.array(CATEGORIES[name])[self.columns[name]]
        return text


def read_students(path: str | Path) -> Table:
    """Read a file in the form of UCI's `adult.data`, checking every row of it."""
    file = _File(Path(path), _ADULT_FIELDS)
    expected = f"15 fields: {', '.join(_ADULT_FIELDS)}"
    for number, line in file.lines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) < len(_ADULT_FIELDS):
            raise file.too_short(number, fields, expected)
        if len(fields) > len(_ADULT_FIELDS):
            raise file.malformed(number, f"has {len(fields)} fields", expected)
        file.add(number, fields)
    columns: dict[str, NDArray[Any]] = {name: file.numbers(name, *RANGES[name]) for name in RANGES}
    columns |= {name: file.codes(name, known) for name, known in CATEGORIES.items()}
    return Table(columns, real=True)


def read_videos(path: str | Path) -> Table:
    """Read a file of the SFU crawls: the videos with all nine fields that someone has viewed.

    Rows with the id alone are videos that were gone when the crawler came; they are left out.
    """
    file = _File(Path(path), _VIDEO_FIELDS)
    for number, line in file.lines():
        fields = line.split("\t")
        if len(fields) == 1:
            continue
        if len(fields) < len(_VIDEO_FIELDS):
            expected = f"the id alone, or 9 fields and more between tabs: {', '.join(_VIDEO_FIELDS)}"
            raise file.too_short(number, fields, expected)
        file.add(number, fields[: len(_VIDEO_FIELDS)])
    columns = {name: file.numbers(name) for name in _VIDEO_NUMBERS if name != "rate"}
    columns["rate"] = file.numbers("rate", 0, 5)
    viewed = columns["views"] > 0
    return Table({name: column[viewed] for name, column in columns.items()}, real=True)


class _File:
    """A file while it is read: its rows, and the line that each stood on for the sake of messages."""

    def __init__(self, path: Path, fields: tuple[str, ...]) -> None:
        self.path = path
        self._fields = fields
        self._numbers: list[int] = []
        self._rows: list[list[str]] = []

    def lines(self) -> list[tuple[int, str]]:
        """Return the lines that are not blank, each with its number."""
        # Latin-1 reads any bytes, so that a damaged file gets as far as a message about its rows.
        text = self.path.read_text(encoding="latin-1")
        return [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]

    def add(self, number: int, row: list[str]) -> None:
        self._numbers.append(number)
        self._rows.append(row)

    def malformed(self, number: int, came: str, expected: str) -> DataError:
        return DataError(f"{self.path}: line {number} {came}; expected {expected}. {MEND}")

    def too_short(self, number: int, fields: list[str], expected: str) -> DataError:
        came = f"has {len(fields)} fields and ends before {self._fields[len(fields)]!r}"
        return self.malformed(number, came, expected)

    def codes(self, name: str, known: tuple[str, ...]) -> NDArray[np.intp]:
        """Return a column as positions among its known values."""
        position = {value: code for code, value in enumerate(known)}
        values = self._column(name)
        for row, value in enumerate(values):
            if value not in position:
                expected = f"one of {', '.join(known)}"
                raise self.malformed(self._numbers[row], f"has {name} {value!r}", expected)
        return np.array([position[value] for value in values], dtype=np.intp)

    def numbers(self, name: str, least: float = -np.inf, most: float = np.inf) -> NDArray[np.float64]:
        """Return a column as numbers, all of them finite and from `least` to `most`."""
        values = self._column(name)
        column = np.array([_number(value) for value in values])
        wrong = np.flatnonzero(~(np.isfinite(column) & (least <= column) & (column <= most)))
        if wrong.size:
            expected = "a number" if least == -np.inf else f"a number from {least:g} to {most:g}"
            came = f"has {name} {values[wrong[0]]!r}"
            raise self.malformed(self._numbers[wrong[0]], came, expected)
        return column

    def _column(self, name: str) -> list[str]:
        if not self._rows:
            raise self.malformed(1, "is not followed by any row", "at least one row")
        position = self._fields.index(name)
        return [row[position] for row in self._rows]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
