"""Print how far rounding moves widths on a device, for columns with different scales that are nearly collinear.

    python benchmarks/device_rounding.py

The columns are 1, s and 0.9 s, with s uniform on [0, scale]. The arms are those of a catalogue with s and 0.9 s as
the user's columns; they have received 200 rewards in total. NumPy computes the widths through the array API, and
the exact ones follow from the same inverse matrices in extended precision.
"""

from __future__ import annotations

import numpy as np

from fairbandits import Catalogue, LinUCB
from fairbandits.models.device import Device

N_ARMS, N_USERS, N_ROUNDS = 5, 200, 200
SCALES = (1.0, 30.0, 1_000.0, 50_000.0)


def users_of(rng: np.random.Generator, n: int, scale: float) -> np.ndarray:
    """Return users whose columns are nearly collinear."""
    s = rng.uniform(0.0, scale, n)
    return np.column_stack([s, 0.9 * s])


def errors(scale: float) -> tuple[float, float, float, float]:
    """Return the largest error of a width in float64 and in float32, and the smallest and the largest width."""
    rng = np.random.default_rng(0)
    catalogue = Catalogue(np.ones((N_ARMS, 1)), 2)
    policy = LinUCB(alpha=0.3, random_state=0)
    arms = rng.integers(N_ARMS, size=N_ROUNDS)
    learned = catalogue.offer_many(users_of(rng, N_ROUNDS, scale)).toarray().reshape(N_ROUNDS, N_ARMS, -1)
    policy.learn_logged(learned[np.arange(N_ROUNDS), arms], arms.tolist(), rng.random(N_ROUNDS))
    offer = catalogue.offer_many(users_of(rng, N_USERS, scale))
    contexts = offer.toarray().reshape(N_USERS, N_ARMS, -1).astype(np.longdouble)
    slots = [policy.arms_learned.index(arm) for arm in range(N_ARMS)]
    inverses = np.array([policy.reward_model.inverse_of(slot) for slot in slots], np.longdouble)
    exact = np.sqrt(np.einsum("uai,aij,uaj->ua", contexts, inverses, contexts))
    found = []
    for dtype in ("float64", "float32"):
        device = Device("cpu", library="numpy", dtype=dtype)
        width = policy.score(offer, arms=list(range(N_ARMS)), device=device).width
        found.append(float(np.abs(width - exact).max()))
    return found[0], found[1], float(exact.min()), float(exact.max())


def main() -> None:
    """Print a line for each scale."""
    print("| scale | float64 | float32 | widths |")
    print("| --- | --- | --- | --- |")
    for scale in SCALES:
        double, single, smallest, largest = errors(scale)
        print(f"| {scale:,.0f} | {double:.0e} | {single:.0e} | {smallest:.2f} to {largest:.2f} |")


if __name__ == "__main__":
    main()
