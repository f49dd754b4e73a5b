"""Models as plain values, such as a command line gives them; feature maps are fitted where the run begins."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from itertools import islice
from typing import Any

import numpy as np

from fairbandits.models import Model
from fairbandits.worlds.world import dense

# So many visitors are looked at before the first round, to fit a feature map on what was on offer to them.
_VISITS = 50
_KERNELS, _PREPROCESSING = "sklearn.kernel_approximation", "sklearn.preprocessing"
MAPS = {
    "Nystroem": _KERNELS,
    "RBFSampler": _KERNELS,
    "PolynomialCountSketch": _KERNELS,
    "PolynomialFeatures": _PREPROCESSING,
    "SplineTransformer": _PREPROCESSING,
}


def made(value: Any, world: Any, seed: int) -> Any:
    """Make a model of its plain values, `{"Model": {...}}`; whatever else comes is handed through.

    Parameters
    ----------
    value : any
        The value of a policy's parameter.
    world : World or None
        Where a feature map is fitted: on the contexts of the first 50 visits. Without a world all is checked,
        and the model has no map.
    seed : int
        The map's randomness, where it has some and says nothing else.

    Examples
    --------
    >>> made({"Model": {"kind": "shared", "discount": 0.999}}, None, seed=0)
    Model(kind='shared', discount=0.999)
    """
    if not (isinstance(value, Mapping) and set(value) == {"Model"}):
        return value
    params = dict(value["Model"])
    feature_map = _as_map(params.pop("feature_map", None), seed)
    if feature_map is not None and world is not None:
        visits = islice(world.visits(), _VISITS)
        params["feature_map"] = feature_map.fit(np.concatenate([dense(visit.contexts) for visit in visits]))
    return _called("Model", Model, params)


def _as_map(plain: Any, seed: int) -> Any:
    """Make a feature map, not fitted yet, of a name or of `{name: parameters}`."""
    if plain is None:
        return None
    name, params = next(iter(plain.items())) if isinstance(plain, Mapping) and len(plain) == 1 else (plain, {})
    module, _, member = name.partition(":") if isinstance(name, str) else ("", "", "")
    try:
        kind = getattr(import_module(MAPS.get(module, module)), member or module)
    except (ImportError, AttributeError, TypeError, ValueError):
        raise ValueError(
            f"there is no feature map {name!r}; expected one of {', '.join(MAPS)}, or module:Class"
        ) from None
    feature_map = _called(name, kind, params)
    if not hasattr(feature_map, "fit"):
        raise ValueError(f"feature map {name!r} cannot be fitted; expected a transformer as scikit-learn has them")
    if "random_state" not in params and "random_state" in feature_map.get_params():
        feature_map.set_params(random_state=seed)
    return feature_map


def _called(name: str, kind: Any, params: Any) -> Any:
    try:
        return kind(**params)
    except TypeError as error:
        raise ValueError(f"{name} does not take these parameters: {error}") from None
