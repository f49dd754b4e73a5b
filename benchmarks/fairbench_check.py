"""Whether the default policy keeps its promises in the results of FairBench.

    python benchmarks/fairbench_check.py results/fairbench/results.json

The exit status is 0 if all promises are kept, otherwise 1. docs/reference/fairbench.md lists them.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from fairbandits.compare.promises import Promise, Verdict, check_promises


def describe(promise: Promise | None) -> str:
    """Return the measured value, the limit and where it comes from."""
    if promise is None:
        return "no reference"
    kept = "kept" if promise.kept else "BROKEN"
    return f"{promise.measured:.4f} of at most {promise.limit:.4f}, {kept} ({promise.note})"


def print_verdict(verdict: Verdict) -> None:
    """Print every world in which a promise is broken, and how many there are of each."""
    for name, world in verdict.worlds.items():
        if world.kept and world.reward.kept:
            continue
        print(name)
        for title, promise in (("gap", world.gap), ("worst-off", world.worst_off), ("reward", world.reward)):
            print(f"  {title}: {describe(promise)}")
    for title, (kept, needed) in verdict.summary().items():
        print(f"{title}: kept in {kept} worlds, needed in {needed}")
    print(f"{verdict.policy}: {'all promises are kept' if verdict.kept else 'promises are broken'}")


def main() -> int:
    """Check a file of results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="results.json of FairBench")
    verdict = check_promises(json.loads(parser.parse_args().results.read_text(encoding="utf-8")))
    print_verdict(verdict)
    return 0 if verdict.kept else 1


if __name__ == "__main__":
    sys.exit(main())
