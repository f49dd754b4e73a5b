"""FairBench: all policies in 25 worlds of the suite, a leaderboard, and the promises of the default policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from fairbandits.compare.comparison import ComparisonResults, run_comparison
from fairbandits.compare.policy_specs import POLICIES, PolicyLike, parse_policies
from fairbandits.compare.settings import Settings
from fairbandits.compare.suite import LAST_FIFTH
from fairbandits.compare.world_specs import WorldLike, parse_worlds

#: Groups with fewer measured rounds over all seeds are reported but do not count.
MIN_ROUNDS = 400
#: The tolerated reward gap.
TOLERANCE = 0.01


def fairbench(
    folder: str | Path,
    *,
    worlds: Iterable[WorldLike] | Mapping[str, WorldLike] = ("fairbench",),
    policies: Iterable[PolicyLike] = POLICIES,
    seeds: int = 20,
    jobs: int = 1,
    data: str | Path = "auto",
    quick: bool = False,
    progress: bool = False,
) -> ComparisonResults:
    """Run FairBench: every policy with one setting in every world, measured on the last fifth of the rounds.

    It writes the same files as `fairbandits.compare.comparison.compare`, and checks the promises of the default
    policy (`fairbandits.compare.promises`).

    Parameters
    ----------
    folder, seeds, jobs, data, quick, progress
        As in `compare`.
    worlds, policies
        As in `compare`; by default the 25 worlds of FairBench, and all policies in
        `fairbandits.compare.policy_specs.POLICIES`.
    """
    # Quick runs have too few rounds for any group to count.
    min_rounds = None if quick else MIN_ROUNDS
    settings = Settings(seeds, TOLERANCE, quick, min_rounds, benchmark=True)
    suite = {name: replace(world, measured=LAST_FIFTH) for name, world in parse_worlds(worlds).items()}
    execution = {"jobs": jobs, "progress": progress}
    return run_comparison(folder, suite, parse_policies(policies), settings, data, execution)
