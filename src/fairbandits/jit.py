"""Compiled loops: kernels are compiled when they are first called, and cached on disk.

Numba's own cache checks the file of a kernel, but not the files of the kernels that it calls, so code compiled
from the old files would keep running after an update. Here, a cached kernel is used only while its own file and
all files of `models/kernels/` are unchanged. So kernels may call kernels of their own file and of
`models/kernels/`.
"""

from __future__ import annotations

import hashlib
import inspect
import logging
import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import njit
from numba.core import config, event

_log = logging.getLogger("fairbandits")

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

#: The first and the last minor version of Numba with which the tests have been run. Everything that relies on
#: Numba's internals (the vector intrinsics, the cache) is used only with these versions. The first is the lower
#: bound in pyproject.toml, which `make oldest` installs; with Numba 0.60, kernels reject float32 arrays.
TESTED = ((0, 61), (0, 68))

# Sums may be reordered, so that the compiler can use vector units; NaN and infinities keep their meaning.
_REORDERED = {"reassoc", "nsz", "contract"}

_KERNELS = Path(__file__).parent / "models" / "kernels"
_PATIENCE = 2.0


def is_tested() -> bool:
    """Return whether the installed Numba is one of the versions that the tests have been run with."""
    return TESTED[0] <= tuple(int(part) for part in numba.__version__.split(".")[:2]) <= TESTED[1]


def use_plain_loops() -> bool:
    """Return whether kernels use ordinary loops instead of vector instructions (`models/kernels/vectors.py`)."""
    return bool(os.environ.get("FAIRBANDITS_PLAIN_KERNELS")) or bool(config.DISABLE_JIT) or not is_tested()


def kernel(*, reorder_sums: bool = False) -> Callable[[Kernel], Kernel]:
    """Compile a function that Python calls; other threads can run in the meantime.

    Parameters
    ----------
    reorder_sums : bool
        Whether the compiler may reorder sums, in order to add several numbers at once.
    """

    def compiled(function: Kernel) -> Kernel:
        dispatcher: Any = njit(nogil=True, fastmath=_REORDERED if reorder_sums else False)(function)
        if not config.DISABLE_JIT:
            _enable_cache(dispatcher, function)
        return cast(Kernel, dispatcher)

    return compiled


def helper(*, reorder_sums: bool = False) -> Callable[[Kernel], Kernel]:
    """Compile a function that kernels call; it is cached as part of them.

    Python must not call it: it has no entry point for Python, which saves a sixth of the compile time, and such a
    call crashes the process (`tests/test_structure.py` looks for them). Constants among its arguments must be
    NumPy's (`np.int64(0)`): it is compiled once for each type, and Numba treats a literal number as a separate
    type.
    """

    def compiled(function: Kernel) -> Kernel:
        how = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        return cast(Kernel, njit(nogil=True, fastmath=_REORDERED if reorder_sums else False, **how)(function))

    return compiled


def _enable_cache(dispatcher: Any, function: Callable[..., Any]) -> None:
    if is_tested():
        dispatcher._cache = _cache_of(function)
    else:
        dispatcher.enable_caching()


def _cache_of(function: Callable[..., Any]) -> Any:
    from numba.core.caching import FunctionCache, IndexDataCacheFile  # noqa: PLC0415

    kernel_cache: Any = FunctionCache(function)
    stamp = _stamp(inspect.getfile(function))
    kernel_cache._cache_file = IndexDataCacheFile(
        kernel_cache._cache_path, kernel_cache._impl.filename_base, source_stamp=stamp
    )
    return kernel_cache


@cache
def _stamp(path: str) -> str:
    """Return a hash of all source code that kernels of a file are compiled from."""
    digest = _shared_digest().copy()
    digest.update(Path(path).read_bytes())
    stamp: str = digest.hexdigest()
    return stamp


@cache
def _shared_digest() -> Any:
    """Return a hash of everything that all kernels depend on; computed only once, as every import waits for it."""
    digest = hashlib.sha256(f"{numba.__version__} {use_plain_loops()}".encode())
    for source in sorted(_KERNELS.glob("*.py")):
        digest.update(source.read_bytes())
    return digest


class _Notice(event.Listener):
    """Log one line when compiling kernels takes long, so that a slow first call does not look like a hang."""

    def __init__(self) -> None:
        self._depth = 0
        self._began = self._spent = 0.0
        self._is_told = False

    def on_start(self, event: Any) -> None:
        """Start the clock with the outermost kernel; kernels of other packages do not count."""
        if self._depth or event.data["dispatcher"].py_func.__module__.startswith("fairbandits."):
            if not self._depth:
                self._began = time.monotonic()
            self._depth += 1
            self._look()

    def on_end(self, event: Any) -> None:
        """Stop the clock with the outermost kernel."""
        if self._depth:
            self._look()
            self._depth -= 1
            if not self._depth:
                self._spent += time.monotonic() - self._began

    def _look(self) -> None:
        if not self._is_told and self._spent + time.monotonic() - self._began > _PATIENCE:
            self._is_told = True
            _log.warning("compiling kernels, once per installation ...")


event.register("numba:compile", _Notice())
