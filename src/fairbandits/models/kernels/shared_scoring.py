"""The compiled loops that score all arms by one model."""

from __future__ import annotations

import numpy as np
from numba import njit

from fairbandits.models.kernels.split_rows import Parts
from fairbandits.models.kernels.triangles import FAST, Floats, dot_full, root, times


@njit(cache=True, nogil=True, fastmath=FAST)
def score_shared(
    parts: Parts, theta: Floats, inverse: Floats, mean: Floats, width: Floats, arm_from: int, arm_to: int
) -> int:
    """Fill mean and width (users x arms); return how many broke down, their widths NaN.

    A^-1 u is computed once for a common part u.
    """
    common_starts, common_columns, common_values, users, which, bounds, columns, values = parts
    broken = 0
    d = theta.size
    for user in range(len(mean)):
        first, n_common, dealt, first_own = users[user]
        products = np.empty((n_common, d))
        common_mean, common_variance = np.zeros(n_common), np.zeros(n_common)
        for part in range(n_common):
            lo, hi = common_starts[first + part], common_starts[first + part + 1]
            products[part] = times(inverse, common_columns[lo:hi], common_values[lo:hi], d)
            for i in range(lo, hi):
                common_variance[part] += common_values[i] * products[part, common_columns[i]]
                common_mean[part] += common_values[i] * theta[common_columns[i]]
        u = products.reshape(-1)
        for a in range(arm_from, arm_to):
            lo, hi = np.uint64(bounds[first_own + a, 0]), np.uint64(bounds[first_own + a, 1])
            part = which[dealt, a]
            start = np.uint64(part * d)
            variance = common_variance[part]
            m = common_mean[part]
            for i in range(lo, hi):
                c = np.uint64(columns[i])
                # Own parts are sorted by column, so that all pairs are below the diagonal.
                line = c * (c + np.uint64(1)) // np.uint64(2)
                inner = u[start + c] + 0.5 * values[i] * inverse[line + c]
                for j in range(lo, i):
                    inner += values[j] * inverse[line + np.uint64(columns[j])]
                variance += 2.0 * values[i] * inner
                m += values[i] * theta[c]
            broken += not variance >= 0.0
            mean[user, a] = m
            width[user, a] = root(variance)
    return broken


@njit(cache=True, nogil=True, fastmath=FAST)
def score_shared_full(
    rows: Floats, theta: Floats, inverse: Floats, mean: Floats, width: Floats, arm_from: int, arm_to: int
) -> int:
    """Do as `score_shared` does, for rows without zeros worth skipping."""
    n_users, n_arms = mean.shape
    X, n = rows.reshape(-1), np.uint64(theta.size)
    broken = 0
    for user in range(n_users):
        for a in range(arm_from, arm_to):
            x = np.uint64(user * n_arms + a) * n
            variance, start = 0.0, np.uint64(0)
            for i in range(n):
                # A^-1 is symmetric: the diagonal once, each pair below it twice.
                inner = 0.5 * X[x + i] * inverse[start + i] + dot_full(X, x, inverse, start, np.uint64(i))
                variance += 2.0 * X[x + i] * inner
                start += np.uint64(i + 1)
            broken += not variance >= 0.0
            mean[user, a] = dot_full(X, x, theta, np.uint64(0), n)
            width[user, a] = root(variance)
    return broken
