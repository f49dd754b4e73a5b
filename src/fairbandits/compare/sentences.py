"""What a comparison found, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairbandits.compare.cell_sums import difference, label
from fairbandits.compare.contenders import BASELINE
from fairbandits.compare.suite import PART_TITLES
from fairbandits.compare.summary import NEXT_TO, SLACK, WorldSummary, lowered


def about_default(worlds: Mapping[str, WorldSummary], default: str) -> list[str]:
    """Say of one policy where it stands in all worlds."""
    places = {
        place: [name for name, found in worlds.items() if found.rows[default].front == place]
        for place in ("on", "next to", "off")
    }
    text = (
        f"{default} is on the measured front of utility loss and reward difference in {len(places['on'])} of "
        f"{len(worlds)} world(s), next to it (beaten by no more than {NEXT_TO:g} either way) in "
        f"{len(places['next to'])}, and off it in {len(places['off'])}{_named(places['off'])}."
    )
    short = [name for name, found in worlds.items() if found.rows[default].worse_off]
    where = f"In {len(short)} world(s) it leaves" if short else "Nowhere does it leave"
    below = f"the worse-off group more than {SLACK:g} below what {BASELINE} gives the worse-off group"
    return [text, f"{where} {below}{_named(short)}."]


def about_world(found: WorldSummary, tolerance: float) -> list[str]:
    """Say what a world is, what an oracle could do in it, and who is worse off with which policy."""
    groups = ", ".join(f"{label(group)} {rounds:,.0f}" for group, rounds in found.groups.items())
    lines = [
        f"{found.world.about} Measured: {PART_TITLES[found.world.measured]}, {found.rounds:,.0f} rounds; "
        f"the groups that have enough of them to count: {groups}.",
        _about_oracle(found, tolerance),
        *(
            f"A difference of {tolerance:g} forces {label(group)} down, from {before:.3f} with {BASELINE} to "
            f"{after:.3f} with the oracle."
            for group, (before, after) in lowered(found).items()
        ),
        *(f"{title}: {row.worse_off}" for title, row in found.rows.items() if row.worse_off),
    ]
    on = [title for title, row in found.rows.items() if row.front == "on"]
    return [*lines, f"On the measured front: {', '.join(on)}."]


def _about_oracle(found: WorldSummary, tolerance: float) -> str:
    apart = difference(found.best)
    if found.oracle is None or found.oracle_reward is None:
        return f"No policy at all keeps a difference of {tolerance:g} here."
    return (
        f"If everybody got the best, groups would be {apart:.3f} apart; within {tolerance:g} an oracle "
        f"reaches a mean reward of {found.oracle_reward:.3f}."
    )


def _named(names: Iterable[str]) -> str:
    listed = ", ".join(names)
    return f": {listed}" if listed else ""
