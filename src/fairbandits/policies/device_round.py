"""A round on a device: the scores of all users, in blocks that fit into the device's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairbandits.models import Model
from fairbandits.models.device import Backend, DeviceError, as_backend, scorer_for
from fairbandits.models.device.contexts import CatalogueContexts, UserFeatures, as_device_contexts
from fairbandits.policies.eligibility import Round
from fairbandits.policies.predictions import Predictions
from fairbandits.policies.records import Scores

if TYPE_CHECKING:
    from fairbandits.policies.policy import Policy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Result = TypeVar("Result")
Start = Callable[[slice, Scores], Callable[[], Result]]

# Measured on an H200: products of smaller blocks are slower, and with larger blocks, the device waits longer for
# its first one.
_MOST_SCORES = 2**28
# The share of the memory that the scores of a block may take; the rest is for the weights and the matrices of
# arms.
_SHARE_OF_SCORES = 0.5
# The number of arrays with one number per user and arm that exist at the same time. The first count comprises the
# mean, the variance, the width, both terms, the total and the inputs of the terms, as well as the arrays of the
# previous block, which are still being read. The second count is for each further expert of a mixture.
_ARRAYS, _ARRAYS_OF_EXPERT = 14, 3
# The number of scores that the processor computes at a time when it takes over.
_SCORES_ON_HOST = 2**23


@dataclass(slots=True, eq=False, repr=False)
class DeviceScores(Scores):
    """Scores as arrays on a device.

    Attributes
    ----------
    error : array of shape (n_users, 1)
        How far rounding can move a width.
    """

    error: Any


def backend_for(policy: Policy, device: Any, eligible: Any = None) -> Backend | None:
    """Return the backend on which a policy chooses; None for the processor.

    With "auto", the result is also None if the device cannot do what is asked of it.
    """
    backend = as_backend(device)
    if backend is None:
        return None
    try:
        _check(policy, backend, eligible)
    except DeviceError:
        if backend.is_optional:
            return None
        raise
    if backend.is_optional and policy._model is None and not _builds_device_model(policy):
        return None
    return backend


def _builds_device_model(policy: Policy) -> bool:
    """Return whether a device can score the model of a policy that has seen no contexts yet."""
    return policy.model is None or type(policy._builder) is Model


def _check(policy: Policy, backend: Backend, eligible: Any) -> None:
    """Raise `DeviceError` if a device cannot do what is asked of it."""
    name = backend.device.name
    if not has_array_terms(policy):
        raise DeviceError(
            f'device must be "cpu" for {type(policy).__name__}, whose terms are written for NumPy only, got '
            f"{name!r}"
        )
    if eligible is not None:
        raise DeviceError(
            f'device must be "cpu" if users have different eligible arms, got {name!r}; offer the same arms to '
            "all users of a call"
        )
    if policy._model is not None:
        scorer_for(policy._model, backend)


def has_array_terms(policy: Policy) -> bool:
    """Return whether the class that defines the policy's `terms` declares them to work on any library's arrays."""
    owner = next(cls for cls in type(policy).__mro__ if "terms" in vars(cls))
    return bool(vars(owner).get("array_terms", False))


class DeviceRound:
    """A round whose scores are computed on a device.

    Parameters
    ----------
    policy : Policy
        The policy.
    offered : Round
        The contexts, the users' groups and the arms on offer.
    backend : Backend
        The device.

    Attributes
    ----------
    rows : Rows
        The contexts as the model sees them.
    is_on_host : bool
        Whether the processor computes the scores, because the device selected by "auto" cannot.
    """

    def __init__(self, policy: Policy, offered: Round, backend: Backend) -> None:
        self.offered, self.backend = offered, backend
        self._policy = policy
        self.rows = policy.transform(offered.rows)
        self._model = policy._model_for(self.rows.width)
        self._contexts = as_device_contexts(self.rows)
        self.is_on_host = not self._move_to_device()

    def _move_to_device(self) -> bool:
        """Copy the learned state to the device; return False if it does not fit and the device is optional."""
        try:
            self._scorer = scorer_for(self._model, self.backend)
            self._scorer.prepare(self._model, self._contexts, self.offered.numbers)
            return True
        except Exception as error:
            if not self.backend.is_out_of_memory(error):
                raise
        # Not within the except clause, because there the error still holds arrays on the device.
        self.backend.release()
        if self.backend.is_optional:
            return False
        raise DeviceError(
            f"device must have enough memory for what the policy has learned, got {self.backend.device.name!r} "
            f'with too little for {self.rows.n_arms:,} arms; offer fewer arms at a time, or use device="cpu"'
        )

    def users_at_a_time(self, most_scores: int = _MOST_SCORES) -> int:
        """Return the number of users whose scores fit into the memory that a call may use."""
        n_arrays = _ARRAYS + _ARRAYS_OF_EXPERT * (len(getattr(self._model, "experts", "1")) - 1)
        if not isinstance(self._contexts, CatalogueContexts):
            n_arrays += 3 * self.rows.width
        per_user = n_arrays * self.rows.n_arms * self.backend.itemsize + self._scorer.bytes_per_user()
        most = min(int(_SHARE_OF_SCORES * self.backend.memory()) // per_user, most_scores // self.rows.n_arms)
        return max(1, most)

    def for_blocks(self, start: Start[Result], fetches: bool = False) -> list[Result]:
        """Return the results for all blocks of users.

        If the device has too little memory, smaller blocks are used.

        Parameters
        ----------
        start : callable
            A function that is called with a block of users and their scores, which are arrays on the device. It
            queues the device's work on them, and returns a function that waits for the result. By the time that
            second function is called, the scores of the next block have been queued as well, so that the device is
            kept busy.
        fetches : bool
            Whether all scores are fetched. If so, blocks are small from the start, because the host may have less
            memory than the device.
        """
        most_scores = _SCORES_ON_HOST if fetches else _MOST_SCORES
        n_users, size = self.offered.rows.n_users, 0 if self.is_on_host else self.users_at_a_time(most_scores)
        found: list[Result] = []
        done = 0
        while done < n_users and not self.is_on_host:
            draws = self._policy._rng.bit_generator.state
            is_too_large = False
            try:
                for users, result in self._map(start, done, size):
                    found.append(result)
                    done, draws = users.stop, self._policy._rng.bit_generator.state
            except Exception as error:
                if not self.backend.is_out_of_memory(error):
                    raise
                is_too_large = True
            if is_too_large:
                # Not within the except clause, because there the error still holds arrays on the device.
                self.backend.release()
                self._policy._rng.bit_generator.state = draws
                size = min(size, n_users - done) // 2
                self.is_on_host = not size and self._give_up()
        step = max(1, _SCORES_ON_HOST // self.rows.n_arms)
        for first in range(done, n_users, step):
            users = slice(first, min(first + step, n_users))
            found.append(start(users, self.score_on_host(np.arange(users.start, users.stop)))())
        return found

    def _give_up(self) -> bool:
        if self.backend.is_optional:
            return True
        raise DeviceError(
            f"device must have enough memory for the scores of one user, got {self.backend.device.name!r} with "
            f"too little for {self.rows.n_arms:,} arms; offer fewer arms at a time"
        )

    def _map(self, start: Start[Result], done: int, size: int) -> Iterator[tuple[slice, Result]]:
        """Yield the blocks of users, starting at user `done`, each with its result."""
        n_users = self.offered.rows.n_users
        blocks = [slice(first, min(first + size, n_users)) for first in range(done, n_users, size)]
        waiting: tuple[slice, Callable[[], Result]] | None = None
        with ThreadPoolExecutor(1, initializer=self.backend.share_stream()) as pool:
            ahead = pool.submit(self._prepare, blocks[0])
            for users, following in zip_longest(blocks, blocks[1:]):
                prepared = ahead.result()
                if following is not None:
                    ahead = pool.submit(self._prepare, following)
                started = users, start(users, self._score(users, prepared))
                if waiting is not None:
                    yield waiting[0], waiting[1]()
                waiting = started
            if waiting is not None:
                yield waiting[0], waiting[1]()

    def _prepare(self, users: slice) -> Any:
        """Copy the features of users to the device."""
        if isinstance(self._contexts, CatalogueContexts):
            return UserFeatures(self._contexts, users, self.backend)
        return self._contexts.block(users, self.backend)

    def _score(self, users: slice, prepared: Any) -> DeviceScores:
        """Compute the scores of some users on the device."""
        policy, offered = self._policy, self.offered
        if isinstance(self._contexts, CatalogueContexts):
            mean, width, error = self._scorer.score(prepared)
        else:
            mean, width, error = self._scorer.score_dense(prepared)
        if not policy._scale.is_unit:
            mean, width = policy._scale.predictions(mean, width)
        scores = policy._add_terms(
            Predictions(
                mean,
                width,
                offered.keys[users],
                offered.numbers,
                offered.rows,
                self.rows,
                self._model,
                offered.ids,
                self.backend,
            )
        )
        return DeviceScores(
            scores.mean,
            scores.width,
            scores.exploration,
            scores.fairness,
            scores.total,
            policy._scale.span * error,
        )

    def score_on_host(self, users: Ints) -> Scores:
        """Compute the scores of some users on the processor."""
        offered = self.offered
        rows = offered.rows.select(users, np.arange(offered.rows.n_arms))
        keys = tuple(offered.keys[user] for user in users.tolist())
        return self._policy._score(rows, offered.numbers, keys, offered.ids)[1]

    def scores(self) -> Scores:
        """Return the scores of all users as NumPy arrays."""
        blocks = self.for_blocks(lambda users, scores: partial(self.fetch, users, scores), fetches=True)
        return Scores(*(np.concatenate([getattr(each, part) for each in blocks]) for part in Scores.__slots__))

    def fetch(self, users: slice, scores: Scores, doubtful: Sequence[int] = ()) -> Scores:
        """Return the scores of a block of users as NumPy arrays.

        The processor recomputes the scores of users for whom rounding has made a width NaN, and of the users in
        `doubtful`, which are given by their places in the block.
        """
        if self.is_on_host:
            return scores
        parts = [self.backend.to_host(getattr(scores, part)) for part in Scores.__slots__]
        is_wrong = np.isnan(parts[Scores.__slots__.index("width")]).any(axis=1)
        is_wrong[np.array(doubtful, np.int64)] = True
        wrong = np.flatnonzero(is_wrong)
        if wrong.size:
            parts = [part.copy() for part in parts]  # terms may be views of one number
            exact = self.score_on_host(users.start + wrong)
            for part, name in zip(parts, Scores.__slots__, strict=True):
                part[wrong] = getattr(exact, name)
        return Scores(*parts)
