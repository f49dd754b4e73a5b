"""The colour, dashes and marker of each group, which are the same in every figure, whatever the results."""

from __future__ import annotations

import colorsys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fairbandits.views.plot_style import LINE_STYLES, line_style

_MARKERS = "os^Dv<>PX*"
# Successive hues are as far apart as possible if the step between them is the golden ratio.
_GOLDEN = 0.618033988749895

Labels = tuple[Any, ...]


@dataclass(frozen=True)
class GroupStyle:
    """The style of a group."""

    colour: str
    dashes: Any
    marker: str


def group_styles(groups: Iterable[Labels]) -> dict[Labels, GroupStyle]:
    """Return the style of each group, assigned in the order of the labels.

    Examples
    --------
    >>> styles = group_styles([("male",), ("female",)])
    >>> styles["female",].colour, styles["male",].colour
    ('#0072B2', '#D55E00')
    """
    ordered = sorted(groups, key=lambda labels: [str(label) for label in labels])
    return {labels: _style(number) for number, labels in enumerate(ordered)}


def _style(number: int) -> GroupStyle:
    colour, dashes = line_style(number)
    if number >= len(LINE_STYLES):
        colour = _further_colour(number - len(LINE_STYLES))
    return GroupStyle(colour, dashes, _MARKERS[number % len(_MARKERS)])


def _further_colour(number: int) -> str:
    # Medium lightness, so that the colour is visible on light and dark pages.
    rgb = colorsys.hls_to_rgb((0.08 + number * _GOLDEN) % 1.0, 0.45, 0.5)
    return "#" + "".join(f"{round(255 * part):02x}" for part in rgb)
