"""The recommendations of a block of users, as rows of the output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairbandits.arms import ArmId
from fairbandits.contexts import TableEncoder
from fairbandits.logs.column_kinds import BOOLEAN, ID, INTEGER, NULL, NUMBER, TEXT, TIME
from fairbandits.logs.errors import LogError
from fairbandits.models.device import Device, DeviceError
from fairbandits.policies.records import RankedArms
from fairbandits.recommendations.users import UserBlock, UserTable
from fairbandits.recommender import Recommender

#: The columns of the output before those of the groups.
COLUMNS = ("user", "position", "arm", "score", "probability")

# The largest number of entries in the contexts of users who are scored together, if the contexts are dense.
_ENTRIES_AT_ONCE = 1 << 23


def recommend_block(
    recommender: Recommender, users: Any, k: int, device: Device | None, random_state: np.random.Generator
) -> RankedArms:
    """Rank k items for each user of a data frame.

    On the CPU, the number of users who are scored at a time depends on the items alone, so that the result does
    not depend on the machine. A device scores as many users at a time as fit into its `memory`. With interactions,
    each user has separate contexts, so the number is also limited by the memory of the host.
    """
    if device is not None and not recommender.encoder.interactions:
        return recommender.rank(users, k=k, random_state=random_state, device=device)
    width = len(recommender.items) * len(recommender.feature_names)
    step = max(1, _ENTRIES_AT_ONCE // width)
    where = "cpu" if device is None else device
    parts = [
        recommender.rank(users[start : start + step], k=k, random_state=random_state, device=where)
        for start in range(0, len(users), step)
    ]
    indices, scores, probability, _ = zip(*parts, strict=True)
    return RankedArms(np.concatenate(indices), np.concatenate(scores), np.concatenate(probability), parts[0].arms)


@dataclass(frozen=True, eq=False)
class BlockRecommender:
    """Recommends items to blocks of users. It can be pickled for other processes.

    Attributes
    ----------
    recommender : Recommender
        The policy and the items.
    k : int
        The number of items for each user.
    seed : int
        The seed of the run.
    device : Device or None
        The device on which scores are computed, with its library and memory, so that all workers compute the same;
        None for the CPU.
    users : str
        The name of the table of users, for error messages.
    id_column : str or None
        The column with the ids of users; None for their row numbers.
    schema : pyarrow.Schema
        The columns of the output.
    """

    recommender: Recommender
    k: int
    seed: int
    device: Device | None
    users: str
    id_column: str | None
    schema: Any

    def __call__(self, block: UserBlock) -> Any:
        """Return the rows of the output: k for each user, in the order of the users and positions."""
        import pyarrow as pa  # noqa: PLC0415 - an extra

        ids = np.arange(block.first, block.first + len(block.table))
        users = pa.array(ids) if self.id_column is None else block.table[self.id_column]
        if users.null_count:
            row = block.first + users.is_null().to_pylist().index(True)
            raise LogError(f"{self.users}, row {row + 1:,}: users must have an id, got none in {self.id_column!r}")
        ranked = self._rank(block)
        n, k = ranked.indices.shape
        rows = np.repeat(np.arange(n), k)
        columns = {
            "user": users.take(rows),
            "position": pa.array(np.tile(np.arange(1, k + 1), n)),
            "arm": _as_arrow(ranked.arms).take(ranked.indices.ravel()),
            "score": pa.array(ranked.scores.ravel()),
            "probability": pa.array(np.repeat(ranked.probability, k), from_pandas=True),
            **{name: block.table[name].take(rows) for name in self.recommender.group_columns},
        }
        return pa.table(columns).cast(self.schema)

    def fits_on_device(self, block: UserBlock) -> bool:
        """Return whether the device has enough memory for the policy and for the first user of a block."""
        try:
            self._rank(replace(block, table=block.table.slice(0, 1)))
        except DeviceError:
            return False
        return True

    def _rank(self, block: UserBlock) -> RankedArms:
        # The seed depends on the number of the block, and the generator is not shared between blocks, so that the
        # draws do not depend on the order of the blocks.
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(block.number,)))
        is_custom = not isinstance(self.recommender.encoder.users, TableEncoder)
        frame = block.table.to_pandas() if is_custom else block.table
        try:
            return recommend_block(self.recommender, frame, self.k, self.device, rng)
        except DeviceError:
            raise  # the error is not caused by a user
        except ValueError as error:
            last = block.first + len(block.table)
            raise LogError(f"{self.users}, rows {block.first + 1:,} to {last:,}: {error}") from None


def output_schema(users: UserTable, items: Sequence[ArmId], groups: Sequence[str]) -> Any:
    """Return the columns of the output and their types."""
    import pyarrow as pa  # noqa: PLC0415

    if taken := [name for name in groups if name in COLUMNS]:
        raise LogError(
            f"{users.name}: groups must not be named {', '.join(COLUMNS)}, which are columns of the output, got "
            f"{taken[0]!r}; rename the column"
        )
    types = {
        TEXT: pa.string(),
        ID: pa.string(),
        NULL: pa.string(),
        INTEGER: pa.int64(),
        NUMBER: pa.float64(),
        BOOLEAN: pa.bool_(),
        TIME: pa.timestamp("us"),
    }
    copied = [*groups] if users.id_column is None else [users.id_column, *groups]
    if unusable := [name for name in copied if users.kinds[name] not in types]:
        raise LogError(
            f"{users.name}: ids and groups must be text or numbers, got another type in {unusable[0]!r}; convert "
            "the column"
        )
    user = pa.int64() if users.id_column is None else _exact_type(users, users.id_column, types)
    fixed = zip(COLUMNS, (user, pa.int32(), _as_arrow(items).type, pa.float64(), pa.float64()), strict=True)
    return pa.schema([*fixed, *((name, types[users.kinds[name]]) for name in groups)])


def _exact_type(users: UserTable, column: str, types: Mapping[str, Any]) -> Any:
    """Return the type of ids in the output: the type of their kind, unless it cannot hold all ids."""
    import pyarrow as pa  # noqa: PLC0415

    stored = users.stored_type(column)
    wider = [each for each in (pa.uint64(), pa.timestamp("ns")) if stored == each]
    return wider[0] if wider else types[users.kinds[column]]


def _as_arrow(arms: Sequence[ArmId]) -> Any:
    """Return the ids of arms: integers if all of them are, otherwise text."""
    import pyarrow as pa  # noqa: PLC0415

    if all(isinstance(arm, int) for arm in arms):
        return pa.array(arms, pa.int64())
    return pa.array(list(map(str, arms)), pa.string())
