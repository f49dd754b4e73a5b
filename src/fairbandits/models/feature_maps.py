"""Feature maps, such as scikit-learn's Nystroem, RBFSampler or splines: for rewards that are not linear."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from fairbandits.models.rows import Rows, as_rows

_PROBES = 8
# Machines sum in different orders; this many decimals, relative to the largest value, are the same on all
# machines.
_DECIMALS = 6


class FeatureMapError(ValueError):
    """Raised for a feature map other than the one with which a policy has learned."""


def check_map(feature_map: Any) -> None:
    """Raise ValueError unless this is a feature map fitted on arrays of numbers."""
    name = type(feature_map).__name__
    if not callable(getattr(feature_map, "transform", None)) or isinstance(feature_map, type):
        raise ValueError(
            f"feature_map must be a fitted transformer with scikit-learn's interface, got {feature_map!r}; "
            "try sklearn.kernel_approximation.Nystroem"
        )
    if width_of(feature_map) is None:
        raise ValueError(
            f"feature_map must be fitted, got an unfitted {name}; fit it on representative contexts, one row per "
            "arm and user: feature_map.fit(contexts)"
        )
    if getattr(feature_map, "feature_names_in_", None) is not None:
        raise ValueError(
            f"feature_map must be fitted on an array, got a {name} fitted on named columns; fit it on "
            "table.to_numpy()"
        )
    # Fails now rather than after a thousand rounds.
    fingerprint(feature_map)


def width_of(feature_map: Any) -> int | None:
    """Return the number of columns that a map takes; None if it has not been fitted."""
    width = getattr(feature_map, "n_features_in_", None)
    return None if width is None else int(width)


def mapped(feature_map: Any, rows: Rows) -> Rows:
    """Map contexts, all users and arms in one call."""
    return as_rows(_transform(feature_map, rows.toarray(), "these contexts"), None, rows.n_users)


def fingerprint(feature_map: Any) -> str:
    """Return a hash of a map's output for a few fixed contexts: equal for equivalent maps."""
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
    except Exception as error:  # third-party code may raise anything
        raise ValueError(
            f"feature_map must map any numbers to a matrix, got a {type(feature_map).__name__} that fails for "
            f"{what}: {error}"
        ) from error
    if n_rows != len(contexts):
        raise ValueError(
            f"feature_map must return one row per context, got {n_rows} for {len(contexts)} from a "
            f"{type(feature_map).__name__}"
        )
    return out
