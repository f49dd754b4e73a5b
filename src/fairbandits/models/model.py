"""The description of a model that predicts rewards, from which reward models are built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from fairbandits.models import feature_maps
from fairbandits.models.disjoint import DisjointModel
from fairbandits.models.feature_maps import FeatureMapError
from fairbandits.models.hybrid import HybridModel
from fairbandits.models.logistic import LinearModel, LogisticModel
from fairbandits.models.mixture import MixtureModel
from fairbandits.models.reward_model import RewardModel, ZeroModel
from fairbandits.models.rows import Rows
from fairbandits.models.shared import SharedModel
from fairbandits.parameters import Parameters, number, one_of, parameter

_CLASSES: dict[str, type[LinearModel]] = {"disjoint": DisjointModel, "shared": SharedModel, "hybrid": HybridModel}
#: The kind that compares all others as the stream proceeds.
AUTO = "auto"


class ModelBuilder(Protocol):
    """A builder of reward models, which policies make from their parameter `model`."""

    @property
    def order_dependent(self) -> bool:
        """Whether the same rewards in a different order lead to different predictions."""
        ...

    @property
    def is_additive(self) -> bool:
        """Whether rewards can be summed up before they are learned."""
        ...

    @property
    def is_mergeable(self) -> bool:
        """Whether two models can be merged."""
        ...

    @property
    def width(self) -> int | None:
        """The number of columns that contexts must have; None for any."""
        ...

    def transform(self, rows: Rows) -> Rows:
        """Transform contexts before anything else sees them."""
        ...

    def build(self, width: int, ridge: float) -> RewardModel:
        """Return a model of rewards in [0, 1] that has learned nothing."""
        ...


def _check_feature_map(_: str, value: Any) -> None:
    if value is not None:
        feature_maps.check_map(value)


class Model(Parameters):
    """How rewards are predicted. Every policy takes a `Model`, or the name of its kind, as `model`.

    Examples
    --------
    >>> from fairbandits import LinUCB, Model
    >>> LinUCB(model="hybrid").model
    'hybrid'
    >>> LinUCB(model=Model(kind="shared", link="logistic", discount=0.999))
    LinUCB(model=Model(kind='shared', link='logistic', discount=0.999))
    """

    _frozen = True
    is_mergeable: ClassVar[bool] = True

    kind: str = parameter(
        default="disjoint",
        check=one_of(*_CLASSES, AUTO),
        doc='"disjoint": one regression for each arm. "shared": one for all arms. "hybrid": a part that all arms '
        'share plus a part for each (Li et al. 2010). "auto": all of these and one that forgets, weighted by how '
        "well each predicts (`MixtureModel`).",
    )
    link: str = parameter(
        default="identity",
        check=one_of("identity", "logistic"),
        doc='"identity": the expected reward is `theta.x`. "logistic": it is `sigmoid(theta.x)`, scaled to the '
        "policy's `reward_range`, for clicks and other binary rewards. The predicted reward of an arm that has "
        "learned nothing is then the middle of the range.",
    )
    discount: float = parameter(
        default=1.0,
        check=number(above=0.0, at_most=1.0),
        doc="Forgetting, for rewards that drift: the factor by which the weight of a reward shrinks when its "
        "regression learns another. With 1, nothing is forgotten; with 0.99, a regression looks back over about "
        "100 rewards. Rewards are counted by regression: per arm, or together for the shared model (as in Russac "
        "et al. 2019). With forgetting, the order of rewards matters, and merging two policies adds up the "
        "rewards that each still remembers.",
    )
    feature_map: Any = parameter(
        default=None,
        check=_check_feature_map,
        doc="A fitted transformer with scikit-learn's `transform`, applied to every context, for rewards that "
        "are not linear. Decisions then hold the mapped context, from which the model learns. The transformer is "
        "not saved with a policy: pass it to `load`, which checks that it is the same.",
    )
    dtype: str = parameter(
        default="float64",
        check=one_of("float64", "float32"),
        doc="The type of A^-1. float32 halves its memory; scores are then accurate to about six digits.",
    )

    def build(self, width: int, ridge: float) -> RewardModel:
        """Return a model of rewards in [0, 1] that has learned nothing."""
        if self.kind == AUTO:
            return MixtureModel(width, ridge, self.dtype)
        model = _CLASSES[self.kind](width, ridge, self.dtype, float(self.discount))
        return LogisticModel(model) if self.link == "logistic" else model

    @property
    def order_dependent(self) -> bool:
        """Whether the same rewards in a different order lead to different predictions."""
        return self.discount < 1.0 or self.link == "logistic" or self.kind == AUTO

    def _check_together(self) -> None:
        if self.kind == AUTO and (self.discount < 1.0 or self.link != "identity"):
            raise ValueError(
                f'kind must be disjoint, shared or hybrid for a link or a discount, got "{AUTO}", which adapts '
                "its forgetting to the data"
            )

    @property
    def is_additive(self) -> bool:
        """Whether rewards can be summed up before they are learned."""
        return not self.order_dependent

    @property
    def width(self) -> int | None:
        """The number of columns that contexts must have; None for any."""
        return None if self.feature_map is None else feature_maps.width_of(self.feature_map)

    def transform(self, rows: Rows) -> Rows:
        """Apply the feature map, if there is one."""
        return rows if self.feature_map is None else feature_maps.mapped(self.feature_map, rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as JSON values; a feature map as its name and a fingerprint."""
        values = self.get_params(deep=False)
        if self.feature_map is not None:
            fingerprint = feature_maps.fingerprint(self.feature_map)
            values["feature_map"] = {"name": type(self.feature_map).__name__, "fingerprint": fingerprint}
        return values | {"discount": float(self.discount)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], feature_map: Any = None) -> Model:
        """Rebuild a model from the values that `to_dict` returned, given its feature map if it had one."""
        known = values.get("feature_map")
        if known is None:
            if feature_map is not None:
                raise FeatureMapError("it was saved without a feature map; load it without one")
            return cls(**values)
        if feature_map is None:
            raise FeatureMapError(
                f"it was saved with a feature map, a {known['name']}; pass it as feature_map=..."
            )
        model = cls(**{**values, "feature_map": feature_map})
        if feature_maps.fingerprint(feature_map) != known["fingerprint"]:
            raise FeatureMapError(
                f"it was saved with a different feature map, a {known['name']} with different output"
            )
        return model

    def __sklearn_clone__(self) -> Model:
        """Return the model itself: it does not change, and a clone of its feature map would not be fitted."""
        return self

    def __eq__(self, other: object) -> bool:
        """Compare by prediction: copies of a feature map are equal."""
        return isinstance(other, Model) and (self is other or self.to_dict() == other.to_dict())

    def __hash__(self) -> int:
        return hash((self.kind, self.link, float(self.discount), self.dtype))


