"""The results of a comparison, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairbandits.compare.policy_specs import BASELINE
from fairbandits.compare.subgroups import group_label, reward_gap
from fairbandits.compare.suite import PART_TITLES
from fairbandits.compare.summary import NEAR, SLACK, WorldSummary, levelled_down


def describe_policy(worlds: Mapping[str, WorldSummary], policy: str) -> list[str]:
    """Describe one policy over all worlds: its place relative to the front, and its worst-off groups."""
    names = {
        position: [name for name, summary in worlds.items() if summary.policies[policy].front == position]
        for position in ("on", "near", "off")
    }
    front = (
        f"{policy} is on the measured Pareto front of utility loss and reward gap in {len(names['on'])} of "
        f"{_count(len(worlds))}, near it (dominated by at most {NEAR:g}) in {len(names['near'])}, and off it in "
        f"{len(names['off'])}{_listed(names['off'])}."
    )
    lower = [name for name, summary in worlds.items() if summary.policies[policy].worst_off_note]
    where = f"In {_count(len(lower))} it leaves" if lower else "In no world does it leave"
    worst_off = f"{where} the worst-off group more than {SLACK:g} below the worst-off group of {BASELINE}"
    return [front, f"{worst_off}{_listed(lower)}."]


def describe_world(summary: WorldSummary, tolerance: float) -> list[str]:
    """Describe a world, the oracle in it, and the policies that lower the worst-off group."""
    groups = ", ".join(f"{group_label(group)} {rounds:,.0f}" for group, rounds in summary.groups.items())
    sentences = [
        f"{summary.world.description} Measured: {PART_TITLES[summary.world.measured]}, {summary.rounds:,.0f} "
        f"rounds. Groups with enough rounds to be assessed: {groups}.",
        _describe_oracle(summary, tolerance),
        *(
            f"A tolerance of {tolerance:g} levels {group_label(group)} down, from {before:.3f} with {BASELINE} to "
            f"{after:.3f} with the oracle."
            for group, (before, after) in levelled_down(summary).items()
        ),
        *(f"{title}: {row.worst_off_note}" for title, row in summary.policies.items() if row.worst_off_note),
    ]
    on = [title for title, row in summary.policies.items() if row.front == "on"]
    return [*sentences, f"On the measured front: {', '.join(on)}."]


def _describe_oracle(summary: WorldSummary, tolerance: float) -> str:
    if summary.oracle is None or summary.oracle_reward is None:
        return f"No policy can keep the gap within {tolerance:g} here."
    return (
        f"If every user got the best arm, the reward gap would be {reward_gap(summary.best):.3f}. With a gap of "
        f"at most {tolerance:g}, an oracle reaches a mean reward of {summary.oracle_reward:.3f}."
    )


def _count(n: int) -> str:
    return f"{n} world" if n == 1 else f"{n} worlds"


def _listed(names: Iterable[str]) -> str:
    listed = ", ".join(names)
    return f" ({listed})" if listed else ""
