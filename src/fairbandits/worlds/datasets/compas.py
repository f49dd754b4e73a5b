"""COMPAS: defendants in Broward County, Florida, as ProPublica published them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.worlds.datasets.tables import Table
from fairbandits.worlds.datasets.text_file import TextFile

#: The columns with numbers that describe a defendant.
COUNTS = ("juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count")

#: The races with enough defendants for a group of their own; all others are in "Other".
RACES = ("African-American", "Caucasian", "Hispanic", "Other")

_TEXT = ("sex", "race", "c_charge_degree", "score_text")
_NUMBERS = ("age", *COUNTS, "is_recid", "two_year_recid")
# ProPublica's rule: an arrest further from the screening is probably about another offence.
_DAYS, _MOST_DAYS = "days_b_screening_arrest", 30


def read_compas(path: str | Path) -> Table:
    """Read `compas-scores-two-years.csv`: all of its rows, and the columns that are used."""
    file = TextFile.with_header(Path(path), ",", (*_TEXT, *_NUMBERS, _DAYS))
    columns: dict[str, NDArray[Any]] = {name: file.text(name) for name in _TEXT}
    columns |= {name: file.numbers(name) for name in _NUMBERS}
    return Table(columns | {_DAYS: file.numbers(_DAYS, missing=("",))}, real=True)


def clean_compas(table: Table) -> Table:
    """Return the defendants whom ProPublica analysed, with rare races merged into "Other".

    An arrest must lie within 30 days of the screening, the case must be found, the charge must be a felony or a
    misdemeanour, and there must be a score. The score itself is not a column: it is another predictor. Counts are
    on a logarithmic scale, log(1 + count), because most are small and a few are large.
    """
    kept = (
        (np.abs(table[_DAYS]) <= _MOST_DAYS)
        & (table["is_recid"] != -1)
        & (table["c_charge_degree"] != "O")
        & (table["score_text"] != "N/A")
    )
    defendants = table.take(np.flatnonzero(kept))
    columns: dict[str, NDArray[Any]] = {"age": defendants["age"], "sex": np.char.lower(defendants["sex"])}
    columns |= {name: np.log1p(defendants[name]) for name in COUNTS}
    columns["race"] = np.where(np.isin(defendants["race"], RACES), defendants["race"], "Other")
    columns["charge"] = np.where(defendants["c_charge_degree"] == "F", "felony", "misdemeanour")
    columns["label"] = np.where(defendants["two_year_recid"] == 1, "new charge", "no new charge")
    return Table(columns, table.real)
