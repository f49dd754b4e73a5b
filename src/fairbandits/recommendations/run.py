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

# The name of the only step, in the progress bar and in the folder of unfinished blocks.
_STEP = "recommend"


@dataclass(frozen=True)
class Recommendations:
    """What a run has written.

    Attributes
    ----------
    out : Path
        The file.
    users, k : int
        The number of users, and of items of each.
    items, unlearned : int
        The number of items on offer, and of those of which nothing has been learned.
    id_column : str or None
        The column with the ids of users; None if they are the numbers of their rows, from 0.
    mean_score : float or None
        The mean score of all recommended items; None without users.
    groups : tuple of GroupScores
        The same by group.
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
    however often the run was interrupted and wherever it ran; with a GPU, on devices of the same kind and with the
    same `Device(memory=...)`. Nothing is learned, and the policy stays as it is.

    Parameters
    ----------
    policy : path or Recommender
        A file of `Recommender.save` or `fairbandits fit`; or one of `Policy.save`, which needs `items`. A
        recommender must not learn meanwhile.
    users : path, address or data frame
        The users, in any format that logs can have.
    out : path
        The .parquet file. Finished blocks are kept in a hidden folder beside it until it is complete; the same run
        resumes from them.
    items : path, address or data frame, optional
        The items on offer, instead of those that the file of the policy holds. What was learned of an item stays.
    k : int
        The number of items of each user.
    user_id : str, optional
        The column with the ids of users; by default "user", "user_id" or "id" if there is exactly one of them,
        otherwise the numbers of rows, from 0.
    device : {"cpu", "auto"}, name of a device, or Device
        Where scores are computed; see `Policy.choose_many`. "auto" is decided here, by scoring the first user, for
        all workers of a cluster: every worker then needs the device. By default a run may use 80% of the memory
        that is free when it starts, also when it resumes.
    cluster : str or distributed.Client, optional
        "local", or the address of a Dask scheduler; by default this process. Workers need no access to the files.
    progress : bool
        Whether to show a progress bar, on a terminal or in a notebook: the finished blocks, and the time left.
    notify : callable, optional
        It is told, in a sentence, that a run resumes or starts again.

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
    """Return a device with all that its user left open.

    Its memory is that of the interrupted run, given by its manifest, if this run resumes it.
    """
    device = replace(backend.device, library=backend.library)
    if device.memory is not None:
        return device
    expected = {**manifest, **_describe(device), "memory": before.get("memory")}
    is_same = expected["memory"] is not None and all(before.get(name) == value for name, value in expected.items())
    return replace(device, memory=before["memory"] if is_same else backend.memory())


def _describe(device: Device | None) -> dict[str, Any]:
    """Return what the manifest of a run contains about its device."""
    if device is None:
        return {"device": "cpu", "memory": None}
    # The memory decides how many users are scored at a time, and with that the last digits of scores.
    return {"device": f"{device.library}, {device.dtype}", "memory": device.memory}


def _fits(compute: BlockRecommender, table: UserTable) -> bool:
    """Return whether the device has memory for what the policy has learned and for the first user."""
    return all(compute.fits_on_device(block) for block in islice(table.blocks([0]), 1))


def _compute(
    table: UserTable,
    missing: Sequence[int],
    compute: BlockRecommender,
    blocks: Checkpoint,
    cluster: Cluster,
    progress: bool,
) -> None:
    """Compute the rows of the blocks that are missing, and store each as soon as it is finished."""
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
