"""Replacing the policy of a service that goes on deciding.

The new policy learns from the whole log in a process of its own. When it has caught up, one transaction saves its
state as a snapshot and appends an entry that names it. Services that read this entry load the snapshot and
go on with it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from sqlalchemy import delete

from fairbandits.service.config import Config
from fairbandits.service.lifecycle.replay import Step, catch_up, ignore_step, new_follower, serialised
from fairbandits.service.lifecycle.state_change import append_change
from fairbandits.service.log.events import PolicyChanged
from fairbandits.service.log.follower import Follower
from fairbandits.service.log.log_facts import PrunedContent, StateChange
from fairbandits.service.log.snapshot_rows import insert_whole
from fairbandits.service.log.store import Store, open_store
from fairbandits.service.log.tables import snapshots
from fairbandits.service.state.recommender import ServedRecommender, policy_id

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Replacement:
    """A policy that has replaced another.

    Attributes
    ----------
    seq : int
        The entry of the log that says so.
    policy, previous : str
        The policy, and the one before it.
    policy_id : str
        The id of the policy, which its decisions name.
    rewards : int
        The number of rewards that it has learned from.
    pruned : PrunedContent
        The content that was deleted before, which it has not learned from.
    """

    seq: int
    policy: str
    previous: str
    policy_id: str
    rewards: int
    pruned: PrunedContent


def replace_policy(
    config: Config, policy: str | None = None, *, back: bool = False, step: Step = ignore_step
) -> Replacement:
    """Replace the policy of a service by another one, which has learned from its log.

    Parameters
    ----------
    config : Config
        The configuration of the service.
    policy : str, optional
        The policy, that of the configuration by default.
    back : bool
        Whether to bring the policy back that was replaced last.
    step : callable
        Called with the numbers of entries that were replayed.

    Raises
    ------
    ValueError
        If the policy cannot be used, is the one that decides already, or if another one took over meanwhile.
    """
    with open_store(config, must_exist=True) as store:
        with store.connection() as connection:
            change, pruned = StateChange.read(connection), PrunedContent.read(connection)
        served = change.policy or config.policy
        wanted = _wanted(config, policy, change, back=back)
        new = config.with_policy(wanted)
        if policy_id(new.make_policy()) == policy_id(config.with_policy(served).make_policy()):
            raise ValueError(f"policy must be another one than that of the service, got {wanted}")
        follower, base = _replayed(store, new, pruned.base, step)
        event = PolicyChanged(change.version + 1, time.time(), wanted, served)
        with store.transaction() as connection:
            if StateChange.read(connection) != change or PrunedContent.read(connection) != pruned:
                raise ValueError("the log was changed while the new policy replayed it; run the command again")
            # Those of the policy before it could only be used if it came back.
            connection.execute(delete(snapshots).where(snapshots.c.seq > 0))
            if base:
                insert_whole(connection, pruned.base, base)
            seq = append_change(store, connection, event, follower, StateChange(0, event.version, wanted, served))
    recommender = cast(ServedRecommender, follower.folds["recommender"])
    return Replacement(seq, wanted, served, recommender.policy_id, recommender.policy.rounds_learned, pruned)


def _wanted(config: Config, policy: str | None, change: StateChange, *, back: bool) -> str:
    if not back:
        return policy or config.policy
    if policy is not None:
        raise ValueError(f"policy must be left out to bring the last one back, got {policy}")
    if change.previous is None:
        raise ValueError("there is no policy to bring back: it was never replaced")
    return change.previous


def _replayed(store: Store, config: Config, base: int, step: Step) -> tuple[Follower, Mapping[str, bytes]]:
    """Replay the log with a policy; return the new state, and its snapshot at the base of a pruned log."""
    follower = new_follower(config)
    parts: Mapping[str, bytes] = {}
    if base:
        catch_up(store, follower, upto=base, step=step)
        _restore_sums(store, follower, base)
        parts = serialised(follower)
    catch_up(store, follower, step=step)
    return follower, parts if follower.seq > base else {}


def _restore_sums(store: Store, follower: Follower, base: int) -> None:
    """Restore what does not depend on the policy from the base: the counts of entries and the sums of groups."""
    for seq, parts in store.read_snapshots():
        if seq == base:
            try:
                cast(ServedRecommender, follower.folds["recommender"]).restore_counts(parts["recommender"])
                follower.folds["monitor"].restore(parts["monitor"])
            except ValueError as error:
                _log.warning("the sums of groups begin anew where the log was pruned: %s", error)
