"""Print the leaderboard and the promises in the results of FairBench as Markdown, for docs/reference/fairbench.md.

    python benchmarks/fairbench_table.py results/fairbench/results.json

A broken promise is bold. A shortfall of reward above the limit of 0.02 counts as broken only above 0.05, because a
few worlds may exceed the narrower limit.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairbandits.compare.promises import EVERYWHERE

MEASURES = {"worst_off_reward": "worst-off", "reward_gap": "gap", "reward": "reward"}
PROMISES = {
    "gap": "gap (limit)",
    "worst_off": "worst-off group below the reference (limit)",
    "reward": "reward below the best policy that is as fair (limit)",
}


def as_table(header: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def leaderboard(results: Mapping[str, Any]) -> str:
    """Return the policies by their average rank, with the wins, ties and losses of the default policy."""
    ranks = {ranking["measure"]: ranking["average_ranks"] for ranking in results["rankings"]}
    worlds = results["worlds"]
    titles = {title for world in worlds.values() for title in world["policies"]}

    def cells(title: str) -> list[str]:
        found = [f"{ranks[measure][title]:.1f}" if title in ranks[measure] else "-" for measure in MEASURES]
        n_worlds = sum(title in world["policies"] for world in worlds.values())
        outcomes = results["outcomes"].get(title, {})
        return [f"`{title}`", *found, str(n_worlds), *(_outcome(outcomes.get(measure)) for measure in MEASURES)]

    in_order = sorted(titles, key=lambda title: (ranks["worst_off_reward"].get(title, math.inf), title))
    header = ["policy", *(f"rank, {name}" for name in MEASURES.values()), "worlds"]
    return as_table([*header, *(f"W / T / L, {name}" for name in MEASURES.values())], map(cells, in_order))


def _outcome(by_outcome: Mapping[str, Sequence[str]] | None) -> str:
    return " / ".join(str(len(by_outcome[word])) for word in ("win", "tie", "loss")) if by_outcome else "-"


def promises(results: Mapping[str, Any]) -> str:
    """Return what the default policy promises, world by world."""
    worlds = results["promises"]["worlds"]
    rows = (
        [f"`{name}`", *(_promise(world[which], which) for which in PROMISES)] for name, world in worlds.items()
    )
    return as_table(["world", *PROMISES.values()], rows)


def _promise(promise: Mapping[str, Any] | None, which: str) -> str:
    if promise is None:
        return "-"
    text = f"{promise['measured']:.3f} ({promise['limit']:.3f})"
    limit = max(promise["limit"], EVERYWHERE) if which == "reward" else promise["limit"]
    return text if promise["measured"] <= limit else f"**{text}**"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="the results.json of FairBench")
    results = json.loads(parser.parse_args().results.read_text())
    print(f"{leaderboard(results)}\n\n{promises(results)}")


if __name__ == "__main__":
    main()
