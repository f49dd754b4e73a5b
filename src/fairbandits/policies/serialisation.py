"""Parameters and randomness as plain values that JSON can hold, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.models import MapError, Model

# What a file may name; anything else in its place is refused.
_BIT_GENERATORS = {
    kind.__name__: kind
    for kind in (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64)
}


def as_generator(random_state: Any) -> np.random.Generator:
    """Make a generator of what scikit-learn calls a random state."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state must be None, a whole number or a numpy Generator; got {random_state!r}"
        ) from None


def rng_to_dict(rng: np.random.Generator) -> dict[str, Any]:
    """Give the state of a generator."""
    plain: dict[str, Any] = _plain(rng.bit_generator.state)
    return plain


def rng_from_dict(plain: dict[str, Any]) -> np.random.Generator:
    """Make the generator that was in a state."""
    bits = _BIT_GENERATORS[plain["bit_generator"]]()
    bits.state = plain  # type: ignore[assignment]  # numpy checks it
    return np.random.Generator(bits)


def params_to_dict(params: dict[str, Any]) -> dict[str, Any]:
    """Give parameters; a generator is left out, since the state of the randomness is kept anyway."""
    return {
        name: _plain(value)
        for name, value in params.items()
        if name != "random_state" or value is None or isinstance(value, int | np.integer)
    }


def params_from_dict(plain: dict[str, Any], feature_map: Any = None) -> dict[str, Any]:
    """Make parameters of what `params_to_dict` gave, and of the feature map, which no file holds."""
    params = {name: _from_plain(value, feature_map) for name, value in plain.items()}
    if feature_map is not None and not any(isinstance(value, Model) for value in params.values()):
        raise MapError("it was saved without a feature map; load it without one")
    return params


def _from_plain(value: Any, feature_map: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"tuple"}:
        return tuple(_from_plain(entry, feature_map) for entry in value["tuple"])
    if isinstance(value, list):
        return [_from_plain(entry, feature_map) for entry in value]
    if isinstance(value, dict) and set(value) == {"model"}:
        return Model.from_dict(value["model"], feature_map)
    return value


def part(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Take the arrays whose names begin with a prefix, and take the prefix off."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Model):
        return {"model": value.to_dict()}
    if isinstance(value, tuple):
        return {"tuple": [_plain(entry) for entry in value]}  # JSON knows lists alone
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return value
