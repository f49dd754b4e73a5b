"""Measure how fast a GPU scores many users against many arms, through `choose_many`.

    python benchmarks/gpu.py                       # on a machine with a GPU and PyTorch; three minutes
    python benchmarks/gpu.py --library cupy
    python benchmarks/gpu.py --small               # small sizes, to see that it works; --device cpu without a GPU

Times are the best of several calls. What was learned is on the device; users go there, and decisions come back.
The same run measures a plain product of matrices of the same shapes, the processor on some of the users, and the
textbook with PyTorch, a loop of batched quadratic forms. The contexts are either one row per user, which is the
same for all arms, or those of a catalogue: the user's columns, the arm's, and whether they match.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbandits import Catalogue, LinUCB, Offer
from fairbandits.categorical import Categorical
from fairbandits.models.device import Backend, Device, as_backend, scorer_for
from fairbandits.models.device.contexts import CatalogueContexts, as_device_contexts
from fairbandits.models.device.scorers import _SCORERS

WIDTH = 64
#: Columns of users and of arms in a catalogue, in the proportions of the paper; one more says whether they match.
CATALOGUE = (51, 12)
ROWS_PER_ARM = 3
TURNS = 5
#: Users of whom the processor, and arms of which the textbook, is asked.
CPU_USERS, TEXTBOOK_ARMS = 8, 2_000


@dataclass
class Case:
    """A policy that has learned, and users for it."""

    title: str
    policy: LinUCB
    catalogue: Catalogue
    users: np.ndarray
    matching: dict[str, list[str]]

    def offer(self, n: int | None = None) -> Offer:
        """Return the contexts of the first n users."""
        matching = {name: values[:n] for name, values in self.matching.items()}
        return self.catalogue.offer_many(self.users[:n], matching)


def make_case(n_users: int, n_arms: int, is_catalogue: bool) -> Case:
    """Return a policy that has learned a few rewards of every arm, and users."""
    rng = np.random.default_rng(0)
    n_user, n_arm = CATALOGUE if is_catalogue else (WIDTH, 0)
    speakers = rng.choice(["female", "male"], n_arms).tolist()
    matches = {"sex": speakers} if is_catalogue else {}
    catalogue = Catalogue(rng.random((n_arms, n_arm)), n_user, matches=matches)
    policy = LinUCB(alpha=0.3, random_state=0)
    for start in range(0, n_arms, 10_000):
        arms = np.repeat(np.arange(start, min(start + 10_000, n_arms)), ROWS_PER_ARM)
        matched = {
            name: Categorical.encode(rng.choice(["female", "male"], len(arms)).tolist()) for name in matches
        }
        shown = Categorical.encode(arms.tolist())
        rows = catalogue.contexts(rng.random((len(arms), n_user)), shown, matched)
        policy.learn_logged(rows, shown, rng.random(len(arms)))
    users = rng.random((n_users, n_user))
    matching = {name: rng.choice(["female", "male"], n_users).tolist() for name in matches}
    kind = f"catalogue, {n_user} + {n_arm} + 1 columns" if is_catalogue else f"one row per user, {WIDTH} columns"
    return Case(f"{n_users:,} users x {n_arms:,} arms, {kind}", policy, catalogue, users, matching)


def forget(policy: LinUCB) -> None:
    """Drop what is on devices."""
    _SCORERS.pop(policy.reward_model, None)


def best_of(work: Callable[[], Any], turns: int = TURNS) -> float:
    """Return the shortest time of several calls."""
    times = []
    for _ in range(turns):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def plain_product(backend: Backend, contexts: CatalogueContexts, n_users: int, n_arms: int) -> float:
    """Return the time of the products of matrices of the same shapes, for users in blocks of the same size."""
    rng = np.random.default_rng(0)
    n_pairs, block = contexts.n_pairs, min(n_users, 2**28 // n_arms)
    left, right = backend.asarray(rng.random((block, n_pairs))), backend.asarray(rng.random((n_pairs, n_arms)))

    def work() -> None:
        for _ in range(n_users // block):
            left @ right
        if rest := n_users % block:
            left[:rest, :] @ right
        backend.synchronise()

    work()
    return best_of(work)


def textbook(case: Case, device: Device) -> float:
    """Return the time per score of a loop of batched quadratic forms, with PyTorch."""
    import torch  # noqa: PLC0415  (not everywhere)

    arms = min(TEXTBOOK_ARMS, len(case.catalogue))
    rows = torch.as_tensor(
        np.random.default_rng(0).random((min(2000, len(case.users)), WIDTH)), device=device.name
    )
    model = case.policy.reward_model
    inverses = torch.as_tensor(np.array([model.inverse_of(arm) for arm in range(arms)]), device=device.name)
    theta = torch.as_tensor(model.theta[:arms], device=device.name)

    def work() -> None:
        best = torch.full((len(rows),), -torch.inf, dtype=torch.float64, device=device.name)
        for start in range(0, arms, 100):
            some = inverses[start : start + 100]
            widths = torch.sqrt(torch.einsum("nd,ade,ne->na", rows, some, rows))
            best = torch.maximum(best, (rows @ theta[start : start + 100].T + 0.3 * widths).max(dim=1).values)
        best.cpu()

    work()
    return best_of(work) / (len(rows) * arms)


def measure(case: Case, library: str | None, name: str) -> None:
    """Measure a case, and print its lines."""
    n_users, n_arms = len(case.users), len(case.catalogue)
    n_scores = n_users * n_arms
    print(f"\n{case.title}")
    offering = best_of(case.offer, 1)
    offer = case.offer()
    contexts: Any = as_device_contexts(offer.rows)
    for dtype in ("float64", "float32"):
        device = Device(name, library=library, dtype=dtype)
        backend: Any = as_backend(device)
        first = best_of(lambda device=device: case.policy.choose_many(offer, device=device), 1)  # type: ignore[misc]
        taken = best_of(lambda device=device: case.policy.choose_many(offer, device=device))  # type: ignore[misc]
        backend.release()
        plain = plain_product(backend, contexts, n_users, n_arms)
        flops = 2.0 * contexts.n_pairs * n_scores
        print(
            f"  {dtype}: {taken:.3f} s, {n_scores / taken:.3g} scores/s; plain product {plain:.3f} s "
            f"({flops / plain / 1e12:.1f} TFLOP/s), {plain / taken:.0%} of its speed; first call {first:.2f} s"
        )
        forget(case.policy)
        backend.release()
    print(f"  contexts of the offer, on the processor: {offering:.3f} s")
    small = case.offer(min(CPU_USERS, n_users))
    cpu = best_of(lambda: case.policy.choose_many(small), 2) / (small.rows.n_users * n_arms)
    print(f"  processor, {small.rows.n_users} users: {1.0 / cpu:.3g} scores/s")
    if library in (None, "torch") and name != "cpu":
        report_memory(case, name)
        print(f"  textbook with PyTorch, float64: {1.0 / textbook(case, Device(name)):.3g} scores/s")


def report_memory(case: Case, name: str) -> None:
    """Print the most memory that a call takes on the device, besides what was learned, where 4 GiB are allowed."""
    import torch  # noqa: PLC0415  (not everywhere)

    limit = 2**32
    device, offer = Device(name, library="torch", memory=limit), case.offer()
    case.policy.choose_many(offer, device=device)
    backend: Any = as_backend(device)
    scorer: Any = scorer_for(case.policy.reward_model, backend)
    matrices = scorer._matrices
    learned = sum(array.numel() * array.element_size() for array in (matrices._inverse, matrices._theta))
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    taken = best_of(lambda: case.policy.choose_many(offer, device=device), 1)
    peak = torch.cuda.max_memory_allocated()
    weights = before - learned
    print(
        f"  with at most 4 GiB: {taken:.3f} s; in all {(peak - learned) / 2**30:.2f} GiB besides what was learned"
    )
    print(f"  (what was learned {learned / 2**30:.2f} GiB, other arrays that stay {weights / 2**30:.2f} GiB)")


def main() -> None:
    """Measure all cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", choices=("torch", "cupy", "numpy"), help="by default PyTorch, or CuPy")
    parser.add_argument("--device", default="cuda", help="the device")
    parser.add_argument("--small", action="store_true", help="small sizes")
    options = parser.parse_args()
    sizes = [(10_000, 100_000), (1_000_000, 10_000)]
    for n_users, n_arms in [(200, 500)] if options.small else sizes:
        for is_catalogue in (False, True):
            measure(make_case(n_users, n_arms, is_catalogue), options.library, options.device)


if __name__ == "__main__":
    main()
