"""A policy that starts warm: it has learned a log before it decides anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from operator import or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.categorical import Categorical
from fairbandits.cluster import Cluster, connect, map_reduce
from fairbandits.logs.chunk import Chunk
from fairbandits.logs.encoder import ContextEncoder
from fairbandits.logs.errors import LogError
from fairbandits.logs.log import Log
from fairbandits.logs.offers import ArmTable, Offers
from fairbandits.policies import Policy, SufficientStatistics

# Contexts of the arms that were picked, the arms, their rewards, the users' groups.
Decisions = tuple[Any, Categorical, NDArray[np.float64], Mapping[str, Categorical]]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A policy that has learned a log.

    Attributes
    ----------
    policy : Policy
        The policy. Its `notes` say how users and arms are encoded; see `ContextEncoder.of`.
    learned, skipped : int
        How many decisions of the log it has learned, and how many it could not, for they have no reward.
    """

    policy: Policy
    learned: int
    skipped: int


def fit(log: Log, policy: Policy, *, table: ArmTable | None = None, cluster: Cluster = None) -> Fitted:
    """Teach a policy a log, in chunks: the log may be larger than memory.

    Decisions without a reward are not learned. What the log teaches is a sum, so that parts of it are learned
    apart and merged; the result does not depend on how it was cut, but for the last digits. Models to which the
    order of rewards matters (`link="logistic"`, `discount`) learn the log from its first row to its last.

    Parameters
    ----------
    log : Log
        What happened.
    policy : Policy
        Who learns it. It is changed, and handed back. One that was fitted to another log keeps its encoder.
    table : ArmTable, optional
        What is known of arms; see `read_arms`. Left out, the context of every arm is the user's.
    cluster : str or distributed.Client, optional
        Where: "local", or the address of a Dask scheduler; left out, in this process.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairbandits import FairLinUCB
    >>> from fairbandits.logs import Log, fit
    >>> frame = pd.DataFrame({"arm": ["a", "b", "a"], "reward": [1, None, 0], "sex": ["f", "m", "f"]})
    >>> fitted = fit(Log.open(frame), FairLinUCB(gamma=2, random_state=0))
    >>> fitted.learned, fitted.skipped, fitted.policy.groups.worst_off().group
    (2, 1, 'f')
    """
    if cluster is not None and not policy.is_additive:
        raise ValueError(f"the order of rewards matters to {policy!r}; fit it without a cluster")
    before = policy.rounds_learned
    known = ContextEncoder.of(policy) if before else None
    if known is not None:
        _check_same(log, policy, known, table)
    with connect(cluster) as client:
        cut = cache(log.split)  # once: where rows have to be counted, that takes as long as reading them
        # Who has learned another log goes on with its features: words that came since are none of them.
        encoder = map_reduce(cut, Log.encoder, or_, client) if known is None else known
        pupil = _Pupil(policy, None if table is None else Offers(table.arms, encoder.width, table))
        log = log.with_encoder(encoder)
        if policy.is_additive:
            hear = partial(pupil.hear, encoder=encoder)
            statistics, skipped = map_reduce(cut, hear, _merged, client)
            policy.learn_statistics(statistics)
        else:
            skipped = pupil.learn(log)
    learned = policy.rounds_learned - before
    if not learned:
        raise LogError(f"{log.name}: no row has a reward, so there is nothing to learn")
    policy.metadata |= _notes(log, encoder, table)
    return Fitted(policy, learned, skipped)


@dataclass(frozen=True, eq=False)
class _Pupil:
    """A policy, and how it is taught a log. It can be pickled, so that other processes can do it."""

    policy: Policy
    offers: Offers | None

    def hear(self, log: Log, encoder: ContextEncoder) -> tuple[SufficientStatistics, int]:
        """Sum up what a log teaches; and count the decisions that have no reward."""
        statistics = SufficientStatistics(self.policy)
        return statistics, self._teach(log.with_encoder(encoder), statistics.add)

    def learn(self, log: Log) -> int:
        """Learn a log from its first row to its last; and count the decisions that have no reward."""
        return self._teach(log, self.policy.learn_logged)

    def _teach(self, log: Log, learn: Callable[..., None]) -> int:
        """Hand over the decisions that have a reward, a chunk at a time; and count those that have none."""
        skipped = 0
        for chunk in log.chunks(contexts=True, columns={*log.roles.groups, *log.roles.contexts}):
            check_rewards(self.policy, log, chunk)
            contexts, arm, reward, group = taken(chunk, ~np.isnan(chunk.reward))
            skipped += len(chunk) - len(reward)
            if not len(reward):
                continue
            if self.offers is not None:
                try:
                    contexts = self.offers.picked(contexts, arm, group)
                except ValueError as error:
                    raise LogError(f"{log.name}: {error}") from None
            learn(contexts, arm, reward, group)
        return skipped


def check_rewards(policy: Policy, log: Log, chunk: Chunk) -> None:
    """Refuse rewards that the policy does not take."""
    low, high = policy.reward_range
    outside = np.flatnonzero((chunk.reward < low) | (chunk.reward > high))
    if outside.size:
        raise chunk.place.error(
            f"{chunk.reward[outside[0]].item()!r} came; the policy takes rewards from {low:g} to {high:g}. "
            "Rescale them, or declare the range: reward_range=[lowest, highest]",
            log.roles.reward,
            outside[0],
        )


def taken(chunk: Chunk, rows: NDArray[np.bool_]) -> Decisions:
    """Give some decisions of a chunk."""
    contexts: Any = chunk.contexts
    if rows.all():
        return contexts, chunk.arm, chunk.reward, chunk.group
    group = {name: coded.take(rows) for name, coded in chunk.group.items()}
    return contexts[rows], chunk.arm.take(rows), chunk.reward[rows], group


def _merged(
    one: tuple[SufficientStatistics, int], two: tuple[SufficientStatistics, int]
) -> tuple[SufficientStatistics, int]:
    return one[0] + two[0], one[1] + two[1]


def _check_same(log: Log, policy: Policy, known: ContextEncoder, table: ArmTable | None) -> None:
    """Refuse a log whose columns are not those of the log that a policy has learned before."""
    if log.roles.contexts != known.columns:
        raise LogError(
            f"{log.name}: its contexts are {', '.join(log.roles.contexts) or 'none'}, and the policy has learned "
            f"{', '.join(known.columns) or 'none'}; name the same ones, in the same order: contexts=[...]"
        )
    if _catalogue(table) != policy.metadata.get("catalogue"):
        raise LogError(
            f"{log.name}: the policy has learned with another catalogue of arms, or with none; give that"
        )


def _catalogue(table: ArmTable | None) -> dict[str, Any] | None:
    return None if table is None else {**table.encoder.to_dict(), "matches": list(table.matches)}


def _notes(log: Log, encoder: ContextEncoder, table: ArmTable | None) -> dict[str, Any]:
    notes: dict[str, Any] = {"roles": log.roles.to_dict(), "encoder": encoder.to_dict()}
    if table is not None:
        notes["catalogue"] = _catalogue(table)
    return notes