class _NoModel:
    """The builder for policies that need no prediction."""

    order_dependent = False
    is_additive = True
    is_mergeable = True
    width = None

    def transform(self, rows: Rows) -> Rows:
        return rows

    def build(self, width: int, ridge: float) -> RewardModel:
        return ZeroModel(width)


class _Custom(_NoModel):
    """The builder for a custom class that derives from `RewardModel`."""

    is_additive = False

    def __init__(self, model: type[RewardModel]) -> None:
        self._model = model
        self.order_dependent = model.order_dependent
        self.is_mergeable = model.is_mergeable

    def build(self, width: int, ridge: float) -> RewardModel:
        return self._model(width)


_BY_WORD: dict[str, Model] = {kind: Model(kind=kind) for kind in (*_CLASSES, AUTO)}


def as_model(model: Any) -> ModelBuilder:
    """Return the builder of reward models for a policy's parameter `model`.

    Examples
    --------
    >>> as_model("shared")
    Model(kind='shared')
    """
    if type(model) is str and model in _BY_WORD:
        return _BY_WORD[model]
    if isinstance(model, Model):
        return model
    if model is None:
        return _NoModel()
    if isinstance(model, type) and issubclass(model, RewardModel):
        return _Custom(model)
    raise ValueError(
        f"model must be one of {', '.join(_BY_WORD)}, a fairbandits.Model, or a class derived from RewardModel, "
        f"got {model!r}"
    )
