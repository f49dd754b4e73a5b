"""The style of figures: sized for one column of a page, and legible without colour."""

from __future__ import annotations

import hashlib
import io
import re
import textwrap
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbandits.views.plot_style import require_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 3.5  # in inches: one column of a paper
#: The width of a figure shown next to another on a page; pages scale it up, so that labels are as large as text.
PAGE_WIDTH = 3.3
# The colours of text on light and dark screens; as_svg replaces matplotlib's black with a CSS variable.
_BLACK, _INK, _DARK_INK = "#000000", "#1c1e21", "#e7e9ec"
# overflow:visible is needed because the reader's font may be wider than the one measured here.
_SVG_STYLE = (
    f":root{{--ink:{_INK}}}@media(prefers-color-scheme:dark){{:root{{--ink:{_DARK_INK}}}}}"
    "svg{overflow:visible}text{fill:var(--ink)}"
)
# Longer figure names are shortened in file names.
_MAX_NAME = 66
# Characters that XML forbids; names in a log may contain them.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_STYLE: Any = {  # the type of the keys differs between versions of matplotlib
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
    "text.color": "black",  # as_svg recognises it
    "text.parse_math": False,  # names come from logs and may contain dollar signs
}


def save_figure(figure: Figure, folder: Path, name: str) -> Path:
    """Write a figure as PNG and PDF files, without timestamps, and return the path of the PNG file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{_file_name(name)}.png"
    figure.savefig(path, dpi=200, metadata={"Software": None})
    figure.savefig(path.with_suffix(".pdf"), metadata={"CreationDate": None})
    return path


def _file_name(name: str) -> str:
    """Return a file name for a figure; if it differs from the figure's name, it ends with a hash of that name."""
    safe = re.sub(r"[^A-Za-z0-9_.-]+", "_", name)[:_MAX_NAME]
    return safe if safe == name else f"{safe}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def as_svg(figure: Figure) -> str:
    """Return a figure as SVG that adapts to dark screens.

    Text remains text, in the reader's font. The result is deterministic: it has no timestamp and no random ids.
    """
    from matplotlib import rc_context  # noqa: PLC0415 - an extra

    file = io.BytesIO()
    options: Any = {"svg.fonttype": "none", "svg.hashsalt": "fairbandits", "font.family": "sans-serif"}
    options["text.parse_math"] = False  # some text is laid out only now
    with rc_context(options), warnings.catch_warnings():
        # The text will be drawn in the reader's fonts, so glyphs that are missing here do not matter.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", file.getvalue().decode())
    svg = svg[svg.index("<svg") :].replace(_BLACK, "var(--ink)")
    tag, content = svg.split(">", 1)
    return f"{tag}><style>{_SVG_STYLE}</style>{content}"


def style_context() -> Any:
    """Return the context manager within which figures are drawn."""
    require_matplotlib()
    from matplotlib import rc_context  # noqa: PLC0415

    return rc_context(_STYLE)


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure; the size is in inches."""
    # The classes are used instead of pyplot, to avoid opening windows and sharing state between figures.
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def subplots(rows: int, columns: int, height: float) -> tuple[Figure, Any]:
    """Return a figure as wide as one column, and its axes."""
    figure = new_figure(WIDTH, rows * height + 0.75)
    return figure, figure.subplots(rows, columns, squeeze=False, sharey=True)


def add_header(figure: Figure, data_source: str, remark: str) -> None:
    """Write the data source and a remark above a figure."""
    text = "\n".join([*textwrap.wrap(data_source, 74), remark])
    figure.suptitle(text, fontsize=6.5, color="0.25", linespacing=1.4)


def add_legend(figure: Figure, lines: Mapping[str, Any], fits: bool = False) -> None:
    """Add a legend below a figure; with `fits`, use as many columns as fit, and make the figure taller."""
    columns = 2 if len(lines) in (2, 4, 6) else min(3, len(lines))
    if fits:
        # Lengths in inches, with some extra space for readers whose font is wider.
        entry = 0.45 + 0.066 * max(map(len, lines), default=0)
        columns = max(1, min(columns, int(figure.get_figwidth() / entry)))
        figure.set_figheight(figure.get_figheight() + 0.16 * (-(-len(lines) // columns) - 1))
    figure.legend(
        lines.values(), lines.keys(), loc="outside lower center", ncols=columns, frameon=False, handlelength=2.8
    )
