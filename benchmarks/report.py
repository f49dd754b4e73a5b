"""Report the contents of results.json: tables, figures, and whether each target is met.

    python benchmarks/report.py            # tables and targets in the terminal, figures into docs/images
    python benchmarks/report.py --table    # the table of the documentation, as Markdown

The exit status is 1 if a target is not met.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from rich.console import Console
from rich.table import Table

import figures
import results
import targets
from contenders import OURS, SHARED

WORKLOADS = {"w1": "rounds/s", "w2": "rounds/s", "w3": "users/s"}
Contenders = dict[str, dict[str, Any]]


def markdown(peers: dict[str, Any]) -> str:
    """Return the table of the documentation: rates on one thread, and how many times faster fairbandits is."""
    contenders: Contenders = peers["contenders"]
    machine = peers["machine"]
    releases = sorted({contender["release"] for contender in contenders.values() if contender["release"]})
    lines = [
        f"{machine['processor']}, {machine['cores']} cores, Python {machine['python']}; {', '.join(releases)}.",
        "",
        "| | computes | contexts | same choices as the textbook | W1 rounds/s "
        "| W2 rounds/s | W3 users/s | W1 loss |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, contender in contenders.items():
        rates = [rate_and_ratio(contenders, name, what) for what in WORKLOADS]
        cells = [
            name,
            f"{contender['computes']}, {contender['model']}",
            contender["contexts"],
            agreement(contender),
            *rates,
            loss(contenders, name),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def rate_and_ratio(contenders: Contenders, name: str, what: str) -> str:
    """Format a rate, and in brackets how many times faster fairbandits is."""
    rate = targets.rate(contenders, name, what)
    if rate is None:
        return "cannot be measured" if "error" in contenders[name] else ""
    ours = targets.rate(contenders, OURS, what)
    shown = results.rounded(rate)
    return shown if contenders[name]["is_ours"] or not ours else f"{shown} ({results.rounded(ours / rate)} x)"


def agreement(contender: dict[str, Any]) -> str:
    """Describe whether a contender chooses the arms of the textbook."""
    if "check" not in contender:
        return "not LinUCB"
    agreed, rounds = contender["check"]["agreed"], contender["check"]["rounds"]
    return "yes" if agreed == rounds else f"no, {rounds - agreed} of {rounds} differ"


def loss(contenders: Contenders, name: str) -> str:
    """Format the utility loss at the last checkpoint, and that of fairbandits with the same model and rounds."""
    rounds, value = targets.last_loss(contenders[name])
    if not rounds:
        return ""
    reference = contenders[SHARED if contenders[name]["model"] == "shared" else OURS]
    ours = reference.get("utility", {}).get("loss", {}).get(rounds)
    alone = contenders[name]["is_ours"] or ours is None
    return f"{value:.3f} after {int(rounds):,}" + ("" if alone else f", ours {ours:.3f}")


def print_peers(console: Console, peers: dict[str, Any]) -> None:
    """Print rates on one thread and on all cores, memory and import time."""
    machine, contenders = peers["machine"], peers["contenders"]
    title = (
        f"{machine['processor']}, {machine['cores']} cores; median per second (times that fairbandits is faster)"
    )
    table = Table(title=title)
    for heading in ("", "textbook's arms", "W1", "W2", "W3", "all cores: W1", "W2", "W3", "MiB W1", "W2", "W3",
                    "import s", "loss on W1"):  # fmt: skip
        table.add_column(heading, justify="left" if heading in ("", "loss on W1") else "right")
    for name, contender in contenders.items():
        all_cores = [_format_rate(targets.rate(contenders, name, what, "all")) for what in WORKLOADS]
        peaks = [_mib(contender.get(what, {}).get("one", {}).get("peak_bytes")) for what in WORKLOADS]
        rates = [rate_and_ratio(contenders, name, what) for what in WORKLOADS]
        imported = f"{contender['import_s']:.2f}" if contender.get("import_s") else ""
        table.add_row(name, agreement(contender), *rates, *all_cores, *peaks, imported, loss(contenders, name))
    console.print(table)
    for name, contender in contenders.items():
        what = (
            contender.get("error")
            or f"{contender['computes']}, {contender['model']}, contexts {contender['contexts']}; "
            f"{contender['release']}"
        )
        console.print(f"{name}: {what}", highlight=False, markup=False)


def print_growth(console: Console, growth: dict[str, Any]) -> None:
    """Print the growth of a round."""
    table = Table(title="W4: growth")
    for heading in ("model", "arms", "learned", "width", "non-zeros", "us per round", "rounds/s", "MiB held"):
        table.add_column(heading, justify="right")
    points = [point for point in growth["points"] if point["series"] != "rows"]
    for point in points:
        arms = [f"{point['arms']:,}", learned(point)]
        size = [*arms, *(f"{point[key]:,}" for key in ("width", "nonzeros"))]
        cost = [f"{point['seconds'] * 1e6:,.0f}", _format_rate(1 / point["seconds"]), _mib(point["held_bytes"])]
        table.add_row(point["model"], *size, *cost)
    console.print(table)


def print_rows(console: Console, growth: dict[str, Any]) -> None:
    """Print the cost of a choice by the number of observations per arm."""
    table = Table(title="W4: a choice among the arms of W2, by observations per arm")
    for heading in ("observations", "us per choice", "vectorised NumPy", "ratio", "MiB held"):
        table.add_column(heading, justify="right")
    for point in growth["points"]:
        if point["series"] == "rows":
            ratio = point["numpy_seconds"] / point["seconds"]
            times = [f"{point[key] * 1e6:,.0f}" for key in ("seconds", "numpy_seconds")]
            table.add_row(str(point["rows"]), *times, f"{ratio:.1f}", _mib(point["held_bytes"]))
    console.print(table)


def learned(point: dict[str, Any]) -> str:
    """Describe how many arms have learned; empty for a shared model."""
    if point["model"] == "shared":
        return ""
    return "all" if point["all_learned"] else "none" if point["series"] == "untouched" else "some"


def print_targets(console: Console, checked: list[targets.Target]) -> None:
    """Print every target with its measured value."""
    for target in checked:
        mark = "met    " if target.is_met else "NOT MET"
        console.print(f"{mark}  {target.text}", highlight=False, markup=False)


def _format_rate(value: float | None) -> str:
    return "" if value is None else results.rounded(value)


def _mib(value: float | None) -> str:
    return "" if value is None else f"{value / 2**20:,.0f}"


def main() -> int:
    """Print all parts of the results, and draw the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", action="store_true", help="print only the table of the documentation")
    options = parser.parse_args()
    parts = results.read()
    if options.table:
        print(markdown(parts["peers"]))
        return 0
    console = Console(width=max(Console().width, 200))
    if "peers" in parts:
        print_peers(console, parts["peers"])
        figures.draw_peers(parts["peers"], results.IMAGES / "peers.png")
    if "growth" in parts:
        print_growth(console, parts["growth"])
        print_rows(console, parts["growth"])
        figures.draw_growth(parts["growth"], results.IMAGES / "growth.png")
    checked = targets.check_targets(parts)
    print_targets(console, checked)
    return 0 if all(target.is_met for target in checked) else 1


if __name__ == "__main__":
    sys.exit(main())
