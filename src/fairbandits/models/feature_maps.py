"""Feature maps: what makes a curved reward linear, such as scikit-learn's Nystroem, RBFSampler or splines."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from fairbandits.models.rows import Rows, as_rows

_PROBES = 8
# Other machines add up sums in another order; this many decimals of the largest value are the same on all of them.
_DECIMALS = 6


class MapError(ValueError):
    """A feature map that is not the one that a policy learned with."""


def check_map(feature_map: Any) -> None:
    """Refuse what is no feature map that has been fitted on plain numbers."""
    name = type(feature_map).__name__
    if not callable(getattr(feature_map, "transform", None)) or isinstance(feature_map, type):
        raise ValueError(
            f"feature_map must be a fitted transformer, as scikit-learn has them; got {feature_map!r}. "
            "Try sklearn.kernel_approximation.Nystroem"
        )
    if width_of(feature_map) is None:
        raise ValueError(
            f"feature_map={name} has not been fitted; fit it on contexts that are like those to come, one row per "
            "arm and user, before it goes into a Model: feature_map.fit(contexts)"
        )
    if getattr(feature_map, "feature_names_in_", None) is not None:
        raise ValueError(
            f"feature_map={name} was fitted on a table with named columns, but contexts are plain numbers; fit it "
            "on table.to_numpy()"
        )
    # Whatever it cannot do, better now than after a thousand rounds.
    fingerprint(feature_map)


def width_of(feature_map: Any) -> int | None:
    """Give how many columns a map takes; None where it has not been fitted."""
    width = getattr(feature_map, "n_features_in_", None)
    return None if width is None else int(width)


def mapped(feature_map: Any, rows: Rows) -> Rows:
    """Map contexts, all users and arms in one call."""
    return as_rows(_transform(feature_map, rows.toarray(), "these contexts"), None, rows.n_users)


def fingerprint(feature_map: Any) -> str:
    """Give a hash of what a map makes of a few fixed contexts: equal for maps that do the same."""
    probes = np.random.default_rng(0).random((_PROBES, width_of(feature_map) or 0))
    out = _transform(feature_map, probes, "numbers between 0 and 1")
    out = np.asarray(out.toarray() if hasattr(out, "toarray") else out, np.float64)
    # Adding 0 turns a negative zero into a positive one.
    rounded = np.round(out / (np.abs(out).max(initial=0.0) or 1.0), _DECIMALS) + 0.0
    return hashlib.sha256(f"{out.shape}".encode() + rounded.tobytes()).hexdigest()


def _transform(feature_map: Any, contexts: Any, what: str) -> Any:
    try:
        out = feature_map.transform(contexts)
        n_rows = out.shape[0]
    except Exception as error:  # a map is somebody else's code, and may raise anything
        raise ValueError(
            f"feature_map={type(feature_map).__name__} does not take {what}: {error}. It must take any numbers, "
            "and give a matrix"
        ) from error
    if n_rows != len(contexts):
        raise ValueError(
            f"feature_map={type(feature_map).__name__} made {n_rows} rows of {len(contexts)}; give one for each"
        )
    return out
