"""Run our policies on the example problems of obp, Coba and MABWiser, through their own runners, beside theirs.

    python benchmarks/peer_problems.py            # ten seeds; about three minutes
    python benchmarks/peer_problems.py --quick    # two seeds, fewer rounds

Every peer runs in an environment of its own, which is created first if necessary (a minute each). All policies of
a problem see the same rounds. The peers know no groups; for the reward gap, users are split by the sign of their
first feature. Rewards are true means; where there are none, those of the simulator's own evaluation.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from environments import NoEnvironmentError
from peer_environments import run_in

ROUNDS = {"obp": 2_000, "coba": 1_000, "mabwiser": 1_000}


def measure(peer: str, rounds: int, seeds: int) -> list[dict[str, Any]]:
    """Return the figures of a peer's problems."""
    done = run_in(peer, "-m", f"peer_runs.{peer}_problem", str(rounds), str(seeds))
    if done.returncode:
        raise RuntimeError(f"{peer} failed:\n{done.stdout}\n{done.stderr}")
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def table(rows: list[dict[str, Any]]) -> str:
    """Return the figures as a table."""
    lines = [
        "| problem (runner) | library | policy | mean reward | reward gap |",
        "| --- | --- | --- | ---: | ---: |",
    ]
    for row in rows:
        reward, gap = (_number(row[name]) for name in ("reward", "gap"))
        problem = f"{row['problem']} (`{row['runner']}`)"
        lines.append(f"| {problem} | {row['library']} | {row['policy']} | {reward} | {gap} |")
    return "\n".join(lines)


def _number(pair: tuple[float, float] | None) -> str:
    return "" if pair is None else f"{pair[0]:.3f} ± {pair[1]:.3f}"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two seeds and fewer rounds")
    parser.add_argument("--peers", nargs="+", choices=list(ROUNDS), default=list(ROUNDS))
    options = parser.parse_args()
    rows = []
    for peer in options.peers:
        rounds, seeds = (200, 2) if options.quick else (ROUNDS[peer], 10)
        try:
            rows += measure(peer, rounds, seeds)
        except NoEnvironmentError as error:
            print(f"{peer} is left out: {error}", file=sys.stderr)
    print(table(rows))
    print("Mean over the seeds ± standard error.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
