"""Policies that learn from a log: from all rows of it, or while they are judged by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairbandits.coded import Label
from fairbandits.logs.judge.case import Case
from fairbandits.logs.judge.piece import Piece
from fairbandits.logs.judge.sums import Sums, Terms
from fairbandits.policies import Policy

# How many rows are looked at together, at first and at most, while a policy waits for one on which it agrees.
_FIRST, _MOST = 16, 4096


def learn(policy: Policy, case: Case, piece: Piece, groups: Sequence[Mapping[str, Label]]) -> None:
    """Let a policy learn rows as if it had decided itself what was shown."""
    contexts = piece.contexts[0]
    contexts = contexts if isinstance(contexts, np.ndarray) else contexts.toarray()
    for row, (arm, reward) in enumerate(zip(piece.arm.tolist(), piece.reward.tolist(), strict=True)):
        offer = case.offers.of_arm(contexts[row], case.survey.arms[arm])
        policy.learn(policy.choose(offer, groups[row]), reward)


def replay_learning(policy: Policy, case: Case, lowest: float, origin: float) -> Sums:
    """Let a policy learn while it is judged: by replay, with rejection.

    A row counts, and is learned, where the policy picks the arm that was shown; and then only with probability
    `lowest / propensity`. The rows that are left are those that the policy would have seen, had it decided itself:
    every user is as likely to be among them as any other, whatever the arm (Li et al. 2011, who had
    arms shown at random; with propensities, a coin makes up for the rest).

    Parameters
    ----------
    policy : Policy
        The policy; it learns.
    case : Case
        The log.
    lowest : float
        The smallest propensity of the log.
    origin : float
        A number near the rewards.
    """
    rng = np.random.default_rng(case.setting.seed)
    sums = Sums(len(case.survey.cells), origin)
    size = _FIRST
    for _, piece in case.read():
        rows = piece.where(piece.judges)
        coin = rng.random(len(rows))
        fair = np.ones(len(rows), bool) if rows.propensity is None else coin * rows.propensity < lowest
        size = _replay(policy, case, rows, fair, sums, size)
    return sums


def _replay(policy: Policy, case: Case, rows: Piece, fair: Any, sums: Sums, size: int) -> int:
    """Replay rows; what is decided for those between two that count is decided at once."""
    groups = case.survey.cells.as_groups(rows.cells)
    accepted: list[int] = []
    start = 0
    while start < len(rows):
        block = slice(start, min(start + size, len(rows)))
        offer = case.offers.to_many(rows.contexts[0][block], groups[block])
        decisions = policy.choose_many(offer, groups[block])
        agreed = np.flatnonzero((decisions.indices == rows.arm[block]) & fair[block])
        if not agreed.size:
            start, size = block.stop, min(2 * size, _MOST)
            continue
        first = int(agreed[0])
        policy.learn(decisions[first], float(rows.reward[start + first]))
        accepted.append(start + first)
        start += first + 1
        # About twice as many as it took: few are decided in vain, and few calls are made.
        size = max((size + 2 * first) // 2, _FIRST)
    reward = rows.reward[accepted]
    one = np.ones(len(reward))
    sums.add(Terms(reward, one, one), reward, rows.cells[accepted])
    return size
