"""The figures of the documentation: speed relative to the peers, and the growth of a round."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter, StrMethodFormatter

import results
import targets
from contenders import OURS

TITLES = {
    "w1": "W1: online, 100 arms,\n134 wide, mostly one-hot",
    "w2": "W2: online, 1,000 arms,\n64 wide, dense",
    "w3": "W3: batch, 10,000 users,\n100 arms",
}
EXACT, OTHER, MINE = "#2a6f97", "#bc6c25", "#588157"


def draw_peers(peers: dict[str, Any], path: Path) -> None:
    """Draw one bar per contender and workload: how many times faster fairbandits is, on a log scale."""
    contenders = peers["contenders"]
    names = [name for name in contenders if name != OURS][::-1]
    figure, axes = plt.subplots(1, 3, figsize=(12, 0.32 * len(names) + 1.8), sharey=True)
    for axis, (what, title) in zip(axes, TITLES.items(), strict=True):
        _draw_workload(axis, contenders, names, what)
        axis.set_title(title, fontsize=10)
    axes[0].set_yticks(range(len(names)), names, fontsize=9)
    figure.supxlabel(f"speed of {OURS} relative to the contender, one thread (log scale)", fontsize=10)
    handles = [Patch(color=color) for color in (EXACT, OTHER, MINE)]
    labels = ["LinUCB, same arms as the textbook", "another algorithm, or other arms", "fairbandits"]
    figure.legend(handles, labels, loc="upper center", ncols=3, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    _save(figure, path)


def _draw_workload(axis: Any, contenders: dict[str, Any], names: list[str], what: str) -> None:
    ours = targets.rate(contenders, OURS, what)
    for row, name in enumerate(names):
        theirs = targets.rate(contenders, name, what)
        if not ours or not theirs:
            continue
        contender, ratio = contenders[name], ours / theirs
        color = MINE if contender["is_ours"] else EXACT if targets.is_exact(contender) else OTHER
        axis.barh(row, ratio - 1.0, left=1.0, color=color, height=0.7)
        axis.annotate(
            results.rounded(ratio), (max(ratio, 1.0), row), xytext=(3, 0), textcoords="offset points",
            va="center", fontsize=8,
        )  # fmt: skip
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.axvline(1.0, color="black", linewidth=0.8)
    low, high = axis.get_xlim()
    axis.set_xlim(min(low, 0.5), high * 3)
    axis.spines[["top", "right"]].set_visible(False)


def draw_growth(growth: dict[str, Any], path: Path) -> None:
    """Draw the time of a round against arms, width and non-zeros, all on log scales."""
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6))
    for axis, series in zip(axes, ("arms", "width", "nonzeros"), strict=True):
        points = [point for point in growth["points"] if point["series"] == series]
        for model in dict.fromkeys(point["model"] for point in points):
            of_model = [point for point in points if point["model"] == model]
            microseconds = [point["seconds"] * 1e6 for point in of_model]
            [line] = axis.plot([point[series] for point in of_model], microseconds, label=model)
            # Hollow if memory did not allow all arms to learn.
            faces = [line.get_color() if _is_full(point) else "white" for point in of_model]
            axis.scatter(
                [point[series] for point in of_model], microseconds, c=faces, edgecolors=line.get_color(), zorder=3
            )
        axis.set(xscale="log", yscale="log", xlabel=series.replace("nonzeros", "non-zeros of a context"))
        axis.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axis.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.set_ylim(10, 1_000_000)
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("microseconds per round")
    axes[0].legend(frameon=False)
    figure.tight_layout()
    _save(figure, path)


def _is_full(point: dict[str, Any]) -> bool:
    return point["model"] == "shared" or bool(point["all_learned"])


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
