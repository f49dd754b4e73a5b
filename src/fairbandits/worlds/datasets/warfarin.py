"""Warfarin: patients of the International Warfarin Pharmacogenetics Consortium, and the dose that suited them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.worlds.datasets.tables import Table
from fairbandits.worlds.datasets.text_file import TextFile

#: The arms: weekly doses, with the usual limits of 21 and 49 mg, that is 3 and 7 mg a day.
DOSES = ("low", "medium", "high")

_DOSE = "Therapeutic Dose of Warfarin"
_NUMBERS = {"height": "Height (cm)", "weight": "Weight (kg)"}
_TEXT = {
    "sex": "Gender",
    "race": "Race",
    "age": "Age",
    "amiodarone": "Amiodarone (Cordarone)",
    "aspirin": "Aspirin",
    "smoker": "Current Smoker",
    "diabetes": "Diabetes",
    "CYP2C9": "CYP2C9 consensus",
    "VKORC1 -1639": "VKORC1 -1639 consensus",
    "VKORC1 1173": "VKORC1 1173 consensus",
}
#: Drugs that speed up the breakdown of warfarin; the consortium's model counts them as one.
_INDUCERS = ("Carbamazepine (Tegretol)", "Phenytoin (Dilantin)", "Rifampin or Rifampicin")
_MISSING = ("", "NA")
_OLD = ("70 - 79", "80 - 89", "90+")


def read_warfarin(path: str | Path) -> Table:
    """Read `warfarin.csv`: the columns that the consortium's dosing models use, and the dose in mg a week."""
    names = (_DOSE, *_NUMBERS.values(), *_TEXT.values(), *_INDUCERS)
    file = TextFile.with_header(Path(path), ",", names)
    columns: dict[str, NDArray[Any]] = {
        name: file.numbers(published, missing=_MISSING) for name, published in _NUMBERS.items()
    }
    columns |= {name: _known(file.text(published)) for name, published in _TEXT.items()}
    columns["inducer"] = np.any([file.text(name) == "1" for name in _INDUCERS], axis=0).astype(np.float64)
    columns["dose"] = file.numbers(_DOSE, 0, np.inf, missing=_MISSING)
    return Table(columns, real=True)


def clean_warfarin(table: Table) -> Table:
    """Return the patients whose dose is known, with the dose as a label and an age band.

    If sex or age is unknown, the group is unknown too (None). "unknown" is one of the published values of race.
    """
    patients = table.take(np.flatnonzero(~np.isnan(table["dose"])))
    columns = {name: column for name, column in patients.columns.items() if name != "dose"}
    columns["age_band"] = np.where(np.isin(patients["age"], _OLD), "70 and over", "under 70").astype(object)
    columns["age_band"][patients["age"] == "unknown"] = None
    columns["sex"] = patients["sex"].astype(object)
    columns["sex"][patients["sex"] == "unknown"] = None
    columns["label"] = np.array(DOSES)[(patients["dose"] >= 21).astype(int) + (patients["dose"] > 49)]
    return Table(columns, table.real)


def _known(values: NDArray[np.str_]) -> NDArray[np.str_]:
    """Replace the different markers that the file uses for unknown values."""
    return np.where(np.isin(values, (*_MISSING, "Unknown")), "unknown", values)
