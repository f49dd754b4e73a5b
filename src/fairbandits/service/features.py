"""Features of users and arms, as declared by the configuration or encoded by a saved recommender."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NotRequired, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    FiniteFloat,
    Strict,
    Tag,
    model_validator,
    with_config,
)
from typing_extensions import TypedDict

from fairbandits.contexts import CategoryEncoder, DateEncoder, NumberEncoder
from fairbandits.contexts.column_encoders import ColumnEncoder
from fairbandits.service.names import MAX_TEXT, Name, label_type

_LARGEST = 1e50
# The maximum number of categories that a description lists.
_MAX_LISTED = 20


_Number = Annotated[float, Field(allow_inf_nan=False), Strict()]


class ConfigPart(BaseModel):
    """A section of the configuration: immutable, and without unknown settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NumericFeature(ConfigPart):
    """A numeric feature, scaled to the range from 0 to 1.

    Attributes
    ----------
    low, high : float
        The range of values; other values are refused.
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
                f"low must be below high, both below {_LARGEST:g} in absolute value, "
                f"got {self.low:g} and {self.high:g}"
            )
        if self.default is not None and not self.low <= self.default <= self.high:
            raise ValueError(f"default must be from {self.low:g} to {self.high:g}, got {self.default:g}")
        return self

    def encoder(self, name: str) -> ColumnEncoder:
        """Return the encoder of the feature."""
        return NumberEncoder(name, self.low, self.high, self.default)

    @property
    def is_required(self) -> bool:
        """Whether a value must be given."""
        return self.default is None

    @property
    def value_type(self) -> Any:
        """The type of values that are accepted."""
        return Annotated[float, Field(ge=self.low, le=self.high, strict=True, allow_inf_nan=False)]

    @property
    def example(self) -> float:
        """A valid value."""
        return self.low


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

    def encoder(self, name: str) -> ColumnEncoder:
        """Return the encoder of the feature."""
        return CategoryEncoder(name, self.values, self.default)

    @property
    def is_required(self) -> bool:
        """Whether a value must be given."""
        return self.default is None

    @property
    def value_type(self) -> Any:
        """The type of values that are accepted."""
        return Literal[self.values]

    @property
    def example(self) -> str:
        """A valid value."""
        return self.values[0]


@dataclass(frozen=True)
class SavedFeature:
    """A feature of a saved recommender, which accepts all values that its encoder accepts.

    Attributes
    ----------
    column : NumberEncoder, DateEncoder or CategoryEncoder
        The encoder.
    """

    column: ColumnEncoder

    def encoder(self, name: str) -> ColumnEncoder:
        """Return the encoder of the feature."""
        return self.column

    @property
    def default(self) -> Any:
        """The value that stands for a missing value; None if there is none."""
        return self.column.fill

    @property
    def is_required(self) -> bool:
        """Whether a value must be given."""
        return isinstance(self.column, NumberEncoder) and self.column.fill is None

    @property
    def value_type(self) -> Any:
        """The type of values that are accepted."""
        column = self.column
        if isinstance(column, CategoryEncoder):
            listed = ", ".join(column.categories[:_MAX_LISTED])
            more = ", ..." if len(column.categories) > _MAX_LISTED else ""
            known = f"Known values: {listed}{more}." if listed else "Compared with the values of the arms."
            kind = label_type(column.categories) | _Number
            return Annotated[kind, Field(description=f"A category. {known} Other values are accepted too.")]
        if isinstance(column, DateEncoder):
            text = "A date or time such as 2024-05-01."
            date = Annotated[str, Field(max_length=MAX_TEXT), Strict()]
            return Annotated[date, Field(description=text), AfterValidator(_checked_by(column))]
        text = "A number or truth value."
        if column.low is not None and column.high is not None:
            text += f" Numbers outside {column.low:g} to {column.high:g} are clipped to this range."
        return Annotated[_Number | Annotated[bool, Strict()], Field(description=text)]

    @property
    def example(self) -> Any:
        """A valid value."""
        column = self.column
        if isinstance(column, CategoryEncoder):
            return column.categories[0] if column.categories else "any"
        low = 0.0 if column.low is None else column.low
        return datetime.fromtimestamp(low, UTC).date().isoformat() if isinstance(column, DateEncoder) else low


def _checked_by(column: DateEncoder) -> Any:
    def check(value: Any) -> Any:
        column.parse(value)
        return value

    return check


def _kind(feature: Any) -> str:
    has_values = "values" in feature if isinstance(feature, Mapping) else isinstance(feature, CategoricalFeature)
    return "categorical" if has_values else "numeric"


ConfiguredFeature = Annotated[
    Annotated[NumericFeature, Tag("numeric")] | Annotated[CategoricalFeature, Tag("categorical")],
    Discriminator(_kind),
]
Feature = NumericFeature | CategoricalFeature | SavedFeature
Features = Mapping[str, Feature]


def check_unique(what: str, names: Iterable[str]) -> None:
    """Raise ValueError if a name occurs more than once."""
    duplicates = sorted(name for name, count in Counter(names).items() if count > 1)
    if duplicates:
        raise ValueError(f"{what} must be unique, got duplicates: {', '.join(duplicates[:5])}")


def feature_values_type(name: str, features: Features) -> Any:
    """Return the type of a field that holds a value for every feature, which pydantic validates and documents.

    The field is optional if every feature is.
    """
    fields: dict[str, Any] = {}
    for key, feature in features.items():
        kind = feature.value_type
        fields[key] = kind if feature.is_required else NotRequired[kind | None]
    values = strict_dict(name, fields)
    return values if any(feature.is_required for feature in features.values()) else NotRequired[values]


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
    return {name: feature.example for name, feature in features.items()}
