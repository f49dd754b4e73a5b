"""Parameters and random generators as JSON values."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairbandits.models import FeatureMapError, Model, RewardModel

# The generators that a file may name; any other name is rejected.
_BIT_GENERATORS = {
    kind.__name__: kind
    for kind in (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64)
}


def as_generator(random_state: Any) -> np.random.Generator:
    """Return a NumPy generator for a seed or a generator."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state must be None, an integer or a NumPy generator, got {random_state!r}"
        ) from None


def rng_to_dict(rng: np.random.Generator) -> dict[str, Any]:
    """Return the state of a generator."""
    state: dict[str, Any] = _to_json(rng.bit_generator.state)
    return state


def rng_from_dict(state: dict[str, Any]) -> np.random.Generator:
    """Rebuild a generator from its state."""
    bits = _BIT_GENERATORS[state["bit_generator"]]()
    bits.state = state  # type: ignore[assignment]  # numpy checks it
    return np.random.Generator(bits)


def params_to_dict(params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters as JSON values, without a generator, whose state is saved elsewhere."""
    return {
        name: _to_json(value)
        for name, value in params.items()
        if name != "random_state" or value is None or isinstance(value, int | np.integer)
    }


def params_from_dict(values: dict[str, Any], feature_map: Any = None) -> dict[str, Any]:
    """Rebuild parameters from the values that `params_to_dict` returned, given their feature map."""
    params = {name: _from_json(value, feature_map) for name, value in values.items()}
    if feature_map is not None and not any(isinstance(value, Model) for value in params.values()):
        raise FeatureMapError("it was saved without a feature map; load it without one")
    return params


def _from_json(value: Any, feature_map: Any) -> Any:
    if isinstance(value, list):
        return [_from_json(entry, feature_map) for entry in value]
    if isinstance(value, dict) and set(value) == {"tuple"}:
        return tuple(_from_json(entry, feature_map) for entry in value["tuple"])
    if isinstance(value, dict) and set(value) == {"model"}:
        return Model.from_dict(value["model"], feature_map)
    if isinstance(value, dict) and set(value) == {"reward_model"}:
        if value["reward_model"] not in RewardModel.kinds:
            raise FeatureMapError(
                f"its reward model {value['reward_model']!r} is not defined here; import the module that defines "
                "it"
            )
        return RewardModel.kinds[value["reward_model"]]
    return value


def _to_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _to_json(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Model):
        return {"model": value.to_dict()}
    if isinstance(value, type):
        return {"reward_model": f"{value.__module__}.{value.__qualname__}"}
    if isinstance(value, tuple | list):
        entries = [_to_json(entry) for entry in value]
        return {"tuple": entries} if isinstance(value, tuple) else entries  # JSON has no tuples
    return value
