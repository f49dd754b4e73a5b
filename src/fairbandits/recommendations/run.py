"""Slates for all users of a table, in one run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from fairbandits.cluster import Checkpoint, Cluster, map_stream
from fairbandits.logs.dependencies import require_arrow
from fairbandits.models.device import Backend, Device
from fairbandits.policies.device_round import backend_for
from fairbandits.policies.records import as_slate_size
from fairbandits.progress import with_progress
from fairbandits.recommendations.blocks import BlockRecommender, output_schema
from fairbandits.recommendations.files import check_output, unfinished_blocks, unfinished_manifest, write_tables
from fairbandits.recommendations.loading import hash_items, hash_policy, load_recommender, seed_of
from fairbandits.recommendations.summary import GroupScores, ScoreSums
from fairbandits.recommendations.users import UserTable
from fairbandits.recommender import Recommender

# The name of the only step, in the progress bar and in the folder of finished blocks.
_STEP = "recommend"


@dataclass(frozen=True)
class Recommendations:
    """The result of a run.

    Attributes
    ----------
    out : Path
        The file that was written.
    users, k : int
        The number of users, and the number of items for each user.
    items, unlearned : int
        The number of items on offer, and the number of items about which nothing has been learned.
    id_column : str or None
        The column with the ids of users; None if users are identified by their row numbers, counted from 0.
    mean_score : float or None
        The mean score of all recommended items; None without users.
    groups : tuple of GroupScores
        The number of users and the mean score, by group.
    is_resumed : bool
        Whether an interrupted run had finished some of the blocks.
    """

    out: Path
    users: int
    k: int
    items: int
    unlearned: int
    id_column: str | None
    mean_score: float | None
    groups: tuple[GroupScores, ...]
    is_resumed: bool


def recommend(
    policy: str | os.PathLike[str] | Recommender,
    users: Any,
    out: str | os.PathLike[str],
    *,
    items: Any = None,
    k: int = 10,
    user_id: str | None = None,
    device: str | Device = "cpu",
    cluster: Cluster = None,
    progress: bool = False,
    notify: Callable[[str], None] | None = None,
) -> Recommendations:
    """Recommend k items to every user of a table, and write them to a Parquet file.

    The file has a row for each user and position: `user`, `position` (from 1), `arm`, `score`, `probability` (of
    the whole slate; null where it has no closed form) and the groups. Users are read and written in blocks, so
    both tables may be larger than memory. The same policy, users and items give the same file, bit for bit,
    however often the run was interrupted and wherever it ran. With a GPU, this holds for devices of the same kind
    and with the same `Device(memory=...)`. The policy does not learn from the run and remains unchanged.

    Parameters
    ----------
    policy : path or Recommender
        A recommender, which must not learn during the run, or a file written by `Recommender.save` or
        `fairbandits fit`. A file written by `Policy.save` also works, but needs `items`.
    users : path, address or data frame
        The users, in any format that a log can have.
    out : path
        The .parquet file. Finished blocks are kept in a hidden folder next to it until it is complete; the same
        run resumes from them.
    items : path, address or data frame, optional
        The items on offer, instead of those in the policy's file. What has been learned about an item is retained.
    k : int
        The number of items for each user.
    user_id : str, optional
        The column with the ids of users; by default "user", "user_id" or "id" if exactly one of these columns
        exists, otherwise the row numbers, counted from 0.
    device : {"cpu", "auto"}, name of a device, or Device
        The device on which scores are computed; see `Policy.choose_many`. "auto" is resolved in this process, by
        scoring the first user, for all workers of a cluster; if it selects a device, every worker needs that
        device. By default, a run may use 80% of the memory that is free when it starts, even when it resumes.
    cluster : str or distributed.Client, optional
        "local", or the address of a Dask scheduler; by default, scores are computed in this process. Workers need
        no access to the files.
    progress : bool
        Whether to show a progress bar, in a terminal or a notebook, with the finished blocks and the time left.
    notify : callable, optional
        A function that is called with a sentence when a run resumes or starts again.

    Examples
    --------
    >>> import tempfile
    >>> from fairbandits import LinUCB, Recommender
    >>> from fairbandits.recommendations import recommend
    >>> from fairbandits.worlds import SampleTables
    >>> tables = SampleTables(n_users=100)
    >>> recommender = Recommender(LinUCB(random_state=0), tables.users, tables.items, groups=["sex"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = recommend(recommender, tables.users, f"{folder}/tonight.parquet", k=3)
    >>> written.users, written.id_column, [group.group for group in written.groups]
    (100, 'user', ['female', 'male'])
    """
    require_arrow()
    out = Path(out)
    check_output(out)
    recommender = load_recommender(policy, items)
    backend = backend_for(recommender.policy, device)
    k = as_slate_size(k, len(recommender.items))
    table = UserTable.open(users, recommender.encoder, recommender.group_columns, user_id)
    schema = output_schema(table, recommender.items, recommender.group_columns)
    state = recommender.policy.state()
    manifest: dict[str, Any] = {
        "version": _version(),
        "policy": hash_policy(state),
        "users": table.fingerprint(),
        "items": hash_items(recommender.catalogue),
        "groups": list(recommender.group_columns),
        "k": k,
        "user_id": table.id_column,
    }
    resolved = None if backend is None else _resolve(backend, manifest, unfinished_manifest(out))
    compute = BlockRecommender(recommender, k, seed_of(state), resolved, table.name, table.id_column, schema)
    if backend is not None and backend.is_optional and not _fits(compute, table):
        compute = replace(compute, device=None)
    manifest |= _describe(compute.device)
    sums = ScoreSums(recommender.group_columns, k)
    tell = notify or (lambda _: None)
    with unfinished_blocks(out, manifest, lambda changed: tell(_restart(changed))) as blocks:
        missing = [number for number in range(table.n_blocks) if not blocks.has(_STEP, number)]
        if len(missing) < table.n_blocks:
            done = f"{table.n_blocks - len(missing):,} of {table.n_blocks:,}"
            tell(f"resuming after an interruption: {done} blocks are finished")
        _compute(table, missing, compute, blocks, cluster, progress)
        write_tables(out, schema, _counted(blocks, table.n_blocks, sums))
    learned = {*recommender.policy.arms_learned}
    return Recommendations(
        out,
        sums.users,
        k,
        len(recommender.items),
        sum(item not in learned for item in recommender.items),
        table.id_column,
        sums.total / sums.rows if sums.rows else None,
        sums.groups(),
        is_resumed=len(missing) < table.n_blocks,
    )


def _resolve(backend: Backend, manifest: Mapping[str, Any], before: Mapping[str, Any]) -> Device:
    """Return a device in which all settings that the user left open are filled in.

    If this run resumes an interrupted run, its memory is taken from the manifest of that run.
    """
    device = replace(backend.device, library=backend.library)
    if device.memory is not None:
        return device
    expected = {**manifest, **_describe(device), "memory": before.get("memory")}
    is_same = expected["memory"] is not None and all(before.get(name) == value for name, value in expected.items())
    return replace(device, memory=before["memory"] if is_same else backend.memory())


def _describe(device: Device | None) -> dict[str, Any]:
    """Return the entries about the device in the manifest of a run."""
    if device is None:
        return {"device": "cpu", "memory": None}
    # The memory determines how many users are scored at a time, and thereby the last digits of scores.
    return {"device": f"{device.library}, {device.dtype}", "memory": device.memory}


def _fits(compute: BlockRecommender, table: UserTable) -> bool:
    """Return whether the device has enough memory for the policy's learned state and for the first user."""
    return all(compute.fits_on_device(block) for block in islice(table.blocks([0]), 1))


def _compute(
    table: UserTable,
    missing: Sequence[int],
    compute: BlockRecommender,
    blocks: Checkpoint,
    cluster: Cluster,
    progress: bool,
) -> None:
    """Compute the rows of the missing blocks, and store each block as soon as it is finished."""
    finished = map_stream(table.blocks(missing), compute, cluster if missing else None)
    done = table.n_blocks - len(missing)
    for index, rows in with_progress(finished, table.n_blocks, progress, _STEP, done):
        blocks.store(_STEP, missing[index], rows)


def _counted(blocks: Checkpoint, n_blocks: int, sums: ScoreSums) -> Iterator[Any]:
    """Load the rows of each block, and add them to the sums."""
    for number in range(n_blocks):
        rows = blocks.load(_STEP, number)
        sums.add(rows)
        yield rows


def _restart(changed: Sequence[str]) -> str:
    verb = "has" if len(changed) == 1 else "have"
    return f"{', '.join(changed)} {verb} changed since the interrupted run; starting from the beginning"


def _version() -> str:
    from fairbandits import __version__  # noqa: PLC0415 - the package imports this module

    return __version__
