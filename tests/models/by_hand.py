"""The models line by line, an inverse every time, nothing shared with the library."""

from __future__ import annotations

import numpy as np


class HybridByHand:
    """Algorithm 2 of Li et al. 2010, with its own names, z = x, and any ridge."""

    def __init__(self, width, ridge):
        self.ridge = ridge
        self.A0, self.b0 = ridge * np.eye(width), np.zeros(width)
        self.A, self.B, self.b = {}, {}, {}

    def arm(self, arm, width):
        if arm not in self.A:
            self.A[arm], self.B[arm] = self.ridge * np.eye(width), np.zeros((width, width))
            self.b[arm] = np.zeros(width)
        return self.A[arm], self.B[arm], self.b[arm]

    def score(self, arm, x, z):
        A, B, b = self.arm(arm, len(x))
        inverse0, inverse = np.linalg.inv(self.A0), np.linalg.inv(A)
        beta = inverse0 @ self.b0
        theta = inverse @ (b - B @ beta)
        s = z @ inverse0 @ z - 2 * z @ inverse0 @ B.T @ inverse @ x
        s += x @ inverse @ x + x @ inverse @ B @ inverse0 @ B.T @ inverse @ x
        return z @ beta + x @ theta, np.sqrt(s)

    def learn(self, arm, x, z, reward):
        A, B, b = self.arm(arm, len(x))
        inverse = np.linalg.inv(A)
        self.A0 += B.T @ inverse @ B
        self.b0 += B.T @ inverse @ b
        A += np.outer(x, x)
        B += np.outer(x, z)
        b += reward * x
        inverse = np.linalg.inv(A)
        self.A0 += np.outer(z, z) - B.T @ inverse @ B
        self.b0 += reward * z - B.T @ inverse @ b


class DiscountByHand:
    """Weighted ridge regression from all rows of a slot, each time anew: Russac et al. 2019, per slot."""

    def __init__(self, width, ridge, discount):
        self.width, self.ridge, self.discount = width, ridge, discount
        self.rows, self.rewards = {}, {}

    def learn(self, slot, x, reward):
        self.rows.setdefault(slot, []).append(x)
        self.rewards.setdefault(slot, []).append(reward)

    def solve(self, slot):
        X = np.array(self.rows.get(slot, [])).reshape(-1, self.width)
        weight = self.discount ** np.arange(len(X))[::-1]
        A = self.ridge * np.eye(self.width) + (X.T * weight) @ X
        return A, (X.T * weight) @ np.array(self.rewards.get(slot, []))

    def score(self, slot, x):
        A, b = self.solve(slot)
        inverse = np.linalg.inv(A)
        return x @ inverse @ b, np.sqrt(x @ inverse @ x)


def logistic_step(theta, A, x, reward):
    """One step of online logistic regression, by a general minimiser."""
    from scipy.optimize import minimize

    def loss(new):
        z = new @ x
        return 0.5 * (new - theta) @ A @ (new - theta) + np.logaddexp(0, z) - reward * z

    def slope(new):
        return A @ (new - theta) + (1 / (1 + np.exp(-(new @ x))) - reward) * x

    new = minimize(loss, theta, jac=slope, method="BFGS", options={"gtol": 1e-12}).x
    mu = 1 / (1 + np.exp(-(new @ x)))
    return new, A + mu * (1 - mu) * np.outer(x, x)
