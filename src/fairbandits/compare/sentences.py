"""The results of a comparison, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairbandits.compare.pareto import NEAR
from fairbandits.compare.policy_specs import BASELINE
from fairbandits.compare.subgroups import Group, group_label
from fairbandits.compare.suite import PART_TITLES
from fairbandits.compare.summary import WorldSummary
from fairbandits.compare.worst_off import SLACK, levelled_down


def describe_policy(worlds: Mapping[str, WorldSummary], policy: str) -> list[str]:
    """Describe one policy across its worlds: its place relative to the front, and its worst-off groups."""
    worlds = {name: summary for name, summary in worlds.items() if policy in summary.policies}
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
    """Describe a world, the oracle in it, and the policies on the measured front."""
    baseline = summary.policies.get(BASELINE)
    sentences = [
        f"{summary.world.description} Measured: {PART_TITLES[summary.world.measured]}, {summary.rounds:,.0f} "
        f"rounds. {_describe_groups(summary)}",
        _describe_oracle(summary, tolerance),
        *(
            f"A tolerance of {tolerance:g} levels {group_label(group)} down, from {before:.3f} with {BASELINE} to "
            f"{after:.3f} with the oracle."
            for group, (before, after) in levelled_down(
                summary.oracle, baseline.metrics if baseline else None
            ).items()
        ),
    ]
    sentences += [f"Not applicable here: {title} ({reason})." for title, reason in summary.not_applicable.items()]
    on = [title for title, row in summary.policies.items() if row.front == "on"]
    return [*sentences, f"On the measured front: {', '.join(on)}."]


def worst_off_notes(summary: WorldSummary) -> list[str]:
    """Return a sentence for each policy whose worst-off group receives less than with LinUCB."""
    return [f"{title}: {row.worst_off_note}" for title, row in summary.policies.items() if row.worst_off_note]


def _describe_groups(summary: WorldSummary) -> str:
    text = f"Groups with enough rounds to be assessed: {_with_rounds(summary.groups) or 'none'}."
    if summary.small_groups:
        text += f" Too small to be assessed: {_with_rounds(summary.small_groups)}."
    return text


def _with_rounds(groups: Mapping[Group, float]) -> str:
    return ", ".join(f"{group_label(group)} {rounds:,.0f}" for group, rounds in groups.items())


def _describe_oracle(summary: WorldSummary, tolerance: float) -> str:
    if summary.oracle is None or summary.oracle_reward is None:
        return f"No policy can keep the gap within {tolerance:g} here."
    return (
        f"If every user got the best arm, the reward gap would be {summary.best_gap:.3f}. With a gap of "
        f"at most {tolerance:g}, an oracle reaches a mean reward of {summary.oracle_reward:.3f}. An oracle that "
        f"does not know which users will arrive has a gap of {summary.oracle_gap:.3f} in a run of this length."
    )


def _count(n: int) -> str:
    return f"{n} world" if n == 1 else f"{n} worlds"


def _listed(names: Iterable[str]) -> str:
    listed = ", ".join(names)
    return f" ({listed})" if listed else ""
