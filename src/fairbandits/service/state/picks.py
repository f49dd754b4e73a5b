"""What a policy picked, as the log writes it down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairbandits.models import Row
from fairbandits.policies import Decisions, Scores, Slate
from fairbandits.policies.picker import TIE
from fairbandits.service.log.events import Context


class Pick(NamedTuple):
    """What is picked for a user.

    Attributes
    ----------
    arms : list of str
        The arms, the first place first.
    probability : float or None
        The probability of just these in just this order.
    explored : bool
        Whether it is an experiment.
    scores : list of dict
        The scores of the arms, by part.
    contexts : list
        Their contexts.
    """

    arms: list[str]
    probability: float | None
    explored: bool
    scores: list[dict[str, float]]
    contexts: list[Context]


def picked_arms(decisions: Decisions) -> Iterator[Pick]:
    """Say what was picked for each of many users who get an arm each."""
    users, scores = np.arange(len(decisions)), decisions.scores
    explored = _explored(scores.mean + scores.fairness, decisions.indices[:, None]).tolist()
    parts = [getattr(scores, part)[users, decisions.indices].tolist() for part in Scores.__slots__]
    for arm, chance, is_explored, context, *values in zip(
        decisions.picked, decisions.probability, explored, decisions.contexts(), *parts, strict=True
    ):
        own = dict(zip(Scores.__slots__, values, strict=True))
        yield Pick([str(arm)], chance, is_explored, [own], [context])


def picked_slates(slates: Sequence[Slate]) -> Iterator[Pick]:
    """Say what was picked for each of many users who get several arms."""
    for slate in slates:
        scores, places = slate.scores, list(slate.indices)
        [explored] = _explored((scores.mean + scores.fairness)[None], np.array([places])).tolist()
        parts = [{part: getattr(scores, part).item(place) for part in Scores.__slots__} for place in places]
        contexts = [_written(row) for row in slate.rows]
        yield Pick([str(arm) for arm in slate.picked], slate.probability, explored, parts, contexts)


def _explored(known: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say for each user whether arms were picked that are not the best by all but exploration."""
    k = places.shape[1]
    best = known.max(axis=1) if k == 1 else np.partition(known, -k, axis=1)[:, -k:].sum(axis=1)
    missed = best - np.take_along_axis(known, places, axis=1).sum(axis=1)
    explored: NDArray[np.bool_] = missed > TIE * np.maximum(k, np.abs(best))
    return explored


def _written(row: Row) -> Context:
    columns, values, n_common = row.entries()
    return columns.tolist(), values.tolist(), n_common
