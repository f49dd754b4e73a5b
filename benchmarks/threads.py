"""The environment variables that limit threads."""

from __future__ import annotations

VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def thread_variables(threads: int) -> dict[str, str]:
    """Return the environment variables for a number of threads."""
    return dict.fromkeys(VARIABLES, str(threads))
