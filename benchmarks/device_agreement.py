"""Compare the arms that a device chooses with those of the processor, for every policy and model.

    python benchmarks/device_agreement.py                              # NumPy through the array API; one minute
    python benchmarks/device_agreement.py --libraries torch cupy       # on a machine with a GPU

There are 1,000 users and 1,000 arms, so 1,000,000 scores for each policy and model. The contexts are those of a
catalogue with matches, after 3,000 rewards. Both start from the same random state. The exit status is 1 if any arm
or probability differs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import numpy as np

from fairbandits import (
    AlphaFairLinUCB,
    Catalogue,
    EpsilonGreedy,
    EqualRegretLinUCB,
    EvenLinUCB,
    FairLinUCB,
    LinUCB,
    MaxMinLinUCB,
    Model,
    Offer,
    Policy,
    PrimalDualLinUCB,
    Uniform,
)
from fairbandits.models.device import Device

N_USERS, N_ARMS, N_ROUNDS = 1_000, 1_000, 3_000
N_USER, N_ARM = 12, 6
MODELS = ("disjoint", "shared", "hybrid", "auto", Model(discount=0.99), Model(kind="hybrid", link="logistic"))
POLICIES = (
    LinUCB(random_state=1),
    FairLinUCB(random_state=1),
    FairLinUCB(gamma="auto", random_state=1),
    EvenLinUCB(random_state=1),
    MaxMinLinUCB(random_state=1),
    PrimalDualLinUCB(random_state=1),
    EqualRegretLinUCB(random_state=1),
    AlphaFairLinUCB(random_state=1),
    EpsilonGreedy(random_state=1),
    LinUCB(min_probability=1e-4, random_state=1),
)


def policies() -> Iterator[Policy]:
    """Yield every policy with every model."""
    for policy in POLICIES:
        for model in MODELS:
            yield type(policy)(**{**policy.get_params(deep=False), "model": model})
    yield Uniform(random_state=1)


def choose(
    policy: Policy, offer: Offer, groups: list[str], device: str | Device
) -> tuple[list[int], list[float | None]]:
    """Choose from the same random state every time."""
    state = policy._rng.bit_generator.state
    decisions = policy.choose_many(offer, groups, device=device)
    policy._rng.bit_generator.state = state
    return decisions.indices.tolist(), decisions.probability


def main() -> int:
    """Compare, and print a line for each policy and model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--libraries", nargs="+", default=["numpy"], help="numpy, torch, cupy")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    speakers, sex = (rng.choice(["female", "male"], n).tolist() for n in (N_ARMS, N_USERS))
    catalogue = Catalogue(rng.random((N_ARMS, N_ARM)), N_USER, matches={"sex": speakers})
    users = rng.random((N_USERS, N_USER))
    offer = catalogue.offer_many(users, {"sex": sex})
    rows, arms = rng.random((N_ROUNDS, catalogue.width)), rng.integers(N_ARMS, size=N_ROUNDS).tolist()
    rewards, groups = rng.random(N_ROUNDS), rng.choice(["female", "male"], N_ROUNDS).tolist()
    n_different = 0
    for policy in policies():
        policy.learn_logged(rows, arms, rewards, groups)
        expected = choose(policy, offer, sex, "cpu")
        found = []
        for library in options.libraries:
            device = Device("cpu" if library == "numpy" else "cuda", library=library)
            indices, probability = choose(policy, offer, sex, device)
            different = sum(one != other for one, other in zip(indices, expected[0], strict=True))
            different += not np.allclose(
                np.array(probability, float), np.array(expected[1], float), equal_nan=True
            )
            found.append(f"{library} {different}")
            n_different += different
        print(f"{policy!r}: {N_USERS * N_ARMS:,} scores, arms that differ: {', '.join(found)}", flush=True)
    print(f"{n_different} differ")
    return int(n_different > 0)


if __name__ == "__main__":
    sys.exit(main())
