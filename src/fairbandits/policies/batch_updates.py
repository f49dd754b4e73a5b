"""Learning many decisions at once, by arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairbandits.categorical import codes_of
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
    """Learn decisions by arrays: to rounding, what learning them one by one leads to.

    Returns False, having changed nothing, if they have to be learned one by one: there are few of them; there is a
    slate; or one of them is refused, and learning one by one raises the error.
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
    if not _update_model(policy, batch, values, _is_forgotten(batch, accounts), width):
        return False
    for index, account in enumerate(accounts):
        account.mark_many(batch.number[batch.policy == index])
    policy.rounds_learned += len(batch)
    return True


def _as_batch(decisions: Sequence[Any]) -> DecisionBatch | None:
    """Return decisions as arrays; None if some are no decisions, or there is none."""
    if isinstance(decisions, LazyDecisions):
        return decisions.batch()
    kinds = {*map(type, decisions)}
    if kinds == {Decision}:
        return batch_of_records(decisions)
    if kinds and all(issubclass(kind, LazyDecisions) for kind in kinds):
        return joined([each.batch() for each in decisions])
    return None


def _as_values(rewards: Sequence[Any] | Floats, reward_range: tuple[float, float]) -> Floats | None:
    """Return rewards as an array; None if some may be wrong, or are rewards of slates."""
    if not isinstance(rewards, np.ndarray) and not {*map(type, rewards)} <= {float, int, np.float64}:
        return None
    values = np.asarray(rewards)
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        return None
    low, high = reward_range
    return values.astype(np.float64) if bool(((values >= low) & (values <= high)).all()) else None


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
    """Return which decisions are for an arm that was forgotten since."""
    forgotten = np.zeros(len(batch), np.bool_)
    for index, account in enumerate(accounts):
        if account.forgotten:
            own = np.flatnonzero(batch.policy == index)
            since = [account.forgotten.get(batch.arms[i], 0) for i in own.tolist()]
            forgotten[own] = batch.number[own] < np.array(since)
    return forgotten


def _update_model(
    policy: Policy, batch: DecisionBatch, rewards: Floats, forgotten: NDArray[np.bool_], width: int
) -> bool:
    """Update the model and the group record; False, having changed nothing, if the model may refuse a row."""
    codes, labels = codes_of(batch.arms)
    order = dict.fromkeys(codes[~forgotten].tolist()) if forgotten.any() else range(len(labels))
    arms, n_rows = policy._arms, policy._arms.n_rows
    new = arms.claim_many([labels[code] for code in order])
    numbers = np.array([arms.rows.get(label, -1) for label in labels], np.int64)[codes]
    numbers[forgotten] = -1
    model: Any = policy._model_for(width)
    is_learned = False
    try:
        is_learned = bool(model.learn_batch(batch.rows(), numbers, policy._scale.to_unit(rewards)))
    finally:
        if not is_learned:
            arms.unclaim_many(new, n_rows)
    if is_learned:
        keys, columns = batch.group_columns()
        policy.groups.number_groups(keys)
        policy.groups.record_many(rewards, columns, numbers)
    return is_learned
