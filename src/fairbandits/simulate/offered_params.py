"""The parameters of policies that a world offers."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from fairbandits.policies import Policy


def params_from_world(policy: type[Policy], world: Any) -> dict[str, Any]:
    """Return the parameters that a world offers and the policy has.

    A world may have a mapping `policy_params`: which columns of its contexts are sensitive, for example. Its
    attributes `columns` and `arms` are also offered: the names of the columns, and the first arm as a baseline. A
    world that modifies another one, its attribute `world`, offers the same parameters as that one.

    Examples
    --------
    >>> from fairbandits import LinUCB, NaiveLinUCB
    >>> from fairbandits.worlds import StudentsAndVideos
    >>> sorted(params_from_world(NaiveLinUCB, StudentsAndVideos)), params_from_world(LinUCB, StudentsAndVideos)
    (['columns', 'drop'], {})
    """
    accepted = inspect.signature(policy).parameters
    return {name: value for name, value in _policy_params(world).items() if name in accepted}


def _policy_params(world: Any) -> dict[str, Any]:
    known = _policy_params(world.world) if hasattr(world, "world") else {}
    # On a class, these may be properties or the definitions of fields.
    columns, arms, params = (getattr(world, name, None) for name in ("columns", "arms", "policy_params"))
    if isinstance(columns, Sequence):
        known["columns"] = columns
    if isinstance(arms, Sequence) and arms:
        known["baseline"] = arms[0]
    return known | (dict(params) if isinstance(params, Mapping) else {})
