"""Run Fair-Greedy on the simulation of its paper: candidates of four groups whose rewards are not comparable.

    python benchmarks/field_policies_meritocratic.py
    python benchmarks/field_policies_meritocratic.py --rounds 5000 --seeds 10

Grazzi, Akhavan, Falk, Cella, Pontil: Group Meritocratic Fairness in Linear Contextual Bandits, NeurIPS 2022, with
the parameters of the authors' program. In every round there is one candidate of each group. It has four uniform
features of its group, which have a block of columns each, and a bias by group; rewards are linear in them, with
normal noise. Contexts here have a constant column as well, because models learn rewards scaled to [0, 1].

The table has means over seeds: of the fair pseudo-regret (the highest relative rank minus that of the chosen
candidate, summed over rounds, with true rewards and distributions), of the pseudo-regret in units of reward, and
of the share of rounds in which the least and the most often chosen group was chosen: fair is a quarter each. The
paper shows these quantities as figures, whose numbers could not be had, so there are none to compare with. It
states that the fair pseudo-regret of Fair-Greedy grows with the square root of the rounds up to logarithms. The
last column has the fair pseudo-regret of the second half of the rounds as a share of all, which is 0.29 for a
square root and 0.5 for a line.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from fairbandits import FairGreedy, LinUCB, Policy, Uniform

N_GROUPS, N_FEATURES = 4, 4
COEFFICIENTS = ((4.0, 3.0, 7.0, 0.0), (8.0, 0.0, 0.0, 0.0), (5.0, 5.0, 0.0, 0.0), (2.0, 2.0, 2.0, 2.0))
BIAS, NOISE, RIDGE = 16.0, 2.0, 0.1
# Wide enough for six standard deviations of noise.
REWARD_RANGE = (-12.0, 40.0)

POLICIES: dict[str, Callable[[int], Policy]] = {
    "Fair-Greedy, paper": lambda seed: FairGreedy(growth=0.0, memory=None, **_common(seed)),
    "Fair-Greedy": lambda seed: FairGreedy(**_common(seed)),
    "LinUCB, shared": lambda seed: LinUCB(alpha=0.1, model="shared", **_common(seed)),
    "greedy, shared": lambda seed: LinUCB(alpha=0.0, model="shared", **_common(seed)),
    "Uniform": lambda seed: Uniform(reward_range=REWARD_RANGE, random_state=seed),
}


def _common(seed: int) -> dict[str, Any]:
    return {"ridge": RIDGE, "reward_range": REWARD_RANGE, "random_state": seed}


def draw(rng: np.random.Generator, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Return contexts, (rounds, groups, columns), and true rewards, (rounds, groups)."""
    features = rng.random((rounds, N_GROUPS, N_FEATURES))
    bias = np.linspace(0.0, BIAS, N_GROUPS)
    contexts = np.zeros((rounds, N_GROUPS, N_GROUPS * N_FEATURES + 2))
    for group in range(N_GROUPS):
        block = slice(group * N_FEATURES, (group + 1) * N_FEATURES)
        contexts[:, group, block] = features[:, group]
    contexts[:, :, -2] = bias
    contexts[:, :, -1] = 1.0
    return contexts, np.einsum("tgf,gf->tg", features, np.array(COEFFICIENTS)) + bias


def run(policy: Policy, seed: int, rounds: int, known: np.ndarray) -> tuple[float, ...]:
    """Return both regrets, the lowest and the highest share of a group, and the share of the second half."""
    rng = np.random.default_rng(seed)
    contexts, rewards = draw(rng, rounds)
    columns = (np.searchsorted(known[:, g], rewards[:, g], "right") / len(known) for g in range(N_GROUPS))
    ranks = np.column_stack(list(columns))
    noisy = np.clip(rewards + NOISE * rng.standard_normal(rewards.shape), *REWARD_RANGE)
    chosen = np.empty(rounds, np.int64)
    for t in range(rounds):
        decision = policy.choose(contexts[t])
        policy.learn(decision, float(noisy[t, decision.index]))
        chosen[t] = decision.index
    each = np.arange(rounds)
    fair = ranks.max(axis=1) - ranks[each, chosen]
    regret = rewards.max(axis=1) - rewards[each, chosen]
    shares = np.bincount(chosen, minlength=N_GROUPS) / rounds
    return fair.sum(), regret.sum(), shares.min(), shares.max(), fair[rounds // 2 :].sum() / fair.sum()


def main() -> None:
    """Run every policy on every seed, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=2500, help="the number of rounds of each run")
    parser.add_argument("--seeds", type=int, default=5, help="the number of runs of each policy")
    options = parser.parse_args()
    known = np.sort(draw(np.random.default_rng(10**6), 200_000)[1], axis=0)
    print(
        f"{'policy':<20}{'fair regret':>12}{'regret':>10}{'lowest share':>14}{'highest share':>15}{'2nd half':>10}"
    )
    for name, make in POLICIES.items():
        runs = [run(make(seed), seed, options.rounds, known) for seed in range(options.seeds)]
        fair, regret, low, high, second = np.mean(runs, axis=0)
        print(f"{name:<20}{fair:>12.0f}{regret:>10.0f}{low:>14.2f}{high:>15.2f}{second:>10.2f}", flush=True)


if __name__ == "__main__":
    main()
