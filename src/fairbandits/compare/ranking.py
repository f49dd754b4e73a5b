"""Policies over all worlds: average ranks, critical differences, and wins, ties and losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairbandits.compare.measures import HIGHER_IS_BETTER
from fairbandits.compare.paired import COMPARED, compare_with_all
from fairbandits.compare.summary import WorldSummary
from fairbandits.statistics.rank_tests import FriedmanTest, friedman_test, holm, ranks, signed_rank_test

#: The measure by which the leaderboard is sorted: it falls as the gap or the loss grows.
HEADLINE = "worst_off_reward"
# Demšar 2006: the approximation of the Friedman test is good above ten problems and five methods.
_MIN_WORLDS, _MIN_POLICIES = 11, 6
# With fewer pairs, Wilcoxon's test cannot reach 5%.
_MIN_PAIRS = 6


@dataclass(frozen=True)
class Ranking:
    """The policies ranked by one measure in every world.

    Attributes
    ----------
    measure : str
        The measure.
    average : dict
        The average rank of each policy that runs in all worlds; 1 is the best.
    test : FriedmanTest or None
        The test of all policies; None with fewer than two worlds or policies.
    p_values : dict
        The p-values of Wilcoxon's signed-rank tests of the default policy against every other policy, over the
        worlds in which both run, adjusted for the number of tests (Holm).
    caveats : tuple of str
        Reasons not to rely on the tests.
    """

    measure: str
    average: dict[str, float]
    test: FriedmanTest | None
    p_values: dict[str, float]
    caveats: tuple[str, ...]


def rank_policies(worlds: Mapping[str, WorldSummary], titles: Sequence[str], default: str | None) -> list[Ranking]:
    """Rank the policies by each of the compared measures."""
    return [_rank(worlds, titles, default, measure) for measure in COMPARED]


def _rank(worlds: Mapping[str, WorldSummary], titles: Sequence[str], default: str | None, measure: str) -> Ranking:
    ranked = [summary for summary in worlds.values() if _defines(summary, measure)]
    everywhere = [title for title in titles if all(title in summary.policies for summary in ranked)]
    if not ranked or not everywhere:
        return Ranking(measure, {}, None, {}, ("No policy could be ranked.",))
    table = np.array([[_mean(summary, title, measure) for title in everywhere] for summary in ranked])
    found = ranks(table, higher_is_better=measure in HIGHER_IS_BETTER)
    average = dict(zip(everywhere, found.mean(axis=0).tolist(), strict=True))
    test = friedman_test(found) if len(ranked) > 1 and len(everywhere) > 1 else None
    p_values = {} if default is None else _against_default(ranked, titles, default, measure)
    return Ranking(measure, average, test, p_values, _caveats(ranked, len(everywhere)))


def _defines(summary: WorldSummary, measure: str) -> bool:
    return all(measure in policy.metrics for policy in summary.policies.values())


def _mean(summary: WorldSummary, title: str, measure: str) -> float:
    return summary.policies[title].metrics[measure][0]


def _against_default(
    ranked: Sequence[WorldSummary], titles: Sequence[str], default: str, measure: str
) -> dict[str, float]:
    p_values = {}
    for title in titles:
        both = [summary for summary in ranked if title in summary.policies and default in summary.policies]
        if title != default and both:
            pairs = [_mean(summary, default, measure) - _mean(summary, title, measure) for summary in both]
            p_values[title] = signed_rank_test(np.array(pairs))
    return holm(p_values)


def _caveats(ranked: Sequence[WorldSummary], n_policies: int) -> tuple[str, ...]:
    caveats = []
    n_worlds = len(ranked)
    if n_worlds < _MIN_WORLDS or n_policies < _MIN_POLICIES:
        caveats.append(
            f"With {n_worlds} worlds and {n_policies} policies, the Friedman test is only a rough approximation "
            f"(it needs at least {_MIN_WORLDS} worlds and {_MIN_POLICIES} policies)."
        )
    if n_worlds < _MIN_PAIRS:
        caveats.append(
            f"With fewer than {_MIN_PAIRS} worlds, Wilcoxon's test cannot be significant at the 5% level."
        )
    if len({summary.world.origin for summary in ranked}) < n_worlds:
        # benchmarks/fairbench_errors.py measures how often the tests would be wrong about other worlds.
        caveats.append(
            "Some of these worlds are variants of one another: the tests describe this suite, and say little "
            "about other worlds."
        )
    return tuple(caveats)


def count_outcomes(worlds: Mapping[str, WorldSummary], policy: str) -> dict[str, dict[str, dict[str, list[str]]]]:
    """Return the worlds in which a policy wins, ties and loses against every other policy, by measure.

    Only worlds in which both policies run are counted; "unknown" lists those with fewer than two seeds.
    """
    found: dict[str, dict[str, dict[str, list[str]]]] = {}
    for name, summary in worlds.items():
        if policy not in summary.policies:
            continue
        values = {title: other.values for title, other in summary.policies.items()}
        for title, comparisons in compare_with_all(values, policy).items():
            for measure, comparison in comparisons.items():
                outcomes = found.setdefault(title, {}).setdefault(
                    measure, {outcome: [] for outcome in ("win", "tie", "loss", "unknown")}
                )
                outcomes[comparison.outcome].append(name)
    return found
