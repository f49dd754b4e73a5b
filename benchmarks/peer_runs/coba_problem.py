"""Coba's synthetic environments with its own learners, through its experiments; prints JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import coba as cb
from coba.evaluators import SequentialCB

from fairbandits import EvenLinUCB, LinUCB
from fairbandits.adapters.coba import PolicyLearner
from peer_runs.figures import figures, report


class Clip:
    """A filter that clips rewards to 0 to 1; the environment scales them to about that."""

    params: ClassVar[dict[str, Any]] = {}

    def filter(self, interactions: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Clip the rewards of all actions."""
        for interaction in interactions:
            rewards = [min(max(reward, 0.0), 1.0) for reward in interaction["rewards"]]
            yield {**interaction, "rewards": rewards}


def group(context: Any) -> str:
    """Return the group of a user: the sign of the first column, centred."""
    return "a" if context[0] > 0 else "b"


def learners() -> dict[tuple[str, str], Any]:
    """Return new learners."""
    ours: dict[str, Any] = {"model": "shared", "random_state": 0}
    return {
        ("coba", "RandomLearner"): cb.RandomLearner(),
        ("coba", "VowpalEpsilonLearner"): cb.VowpalEpsilonLearner(),
        ("coba", "LinUCBLearner, alpha=1"): cb.LinUCBLearner(alpha=1),
        ("fairbandits", "LinUCB, alpha=1, shared"): PolicyLearner(LinUCB(alpha=1.0, **ours)),
        ("fairbandits", "LinUCB, alpha=0.2, shared"): PolicyLearner(LinUCB(alpha=0.2, **ours)),
        ("fairbandits", "EvenLinUCB, alpha=0.2, shared"): PolicyLearner(
            EvenLinUCB(alpha=0.2, **ours), group=group
        ),
    }


def main(rounds: int, seeds: int) -> None:
    """Run all learners on all seeds."""
    found = learners()
    environments = cb.Environments.from_linear_synthetic(
        rounds, n_actions=5, n_context_features=5, n_action_features=0, seed=list(range(1, seeds + 1))
    ).filter(Clip())
    evaluator = SequentialCB(record=["reward", "context"])
    result = cb.Experiment(environments, list(found.values()), evaluator).run(quiet=True)
    table = result.interactions.to_pandas()
    problem = f"coba: linear synthetic, 5 actions, rewards clipped, {rounds:,} rounds"
    rows = []
    for number, (library, name) in enumerate(found):
        runs = [part for _, part in table[table["learner_id"] == number].groupby("environment_id")]
        if len(runs) < seeds:
            raise RuntimeError(f"{library} {name} must finish {seeds} environments, got {len(runs)}")
        each = [(part["reward"], [context[0] > 0 for context in part["context"]]) for part in runs]
        rows.append(figures(problem, "Experiment.run", library, name, each))
    report(rows)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
