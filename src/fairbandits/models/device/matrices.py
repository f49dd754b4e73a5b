"""Copies on a device of what models have learned of each arm, which follow the models by small updates."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairbandits.models.device.backend import Array, Backend
from fairbandits.models.hybrid import HybridModel
from fairbandits.models.kernels.layouts import Ints
from fairbandits.models.ridge import RidgeRegressions

# The number of regressions that are copied from the host at a time.
_AT_A_TIME = 4096
# With more changed regressions than this share, all are copied.
_MANY = 0.125


class ArmMatrices:
    """A^-1 and theta of each arm of a disjoint model.

    Parameters
    ----------
    width : int
        Number of features.
    backend : Backend
        The device.
    """

    def __init__(self, width: int, backend: Backend) -> None:
        self._backend = backend
        self.width = width
        i, j = np.tril_indices(width)
        entry = np.zeros((width, width), np.int64)
        entry[i, j] = entry[j, i] = np.arange(len(i))
        self._entries = backend.asarray(entry.reshape(-1))
        self._diagonal = backend.asarray(entry.diagonal().copy())
        self._forget()

    def _forget(self) -> None:
        """Forget what has been copied, so that the next call copies everything."""
        self._seen: Ints = np.empty(0, np.int64)
        self._resets = -1

    def _allocate(self, model: RidgeRegressions) -> None:
        """Allocate regressions; behind those of the slots is an empty one, for arms that have learned nothing."""
        n_slots = model.n_slots
        inverse = self._backend.empty((n_slots + 1, self.width * (self.width + 1) // 2))
        self._inverse, self._theta = inverse, self._backend.empty((n_slots + 1, self.width))
        self._copy(model, n_slots, n_slots + 1)

    def follow(self, model: Any) -> Ints | None:
        """Copy what a model has learned since the last call; return the slots that have changed, None for all."""
        seen, resets, now = self._seen, self._resets, model.n_slots
        # Recorded at the end: a copy that was interrupted must not count as complete.
        self._forget()
        if now != len(seen) or resets != model.n_resets:
            changed: Ints = np.arange(now)
            if now != len(seen) or resets < 0:
                self._allocate(model)
        else:
            changed = np.flatnonzero(model.rows_learned != seen)
        if len(changed) > _MANY * now:
            runs = [(start, min(start + _AT_A_TIME, now)) for start in range(0, now, _AT_A_TIME)]
        else:
            runs = [(int(run[0]), int(run[-1]) + 1) for run in _consecutive(changed)]
        for start, stop in runs:
            self._copy(model, start, stop)
        self._seen, self._resets = model.rows_learned.copy(), model.n_resets
        return changed

    def _copy(self, model: RidgeRegressions, start: int, stop: int) -> None:
        slots = np.arange(start, stop)
        self._inverse[start:stop, :] = self._backend.asarray(model.packed_inverses(slots))
        theta = model.theta[start:stop]
        theta = theta if len(theta) else np.zeros((stop - start, self.width))
        self._theta[start:stop, :] = self._backend.asarray(theta)

    def rows_of(self, slots: Ints) -> Array:
        """Return where the regressions of slots are; that of an empty one for a slot that is not known."""
        n_slots = len(self._seen)
        return self._backend.asarray(np.where((slots < 0) | (slots >= n_slots), n_slots, slots))

    def column_sizes(self, rows: Array) -> Array:
        """Return for each column i an upper bound on `sqrt(M_ii)` of all the given regressions.

        In a disjoint model, M is P = A^-1. In a hybrid one, no eigenvalue of P or A0^-1 exceeds 1 / lambda, so
        that `lambda^2 P A0^-1 P <= P` and `M <= 2 P`.
        """
        xp = self._backend.xp
        largest = xp.max(xp.take(xp.take(self._inverse, self._diagonal, axis=1), rows, axis=0), axis=0)
        return xp.sqrt(2.0 * xp.where(largest > 0.0, largest, 0.0))

    def matrices(self, rows: Array) -> tuple[Array, Array]:
        """Return M and theta of regressions: `x' M x` is the variance and `theta.x` the mean of a context x."""
        xp = self._backend.xp
        packed = xp.take(self._inverse, rows, axis=0)
        full = xp.reshape(xp.take(packed, self._entries, axis=1), (-1, self.width, self.width))
        return full, xp.take(self._theta, rows, axis=0)


class HybridMatrices(ArmMatrices):
    """The same for a hybrid model: `M = P + lambda^2 P A0^-1 P`, `theta + lambda P beta` (see `HybridModel`)."""

    def __init__(self, width: int, backend: Backend) -> None:
        super().__init__(width, backend)
        self._shared: tuple[int, int] | None = None

    def follow(self, model: HybridModel) -> Ints | None:
        """Copy what has changed; None when the shared part has learned, which changes every arm."""
        changed = super().follow(model.arms)
        shared = model.shared
        state = int(shared.rows_learned.sum()), shared.n_resets
        if state == self._shared:
            return changed
        self._shared = None
        self._inverse_of_shared = self._backend.asarray(shared.inverse_of(0))
        self._beta, self._ridge = self._backend.asarray(model.beta()), model.ridge
        self._shared = state
        return None

    def matrices(self, rows: Array) -> tuple[Array, Array]:
        """Return M and the coefficients of arms."""
        inverse, theta = super().matrices(rows)
        ridge = self._ridge
        lifted = inverse + ridge**2 * (inverse @ self._inverse_of_shared @ inverse)
        return lifted, theta + ridge * (inverse @ self._beta)


def _consecutive(numbers: Ints) -> list[Ints]:
    """Split sorted numbers into runs of consecutive ones."""
    return np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1) if len(numbers) else []
