"""Baselines for the benchmarks: the textbook, and optimised NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Textbook:
    """Algorithm 1 of the paper as printed: one inverse per arm and round."""

    def __init__(self, n_arms: int, width: int, alpha: float, ridge: float = 1.0) -> None:
        self.alpha = alpha
        self.A = [ridge * np.eye(width) for _ in range(n_arms)]
        self.b = [np.zeros(width) for _ in range(n_arms)]

    def choose(self, contexts: Floats) -> int:
        """Score the arms one by one, and return the best."""
        scores = []
        for A, b, x in zip(self.A, self.b, contexts, strict=True):
            inverse = np.linalg.inv(A)
            scores.append(inverse @ b @ x + self.alpha * np.sqrt(x @ inverse @ x))
        return int(np.argmax(scores))

    def learn(self, arm: int, x: Floats, reward: float) -> None:
        """Add the row to A and b."""
        self.A[arm] += np.outer(x, x)
        self.b[arm] += reward * x


class VectorisedNumpy:
    """All arms in one product, with inverses updated by Sherman-Morrison."""

    def __init__(self, n_arms: int, width: int, alpha: float, ridge: float = 1.0) -> None:
        self.alpha = alpha
        self.inverse = np.tile(np.eye(width) / ridge, (n_arms, 1, 1))
        self.theta = np.zeros((n_arms, width))

    def choose(self, contexts: Floats) -> int:
        """Score all arms at once, and return the best."""
        products = self._products(contexts)
        widths = np.sqrt(np.einsum("kd,kd->k", contexts, products))
        means = np.einsum("kd,kd->k", contexts, self.theta)
        return int(np.argmax(means + self.alpha * widths))

    def choose_many(self, contexts: Floats) -> NDArray[np.intp]:
        """Score all arms for all users; contexts of shape (n_arms, n_users, width)."""
        widths = np.sqrt(np.einsum("knd,knd->kn", contexts, self._many_products(contexts)))
        means = np.matmul(contexts, self.theta[:, :, None])[:, :, 0]
        best: NDArray[np.intp] = np.argmax(means + self.alpha * widths, axis=0)
        return best

    def _products(self, contexts: Floats) -> Floats:
        """Multiply the inverse of each arm with its context, by einsum."""
        products: Floats = np.einsum("kde,ke->kd", self.inverse, contexts)
        return products

    def _many_products(self, contexts: Floats) -> Floats:
        products: Floats = np.einsum("knd,kde->kne", contexts, self.inverse)
        return products

    def learn(self, arm: int, x: Floats, reward: float) -> None:
        """Update the inverse and the coefficients by rank one."""
        u = self.inverse[arm] @ x
        gain = 1.0 / (1.0 + x @ u)
        self.theta[arm] += u * (gain * (reward - x @ self.theta[arm]))
        self.inverse[arm] -= np.outer(u, gain * u)


class BatchedBlas(VectorisedNumpy):
    """The same with batched BLAS products: the fastest known version in NumPy alone."""

    def _products(self, contexts: Floats) -> Floats:
        products: Floats = np.matmul(self.inverse, contexts[:, :, None])[:, :, 0]
        return products

    def _many_products(self, contexts: Floats) -> Floats:
        products: Floats = np.matmul(contexts, self.inverse)
        return products
