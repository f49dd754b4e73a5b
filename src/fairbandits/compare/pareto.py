"""The place of each policy relative to the measured Pareto front of loss and gap."""

from __future__ import annotations

from collections.abc import Mapping

#: A policy is near the front if no policy dominates it by more than this, in loss or in gap.
NEAR = 0.002


def front_positions(points: Mapping[str, tuple[float, float]]) -> dict[str, str]:
    """Return whether each point is "on" the Pareto front, "near" it or "off" it; lower is better in both values.

    Examples
    --------
    >>> front_positions({"a": (0.05, 0.01), "b": (0.051, 0.011), "c": (0.09, 0.01), "d": (0.2, 0.0)})
    {'a': 'on', 'b': 'near', 'c': 'off', 'd': 'on'}
    """
    return {title: _front_position(point, points) for title, point in points.items()}


def _front_position(point: tuple[float, float], points: Mapping[str, tuple[float, float]]) -> str:
    margins = [
        max(point[0] - other[0], point[1] - other[1])
        for other in points.values()
        if other[0] <= point[0] and other[1] <= point[1] and other != point
    ]
    if not margins:
        return "on"
    return "near" if max(margins) <= NEAR else "off"
