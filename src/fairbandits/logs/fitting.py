"""Fitting a policy to a log, so that it starts out with what can be learned from the log."""

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
from fairbandits.contexts import ContextEncoder, TableEncoder
from fairbandits.contexts.context_encoder import encoder_in
from fairbandits.logs.chunk import Chunk
from fairbandits.logs.errors import LogError
from fairbandits.logs.log import Log
from fairbandits.logs.offers import ArmTable, OfferBuilder
from fairbandits.policies import Policy, SufficientStatistics
from fairbandits.recommender import Recommender

# The contexts of the chosen arms, the arms, their rewards, and the users' groups.
LoggedRows = tuple[Any, Categorical, NDArray[np.float64], Mapping[str, Categorical]]


@dataclass(frozen=True, eq=False)
class FitResult:
    """A policy fitted to a log.

    Attributes
    ----------
    policy : Policy
        The policy. Its `metadata` contain the encoders of users and arms.
    recommender : Recommender
        The policy with these encoders and the arms, which makes decisions for users given as rows.
    learned, skipped : int
        The number of decisions learned from, and the number skipped because their reward is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairbandits import LinUCB
    >>> from fairbandits.logs import Log, fit
    >>> frame = pd.DataFrame({"arm": list("abab"), "reward": [1.0, 0.0, 1.0, None], "x_age": [20, 30, 40, 50]})
    >>> result = fit(Log.open(frame), LinUCB(random_state=0))
    >>> result.learned, result.skipped, result.recommender.choose({"x_age": 25}).arm
    (3, 1, 'a')
    """

    policy: Policy
    recommender: Recommender
    learned: int
    skipped: int


def fit(log: Log, policy: Policy, *, table: ArmTable | None = None, cluster: Cluster = None) -> FitResult:
    """Fit a policy to a log in chunks; the log may be larger than memory.

    Decisions without a reward are skipped. The sufficient statistics of a log are sums, so parts of the log can be
    processed independently and merged; apart from rounding, the result does not depend on the split. Models that
    depend on the order of rewards (`link="logistic"`, `discount`) learn from the log row by row, from the first
    row to the last.

    Parameters
    ----------
    log : Log
        The log.
    policy : Policy
        The policy. It is modified and returned. A policy that was already fitted keeps its encoder.
    table : ArmTable, optional
        The features of the arms; see `read_arms`. If omitted, the context of every arm consists of the user's
        features.
    cluster : str or distributed.Client, optional
        "local", or the address of a Dask scheduler; by default, the policy is fitted in this process.

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
        raise ValueError(f"{policy!r} depends on the order of rewards; fit it without a cluster")
    before = policy.rounds_learned
    fitted = encoder_in(policy.metadata) if before else None
    known = None
    if fitted is not None:
        known, table = _as_fitted(log, fitted, table)
    with connect(cluster) as client:
        split = cache(log.split)  # counting the rows of CSV files takes as long as reading them
        # A policy that was already fitted keeps its features; categories that are new since then have no feature.
        known = known or log.given_encoder
        encoder = map_reduce(split, Log.feature_statistics, or_, client).encoder() if known is None else known
        learner = _LogLearner(policy, None if table is None else OfferBuilder(table.arms, encoder.width, table))
        log = log.with_encoder(encoder)
        if policy.is_additive:
            statistics, skipped = map_reduce(split, partial(learner.summarise, encoder=encoder), _merge, client)
            policy.learn_statistics(statistics)
        else:
            skipped = learner.learn(log)
    learned = policy.rounds_learned - before
    if not learned:
        raise LogError(f"{log.name}: no row has a reward, so there is nothing to learn")
    policy.metadata |= fit_metadata(log, encoder, table)
    arms = ArmTable.without_features(policy.arms_learned) if table is None else table
    recommender = Recommender.from_parts(policy, arms.catalogue(encoder), log.roles.groups)
    return FitResult(policy, recommender, learned, skipped)


@dataclass(frozen=True, eq=False)
class _LogLearner:
    """A policy that learns from a log. It can be pickled for other processes."""

    policy: Policy
    offers: OfferBuilder | None

    def summarise(self, log: Log, encoder: TableEncoder) -> tuple[SufficientStatistics, int]:
        """Return the sufficient statistics of a log, and the number of decisions without a reward."""
        statistics = SufficientStatistics(self.policy)
        return statistics, self._pass_rows(log.with_encoder(encoder), statistics.add)

    def learn(self, log: Log) -> int:
        """Learn from a log, from the first row to the last; return the number of decisions without a reward."""
        return self._pass_rows(log, self.policy.learn_logged)

    def _pass_rows(self, log: Log, learn: Callable[..., None]) -> int:
        """Pass decisions with a reward to `learn`, chunk by chunk; return the number of decisions without one."""
        skipped = 0
        for chunk in log.chunks(contexts=True, columns={*log.roles.groups, *log.roles.contexts}):
            check_rewards(self.policy, log, chunk)
            contexts, arm, reward, group = select_rows(chunk, ~np.isnan(chunk.reward))
            skipped += len(chunk) - len(reward)
            if not len(reward):
                continue
            if self.offers is not None:
                try:
                    contexts = self.offers.contexts(contexts, arm, group)
                except ValueError as error:
                    raise LogError(f"{log.name}: {error}") from None
            learn(contexts, arm, reward, group)
        return skipped


def check_rewards(policy: Policy, log: Log, chunk: Chunk) -> None:
    """Raise if a reward lies outside the policy's reward range."""
    low, high = policy.reward_range
    outside = np.flatnonzero((chunk.reward < low) | (chunk.reward > high))
    if outside.size:
        raise chunk.location.error(
            f"reward must be between {low:g} and {high:g} for this policy, "
            f"got {chunk.reward[outside[0]].item()!r}; rescale rewards, or set reward_range=[lowest, highest]",
            log.roles.reward,
            outside[0],
        )


