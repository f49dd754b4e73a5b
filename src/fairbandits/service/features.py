"""Features, of users and of arms: what they may be, and what they are as numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NotRequired, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    FiniteFloat,
    Tag,
    model_validator,
    with_config,
)
from typing_extensions import TypedDict

Floats = NDArray[np.float64]

_LARGEST = 1e50


def _as_plain_text(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise ValueError("control characters, and spaces at the ends, are not allowed")
    return text


#: The name of an arm, an attribute, a group, a feature: short, and safe to print anywhere.
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_as_plain_text)]


class ConfigPart(BaseModel):
    """A part of the configuration: nothing in it that is not known, and nothing changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NumericFeature(ConfigPart):
    """A feature that is a number, scaled to run from 0 to 1.

    Attributes
    ----------
    low, high : float
        The least and the greatest value; others are refused.
    default : float, optional
        What stands for a value that is missing; without one it must not be missing.
    """

    low: FiniteFloat
    high: FiniteFloat
    default: FiniteFloat | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not -_LARGEST < self.low < self.high < _LARGEST:
            raise ValueError(f"low must be below high, both below {_LARGEST:g} in size")
        if self.default is not None and not self.low <= self.default <= self.high:
            raise ValueError(f"default {self.default:g} must lie from {self.low:g} to {self.high:g}")
        return self


class CategoricalFeature(ConfigPart):
    """A feature that is one of some words, each of which is a column of zeros and ones.

    Attributes
    ----------
    values : tuple of str
        The words.
    default : str, optional
        What stands for a value that is missing; without one it must not be missing.
    """

    values: Annotated[tuple[Name, ...], Field(min_length=1)]
    default: Name | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        refuse_twice("values", self.values)
        if self.default is not None and self.default not in self.values:
            raise ValueError(f"default {self.default!r} is none of the values")
        return self


def _kind(plain: Any) -> str:
    is_words = "values" in plain if isinstance(plain, Mapping) else isinstance(plain, CategoricalFeature)
    return "words" if is_words else "number"


Feature = Annotated[
    Annotated[NumericFeature, Tag("number")] | Annotated[CategoricalFeature, Tag("words")], Discriminator(_kind)
]
Features = Mapping[str, NumericFeature | CategoricalFeature]


def refuse_twice(what: str, names: Iterable[str]) -> None:
    """Refuse names that stand more than once."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ValueError(f"{what}: these stand more than once: {', '.join(twice[:5])}")


def columns_of(features: Features) -> tuple[str, ...]:
    """Name the columns of features.

    Examples
    --------
    >>> columns_of({"age": NumericFeature(low=17, high=90), "sex": CategoricalFeature(values=("f", "m"))})
    ('age', 'sex=f', 'sex=m')
    """
    return tuple(
        column
        for name, feature in features.items()
        for column in (
            [f"{name}={v}" for v in feature.values] if isinstance(feature, CategoricalFeature) else [name]
        )
    )


def values_type(name: str, features: Features) -> Any:
    """Make the type of a mapping that has a value for every feature, by which pydantic checks and documents it.

    It is that of a field, which may be left out where every feature has a default.
    """
    fields: dict[str, Any] = {}
    for key, feature in features.items():
        if isinstance(feature, CategoricalFeature):
            kind: Any = Literal[feature.values]
        else:
            kind = Annotated[float, Field(ge=feature.low, le=feature.high, strict=True, allow_inf_nan=False)]
        fields[key] = kind if feature.default is None else NotRequired[kind | None]
    values = closed_dict(name, fields)
    return values if any(feature.default is None for feature in features.values()) else NotRequired[values]


def closed_dict(name: str, fields: Mapping[str, Any]) -> Any:
    """Make the type of a mapping that has these keys and no others, whatever characters are in them."""
    return with_config(ConfigDict(extra="forbid"))(TypedDict(name, dict(fields)))  # type: ignore[operator]


def some_values(features: Features) -> dict[str, Any]:
    """Give a value for every feature: to try things out, and for examples.

    Examples
    --------
    >>> some_values({"age": NumericFeature(low=17, high=90), "sex": CategoricalFeature(values=("f", "m"))})
    {'age': 17.0, 'sex': 'f'}
    """
    return {
        name: feature.values[0] if isinstance(feature, CategoricalFeature) else feature.low
        for name, feature in features.items()
    }


class FeatureEncoder:
    """Features as numbers, one vector for each user or arm.

    Parameters
    ----------
    features : mapping of str to NumericFeature or CategoricalFeature
        The features, in the order of their columns.

    Examples
    --------
    >>> features = {"age": NumericFeature(low=20, high=70), "sex": CategoricalFeature(values=("f", "m"))}
    >>> encoder = FeatureEncoder(features)
    >>> encoder.encode({"age": 45, "sex": "m"})
    array([0.5, 0. , 1. ])
    """

    def __init__(self, features: Features) -> None:
        self.columns = columns_of(features)
        place = {column: at for at, column in enumerate(self.columns)}
        # A value without a default is never missing: `values_type` has seen to that.
        self._numbers: list[tuple[str, Any, int, float, float]] = [
            (name, feature.default, place[name], feature.low, feature.high - feature.low)
            for name, feature in features.items()
            if isinstance(feature, NumericFeature)
        ]
        self._words: list[tuple[str, Any, dict[str, int]]] = [
            (name, feature.default, {value: place[f"{name}={value}"] for value in feature.values})
            for name, feature in features.items()
            if isinstance(feature, CategoricalFeature)
        ]

    def encode(self, values: Mapping[str, Any]) -> Floats:
        """Give the vector of values that `values_type` has checked."""
        x = np.zeros(len(self.columns))
        for name, default, at, low, span in self._numbers:
            value = values.get(name)
            x[at] = ((default if value is None else value) - low) / span
        for name, usual, places in self._words:
            word = values.get(name)
            x[places[usual if word is None else word]] = 1.0
        return x
