"""Connections to a Dask cluster."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fairbandits.extras import install_hint

#: The place where work runs: "local" or an address, as accepted by `connect`; a connected client; or None for this
#: process.
Cluster = Any

LOCAL = "local"
_LOCALHOST = "127.0.0.1"
# The number of seconds to wait for the answer of a scheduler.
_TIMEOUT = 15


@contextmanager
def connect(cluster: Cluster) -> Iterator[Any]:
    """Connect to a cluster.

    Parameters
    ----------
    cluster : str, distributed.Client or None
        "local" starts one process per core on this machine; any other string is the address of a Dask scheduler.
        None and a connected client are returned unchanged.

    Yields
    ------
    distributed.Client or None
        The client that takes tasks.
    """
    if not isinstance(cluster, str):
        yield cluster
        return
    try:
        import distributed  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError(f"a cluster needs Dask; {install_hint('dask')}") from None
    dask: Any = distributed  # only partly typed
    if cluster == LOCAL:
        # The dashboard is accessible from this machine only, on any free port.
        workers = dask.LocalCluster(
            host=_LOCALHOST, processes=True, threads_per_worker=1, dashboard_address=f"{_LOCALHOST}:0"
        )
        with workers, dask.Client(workers) as client:
            yield client
        return
    try:
        client = dask.Client(cluster, timeout=_TIMEOUT)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(
            f"cluster must be {LOCAL!r} or the address of a running Dask scheduler, such as tcp://10.0.0.1:8786, "
            f"got {cluster!r} ({error or 'it timed out'})"
        ) from None
    try:
        try:
            client.wait_for_workers(1, timeout=_TIMEOUT)
        except TimeoutError:
            raise ValueError(f"cluster must have at least one worker, got {cluster!r} with none") from None
        yield client
    finally:
        _close(client)


def _close(client: Any) -> None:
    logger = logging.getLogger("distributed.client")
    # A lost connection has already been raised as an error; Dask would log it again, with tracebacks.
    before, logger.disabled = logger.disabled, logger.disabled or client.status != "running"
    try:
        client.close()
    finally:
        logger.disabled = before
