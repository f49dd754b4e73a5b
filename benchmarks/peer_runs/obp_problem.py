"""The problem of obp's quickstarts on online bandits: ten actions, binary rewards with a logistic mean.

Runs in the environment of obp; prints JSON.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from fairbandits import EvenLinUCB, LinTS, LinUCB, Model
from fairbandits.adapters.obp import ObpPolicy
from peer_runs import torch_stub
from peer_runs.figures import figures, report

torch_stub.install()

import obp.policy  # noqa: E402
from obp.dataset import logistic_reward_function  # noqa: E402
from obp.simulator.simulator import BanditEnvironmentSimulator, BanditPolicySimulator  # noqa: E402

ACTIONS, WIDTH = 10, 5


def group(context: Any) -> str:
    """Return the group of a user: the sign of the first column."""
    return "a" if context[0] > 0 else "b"


def _ours(policy: Any) -> ObpPolicy:
    return ObpPolicy(policy, ACTIONS, group=group)


def _theirs(name: str, **params: Any) -> Any:
    return getattr(obp.policy, name)(dim=WIDTH, n_actions=ACTIONS, **params)


POLICIES: dict[tuple[str, str], Callable[[int], Any]] = {
    ("obp", "LinUCB, epsilon=0.1"): lambda s: _theirs("LinUCB", epsilon=0.1, random_state=s),
    ("fairbandits", "LinUCB, alpha=0.1"): lambda s: _ours(LinUCB(alpha=0.1, random_state=s)),
    ("obp", "LinTS"): lambda s: _theirs("LinTS", random_state=s),
    ("fairbandits", "LinTS, alpha=1"): lambda s: _ours(LinTS(alpha=1.0, random_state=s)),
    ("obp", "LogisticUCB, epsilon=0.1"): lambda s: _theirs("LogisticUCB", epsilon=0.1, random_state=s),
    ("fairbandits", "LinUCB, alpha=0.1, logistic"): lambda s: _ours(
        LinUCB(alpha=0.1, model=Model(link="logistic"), random_state=s)
    ),
    ("fairbandits", "EvenLinUCB, alpha=0.1"): lambda s: _ours(
        EvenLinUCB(alpha=0.1, model="disjoint", random_state=s)
    ),
}


def run(policy: Callable[[int], Any], rounds: int, seed: int) -> tuple[Any, Any]:
    """Return the mean rewards of the selected actions, and the groups; rounds are the same for every policy."""
    environment = BanditEnvironmentSimulator(
        ACTIONS, WIDTH, reward_function=logistic_reward_function, random_state=seed
    )
    batch = environment.next_bandit_round_batch(n_rounds=rounds)
    simulator = BanditPolicySimulator(policy=policy(seed))
    simulator.steps(batch_bandit_rounds=batch)
    selected = simulator.selected_actions.ravel()
    return batch.expected_rewards[np.arange(rounds), selected], batch.context[:, 0] > 0


def main(rounds: int, seeds: int) -> None:
    """Run all policies."""
    report(
        figures(
            f"obp: synthetic, {ACTIONS} actions, logistic reward, {rounds:,} rounds",
            "BanditPolicySimulator.steps",
            library,
            name,
            [run(policy, rounds, seed) for seed in range(1, seeds + 1)],
        )
        for (library, name), policy in POLICIES.items()
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
