"""Short one-line reprs of results, instead of their full contents."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import fields, is_dataclass
from typing import Any

from fairbandits.views.text import shorten_name

_MAX_TEXT = 40
_MAX_LENGTH = 200


class ShortRepr:
    """A base class for dataclasses with `repr=False`; shows scalars, and the kind and size of everything else.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(repr=False)
    ... class Result(ShortRepr):
    ...     name: str
    ...     values: list[float]
    >>> Result("log.csv", [0.1] * 1_000)
    Result(name='log.csv', values=<1,000 items>)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        declared: Any = self
        given = [f"{field.name}={_short(getattr(self, field.name))}" for field in fields(declared)]
        text = ", ".join(given)
        while len(text) > _MAX_LENGTH:
            given.pop()
            text = ", ".join([*given, "..."])
        return f"{type(self).__name__}({text})"


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{float(value):.4g}"
    if value is None or isinstance(value, bool | int):
        return repr(value)
    if isinstance(value, str):
        return repr(shorten_name(value, _MAX_TEXT))
    if isinstance(value, tuple) and len(value) <= 3 and all(isinstance(each, str | int | float) for each in value):
        return f"({', '.join(map(_short, value))}{',' if len(value) == 1 else ''})"
    if is_dataclass(value) or not isinstance(value, Sized):
        return f"<{type(value).__name__}>"
    kind = "entry" if isinstance(value, Mapping) else "item"
    plural = "entries" if kind == "entry" else "items"
    return f"<{len(value):,} {kind if len(value) == 1 else plural}>"
