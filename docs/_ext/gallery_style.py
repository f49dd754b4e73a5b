"""The style of the figures of the gallery."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

# Okabe and Ito's colours, which people with impaired colour vision can tell apart.
_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"]


def apply_style(gallery_conf: dict[str, Any], file: Path | str) -> None:
    """Set the defaults of matplotlib before an example runs."""
    plt.rcParams.update(
        {
            "axes.prop_cycle": plt.cycler(color=_COLOURS),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlelocation": "left",
            "figure.constrained_layout.use": True,
            "figure.figsize": (7.0, 3.8),
            "figure.dpi": 130,
            "legend.frameon": False,
        }
    )
