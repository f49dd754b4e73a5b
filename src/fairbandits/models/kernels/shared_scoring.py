"""Scoring all arms with one regression."""

from __future__ import annotations

import numpy as np

from fairbandits.jit import kernel
from fairbandits.models.kernels.layouts import (
    FIRST_ARM,
    FIRST_SHARED,
    N_SHARED,
    PATTERN,
    START,
    STOP,
    Fields,
    Floats,
    SplitRows,
)
from fairbandits.models.kernels.triangles import add_product, dot_dense, root


@kernel(reorder_sums=True)
def score_shared_sparse(
    rows: Fields,
    theta: Floats,
    inverse: Floats,
    mean: Floats,
    width: Floats,
    arm_from: int,
    arm_to: int,
) -> int:
    """Fill mean and width (users x arms); return how many widths are NaN.

    A^-1 u is computed once for each shared part u.
    """
    split = SplitRows(*rows)
    broken = 0
    d = theta.size
    for user in range(len(mean)):
        first, n_shared = split.users[user, FIRST_SHARED], split.users[user, N_SHARED]
        products = np.zeros((n_shared, d))
        shared_mean, shared_variance = np.zeros(n_shared), np.zeros(n_shared)
        for part in range(n_shared):
            lo, hi = split.shared_starts[first + part], split.shared_starts[first + part + 1]
            add_product(
                inverse,
                np.uint64(0),
                split.shared_columns,
                split.shared_values,
                np.uint64(lo),
                np.uint64(hi),
                products[part],
            )
            for i in range(lo, hi):
                shared_variance[part] += split.shared_values[i] * products[part, split.shared_columns[i]]
                shared_mean[part] += split.shared_values[i] * theta[split.shared_columns[i]]
        u = products.reshape(-1)
        for arm in range(arm_from, arm_to):
            own = split.users[user, FIRST_ARM] + arm
            lo, hi = np.uint64(split.bounds[own, START]), np.uint64(split.bounds[own, STOP])
            part = split.which[split.users[user, PATTERN], arm]
            start = np.uint64(part * d)
            variance, predicted = shared_variance[part], shared_mean[part]
            for i in range(lo, hi):
                c = np.uint64(split.columns[i])
                # Arm parts are sorted by column, so that all pairs are below the diagonal.
                row = c * (c + np.uint64(1)) // np.uint64(2)
                inner = u[start + c] + 0.5 * split.values[i] * inverse[row + c]
                for j in range(lo, i):
                    inner += split.values[j] * inverse[row + np.uint64(split.columns[j])]
                variance += 2.0 * split.values[i] * inner
                predicted += split.values[i] * theta[c]
            broken += not variance >= 0.0
            mean[user, arm] = predicted
            width[user, arm] = root(variance)
    return broken


@kernel(reorder_sums=True)
def score_shared_dense(
    rows: Floats, theta: Floats, inverse: Floats, mean: Floats, width: Floats, arm_from: int, arm_to: int
) -> int:
    """Fill mean and width as `score_shared_sparse` does, from dense rows."""
    n_users, n_arms = mean.shape
    X, n = rows.reshape(-1), np.uint64(theta.size)
    broken = 0
    for user in range(n_users):
        for arm in range(arm_from, arm_to):
            x = np.uint64(user * n_arms + arm) * n
            variance, start = 0.0, np.uint64(0)
            for i in range(n):
                # A^-1 is symmetric: the diagonal once, each pair below it twice.
                inner = 0.5 * X[x + i] * inverse[start + i] + dot_dense(X, x, inverse, start, np.uint64(i))
                variance += 2.0 * X[x + i] * inner
                start += np.uint64(i + 1)
            broken += not variance >= 0.0
            mean[user, arm] = dot_dense(X, x, theta, np.uint64(0), n)
            width[user, arm] = root(variance)
    return broken
