"""Columns of numbers and of times, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.logs.errors import Place, shortened
from fairbandits.logs.labels import first_refused, is_text

Floats = NDArray[np.float64]

# A row weighs up to 1 / p, and sums of third powers of that must stay in the range of a float64.
_SMALLEST = 1e-50


def as_floats(
    array: Any, column: str, place: Place, missing: str = "leave it empty where it is not known"
) -> Floats:
    """Give an Arrow array as numbers, NaN where it is empty; refuse words, and NaN that somebody wrote."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    kind = array.type
    if pa.types.is_dictionary(kind):
        array, kind = array.dictionary_decode(), kind.value_type
    is_number = pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)
    if not (is_number or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        at = _first_known(array)
        came = shortened(array[at].as_py())
        raise place.error(f"{came} came; expected a number, and the column holds {kind}", column, at)
    empty = array.null_count
    # Whole numbers beyond 2^53, such as times in nanoseconds, are rounded.
    values: Floats = array.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
    usable = np.isfinite(values)
    if np.count_nonzero(usable) + empty < len(values):
        at = np.flatnonzero(~usable & array.is_valid().to_numpy(zero_copy_only=False))[0]
        raise place.error(f"{shortened(array[int(at)].as_py())} came; expected a number; {missing}", column, at)
    return values


def as_propensities(array: Any, column: str, place: Place) -> Floats:
    """Give probabilities in (0, 1]; refuse others, and empty ones."""
    values = as_floats(array, column, place)
    # A comparison with NaN is false, so this finds the empty ones too.
    inside = (values >= _SMALLEST) & (values <= 1.0)
    if not inside.all():
        at = int(np.flatnonzero(~inside)[0])
        came = "nothing" if np.isnan(values[at]) else shortened(values[at].item())
        if 0.0 < values[at] < _SMALLEST:
            raise place.error(f"{came} came; expected a propensity of at least {_SMALLEST:g}", column, at)
        raise place.error(
            f"{came} came; expected a propensity, above 0 and at most 1: the probability with which the arm was "
            "picked",
            column,
            at,
        )
    return values


def as_times(array: Any, column: str, place: Place, *, is_date: bool = False) -> NDArray[Any]:
    """Give times: as datetime64[us] where the log has dates, as numbers where it has numbers.

    `is_date` says which of the two an array without any type is.
    """
    import pyarrow as pa  # noqa: PLC0415

    kind = array.type
    if pa.types.is_null(kind) and is_date:
        return np.full(len(array), np.datetime64("NaT", "us"))
    if is_text(kind):
        array = _parsed_times(array.cast(pa.string()), column, place)
        kind = array.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        zone = getattr(kind, "tz", None)
        times: NDArray[Any] = array.cast(pa.timestamp("us", zone), safe=False).to_numpy(zero_copy_only=False)
        return times.astype("datetime64[us]")
    return as_floats(array, column, place)


def _parsed_times(array: Any, column: str, place: Place) -> Any:
    """Read times from words, all with a zone or all without."""
    import pyarrow as pa  # noqa: PLC0415

    at = 0
    for kind in (pa.timestamp(unit, zone) for zone in (None, "UTC") for unit in ("us", "ns")):
        try:
            return array.cast(kind)
        except pa.ArrowInvalid:
            at = max(at, first_refused(array, kind))
    raise place.error(
        f"{shortened(array[at].as_py())} came; expected a time such as 2024-05-01 12:30:00, or a number",
        column,
        at,
    )


def _first_known(array: Any) -> int:
    known = np.flatnonzero(array.is_valid().to_numpy(zero_copy_only=False))
    return int(known[0]) if known.size else 0
