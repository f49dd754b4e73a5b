"""Scoring of many users against many arms on a device, with a scorer for each kind of model."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from fairbandits.models.device.backend import Array, Backend, DeviceError
from fairbandits.models.device.contexts import CatalogueContexts, Contexts, DenseContexts, UserFeatures
from fairbandits.models.device.matrices import ArmMatrices, HybridMatrices
from fairbandits.models.disjoint import DisjointModel
from fairbandits.models.fading import FadingSharedModel
from fairbandits.models.hybrid import HybridModel
from fairbandits.models.kernels.layouts import Ints
from fairbandits.models.logistic import LogisticModel
from fairbandits.models.mixture import MixtureModel
from fairbandits.models.reward_model import RewardModel, ZeroModel
from fairbandits.models.shared import SharedModel

# The maximum number of bytes that full matrices may take on the device at a time while weights are computed, and
# their maximum share of the memory.
_MATRIX_BYTES, _SHARE_OF_MATRICES = 2**28, 0.125
# Weights are kept on the device for the next call if they take at most this share of the memory.
_SHARE_OF_WEIGHTS = 0.4
# The number of arms for which the weights of a shared model are computed at a time.
_ARMS = 2**14
# How far rounding can move a variance, relative to the sum of the absolute values of its terms. The largest
# measured error was 0.4 times this bound, for columns with scales from 1 to 10^6.
_ROUNDING = 2.0**-52


class Scored(NamedTuple):
    """The predictions for some users and all arms.

    Attributes
    ----------
    mean, width : arrays of shape (n_users, n_arms)
        The predicted reward, and its uncertainty.
    error : array of shape (n_users, 1)
        How far rounding can move a width; 0 in float32, where close scores are not compared again.
    """

    mean: Array
    width: Array
    error: Array


class DeviceScorer(ABC):
    """Base class of scorers, which predict rewards and their uncertainty on a device for a model on the host."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    @abstractmethod
    def prepare(self, model: Any, contexts: Contexts, slots: Ints) -> None:
        """Bring the device up to date, and compute everything that does not depend on users.

        Parameters
        ----------
        model : RewardModel
            The model on the host, which must be the same in every call. Scorers keep no reference to it, so that
            it can be freed.
        contexts : CatalogueContexts or DenseContexts
            The contexts.
        slots : array of int
            The slot of each arm.
        """

    @abstractmethod
    def score(self, users: UserFeatures) -> Scored:
        """Return the predictions for users and all arms of a catalogue."""

    @abstractmethod
    def score_dense(self, contexts: Array) -> Scored:
        """Return the predictions for contexts of shape (n_arms, n_users, width)."""

    def bytes_per_user(self) -> int:
        """Return the number of bytes that each user takes on the device, in addition to scores."""
        return 0

    def _filled(self, weights: Array, contexts: CatalogueContexts) -> Array:
        """Zero-pad the weights of columns to the width of the user matrix."""
        more = self.backend.full((weights.shape[0], contexts.n_linear - weights.shape[1]), 0.0)
        return self.backend.xp.concat([weights, more], axis=1)

    def _sizes_of_users(self, contexts: CatalogueContexts, sizes: Array) -> Array:
        """Return column sizes as a column vector with one entry for each column of the user matrix."""
        columns = self.backend.asarray(contexts.columns)
        return self._filled(self.backend.xp.take(sizes, columns)[None, :], contexts).T

    def _scored(self, mean: Array, variance: Array, size: Array) -> Scored:
        """Return predictions, given variances `x' M x` and each user's bound on `sum |x_i| sqrt(M_ii)`.

        M is positive semidefinite, so the terms `|x_i M_ij x_j|` add up to at most the square of this bound.
        """
        xp = self.backend.xp
        if self.backend.device.dtype == "float32":
            return Scored(mean, xp.sqrt(xp.where(variance < 0.0, 0.0, variance)), xp.zeros_like(size))
        with np.errstate(invalid="ignore"):
            # NaN if rounding has made a variance negative, in which case the host scores the user.
            width = xp.sqrt(variance)
        largest = math.sqrt(_ROUNDING) * size
        smallest = xp.min(width, axis=1, keepdims=True)
        # An error of e in v moves sqrt(v) by at most e / sqrt(v), and by at most sqrt(e).
        smallest = xp.where(smallest > largest, smallest, largest)
        return Scored(mean, width, largest * largest / xp.where(smallest > 0.0, smallest, 1.0))


