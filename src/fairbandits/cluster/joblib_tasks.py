"""Run joblib's parallel work on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fairbandits.cluster.connection import Cluster, connect


@contextmanager
def parallel_on(cluster: Cluster) -> Iterator[None]:
    """Run joblib's parallel work on a cluster, or on this machine if the cluster is None."""
    if cluster is None:
        yield
        return
    with connect(cluster) as client:
        from joblib import parallel_config  # noqa: PLC0415 - an extra

        from fairbandits.cluster.joblib_backend import watched_backend  # noqa: PLC0415 - derives from an extra

        with watched_backend(client) as backend, parallel_config(backend=backend):
            yield