def select_rows(chunk: Chunk, rows: NDArray[np.bool_]) -> LoggedRows:
    """Return the decisions of a chunk that are selected by a mask of rows."""
    contexts: Any = chunk.contexts
    if rows.all():
        return contexts, chunk.arm, chunk.reward, chunk.group
    group = {name: coded.take(rows) for name, coded in chunk.group.items()}
    return contexts[rows], chunk.arm.take(rows), chunk.reward[rows], group


def _merge(
    one: tuple[SufficientStatistics, int], two: tuple[SufficientStatistics, int]
) -> tuple[SufficientStatistics, int]:
    return one[0] + two[0], one[1] + two[1]


def _as_fitted(log: Log, fitted: ContextEncoder, table: ArmTable | None) -> tuple[TableEncoder, ArmTable | None]:
    """Return a fitted policy's encoder of users, and the arms as it encodes them; raise if columns differ."""
    users = fitted.users
    if not isinstance(users, TableEncoder) or fitted.interactions:
        raise LogError(
            f"{log.name}: a policy with a custom transformer or interactions cannot be fitted to a log; use its "
            "Recommender"
        )
    if log.roles.contexts != users.columns:
        raise LogError(
            f"{log.name}: contexts must be {', '.join(users.columns) or 'none'}, in this order, as when the "
            f"policy was fitted, got {', '.join(log.roles.contexts) or 'none'}; set contexts=[...]"
        )
    if fitted.has_items if table is None else not table.fits(fitted):
        raise LogError(
            f"{log.name}: the policy was fitted with a different catalogue of arms, or without one; use the same "
            "catalogue, or none"
        )
    return users, None if table is None else table.encoded_by(fitted)


def _context_encoder(users: TableEncoder, table: ArmTable | None) -> ContextEncoder:
    return ContextEncoder(users) if table is None else table.context_encoder(users)


def fit_metadata(log: Log, encoder: TableEncoder, table: ArmTable | None) -> dict[str, Any]:
    """Return the metadata of a fitted policy, which describe the encoding of its contexts."""
    return {"roles": log.roles.to_dict(), "encoder": _context_encoder(encoder, table).to_dict()}
