"""Data frames and their columns, read without importing the library that they come from.

pandas, polars and libraries with the same methods are read directly; pyarrow tables are read through narwhals.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Types that are never a frame or a column, so that the common cases cost nothing.
_OTHERS = frozenset({np.ndarray, list, tuple, dict, str, int, float, type(None)})


def as_frame(value: Any, name: str) -> Any | None:
    """Return a data frame with `columns`, `frame[column]` and `to_numpy()`; None for any other value.

    Parameters
    ----------
    value : any
        The value to read.
    name : str
        The name of the parameter, for errors.
    """
    kind = type(value)
    if kind in _OTHERS:
        return None
    value = _unwrapped(value, name)
    kind = type(value)
    if not hasattr(kind, "columns"):
        return None
    if not hasattr(kind, "to_numpy"):
        raise ValueError(
            f"{name} must be a data frame in memory, got {kind.__name__}; call collect() or compute() first"
        )
    return value


def as_column(value: Any, name: str) -> Any | None:
    """Return a column of a data frame (Series, Index), with `name` and `to_list()`; None for any other value."""
    if type(value) in _OTHERS:
        return None
    value = _unwrapped(value, name)
    kind = type(value)
    return value if hasattr(kind, "to_list") and hasattr(kind, "dtype") else None


def index_of(value: Any) -> Any | None:
    """Return the index of a pandas frame or column; None without one, or for the default index 0, 1, 2, ..."""
    index = getattr(value, "index", None)
    if index is None or callable(index):
        return None
    bounds = tuple(getattr(index, part, None) for part in ("start", "stop", "step"))
    return None if bounds == (0, len(index), 1) else index


def column_names(frame: Any, name: str) -> tuple[str, ...]:
    """Return the names of a frame's columns; raise ValueError unless they are different strings."""
    names = tuple(frame.columns)
    for each in names:
        if not isinstance(each, str) or not each:
            raise ValueError(
                f"{name} must have non-empty strings as column names, got {each!r}; rename the columns, or "
                "pass an array"
            )
    if len(set(names)) < len(names):
        twice = next(each for at, each in enumerate(names) if each in names[:at])
        raise ValueError(f"{name} must have unique column names, got {twice!r} twice; rename one")
    return tuple(map(str, names))


def _unwrapped(value: Any, name: str) -> Any:
    """Return the object inside a narwhals wrapper; objects of pyarrow are wrapped by narwhals instead."""
    library = type(value).__module__.partition(".")[0]
    if library == "narwhals" and hasattr(value, "to_native"):
        value = value.to_native()
        library = type(value).__module__.partition(".")[0]
    if library != "pyarrow" or not hasattr(value, "__arrow_c_stream__"):
        return value
    try:
        import narwhals  # noqa: PLC0415 - an extra
    except ImportError:
        raise ValueError(
            f"{name} must be an array or a pandas or polars data frame, got {type(value).__name__}; install "
            "narwhals to pass it directly"
        ) from None
    return narwhals.from_native(value, eager_only=True, allow_series=True)
