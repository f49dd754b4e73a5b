"""German Credit (Statlog): applicants for a loan, labelled by whether they turned out to be good credit risks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.worlds.datasets.tables import Table
from fairbandits.worlds.datasets.text_file import TextFile

#: The columns of `german.data`, in order; names that end with "_code" have values such as "A11".
FIELDS = (
    *("checking_code", "months", "history_code", "purpose_code", "amount", "savings_code", "employment_code"),
    *("instalment_rate", "status_code", "guarantors_code", "residence", "property_code", "age", "plans_code"),
    *("housing_code", "credits", "job_code", "dependants", "telephone_code", "foreign_code", "risk"),
)

#: The codes of marital status and sex that stand for women; a fifth code, for single women, has no rows.
_FEMALE = ("A92", "A95")

#: The greatest age of the younger group, as in Kamiran and Calders (2009).
YOUNG = 25


def read_german(path: str | Path) -> Table:
    """Read `german.data`: 20 attributes and the risk, 1 for good and 2 for bad."""
    file = TextFile(Path(path), FIELDS)
    rule = f"the line must have {len(FIELDS)} fields: {', '.join(FIELDS)}"
    for number, line in file.lines():
        fields = line.split()
        if len(fields) < len(FIELDS):
            raise file.too_short(number, rule, fields)
        file.add(number, fields)
    columns: dict[str, NDArray[Any]] = {
        name: file.text(name) if name.endswith("_code") else file.numbers(name) for name in FIELDS
    }
    return Table(columns | {"risk": file.numbers("risk", 1, 2)}, real=True)


def clean_german(table: Table) -> Table:
    """Return the applicants with their sex, taken from the code of marital status and sex, and their age band.

    The amount is on a logarithmic scale, because a few loans are much larger than the others.
    """
    columns = {name: column for name, column in table.columns.items() if name != "risk"}
    columns["amount"] = np.log(table["amount"])
    columns["sex"] = np.where(np.isin(table["status_code"], _FEMALE), "female", "male")
    columns["age_band"] = np.where(table["age"] <= YOUNG, f"up to {YOUNG}", f"over {YOUNG}")
    columns["label"] = np.where(table["risk"] == 1, "good", "bad")
    return Table(columns, table.real)
