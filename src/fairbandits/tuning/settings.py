"""The settings to try: combinations of parameters from a grid, or drawn from distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairbandits.policies import Policy
from fairbandits.validation import check_integer

Params = dict[str, Any]


def make_settings(grid: Any, n_iter: int | None, random_state: Any) -> list[Params]:
    """Return the settings of a grid, in the order of scikit-learn.

    Parameters
    ----------
    grid : dict, or list of dicts
        Lists of values by parameter, or scipy distributions.
    n_iter : int or None
        The number of settings to draw; None for all of a grid.
    random_state : int
        The seed of draws.

    Examples
    --------
    >>> make_settings({"alpha": [0.1, 1.0], "model__discount": [0.99]}, None, 0)
    [{'alpha': 0.1, 'model__discount': 0.99}, {'alpha': 1.0, 'model__discount': 0.99}]
    """
    from sklearn.model_selection import ParameterGrid, ParameterSampler  # noqa: PLC0415 - slow to import

    parts = [grid] if isinstance(grid, Mapping) else grid
    if not isinstance(parts, Sequence) or not parts or not all(isinstance(part, Mapping) for part in parts):
        raise ValueError(f"grid must be a dict of lists or distributions, or a list of such dicts, got {grid!r}")
    has_distributions = any(hasattr(values, "rvs") for part in parts for values in part.values())
    if has_distributions and n_iter is None:
        raise ValueError("n_iter must be given for a grid with distributions, got None; try 20")
    try:
        if n_iter is None:
            found = list(ParameterGrid(list(parts)))
        else:
            n_iter = check_integer("n_iter", n_iter, 1)
            if not has_distributions:
                n_iter = min(n_iter, len(ParameterGrid(list(parts))))
            found = list(ParameterSampler(list(parts), n_iter, random_state=random_state))
    except (TypeError, ValueError) as error:
        raise ValueError(f"grid must have a list of values for each parameter, got {grid!r} ({error})") from None
    return [{name: _plain(value) for name, value in params.items()} for params in found]


def with_params(policy: Policy, params: Params) -> Policy:
    """Return a copy of a policy that has learned nothing, with some parameters changed."""
    from sklearn.base import clone  # noqa: PLC0415 - slow to import

    copy: Policy = clone(policy)
    return copy.set_params(**params)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
