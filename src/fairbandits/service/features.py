"""Features of users and of arms, as the configuration declares them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NotRequired, Self

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

_LARGEST = 1e50


def _check_printable(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise ValueError("names must have no control characters and no spaces at their ends")
    return text


#: The name of an arm, attribute, group or feature: short, and safe to print anywhere.
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_check_printable)]


class ConfigPart(BaseModel):
    """A section of the configuration: immutable, and without unknown settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NumericFeature(ConfigPart):
    """A numeric feature, scaled to the range from 0 to 1.

    Attributes
    ----------
    low, high : float
        The range of values; others are refused.
    default : float, optional
        The value of users or arms that leave the feature out. Without a default it is required.
    """

    low: FiniteFloat
    high: FiniteFloat
    default: FiniteFloat | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not -_LARGEST < self.low < self.high < _LARGEST:
            raise ValueError(
                f"low must be below high, both below {_LARGEST:g} in size, got {self.low:g} and {self.high:g}"
            )
        if self.default is not None and not self.low <= self.default <= self.high:
            raise ValueError(f"default must be from {self.low:g} to {self.high:g}, got {self.default:g}")
        return self


class CategoricalFeature(ConfigPart):
    """A categorical feature, one-hot encoded.

    Attributes
    ----------
    values : tuple of str
        The categories.
    default : str, optional
        The value of users or arms that leave the feature out. Without a default it is required.
    """

    values: Annotated[tuple[Name, ...], Field(min_length=1)]
    default: Name | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_unique("values", self.values)
        if self.default is not None and self.default not in self.values:
            raise ValueError(f"default must be one of the values, got {self.default!r}")
        return self


def _kind(feature: Any) -> str:
    has_values = "values" in feature if isinstance(feature, Mapping) else isinstance(feature, CategoricalFeature)
    return "categorical" if has_values else "numeric"


Feature = Annotated[
    Annotated[NumericFeature, Tag("numeric")] | Annotated[CategoricalFeature, Tag("categorical")],
    Discriminator(_kind),
]
Features = Mapping[str, NumericFeature | CategoricalFeature]


def check_unique(what: str, names: Iterable[str]) -> None:
    """Raise ValueError if a name occurs more than once."""
    duplicates = sorted(name for name, count in Counter(names).items() if count > 1)
    if duplicates:
        raise ValueError(f"{what} must be unique, got more than once: {', '.join(duplicates[:5])}")


def column_names(features: Features) -> tuple[str, ...]:
    """Return the names of the columns that features are encoded as.

    Examples
    --------
    >>> column_names({"age": NumericFeature(low=17, high=90), "sex": CategoricalFeature(values=("f", "m"))})
    ('age', 'sex=f', 'sex=m')
    """
    return tuple(
        column
        for name, feature in features.items()
        for column in (
            [f"{name}={v}" for v in feature.values] if isinstance(feature, CategoricalFeature) else [name]
        )
    )


def feature_values_type(name: str, features: Features) -> Any:
    """Return the type of a field that holds a value for every feature; pydantic validates and documents with it.

    The field is optional if every feature has a default.
    """
    fields: dict[str, Any] = {}
    for key, feature in features.items():
        if isinstance(feature, CategoricalFeature):
            kind: Any = Literal[feature.values]
        else:
            kind = Annotated[float, Field(ge=feature.low, le=feature.high, strict=True, allow_inf_nan=False)]
        fields[key] = kind if feature.default is None else NotRequired[kind | None]
    values = strict_dict(name, fields)
    return values if any(feature.default is None for feature in features.values()) else NotRequired[values]


def strict_dict(name: str, fields: Mapping[str, Any]) -> Any:
    """Return the type of a dict that has these keys and no others. Keys may contain any characters."""
    return with_config(ConfigDict(extra="forbid"))(TypedDict(name, dict(fields)))  # type: ignore[operator]


def example_values(features: Features) -> dict[str, Any]:
    """Return a valid value for every feature.

    Examples
    --------
    >>> example_values({"age": NumericFeature(low=17, high=90), "sex": CategoricalFeature(values=("f", "m"))})
    {'age': 17.0, 'sex': 'f'}
    """
    return {
        name: feature.values[0] if isinstance(feature, CategoricalFeature) else feature.low
        for name, feature in features.items()
    }