class ArmScorer(DeviceScorer):
    """The scorer for models with a regression for each arm: disjoint and hybrid."""

    def __init__(self, matrices: ArmMatrices, backend: Backend) -> None:
        super().__init__(backend)
        self._matrices = matrices
        self._contexts: CatalogueContexts | DenseContexts | None = None
        self._slots: Ints = np.empty(0, np.int64)
        self._kept: tuple[Array, Array] | None = None
        self._is_prepared = False

    def prepare(self, model: Any, contexts: Contexts, slots: Ints) -> None:
        """Copy what has changed, and compute the weights of the changed arms."""
        # If a preparation fails, its weights are not used, and the next preparation recomputes all weights.
        was_prepared, self._is_prepared = self._is_prepared, False
        kept, self._kept = self._kept, None
        changed = self._matrices.follow(model)
        before, self._contexts = self._contexts, contexts
        is_same = (
            was_prepared
            and isinstance(contexts, CatalogueContexts)
            and isinstance(before, CatalogueContexts)
            and np.array_equal(slots, self._slots)
            and before.is_same(contexts)
        )
        self._slots = slots
        self._sizes = self._matrices.column_sizes(self._matrices.rows_of(slots))
        if isinstance(contexts, CatalogueContexts):
            self._user_sizes = self._sizes_of_users(contexts, self._sizes)
            if not is_same:
                kept = None  # freed before the new weights are allocated
                kept = self._allocate(contexts)
                self._largest_part = contexts.largest_arm_part()
            if kept is not None:
                self._update(kept, contexts, None if not is_same else changed)
            self._kept = kept
        self._is_prepared = True

    def _allocate(self, contexts: CatalogueContexts) -> tuple[Array, Array] | None:
        """Allocate the weights of all arms; None if they would take too much memory."""
        if not self._is_worth_keeping(contexts):
            return None
        n_arms = len(self._slots)
        return self.backend.empty((contexts.n_pairs, n_arms)), self.backend.empty((contexts.n_linear, n_arms))

    def _update(self, kept: tuple[Array, Array], contexts: CatalogueContexts, changed: Ints | None) -> None:
        """Compute the weights of the arms in changed slots, or of all arms if `changed` is None."""
        is_stale = np.isin(self._slots, changed) if changed is not None else np.ones(len(self._slots), bool)
        for start, stop in self._chunks(0, len(self._slots)):
            if is_stale[start:stop].any():
                for weights, new in zip(kept, self._compute(contexts, start, stop), strict=True):
                    weights[:, start:stop] = new

    def _is_worth_keeping(self, contexts: CatalogueContexts) -> bool:
        n_numbers = (contexts.n_pairs + contexts.n_linear) * len(self._slots)
        return n_numbers * self.backend.itemsize <= _SHARE_OF_WEIGHTS * self.backend.memory()

    def _chunks(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        most = min(_MATRIX_BYTES, int(_SHARE_OF_MATRICES * self.backend.memory()))
        step = max(1, most // (3 * self._matrices.width**2 * self.backend.itemsize))
        for first in range(start, stop, step):
            yield first, min(first + step, stop)

    def _compute(self, contexts: CatalogueContexts, start: int, stop: int) -> tuple[Array, Array]:
        """Compute the weights of pairs and of columns for some arms.

        The weight of the pair of columns i and j is 2 M_ij, or M_ii if i = j. The weight of the pair of column i
        and the constant is 2 (M v)_i, and the weight of the constant paired with itself is v' M v.
        """
        xp, asarray = self.backend.xp, self.backend.asarray
        full, theta = self._matrices.matrices(self._matrices.rows_of(self._slots[start:stop]))
        parts, columns = asarray(contexts.arm_parts(start, stop)), asarray(contexts.columns)
        # M restricted to the columns of users and bordered by v, as if the arm part were one more column.
        rows = xp.concat([xp.take(full, columns, axis=1), (parts[:, None, :] @ full)], axis=1)
        border = xp.sum(rows * parts[:, None, :], axis=2)[:, :, None]
        bordered = xp.concat([xp.take(rows, columns, axis=2), border], axis=2)
        means = xp.concat([xp.take(theta, columns, axis=1), xp.sum(theta * parts, axis=1, keepdims=True)], axis=1)
        first, second = contexts.pairs
        n = len(contexts.columns) + 1
        quadratic = xp.take(xp.reshape(bordered, (-1, n * n)), asarray(first * n + second), axis=1)
        factors = np.where(first == second, 1.0, 2.0)
        factors[contexts.n_real :] = 0.0
        quadratic = quadratic * asarray(factors)
        holds = contexts.holds_for(start, stop)
        if holds is not None:
            mask = asarray(holds)
            quadratic = quadratic * xp.take(mask, asarray(first), axis=1) * xp.take(mask, asarray(second), axis=1)
            means = means * mask
        return quadratic.T, self._filled(means, contexts).T

    def score(self, users: UserFeatures) -> Scored:
        """Return the predictions for users and all arms of a catalogue."""
        xp = self.backend.xp
        size = xp.abs(users.linear) @ self._user_sizes + self._largest_part * xp.max(self._sizes)
        if self._kept is not None:
            pairs, columns = self._kept
            return self._scored(users.linear @ columns, users.times_pairs(pairs), size)
        found = []
        for start, stop in self._chunks(0, len(self._slots)):
            pairs, columns = self._compute(users.contexts, start, stop)
            found.append((users.linear @ columns, users.times_pairs(pairs)))
        mean, variance = (xp.concat(parts, axis=1) for parts in zip(*found, strict=True))
        return self._scored(mean, variance, size)

    def score_dense(self, contexts: Array) -> Scored:
        """Return the predictions for contexts of shape (n_arms, n_users, width)."""
        xp, found = self.backend.xp, []
        for start, stop in self._chunks(0, contexts.shape[0]):
            full, theta = self._matrices.matrices(self._matrices.rows_of(self._slots[start:stop]))
            rows = contexts[start:stop, :, :]
            mean = (rows @ theta[:, :, None])[:, :, 0]
            found.append((mean, xp.sum((rows @ full) * rows, axis=2), xp.abs(rows) @ self._sizes))
        mean, variance, size = (xp.concat(parts, axis=0).T for parts in zip(*found, strict=True))
        return self._scored(mean, variance, xp.max(size, axis=1, keepdims=True))

    def bytes_per_user(self) -> int:
        """Return the number of bytes that the products of pairs of a user's features take."""
        if isinstance(self._contexts, CatalogueContexts):
            return 3 * self._contexts.n_pairs * self.backend.itemsize
        return 0


class SharedScorer(DeviceScorer):
    """The scorer for models with one regression for all arms.

    In `x' P x = u' P u + 2 u' P v + v' P v`, the first term on the right is the same for all arms, except for
    the contributions of pairs with a column that does not apply to all arms. Like the other terms, these
    contributions are computed by a matrix product.
    """

    def prepare(self, model: Any, contexts: Contexts, slots: Ints) -> None:
        """Copy the regression, and compute the weights of all arms."""
        xp, asarray = self.backend.xp, self.backend.asarray
        growth = model.growth if isinstance(model, FadingSharedModel) else 1.0
        inverse = model.inverse_of(0) * growth
        self._inverse, self._theta = asarray(inverse), asarray(model.coefficients(0))
        # sqrt(P_ii) for each column i.
        self._sizes = asarray(np.sqrt(np.maximum(0.0, inverse.diagonal())))
        if isinstance(contexts, DenseContexts):
            return
        columns, n_fixed = contexts.columns, contexts.n_fixed
        own = inverse[np.ix_(columns, columns)]
        self._user_sizes = self._sizes_of_users(contexts, self._sizes)
        self._fixed = asarray(own[:n_fixed, :n_fixed])
        first, second = (places[: contexts.n_real] for places in contexts.pairs)
        varies = (first >= n_fixed) & (first < len(columns)) | (second >= n_fixed) & (second < len(columns))
        is_inner = (first < len(columns)) & (second < len(columns))
        at = np.flatnonzero(varies & is_inner)
        self._varying = asarray(first[at]), asarray(second[at])
        factors = np.where(first[at] == second[at], 1.0, 2.0) * own[first[at], second[at]]
        weights = [
            self._weights(contexts, (first[at], second[at], factors), start, min(start + _ARMS, len(slots)))
            for start in range(0, len(slots), _ARMS)
        ]
        self._pairs, self._means, sizes = (xp.concat(parts, axis=1) for parts in zip(*weights, strict=True))
        self._arm_size = xp.max(sizes)

    def _weights(
        self, contexts: CatalogueContexts, varying: tuple[Ints, Ints, Any], start: int, stop: int
    ) -> tuple[Array, Array, Array]:
        """Compute some arms' weights for columns and varying pairs, their weights for means, and their sizes."""
        xp, asarray = self.backend.xp, self.backend.asarray
        parts, columns = asarray(contexts.arm_parts(start, stop)), asarray(contexts.columns)
        product = parts @ self._inverse
        cross = xp.concat(
            [2.0 * xp.take(product, columns, axis=1), xp.sum(parts * product, axis=1, keepdims=True)], axis=1
        )
        own = xp.reshape(parts @ self._theta, (-1, 1))
        same = xp.broadcast_to(xp.take(self._theta, columns)[None, :], (own.shape[0], len(contexts.columns)))
        means = xp.concat([same, own], axis=1)
        sizes = (xp.abs(parts) @ self._sizes)[None, :]
        holds = contexts.holds_for(start, stop)
        if holds is None:
            return self._filled(cross, contexts).T, self._filled(means, contexts).T, sizes
        first, second, factors = varying
        pairs = asarray(holds[:, first] * holds[:, second] * factors)
        mask = asarray(holds)
        cross = self._filled(cross * mask, contexts)
        return xp.concat([cross, pairs], axis=1).T, self._filled(means * mask, contexts).T, sizes

    def score(self, users: UserFeatures) -> Scored:
        """Return the predictions for users and all arms of a catalogue."""
        xp, linear = self.backend.xp, users.linear
        n_fixed = self._fixed.shape[0]
        fixed = linear[:, :n_fixed]
        alone = xp.sum((fixed @ self._fixed) * fixed, axis=1, keepdims=True)
        first, second = self._varying
        features = xp.concat([linear, xp.take(linear, first, axis=1) * xp.take(linear, second, axis=1)], axis=1)
        size = xp.abs(linear) @ self._user_sizes + self._arm_size
        return self._scored(linear @ self._means, features @ self._pairs + alone, size)

    def score_dense(self, contexts: Array) -> Scored:
        """Return the predictions for contexts of shape (n_arms, n_users, width)."""
        xp = self.backend.xp
        variance = xp.sum((contexts @ self._inverse) * contexts, axis=2)
        size = xp.max(xp.abs(contexts) @ self._sizes, axis=0)[:, None]
        return self._scored((contexts @ self._theta).T, variance.T, size)


class MixtureScorer(DeviceScorer):
    """The scorer for mixtures, which combines the experts with non-zero weight."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._asked: list[tuple[float, DeviceScorer]] = []
        self._scale = 1.0

    def prepare(self, model: Any, contexts: Contexts, slots: Ints) -> None:
        """Prepare the experts with non-zero weight."""
        self._scale = model.scale()
        self._asked = [(weight, scorer_for(expert, self.backend)) for weight, expert in model.asked()]
        for (_, scorer), (_, expert) in zip(self._asked, model.asked(), strict=True):
            scorer.prepare(expert, contexts, slots)

    def score(self, users: UserFeatures) -> Scored:
        """Return the weighted means of the experts' means and widths, with the widths scaled."""
        return self._mix([(weight, expert.score(users)) for weight, expert in self._asked])

    def score_dense(self, contexts: Array) -> Scored:
        """Return the weighted means of the experts' means and widths, with the widths scaled."""
        return self._mix([(weight, expert.score_dense(contexts)) for weight, expert in self._asked])

    def _mix(self, scored: list[tuple[float, Scored]]) -> Scored:
        mean, width, error = (sum(weight * each[part] for weight, each in scored) for part in range(3))
        return Scored(mean, self._scale * width, self._scale * error)

    def bytes_per_user(self) -> int:
        """Return the total number of bytes that a user takes for the experts with non-zero weight."""
        return sum(expert.bytes_per_user() for _, expert in self._asked)


class LogisticScorer(DeviceScorer):
    """The scorer for linear models of the log-odds."""

    def prepare(self, model: Any, contexts: Contexts, slots: Ints) -> None:
        """Prepare the linear model."""
        self._linear = scorer_for(model.model, self.backend)
        self._linear.prepare(model.model, contexts, slots)

    def score(self, users: UserFeatures) -> Scored:
        """Return the expected rewards, and their increase if the log-odds increase by one standard deviation."""
        return self._to_rewards(*self._linear.score(users))

    def score_dense(self, contexts: Array) -> Scored:
        """Return the expected rewards, and their increase if the log-odds increase by one standard deviation."""
        return self._to_rewards(*self._linear.score_dense(contexts))

    def bytes_per_user(self) -> int:
        """Return the number of bytes that each user takes for the linear model."""
        return self._linear.bytes_per_user()

    def _to_rewards(self, z: Array, width: Array, error: Array) -> Scored:
        """Map log-odds to rewards, as `fairbandits.models.logistic.to_rewards` does."""
        xp = self.backend.xp
        lower = -xp.abs(z)
        near = xp.where(z > 0.0, lower - width, z + width)
        # The slope of the sigmoid is at most 1/4.
        return Scored(self._sigmoid(z), xp.abs(self._sigmoid(near) - self._sigmoid(lower)), error / 4.0)

    def _sigmoid(self, z: Array) -> Array:
        xp = self.backend.xp
        tail = xp.exp(-xp.abs(z))
        return xp.where(z >= 0.0, 1.0, tail) / (1.0 + tail)


class ZeroScorer(DeviceScorer):
    """A scorer that predicts 0 with certainty, for policies that need no prediction."""

    def prepare(self, model: Any, contexts: Contexts, slots: Ints) -> None:
        """Record the number of arms."""
        self._arms = self.backend.full((1, len(slots)), 0.0)

    def score(self, users: UserFeatures) -> Scored:
        """Return zeros."""
        none = self.backend.xp.zeros_like(users.linear[:, :1])
        return Scored(none + self._arms, none + self._arms, none)

    def score_dense(self, contexts: Array) -> Scored:
        """Return zeros."""
        zeros = self.backend.xp.zeros_like(contexts[:, :, 0].T)
        return Scored(zeros, zeros, zeros[:, :1])


_SCORERS: WeakKeyDictionary[RewardModel, dict[Backend, DeviceScorer]] = WeakKeyDictionary()


def scorer_for(model: RewardModel, backend: Backend) -> DeviceScorer:
    """Return the scorer for a model on a device; later calls return the same one, so state is copied only once.

    Raises `DeviceError` for models that cannot be scored on the device.
    """
    known = _SCORERS.setdefault(model, {})
    if backend not in known:
        known[backend] = _new_scorer(model, backend)
    return known[backend]


def _new_scorer(model: Any, backend: Backend) -> DeviceScorer:
    if type(model) is DisjointModel:
        return ArmScorer(ArmMatrices(model.width, backend), backend)
    if type(model) is HybridModel:
        return ArmScorer(HybridMatrices(model.width, backend), backend)
    if type(model) in (SharedModel, FadingSharedModel):
        return SharedScorer(backend)
    if type(model) is MixtureModel:
        return MixtureScorer(backend)
    if type(model) is LogisticModel:
        return LogisticScorer(backend)
    if type(model) is ZeroModel:
        return ZeroScorer(backend)
    raise DeviceError(
        f"model must be disjoint, shared, hybrid or auto for device={backend.device.name!r}, got "
        f'{type(model).__name__}; use device="cpu"'
    )
