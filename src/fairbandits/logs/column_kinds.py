"""Kinds of columns: the content of a column, regardless of its type in the storage format."""

from __future__ import annotations

from typing import Any

TEXT, INTEGER, NUMBER, BOOLEAN, TIME = "text", "integer", "number", "boolean", "time"
#: The kind for types that no role can use, and the kind of a column without any values.
OTHER, NULL = "other", "null"
#: An id, of which only a key is needed (`id_keys.py`). It is read as it is stored, and from text files as text.
#: Ids seldom repeat, so they are not dictionary-encoded.
ID = "id"


def kind_of(arrow_type: Any) -> str:
    """Return the kind of a column from its Arrow type."""
    from pyarrow import types  # noqa: PLC0415 - an extra

    if types.is_dictionary(arrow_type):
        return kind_of(arrow_type.value_type)
    tests = (
        (TEXT, is_text),
        (INTEGER, types.is_integer),
        (NUMBER, types.is_floating),
        (NUMBER, types.is_decimal),
        (BOOLEAN, types.is_boolean),
        (TIME, types.is_timestamp),
        (TIME, types.is_date),
        (NULL, types.is_null),
    )
    return next((kind for kind, matches in tests if matches(arrow_type)), OTHER)


def is_text(arrow_type: Any) -> bool:
    """Return whether an Arrow type holds strings, plain or dictionary-encoded."""
    from pyarrow import types  # noqa: PLC0415

    if types.is_dictionary(arrow_type):
        return is_text(arrow_type.value_type)
    tests = types.is_string, types.is_large_string, types.is_string_view
    return any(matches(arrow_type) for matches in tests)


def is_number(arrow_type: Any) -> bool:
    """Return whether an Arrow type holds numbers, plain or dictionary-encoded."""
    return kind_of(arrow_type) in (INTEGER, NUMBER)
