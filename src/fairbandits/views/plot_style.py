"""Components shared by all figures: colours safe for colour-blind readers, and the axes of `plot` methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fairbandits.extras import install_hint
from fairbandits.views.text import shorten_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The colour and dashes of each line. The palette of Okabe and Ito is safe for colour-blind readers.
LINE_STYLES: tuple[tuple[str, Any], ...] = (
    ("#0072B2", "-"),
    ("#D55E00", (0, (4, 1.5))),
    ("#009E73", (0, (1, 1))),
    ("#CC79A7", (0, (5, 1, 1, 1))),
    ("#56B4E9", (0, (8, 2))),
    ("#000000", (0, (3, 1, 1, 1, 1, 1))),
)
# The dashes of further lines, which reuse the colours in new combinations.
_EXTRA_DASHES: tuple[Any, ...] = ((0, (10, 1, 2, 1)), (0, (2, 3)), (0, (6, 1, 1, 1, 1, 1, 1, 1)))
#: Grids, bands and secondary text; visible on light and on dark backgrounds.
GREY = "#8c949d"
#: The markers of series that differ in more than their colour.
MARKERS = "osD^vP*X<>hpd"
# The largest number of characters of a name in a legend.
_MAX_LABEL = 28
_STYLE: Any = {  # the type of the keys differs between versions of matplotlib
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "lines.linewidth": 1.6,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.parse_math": False,  # names come from logs and may contain dollar signs
}


def require_matplotlib() -> None:
    """Raise ImportError if matplotlib is missing; call this before a long computation."""
    try:
        import matplotlib as mpl  # noqa: F401, PLC0415 - an extra
    except ImportError:
        raise ImportError(f"figures need matplotlib; {install_hint('plot')}") from None


@contextmanager
def plot_axes(ax: Axes | None, width: float, height: float) -> Iterator[Axes]:
    """Provide the axes of a `plot` method: the given ones, or those of a new figure of this size in inches.

    A new figure is opaque, because a transparent one would be unreadable in a notebook with the opposite theme.
    """
    require_matplotlib()
    from matplotlib import pyplot, rc_context, rcParams  # noqa: PLC0415 - an extra

    if ax is None:
        # This happens outside the context, which would undo the settings that the backend makes when the first
        # figure starts it.
        figure = pyplot.figure(figsize=(width, height), layout="constrained")
        figure.set_facecolor(rcParams["axes.facecolor"])
    with rc_context(_STYLE):
        yield figure.subplots() if ax is None else ax


def line_style(index: int) -> tuple[str, Any]:
    """Return the colour and the dashes of the line with this index."""
    if index < len(LINE_STYLES):
        return LINE_STYLES[index]
    cycle, position = divmod(index, len(LINE_STYLES))
    return LINE_STYLES[position][0], _EXTRA_DASHES[(cycle + position) % len(_EXTRA_DASHES)]


def ink() -> Any:
    """Return the colour of text and reference lines, which follows matplotlib's style."""
    from matplotlib import rcParams  # noqa: PLC0415 - an extra

    return rcParams["text.color"]


def legend_beside(ax: Axes, handles: Mapping[str, Any], n_omitted: int = 0) -> None:
    """Add a legend to the right of the axes, where it hides no data; it states how many series are not drawn."""
    legend = ax.legend(
        handles.values(),
        [shorten_name(name, _MAX_LABEL) for name in handles],
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        frameon=False,
        borderaxespad=0.0,
        handlelength=2.6,
        title=f"{n_omitted:,} in between are not shown" if n_omitted else None,
        title_fontsize="small",
        alignment="left",
    )
    for text in legend.get_texts():
        text.set_parse_math(False)  # a name may contain dollar signs
