"""Small synthetic tables with the columns of the published ones, for tests without network.

These tables share no counts with the real data. Labels and ratings follow a simple rule, so that a policy can
learn them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.worlds.datasets.compas import COUNTS
from fairbandits.worlds.datasets.german import FIELDS
from fairbandits.worlds.datasets.movielens import AGE_BANDS, GENRES, YEAR_BANDS
from fairbandits.worlds.datasets.tables import Table

_ROWS, _FILMS = 600, 80

Columns = dict[str, NDArray[Any]]


@cache
def defendants() -> Table:
    """Return synthetic defendants, with the columns of COMPAS; many priors make a new charge likely."""
    rng = np.random.default_rng(1)
    columns: Columns = {
        "sex": _draw(rng, "Female Male"),
        "race": _draw(rng, "African-American Caucasian Hispanic Asian Other"),
        "c_charge_degree": _draw(rng, "F M"),
        "score_text": _draw(rng, "Low Medium High"),
        "age": _integers(rng, 18, 70),
        "days_b_screening_arrest": np.where(rng.random(_ROWS) < 0.1, np.nan, -1.0),
    }
    columns |= {name: _integers(rng, 0, 10) for name in COUNTS}
    reoffended = _likely(rng, columns["priors_count"] >= 5)
    return Table(columns | {"is_recid": reoffended, "two_year_recid": reoffended}, real=False)


@cache
def applicants() -> Table:
    """Return synthetic applicants, with the columns of German Credit; long loans make a bad risk likely."""
    rng = np.random.default_rng(2)
    columns: Columns = {
        name: _draw(rng, "A91 A92 A93") if name.endswith("_code") else _integers(rng, 1, 5) for name in FIELDS
    }
    columns |= {"age": _integers(rng, 19, 75), "months": _integers(rng, 4, 72)}
    return Table(columns | {"risk": 1 + _likely(rng, columns["months"] > 38)}, real=False)


@cache
def patients() -> Table:
    """Return synthetic patients, with the columns of the warfarin data; the genotype decides the dose."""
    rng = np.random.default_rng(3)
    genotype = _draw(rng, "A/A A/G G/G")
    columns: Columns = {
        "sex": _draw(rng, "female male"),
        "race": _draw(rng, "Asian White unknown"),
        "age": rng.choice(["50 - 59", "60 - 69", "70 - 79", "unknown"], _ROWS),
        "height": rng.normal(168, 10, _ROWS),
        "weight": np.where(rng.random(_ROWS) < 0.1, np.nan, rng.normal(78, 20, _ROWS)),
        **{name: _draw(rng, "0 1 unknown") for name in ("amiodarone", "aspirin", "smoker", "diabetes")},
        "CYP2C9": _draw(rng, "*1/*1 *1/*2"),
        "VKORC1 -1639": genotype,
        "VKORC1 1173": _draw(rng, "C/C C/T T/T"),
        "inducer": _integers(rng, 0, 1),
        "dose": np.select([genotype == "A/A", genotype == "A/G"], [15.0, 35.0], 60.0),
    }
    columns["dose"] = np.where(rng.random(_ROWS) < 0.05, np.nan, columns["dose"])
    return Table(columns, real=False)


@cache
def users() -> Table:
    """Return 60 synthetic users, with the columns of MovieLens."""
    rng = np.random.default_rng(4)
    columns: Columns = {
        "user": np.arange(1, 61),
        "sex": _draw(rng, "female male"),
        "age": _integers(rng, 18, 60),
        "age_band": rng.choice(list(AGE_BANDS), _ROWS),
        "occupation": _draw(rng, "artist student writer"),
    }
    return Table({name: column[:60] for name, column in columns.items()}, real=False)


@cache
def films() -> Table:
    """Return 80 synthetic films, with the columns of MovieLens."""
    rng = np.random.default_rng(5)
    columns: Columns = {"film": np.arange(1, _FILMS + 1), "year_band": rng.choice(list(YEAR_BANDS), _FILMS)}
    genres = rng.random((len(GENRES), _FILMS)) < 0.15
    return Table(columns | dict(zip(GENRES, genres.astype(np.float64), strict=True)), real=False)


@cache
def ratings() -> Table:
    """Return synthetic ratings: half of the pairs of a user and a film; dramas get more stars."""
    rng = np.random.default_rng(6)
    user, film = np.divmod(np.flatnonzero(rng.random(60 * _FILMS) < 0.5), _FILMS)
    stars = 2.0 + 2 * films()["Drama"][film] + rng.integers(-1, 2, len(film))
    return Table({"user": user + 1, "film": film + 1, "stars": stars}, real=False)


def _draw(rng: np.random.Generator, values: str) -> NDArray[np.str_]:
    return rng.choice(values.split(), _ROWS)


def _integers(rng: np.random.Generator, least: int, most: int) -> NDArray[np.float64]:
    return rng.integers(least, most + 1, _ROWS).astype(np.float64)


def _likely(rng: np.random.Generator, is_likely: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return 1 with probability .8 where an outcome is likely, and .2 elsewhere."""
    return (rng.random(_ROWS) < np.where(is_likely, 0.8, 0.2)).astype(np.float64)
