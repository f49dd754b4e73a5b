"""Tables, and the readers of students (UCI Adult) and videos (a YouTube crawl)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.worlds.datasets.text_file import TextFile

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
        # In the order of education-num, which numbers the same sixteen steps from 1.
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

#: The range of every numeric column of Adult that becomes a feature.
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


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a dataset; categorical columns of Adult contain indices into `CATEGORIES`.

    Parameters
    ----------
    columns : mapping of name to array
        The columns, all of the same length.
    real : bool
        Whether the rows are the published ones; False for the stand-in.

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
        # Worlds share tables, so tables are read-only.
        for column in self.columns.values():
            column.flags.writeable = False

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def take(self, rows: NDArray[np.intp]) -> Table:
        """Return a table of the given rows, in the given order."""
        return Table({name: column[rows] for name, column in self.columns.items()}, self.real)

    def labels(self, name: str) -> NDArray[np.str_]:
        """Return a categorical column of Adult as text."""
        text: NDArray[np.str_] = np.array(CATEGORIES[name])[self.columns[name]]
        return text


def read_students(path: str | Path) -> Table:
    """Read a file in the format of UCI's `adult.data`, and validate every row."""
    file = TextFile(Path(path), _ADULT_FIELDS)
    rule = f"the line must have 15 fields: {', '.join(_ADULT_FIELDS)}"
    for number, line in file.lines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) < len(_ADULT_FIELDS):
            raise file.too_short(number, rule, fields)
        if len(fields) > len(_ADULT_FIELDS):
            raise file.malformed(number, rule, f"{len(fields)} fields")
        file.add(number, fields)
    columns: dict[str, NDArray[Any]] = {name: file.numbers(name, *RANGES[name]) for name in RANGES}
    columns |= {name: file.codes(name, categories) for name, categories in CATEGORIES.items()}
    return Table(columns, real=True)


def clean_adult(students: Table) -> Table:
    """Return the people of Adult with text instead of codes, and their income as the label."""
    columns: dict[str, NDArray[Any]] = {name: students[name] for name in RANGES}
    columns |= {name: students.labels(name) for name in CATEGORIES if name != "income"}
    columns |= {"sex": np.char.lower(students.labels("sex")), "label": students.labels("income")}
    return Table(columns, students.real)


def read_videos(path: str | Path) -> Table:
    """Read a file of the SFU crawl: the videos that have all nine fields and at least one view.

    Lines with only an id stand for videos that had been deleted before the crawl; they are skipped.
    """
    file = TextFile(Path(path), _VIDEO_FIELDS)
    for number, line in file.lines():
        fields = line.split("\t")
        if len(fields) == 1:
            continue
        if len(fields) < len(_VIDEO_FIELDS):
            rule = f"the line must have an id only, or at least 9 fields between tabs: {', '.join(_VIDEO_FIELDS)}"
            raise file.too_short(number, rule, fields)
        file.add(number, fields[: len(_VIDEO_FIELDS)])
    columns = {name: file.numbers(name) for name in _VIDEO_NUMBERS if name != "rate"}
    columns["rate"] = file.numbers("rate", 0, 5)
    viewed = columns["views"] > 0
    return Table({name: column[viewed] for name, column in columns.items()}, real=True)
