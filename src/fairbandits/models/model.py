"""Which model predicts the rewards: a small description, of which regressions are made."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from fairbandits.models import feature_maps
from fairbandits.models.disjoint import ArmBank
from fairbandits.models.feature_maps import MapError
from fairbandits.models.hybrid import HybridBank
from fairbandits.models.ridge import RidgeBank

KINDS = ("disjoint", "shared", "hybrid")
LINKS = ("identity", "logistic")
DTYPES = ("float64", "float32")

Bank = RidgeBank | HybridBank


@dataclass(frozen=True, repr=False, eq=False)
class Model:
    """How rewards are predicted. Every policy takes one as `model`, or a word that names its kind.

    Parameters
    ----------
    kind : {"disjoint", "shared", "hybrid"}
        One regression for each arm, or one for all arms, or both at once: a part that all arms have in common
        plus a part for each (Li et al. 2010).
    link : {"identity", "logistic"}
        The reward is `theta.x`; or `sigmoid(theta.x)`, stretched to the policy's `reward_range`: for clicks and
        other rewards that are yes or no. An arm that has learned nothing then stands in the middle of the range.
    discount : float
        Forgetting, for rewards that drift: what is left of the weight of a reward when the regression that learned
        it learns another, above 0. 1 forgets nothing; 0.99 looks back over about 100 rewards. Rewards are counted
        by regression: for each arm, or together where the model is shared (Russac et al. 2019 have the latter).
        Then the order of rewards counts, and merging two policies adds up what either still remembers.
    feature_map : fitted transformer, optional
        Applied to every context before anything else sees it, for curved rewards: anything with scikit-learn's
        `transform`. Decisions then hold the mapped context, which is what is learned. It is not written
        to files: give it to `load`, which checks that it is the same.
    dtype : {"float64", "float32"}
        How A^-1 is kept. As float32 it takes half the memory, and scores are right to about six digits.

    Examples
    --------
    >>> from fairbandits import LinUCB, Model
    >>> LinUCB(model="hybrid").model
    'hybrid'
    >>> LinUCB(model=Model(kind="shared", link="logistic", discount=0.999))
    LinUCB(model=Model(kind='shared', link='logistic', discount=0.999))
    """

    kind: str = "disjoint"
    link: str = "identity"
    discount: float = 1.0
    feature_map: Any = None
    dtype: str = "float64"

    def __post_init__(self) -> None:
        for name, known in (("kind", KINDS), ("link", LINKS), ("dtype", DTYPES)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}; got {getattr(self, name)!r}")
        discount = self.discount
        is_number = isinstance(discount, int | float | np.integer | np.floating) and not isinstance(discount, bool)
        if not (is_number and 0.0 < discount <= 1.0):
            raise ValueError(
                f"discount must be a number above 0 and at most 1; got {discount!r}. 1 forgets nothing"
            )
        if self.feature_map is not None:
            feature_maps.check_map(self.feature_map)

    def bank(self, width: int, ridge: float) -> Bank:
        """Make the regressions, which have learned nothing."""
        how = width, ridge, self.dtype, float(self.discount)
        banks: dict[str, type[Bank]] = {"disjoint": ArmBank, "shared": RidgeBank, "hybrid": HybridBank}
        return banks[self.kind](*how)

    @property
    def order_dependent(self) -> bool:
        """Whether the same rewards in another order lead to other predictions."""
        return self.discount < 1.0 or self.link == "logistic"

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values; of a feature map, what tells whether another one is the same."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.feature_map is not None:
            plain["feature_map"] = {
                "name": type(self.feature_map).__name__,
                "fingerprint": feature_maps.fingerprint(self.feature_map),
            }
        return plain | {"discount": float(self.discount)}

    @classmethod
    def from_dict(cls, plain: dict[str, Any], feature_map: Any = None) -> Model:
        """Make it of what `to_dict` gave, and of its feature map where it had one."""
        known = plain.get("feature_map")
        if known is None:
            if feature_map is not None:
                raise MapError("it was saved without a feature map; load it without one")
            return cls(**plain)
        if feature_map is None:
            raise MapError(f"it was saved with a feature map, a {known['name']}; pass it as feature_map=...")
        model = cls(**plain | {"feature_map": feature_map})
        if feature_maps.fingerprint(feature_map) != known["fingerprint"]:
            raise MapError(
                f"it was saved with another feature map, a {known['name']} that gives other numbers; pass that one"
            )
        return model

    def __eq__(self, other: object) -> bool:
        """Two models are equal that predict alike, also where their feature maps are copies."""
        return isinstance(other, Model) and (self is other or self.to_dict() == other.to_dict())

    def __hash__(self) -> int:
        return hash((self.kind, self.link, float(self.discount), self.dtype))

    def __repr__(self) -> str:
        given = (
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if getattr(self, field.name) != field.default
        )
        return f"Model({', '.join(given)})"


_BY_WORD = {kind: Model(kind) for kind in KINDS}


def as_model(model: Any) -> Model:
    """Take a model as policies do: a word, or a Model.

    Examples
    --------
    >>> as_model("shared")
    Model(kind='shared')
    """
    if type(model) is str and model in _BY_WORD:
        return _BY_WORD[model]
    if isinstance(model, Model):
        return model
    raise ValueError(f"model must be one of {', '.join(KINDS)}, or a fairbandits.Model; got {model!r}")
