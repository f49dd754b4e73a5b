"""The look of figures: made for a column of a page, and to be read without colour."""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 3.5  # inches: one column of a paper
# Okabe and Ito's colours, which the colour-blind tell apart, each with a line of its own.
STYLES: tuple[tuple[str, Any], ...] = (
    ("#0072B2", "-"),
    ("#D55E00", (0, (4, 1.5))),
    ("#009E73", (0, (1, 1))),
    ("#CC79A7", (0, (5, 1, 1, 1))),
    ("#56B4E9", (0, (8, 2))),
    ("#000000", (0, (3, 1, 1, 1, 1, 1))),
)
# For more lines than that: colours and dashes are paired anew with every turn.
_EXTRA_DASHES: tuple[Any, ...] = ((0, (10, 1, 2, 1)), (0, (2, 3)), (0, (6, 1, 1, 1, 1, 1, 1, 1)))
# What as_svg turns over; both are those of the page.
INK = "#1c1e21"
# The reader's letters may be wider than those that were measured here, and stand out.
_INKS = (
    f":root{{--ink:{INK}}}@media(prefers-color-scheme:dark){{:root{{--ink:#e7e9ec}}}}"
    "svg{overflow:visible}text{fill:var(--ink)}"
)
# Letters that no XML may hold, as a name in a log may.
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_STYLE: Any = {  # older versions of matplotlib take names, newer ones a type of their own
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7.5,
    "lines.linewidth": 1.2,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "pdf.fonttype": 42,
    "text.parse_math": False,  # names come from logs, and a dollar in them is a dollar
}


def need_matplotlib() -> None:
    """Say what to install where there is no matplotlib: better before hours of work than after them."""
    try:
        import matplotlib as mpl  # noqa: F401, PLC0415 - an extra
    except ImportError:
        raise ImportError("figures need matplotlib: pip install 'fairbandits[plot]'") from None


def save(figure: Figure, folder: Path, name: str) -> Path:
    """Write a figure as PNG and PDF, without dates, and return the path of the PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', name)}.png"
    figure.savefig(path, dpi=200, metadata={"Software": None})
    figure.savefig(path.with_suffix(".pdf"), metadata={"CreationDate": None})
    return path


def as_svg(figure: Figure) -> str:
    """Give a figure as SVG whose lines and letters turn light where the reader has a dark screen.

    Its letters stay letters, in the reader's own font; there is no date in it, nor anything that chance decides.
    """
    from matplotlib import rc_context  # noqa: PLC0415 - an extra

    file = io.BytesIO()
    plain: Any = {"svg.fonttype": "none", "svg.hashsalt": "fairbandits", "font.family": "sans-serif"}
    plain["text.parse_math"] = False  # some names are written when it is drawn
    with rc_context(plain), warnings.catch_warnings():
        # The reader's fonts draw the letters, not those that are here.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = _NO_XML.sub("\N{REPLACEMENT CHARACTER}", file.getvalue().decode())
    svg = svg[svg.index("<svg") :].replace(INK, "var(--ink)").replace("#000000", "var(--ink)")
    head, body = svg.split(">", 1)
    return f"{head}><style>{_INKS}</style>{body}"


def style_of(number: int) -> tuple[str, Any]:
    """Give the how-manieth line its colour and its dashes."""
    if number < len(STYLES):
        return STYLES[number]
    turn, place = divmod(number, len(STYLES))
    return STYLES[place][0], _EXTRA_DASHES[(turn + place) % len(_EXTRA_DASHES)]


def style() -> Any:
    """Give the context in which figures are drawn."""
    need_matplotlib()
    from matplotlib import rc_context  # noqa: PLC0415

    return rc_context(_STYLE)


def blank(width: float, height: float) -> Figure:
    """Give an empty figure, in inches."""
    # The classes rather than pyplot: no window, no state that figures share.
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def subplots(rows: int, columns: int, height: float) -> tuple[Figure, Any]:
    """Give a figure one column wide, and its panels."""
    figure = blank(WIDTH, rows * height + 0.75)
    return figure, figure.subplots(rows, columns, squeeze=False, sharey=True)


def head(figure: Figure, data_source: str, remark: str) -> None:
    """Write over a figure which data it shows, and below that what the lines are."""
    text = "\n".join([*textwrap.wrap(data_source, 74), remark])
    figure.suptitle(text, fontsize=6.5, color="0.25", linespacing=1.4)


def legend(figure: Figure, lines: Mapping[str, Any], longest: int = 1000) -> None:
    """Write below a figure what its lines are: one below the other where a name is longer than `longest`."""
    columns = 2 if len(lines) in (2, 4, 6) else min(3, len(lines))
    if max(map(len, lines), default=0) > longest:
        columns = 1
    figure.legend(
        lines.values(), lines.keys(), loc="outside lower center", ncols=columns, frameon=False, handlelength=2.8
    )
