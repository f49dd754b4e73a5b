"""Many decisions as arrays, in the form needed to learn them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbandits.arms import ArmId
from fairbandits.categorical import Categorical, codes_of
from fairbandits.fairness import GroupKey
from fairbandits.models.row_batch import RowBatch, RowPiece, piece_of_rows
from fairbandits.policies.records import Decision

Ints = NDArray[np.int64]


@dataclass(slots=True, eq=False)
class DecisionBatch:
    """The parts of many decisions that learning needs.

    Attributes
    ----------
    policies : list of str
        The policies, or their sessions, that made the decisions.
    policy, number : arrays of int
        For each decision the index of its policy, and its number there.
    arms : sequence of ids
        The arm of each decision.
    groups : sequence
        The group of each user.
    pieces : list of RowPiece
        The contexts of the arms, in some order.
    order : array of int
        The index of each decision's context in that order.
    widths : set of int
        The widths of these contexts.
    """

    policies: list[str]
    policy: Ints
    number: Ints
    arms: Sequence[ArmId]
    groups: Sequence[GroupKey]
    pieces: list[RowPiece]
    order: Ints
    widths: set[int]

    def __len__(self) -> int:
        return len(self.number)

    def rows(self) -> RowBatch:
        """Return the contexts, which must be of one width."""
        (width,) = self.widths
        return RowBatch(self.pieces, self.order, width)

    def reordered(self, order: Ints) -> DecisionBatch:
        """Return the decisions in another order."""
        listed = order.tolist()
        return DecisionBatch(
            self.policies,
            self.policy[order],
            self.number[order],
            [self.arms[i] for i in listed],
            [self.groups[i] for i in listed],
            self.pieces,
            self.order[order],
            self.widths,
        )

    def group_columns(self) -> tuple[list[GroupKey], dict[str, Categorical]]:
        """Return the distinct keys of the users, in the order of their appearance, and the groups by attribute."""
        codes, keys = codes_of(self.groups)
        distinct = [dict(key) for key in keys]
        names = dict.fromkeys(name for key in distinct for name in key)
        columns = {name: Categorical.encode([key.get(name) for key in distinct]) for name in names}
        return keys, {name: Categorical(own.codes[codes], own.labels) for name, own in columns.items()}


def batch_of_records(decisions: Sequence[Decision]) -> DecisionBatch:
    """Return one or more decisions as arrays."""
    policy, policies = codes_of([decision.policy for decision in decisions])
    rows = [decision.row for decision in decisions]
    return DecisionBatch(
        policies,
        policy,
        np.array([decision.number for decision in decisions], np.int64),
        [decision.arm for decision in decisions],
        [decision.group for decision in decisions],
        [piece_of_rows(rows)],
        np.arange(len(rows)),
        {row.width for row in rows},
    )


def joined(batches: Sequence[DecisionBatch]) -> DecisionBatch:
    """Combine one or more batches into one."""
    if len(batches) == 1:
        return batches[0]
    index, policies = codes_of([policy for batch in batches for policy in batch.policies])
    return DecisionBatch(
        policies,
        index[_end_to_end([batch.policy for batch in batches], [len(batch.policies) for batch in batches])],
        np.concatenate([batch.number for batch in batches]),
        [arm for batch in batches for arm in batch.arms],
        [group for batch in batches for group in batch.groups],
        [piece for batch in batches for piece in batch.pieces],
        _end_to_end([batch.order for batch in batches], [len(batch) for batch in batches]),
        {width for batch in batches for width in batch.widths},
    )


def _end_to_end(indices: Sequence[Ints], sizes: Sequence[int]) -> Ints:
    """Convert indices into lists of the given sizes to indices into the concatenated lists."""
    firsts = np.cumsum([0, *sizes])
    return np.concatenate([each + first for each, first in zip(indices, firsts, strict=False)])
