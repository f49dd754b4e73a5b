"""Choosing for many users on a device: only the scores of the picked arms are copied back.

A device adds numbers in a different order, so scores whose difference is within the rounding error may change
places. Where this could affect the highest scores, the processor decides, so the picked arms are those that
`choose_many` picks without a device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.models.device.backend import Array
from fairbandits.policies.device_decisions import DevicePicks
from fairbandits.policies.device_round import DeviceRound, DeviceScores
from fairbandits.policies.picker import GREEDY, Picker
from fairbandits.policies.records import Scores, regret_of

if TYPE_CHECKING:
    from fairbandits.policies.policy import Policy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# In float64, the host compares scores again if they are closer than the first number, or closer than the rounding
# errors of widths. It does not do so if all scores that are this close are equal up to the second number, like
# those of arms with the same context and history. In float32, nothing is compared again. Both numbers are relative
# to the best score, on the scale [0, 1].
_CLOSE = {"float64": (1e-9, 1e-12), "float32": (1e-6, 1e-6)}
# The number of scores that are fetched at a time if the host has to look at them.
_FETCHED = 2**23


def choose_on_device(policy: Policy, on_device: DeviceRound, k: int) -> DevicePicks:
    """Choose k arms, in order, for each user of a round."""
    picker = policy._mixed_picker()
    on_host, greedy = HostChooser(policy, on_device, picker, k), GreedyChooser(policy, on_device, k)

    def start(users: slice, scores: Any) -> Callable[[], DevicePicks]:
        # Checked for every block, because the device may run out of memory between two blocks.
        if picker is GREEDY and not on_device.is_on_host:
            return greedy.start(users, scores)
        return partial(on_host.pick, users, scores)

    return DevicePicks.join(on_device.for_blocks(start, fetches=picker is not GREEDY))


class HostChooser:
    """Picks on the host, from scores computed on the device, for pickers that need the scores of all arms."""

    def __init__(self, policy: Policy, on_device: DeviceRound, picker: Picker, k: int) -> None:
        self._policy, self._round, self._picker, self._k = policy, on_device, picker, k
        self._greedy = GreedyChooser(policy, on_device, k)

    def pick(self, users: slice, scores: Scores) -> DevicePicks:
        """Pick for a block of users."""
        policy = self._policy
        # The best arms have different probabilities from the rest, so rounding must not decide which they are.
        doubtful = () if self._round.is_on_host else self._greedy.find_doubtful(scores)
        fetched = self._round.fetch(users, scores, doubtful)
        unit, keys = policy._scale.unit_scores(fetched), self._round.offered.keys[users]
        indices, probability = self._picker.slates(unit, self._k, keys, policy._rng)
        own = Scores(*(np.take_along_axis(getattr(fetched, part), indices, 1) for part in Scores.__slots__))
        regret = [regret_of(mean, picked) for mean, picked in zip(fetched.mean, indices, strict=True)]
        return DevicePicks(indices, probability, own, np.array(regret))


class GreedyChooser:
    """Picks the k highest scores of each user on the device."""

    def __init__(self, policy: Policy, on_device: DeviceRound, k: int) -> None:
        self._policy, self._round, self._k = policy, on_device, k
        self._close, self._equal = _CLOSE[on_device.backend.device.dtype]

    def start(self, users: slice, scores: DeviceScores) -> Callable[[], DevicePicks]:
        """Queue the search for the highest scores of a block of users; return a function that picks."""
        places, doubt, is_close = self._find_best(scores)
        own, best = self._take(scores, places), self._best_means(scores.mean)
        fetched = self._round.backend.to_host_later(places, doubt, is_close, own, best)
        return lambda: self._pick(users, scores, *fetched())

    def _pick(
        self,
        users: slice,
        scores: DeviceScores,
        places: Ints,
        doubt: Floats,
        is_close: NDArray[np.bool_],
        own: Floats,
        best: Floats,
    ) -> DevicePicks:
        """Pick for a block of users; let the processor decide where scores are too close."""
        backend, indices = self._round.backend, places.astype(np.int64)
        probability = np.ones(len(indices))
        close = np.flatnonzero(is_close)
        if close.size:
            doubts = doubt[:, 0] / self._policy._scale.span
            # Only for the picked arms, because all scores of many users would not fit into memory.
            rescored: dict[int, list[Floats]] = {}
            for row, total in self._fetch(scores.total, close):
                user = users.start + row
                indices[row], probability[row], exact = self._decide(user, total, float(doubts[row]))
                if exact is not None:
                    rescored[row] = [getattr(exact, part)[indices[row]] for part in Scores.__slots__]
            own = backend.to_host(self._take(scores, backend.asarray(indices)))
            for row, parts in rescored.items():
                own[:, row] = parts
        picked = Scores(*own)
        # The mean predicted reward of the best arms minus that of the picked ones.
        regret = np.maximum(0.0, best.mean(axis=1) - picked.mean.mean(axis=1))
        return DevicePicks(indices, probability, picked, regret)

    def find_doubtful(self, scores: Any) -> list[int]:
        """Return the users for whom rounding could change which k scores are the highest, or their order."""
        backend, scale = self._round.backend, self._policy._scale
        _, doubt, is_close = self._find_best(scores)
        close = np.flatnonzero(backend.to_host(is_close))
        doubts = backend.to_host(doubt)[:, 0] / scale.span
        fetched = self._fetch(scores.total, close)
        return [
            row for row, total in fetched if self._plainly_tied(scale.to_unit(total), float(doubts[row])) is None
        ]

    def _find_best(self, scores: DeviceScores) -> tuple[Array, Array, Array]:
        """Return the places of the highest scores, the doubt for each user, and whether other scores are close."""
        backend, total = self._round.backend, scores.total
        xp = backend.xp
        if self._k == 1:
            places = xp.expand_dims(xp.argmax(total, axis=1), axis=1)
            doubt = self._doubt(scores, places)
            bar = self._bar(xp.take_along_axis(total, places, axis=1), doubt)
            # Where a score is NaN, so is the second-highest one.
            return places, doubt, ~(backend.second(total, places) < bar[:, 0])
        values, places = backend.top_k(total, min(self._k + 1, total.shape[1]))
        doubt = self._doubt(scores, places[:, :1])
        is_apart = values[:, 1:] < self._bar(values[:, :-1], doubt)
        return places[:, : self._k], doubt, ~xp.all(is_apart, axis=1)

    def _doubt(self, scores: DeviceScores, best: Array) -> Array:
        """Return by how much rounding can change the difference between two scores of a user.

        A score is assumed to change with the width as much as the exploration term of the best arm does, and at
        least one to one.
        """
        xp = self._round.backend.xp
        width, bonus = (xp.take_along_axis(part, best, axis=1) for part in (scores.width, scores.exploration))
        slope = xp.abs(bonus) / xp.where(width > 0.0, width, 1.0)
        return 2.0 * xp.where(slope > 1.0, slope, 1.0) * scores.error

    def _bar(self, values: Array, doubt: Array) -> Array:
        """Return the lowest score that counts as close to a given one."""
        xp, scale = self._round.backend.xp, self._policy._scale
        unit = scale.to_unit(values)
        size = xp.abs(unit)
        close = scale.span * self._close * xp.where(size > 1.0, size, xp.ones_like(size))
        return values - xp.where(close > doubt, close, doubt)

    def _fetch(self, total: Array, rows: Ints) -> Iterator[tuple[int, Floats]]:
        """Yield rows of scores."""
        backend = self._round.backend
        step = max(1, _FETCHED // total.shape[1])
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            fetched = backend.to_host(backend.xp.take(total, backend.asarray(some), axis=0))
            yield from zip(some.tolist(), fetched, strict=True)

    def _decide(self, user: int, total: Floats, doubt: float) -> tuple[list[int], float | None, Scores | None]:
        """Pick for one user whose best scores are close, from the device's scores if these are plainly tied.

        Otherwise, pick from the scores of the processor, which are returned as well.
        """
        policy, offered = self._policy, self._round.offered
        candidates = self._plainly_tied(policy._scale.to_unit(total), doubt)
        if candidates is not None:
            tied = policy._scale.to_unit(total[candidates])
            picked, chance = GREEDY.slate(Scores(tied, tied, tied, tied, tied), self._k, (), policy._rng)
            return candidates[picked].tolist(), chance, None
        exact = self._round.score_on_host(np.array([user])).user(0)
        unit = policy._scale.unit_scores(exact)
        return *GREEDY.slate(unit, self._k, offered.keys[user], policy._rng), exact

    def _plainly_tied(self, total: Floats, doubt: float) -> Ints | None:
        """Return the arms that can be among the best k; None if rounding could change their order."""
        if not np.isfinite(total).all():
            return None
        lowest = np.partition(total, -self._k)[-self._k]
        size = max(1.0, abs(float(total.max())))
        close = max(self._close * size, doubt)
        candidates = np.flatnonzero(total >= lowest - close)
        steps = np.diff(np.sort(total[candidates]))
        is_doubtful = (steps > self._equal * size) & (steps <= close)
        return None if is_doubtful.any() else candidates

    def _take(self, scores: Scores, places: Array) -> Array:
        """Return the components of the picked arms' scores, as an array of shape (n_parts, n_users, k)."""
        xp = self._round.backend.xp
        return xp.stack([xp.take_along_axis(getattr(scores, part), places, axis=1) for part in Scores.__slots__])

    def _best_means(self, mean: Array) -> Array:
        """Return the k highest predictions of each user."""
        backend, k = self._round.backend, self._k
        return backend.xp.max(mean, axis=1, keepdims=True) if k == 1 else backend.top_k(mean, k)[0]
