"""Run work on a Dask cluster instead of in this process.

Dask does the scheduling, and reassigns the tasks of a worker that has died.
"""

from fairbandits.cluster.checkpoint import Checkpoint
from fairbandits.cluster.connection import LOCAL, Cluster, connect
from fairbandits.cluster.joblib_tasks import parallel_on
from fairbandits.cluster.mapreduce import map_reduce, map_stream, resumable_map_reduce

__all__ = [
    "LOCAL",
    "Checkpoint",
    "Cluster",
    "connect",
    "map_reduce",
    "map_stream",
    "parallel_on",
    "resumable_map_reduce",
]
