"""Validation of columns of numbers, propensities and times."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.logs.column_kinds import is_text
from fairbandits.logs.errors import Location, short_repr
from fairbandits.logs.labels import first_failing_cast

Floats = NDArray[np.float64]

#: The smallest propensity p: weights reach 1 / p, and sums of their third powers must not overflow a float64.
MIN_PROPENSITY = 1e-50


def as_floats(
    array: Any, column: str, location: Location, missing: str = "leave it empty if it is unknown"
) -> Floats:
    """Return an Arrow array as floats, with NaN for null; raise on text and on explicit NaN values."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    kind = array.type
    if pa.types.is_dictionary(kind):
        array, kind = array.dictionary_decode(), kind.value_type
    is_number = pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)
    if not (is_number or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        row = _first_valid(array)
        value = short_repr(array[row].as_py())
        raise location.error(f"value must be a number, got {value} in a column of type {kind}", column, row)
    # Integers beyond 2^53, such as times in nanoseconds, are rounded.
    values: Floats = array.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
    is_finite = np.isfinite(values)
    if np.count_nonzero(is_finite) + array.null_count < len(values):
        row = np.flatnonzero(~is_finite & array.is_valid().to_numpy(zero_copy_only=False))[0]
        value = short_repr(array[int(row)].as_py())
        raise location.error(f"value must be a finite number, got {value}; {missing}", column, row)
    return values


def as_propensities(array: Any, column: str, location: Location) -> Floats:
    """Return probabilities in (0, 1]; raise if any lies outside this range or is missing."""
    values = as_floats(array, column, location)
    # Comparisons with NaN are false, so missing propensities are caught as well.
    is_valid = (values >= MIN_PROPENSITY) & (values <= 1.0)
    if not is_valid.all():
        row = int(np.flatnonzero(~is_valid)[0])
        value = "nothing" if np.isnan(values[row]) else short_repr(values[row].item())
        is_tiny = 0.0 < values[row] < MIN_PROPENSITY
        rule = f"at least {MIN_PROPENSITY:g}" if is_tiny else "above 0 and at most 1"
        raise location.error(f"propensity must be {rule}, got {value}", column, row)
    return values


def as_positions(array: Any, column: str, location: Location) -> NDArray[np.int64]:
    """Return positions in a slate as integers; raise if any is invalid or missing."""
    values = as_floats(array, column, location)
    is_valid = (values >= 0.0) & (values == np.floor(values))
    if not is_valid.all():
        row = int(np.flatnonzero(~is_valid)[0])
        value = "nothing" if np.isnan(values[row]) else short_repr(values[row].item())
        raise location.error(f"position must be an integer, counted from 0 or 1, got {value}", column, row)
    return values.astype(np.int64)


def as_times(array: Any, column: str, location: Location, *, is_date: bool = False) -> NDArray[Any]:
    """Return times, as datetime64[us] if the log has dates, and as floats if it has numbers.

    `is_date` determines the type of an array that is entirely null.
    """
    import pyarrow as pa  # noqa: PLC0415

    kind = array.type
    if pa.types.is_null(kind) and is_date:
        return np.full(len(array), np.datetime64("NaT", "us"))
    if is_text(kind):
        array = _parse_times(array.cast(pa.string()), column, location)
        kind = array.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        zone = getattr(kind, "tz", None)
        times: NDArray[Any] = array.cast(pa.timestamp("us", zone), safe=False).to_numpy(zero_copy_only=False)
        return times.astype("datetime64[us]")
    return as_floats(array, column, location)


def _parse_times(array: Any, column: str, location: Location) -> Any:
    """Parse times from text; either all of them must have a time zone, or none."""
    import pyarrow as pa  # noqa: PLC0415

    row = 0
    for kind in (pa.timestamp(unit, zone) for zone in (None, "UTC") for unit in ("us", "ns")):
        try:
            return array.cast(kind)
        except pa.ArrowInvalid:
            row = max(row, first_failing_cast(array, kind))
    value = short_repr(array[row].as_py())
    raise location.error(f"time must be a number or a date like 2024-05-01 12:30:00, got {value}", column, row)


def _first_valid(array: Any) -> int:
    valid = np.flatnonzero(array.is_valid().to_numpy(zero_copy_only=False))
    return int(valid[0]) if valid.size else 0
