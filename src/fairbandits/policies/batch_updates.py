"""Learning many decisions at once, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId
from fairbandits.categorical import codes_of
from fairbandits.interrupts import interrupts_deferred
from fairbandits.policies.decision_batch import DecisionBatch, batch_of_records, joined
from fairbandits.policies.decisions import LazyDecisions
from fairbandits.policies.ledger import Account
from fairbandits.policies.records import Decision

if TYPE_CHECKING:
    from fairbandits.policies.policy import Policy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Fewer decisions are learned faster one by one.
_LEAST_DECISIONS = 16


def learn_together(policy: Policy, decisions: Sequence[Any], rewards: Sequence[Any] | Floats, again: bool) -> bool:
    """Learn decisions as arrays; up to rounding, the result is that of learning them one by one.

    Returns False, having changed nothing, if the decisions have to be learned one by one: because there are few of
    them, because there is a slate, or because one of them is invalid, so that learning one by one raises the
    error.
    """
    batch, values = _as_batch(decisions), _as_values(rewards, policy.reward_range)
    if batch is None or values is None or not _LEAST_DECISIONS <= len(batch) == len(values):
        return False
    (width, *others) = batch.widths
    if others or width != (policy._learned_width() or width):
        return False
    accounts = _accounts(policy, batch, again)
    if accounts is None:
        return False
    with interrupts_deferred():
        return _update(policy, batch, values, accounts, width)


def _as_batch(decisions: Sequence[Any]) -> DecisionBatch | None:
    """Return decisions as arrays; None if some are not decisions, or if there are none."""
    if isinstance(decisions, LazyDecisions):
        return decisions.batch()
    kinds = {*map(type, decisions)}
    if kinds == {Decision}:
        return batch_of_records(decisions)
    if kinds and all(issubclass(kind, LazyDecisions) for kind in kinds):
        return joined([each.batch() for each in decisions])
    return None


def _as_values(rewards: Sequence[Any] | Floats, reward_range: tuple[float, float]) -> Floats | None:
    """Return rewards as an array; None if some may be invalid, or are rewards of slates."""
    # A subclass of arrays may hold more than numbers, as masked arrays do.
    if type(rewards) is not np.ndarray and not {*map(type, rewards)} <= {float, int, np.float64}:
        return None
    given = np.asarray(rewards)
    if given.ndim != 1 or given.dtype.kind not in "iuf":
        return None
    low, high = reward_range
    values = given.astype(np.float64)
    return values if bool(((values >= low) & (values <= high)).all()) else None


def _accounts(policy: Policy, batch: DecisionBatch, again: bool) -> list[Account] | None:
    """Return the account of each session of a batch; None if a decision may not be learned."""
    accounts = []
    for index, name in enumerate(batch.policies):
        account = policy._ledger.check_many(name, batch.number[batch.policy == index], again)
        if account is None:
            return None
        accounts.append(account)
    return accounts


def _is_forgotten(batch: DecisionBatch, accounts: Sequence[Account]) -> NDArray[np.bool_]:
    """Return whether the arm of each decision has been forgotten since."""
    forgotten = np.zeros(len(batch), np.bool_)
    for index, account in enumerate(accounts):
        if account.forgotten:
            own = np.flatnonzero(batch.policy == index)
            since = [account.forgotten.get(batch.arms[i], 0) for i in own.tolist()]
            forgotten[own] = batch.number[own] < np.array(since)
    return forgotten


def _update(
    policy: Policy, batch: DecisionBatch, rewards: Floats, accounts: Sequence[Account], width: int
) -> bool:
    """Update model, ledger and group record, or return False, changing nothing, if a row might be rejected.

    If the model fails midway, the ledger and the group record are updated with exactly the decisions that the
    model had learned by then.
    """
    forgotten = _is_forgotten(batch, accounts)
    codes, labels = codes_of(batch.arms)
    order = dict.fromkeys(codes[~forgotten].tolist()) if forgotten.any() else range(len(labels))
    arms, n_rows = policy._arms, policy._arms.n_rows
    new = arms.claim_many([labels[code] for code in order])
    numbers = np.array([arms.rows.get(label, -1) for label in labels], np.int64)[codes]
    numbers[forgotten] = -1
    rows = batch.rows()
    try:
        model: Any = policy._model_for(width)
        if model.learn_batch(rows, numbers, policy._scale.to_unit(rewards)):
            rows.learned[:] = True
    finally:
        if not rows.learned.any():
            arms.unclaim_many(new, n_rows)
        else:
            _record(policy, batch, rewards, accounts, numbers, new, rows.learned)
    return bool(rows.learned.any())


def _record(
    policy: Policy,
    batch: DecisionBatch,
    rewards: Floats,
    accounts: Sequence[Account],
    numbers: Ints,
    new: Sequence[ArmId],
    learned: NDArray[np.bool_],
) -> None:
    """Record decisions that the model has learned, given the numbers of their arms and which arms are new."""
    for index, account in enumerate(accounts):
        account.mark_many(batch.number[learned & (batch.policy == index)])
    policy.rounds_learned += int(np.count_nonzero(learned))
    if not learned.all():
        kept = np.flatnonzero(learned)
        batch, rewards, numbers = batch.reordered(kept), rewards[kept], numbers[kept]
        for arm in set(new).difference(batch.arms):
            policy._arms.release(arm)
    keys, columns = batch.group_columns()
    policy.groups.number_groups(keys)
    policy.groups.record_many(rewards, columns, numbers)
