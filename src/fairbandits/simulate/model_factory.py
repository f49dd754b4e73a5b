"""Build models from plain values, as a command line or JSON gives them; feature maps are fitted to the world."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from itertools import islice
from typing import Any

import numpy as np

from fairbandits.models import Model
from fairbandits.worlds.world import dense

# A feature map is fitted to the contexts of this many visits, before the first round.
_FITTING_VISITS = 50
_KERNELS, _PREPROCESSING = "sklearn.kernel_approximation", "sklearn.preprocessing"
#: The feature maps that have a short name, and the modules that define them.
FEATURE_MAPS = {
    "Nystroem": _KERNELS,
    "RBFSampler": _KERNELS,
    "PolynomialCountSketch": _KERNELS,
    "PolynomialFeatures": _PREPROCESSING,
    "SplineTransformer": _PREPROCESSING,
}


def build_model(value: Any, world: Any, seed: int) -> Any:
    """Return the model that `{"Model": {...}}` describes; return any other value unchanged.

    Parameters
    ----------
    value : any
        The value of a policy's parameter.
    world : World or None
        The world whose first 50 visits a feature map is fitted to. With None, all parameters are validated, but
        the model has no feature map.
    seed : int
        The `random_state` of the feature map, if it has that parameter and it is not given.

    Examples
    --------
    >>> build_model({"Model": {"kind": "shared", "discount": 0.999}}, None, seed=0)
    Model(kind='shared', discount=0.999)
    """
    if not (isinstance(value, Mapping) and set(value) == {"Model"}):
        return value
    params = dict(value["Model"])
    feature_map = _build_feature_map(params.pop("feature_map", None), seed)
    if feature_map is not None and world is not None:
        visits = islice(world.visits(), _FITTING_VISITS)
        params["feature_map"] = feature_map.fit(np.concatenate([dense(visit.contexts) for visit in visits]))
    return _construct("Model", Model, params)


def _build_feature_map(description: Any, seed: int) -> Any:
    """Return an unfitted feature map from its name or from `{name: parameters}`."""
    if description is None:
        return None
    if isinstance(description, Mapping) and len(description) == 1:
        name, params = next(iter(description.items()))
    else:
        name, params = description, {}
    module, _, member = name.partition(":") if isinstance(name, str) else ("", "", "")
    try:
        cls = getattr(import_module(FEATURE_MAPS.get(module, module)), member or module)
    except (ImportError, AttributeError, TypeError, ValueError):
        raise ValueError(
            f"feature_map must be one of {', '.join(FEATURE_MAPS)}, or module:Class, got {name!r}"
        ) from None
    feature_map = _construct(name, cls, params)
    if not hasattr(feature_map, "fit"):
        raise ValueError(f"feature_map must be a scikit-learn transformer with a method fit, got {name!r}")
    if "random_state" not in params and "random_state" in feature_map.get_params():
        feature_map.set_params(random_state=seed)
    return feature_map


def _construct(name: str, cls: Any, params: Any) -> Any:
    try:
        return cls(**params)
    except TypeError as error:
        raise ValueError(f"{name} does not take these parameters: {error}") from None
