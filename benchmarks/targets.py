"""The performance targets of the project, and whether the latest results meet them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from contenders import BLAS, NUMPY, OURS, SHARED

TEXTBOOK_RATIO = 500.0  # of a whole simulation
IMPORT_BELOW = 1.0


@dataclass(frozen=True)
class Target:
    """A target with the measured value, and whether it is met."""

    text: str
    is_met: bool


def check_targets(parts: dict[str, Any]) -> list[Target]:
    """Check every target that there are results for."""
    targets: list[Target] = []
    if "peers" in parts:
        contenders = parts["peers"]["contenders"]
        targets += [*_online(contenders), *_batch(contenders), *_vowpal(contenders), _import(contenders)]
    if "growth" in parts:
        targets += _growth(parts["growth"]["points"])
    if "reproduce" in parts:
        targets.append(_at_least("a simulation, times the textbook", parts["reproduce"]["ratio"], TEXTBOOK_RATIO))
    if "audit" in parts:
        targets += _audit(parts["audit"])
    return targets


def rate(contenders: dict[str, Any], name: str, what: str, threads: str = "one") -> float | None:
    """Return the median rate of a contender, if it was measured."""
    value: float | None = contenders.get(name, {}).get(what, {}).get(threads, {}).get("rate")
    return value


def last_loss(contender: dict[str, Any]) -> tuple[str, float]:
    """Return the last checkpoint that a contender reached, and its loss there."""
    losses = contender.get("utility", {}).get("loss", {})
    return max(losses.items(), key=lambda item: int(item[0])) if losses else ("", float("nan"))


def is_exact(contender: dict[str, Any]) -> bool:
    """Return whether a contender computes LinUCB, with the arms of the textbook."""
    return "check" in contender and bool(contender["check"]["agreed"] == contender["check"]["rounds"])


def fastest(contenders: dict[str, Any], what: str, exact: bool) -> str | None:
    """Return the fastest external contender: among the exact ones, or among all."""
    in_tree = {BLAS, NUMPY, "textbook"}
    rates = {
        name: rate(contenders, name, what) or 0.0
        for name, contender in contenders.items()
        if not contender["is_ours"] and name not in in_tree and (is_exact(contender) or not exact)
    }
    best = max(rates, key=lambda name: rates[name], default=None)
    return best if best is not None and rates[best] else None


def _at_least(text: str, value: float, goal: float) -> Target:
    return Target(f"{text}: {value:.3g} (at least {goal:g})", value >= goal)


def _at_most(text: str, value: float, goal: float) -> Target:
    return Target(f"{text}: {value:.3g} (at most {goal:g})", value <= goal)


def _versus(
    contenders: dict[str, Any], what: str, other: str | None, goal: float, ours: str = OURS
) -> list[Target]:
    mine, theirs = rate(contenders, ours, what), rate(contenders, other or "", what)
    if not mine or not theirs:
        return []
    return [_at_least(f"{what.upper()}, {ours}, times {other}", mine / theirs, goal)]


def _online(contenders: dict[str, Any]) -> list[Target]:
    goals = {"w1": (60.0, 12.0), "w2": (20.0, 2.0)}
    targets = []
    for what, (of_peers, of_numpy) in goals.items():
        targets += _versus(contenders, what, fastest(contenders, what, exact=True), of_peers)
        for baseline in (NUMPY, BLAS):
            targets += _versus(contenders, what, baseline, of_numpy)
    return targets


def _batch(contenders: dict[str, Any]) -> list[Target]:
    others = (fastest(contenders, "w3", exact=False), NUMPY, BLAS)
    return [target for other in others for target in _versus(contenders, "w3", other, 4.0)]


def _vowpal(contenders: dict[str, Any]) -> list[Target]:
    """Compare the speed of both models, and the loss of the shared one: vowpalwabbit's model is shared, too."""
    losses = {
        name: contender["utility"]["loss"]
        for name, contender in contenders.items()
        if name.startswith("vowpalwabbit") and "utility" in contender and rate(contenders, name, "w1")
    }
    if not losses:
        return []
    quickest = max(losses, key=lambda name: rate(contenders, name, "w1") or 0.0)
    targets = [target for ours in (OURS, SHARED) for target in _versus(contenders, "w1", quickest, 6.0, ours)]
    mine = contenders[SHARED]["utility"]["loss"]
    # All are compared over the rounds that every contender reached.
    rounds = max(set(mine).intersection(*losses.values()), key=int)
    best = min(losses, key=lambda name: losses[name][rounds])
    theirs = losses[best][rounds]
    text = f"W1, {SHARED}, utility loss over {rounds} rounds: {mine[rounds]:.4f} (below {best}: {theirs:.4f})"
    return [*targets, Target(text, mine[rounds] < theirs)]


def _import(contenders: dict[str, Any]) -> Target:
    return _at_most("import fairbandits, seconds", contenders[OURS]["import_s"], IMPORT_BELOW)


def _audit(audit: dict[str, Any]) -> list[Target]:
    rows = f"W6, an audit of {audit['rows']:,} rows"
    sizes = sorted(map(int, audit["seconds"]))
    seconds = [audit["seconds"][str(size)]["audit"] for size in sizes]
    return [
        *(_at_most(f"{rows}, times {name}", ratio, 4.0) for name, ratio in audit["ratios"].items()),
        _at_most(f"{rows}, GiB", audit["peak_bytes"] / 2**30, 2.0),
        *(
            _at_most(
                f"W6, seconds per row at {large:,} rows, times that at {small:,}",
                later / earlier * small / large,
                2.0,
            )
            for (small, large), (earlier, later) in zip(
                itertools.pairwise(sizes), itertools.pairwise(seconds), strict=True
            )
        ),
    ]


def _growth(points: list[dict[str, Any]]) -> list[Target]:
    cost = {
        (p["model"], p["arms"]): p
        for p in points
        if p["series"] == "arms" and (p["all_learned"] or p["model"] == "shared")
    }
    targets = []
    for model in ("disjoint", "shared", "hybrid"):
        most = max(arms for of, arms in cost if of == model)
        ratio = cost[model, most]["seconds"] / cost[model, 100]["seconds"]
        text = f"W4, {model}, a round at {most:,} arms, times one at 100"
        targets.append(_at_most(text, ratio, most / 100))
    ratio = cost["shared", 10_000]["seconds"] / cost["shared", 100]["seconds"]
    targets.append(_at_most("W4, shared, a round at 10,000 arms, times one at 100", ratio, 20.0))
    untouched = next(p for p in points if p["series"] == "untouched")
    text = f"W4, MiB of {untouched['arms']:,} untouched disjoint arms"
    return [*targets, _at_most(text, untouched["held_bytes"] / 2**20, 200.0)]
