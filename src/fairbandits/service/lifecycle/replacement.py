"""Replacement of a service's policy while the service continues to make decisions.

The new policy learns from the whole log in a separate process. When it has caught up, one transaction saves its
state as a snapshot and appends an entry that names the policy. Services that read this entry load the snapshot and
continue with it.
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
        The entry of the log that records the replacement.
    policy, previous : str
        The new policy, and the previous one.
    policy_id : str
        The id of the new policy, which is recorded in its decisions.
    rewards : int
        The number of rewards from which the new policy has learned.
    pruned : PrunedContent
        The content that had been deleted before, from which the new policy has not learned.
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
    """Replace the policy of a service with another one, which has learned from the service's log.

    Parameters
    ----------
    config : Config
        The configuration of the service.
    policy : str, optional
        The new policy; by default that of the configuration.
    back : bool
        Whether to bring back the policy that was replaced last.
    step : callable
        A function that is called with the numbers of entries that were replayed.

    Raises
    ------
    ValueError
        If the policy cannot be used, if it is already in use, or if another policy took over in the meantime.
    """
    with open_store(config, must_exist=True) as store:
        with store.connection() as connection:
            change, pruned = StateChange.read(connection), PrunedContent.read(connection)
        served = change.policy or config.policy
        wanted = _wanted(config, policy, change, back=back)
        new = config.with_policy(wanted)
        if policy_id(new.make_policy()) == policy_id(config.with_policy(served).make_policy()):
            raise ValueError(f"policy must differ from the current policy of the service, got {wanted}")
        follower, base = _replayed(store, new, pruned.base, step)
        event = PolicyChanged(change.version + 1, time.time(), wanted, served)
        with store.transaction() as connection:
            if StateChange.read(connection) != change or PrunedContent.read(connection) != pruned:
                raise ValueError("the log was changed while the new policy replayed it; run the command again")
            # Snapshots of the previous policy could be used only if that policy came back.
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
        raise ValueError(f"policy must be omitted to restore the previous one, got {policy}")
    if change.previous is None:
        raise ValueError("there is no previous policy to restore, because the policy was never replaced")
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
    """Restore from the base everything that is independent of the policy: counts of entries, sums of groups."""
    for seq, parts in store.read_snapshots():
        if seq == base:
            try:
                cast(ServedRecommender, follower.folds["recommender"]).restore_counts(parts["recommender"])
                follower.folds["monitor"].restore(parts["monitor"])
            except ValueError as error:
                _log.warning("the group statistics restart where the log was pruned: %s", error)
