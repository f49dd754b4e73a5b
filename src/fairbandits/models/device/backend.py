"""Devices, and the array libraries that compute on them.

All scoring on a device is written against the array API standard, so that one code path runs on NumPy, PyTorch and
CuPy. `Backend` provides what the standard lacks: transfers, memory management, the selection of the k largest
entries, and sparse products.
"""

from __future__ import annotations

import functools
import importlib
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fairbandits.extras import install_hint

Array = Any
Floats = NDArray[np.float64]

#: The values that `device` accepts besides names of devices.
CPU, AUTO = "cpu", "auto"
_LIBRARIES = ("torch", "cupy", "numpy", "array_api_strict")
_DTYPES = ("float64", "float32")
# A call may use this share of the free memory.
_SHARE_OF_FREE = 0.8
# The limit, in bytes, if the free memory is unknown, as it is for NumPy; this much fits into the memory of any
# machine.
_DEFAULT_MEMORY = 2**28
# Copies to the host that are larger than this do not use page-locked memory, because PyTorch keeps such memory
# until the process ends.
_MOST_PINNED = 2**26


class DeviceError(ValueError):
    """Raised for a device that does not exist, or that cannot compute what is asked of it."""


@dataclass(frozen=True)
class Device:
    """Where and how the scores of many users are computed.

    Parameters
    ----------
    name : str
        "cuda" or "cuda:1" for a GPU; "cpu" for the processor.
    library : {"torch", "cupy", "numpy", "array_api_strict"}, optional
        The library that computes the scores. The default is PyTorch if it is installed, otherwise CuPy; on the
        processor, the default is the compiled kernels of this package.
    dtype : {"float64", "float32"}
        The type of numbers. In float32, scores are accurate to about six digits if the columns are of about the
        same scale, and arms whose scores are closer than that may swap places. Large columns that are nearly
        copies of each other need float64.
    memory : int, optional
        The number of bytes that a call may use on the device; by default, 80% of the free memory. Users are scored
        in blocks that fit into this memory.

    Examples
    --------
    >>> Device("cuda", dtype="float32")
    Device(name='cuda', library=None, dtype='float32', memory=None)
    """

    name: str = "cuda"
    library: str | None = None
    dtype: str = "float64"
    memory: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not re.fullmatch("cpu|cuda(:[0-9]+)?", self.name):
            raise DeviceError(f'device must be "cpu", "cuda", "cuda:N" or "auto", got {self.name!r}')
        if self.library is not None and self.library not in _LIBRARIES:
            raise DeviceError(f"library must be one of {', '.join(_LIBRARIES)}, got {self.library!r}")
        if self.dtype not in _DTYPES:
            raise DeviceError(f"dtype must be one of {', '.join(_DTYPES)}, got {self.dtype!r}")
        if self.memory is not None and not (isinstance(self.memory, int) and self.memory > 0):
            raise DeviceError(f"memory must be a positive number of bytes, got {self.memory!r}")


class Backend:
    """A device with its library; `xp` has the functions of the array API.

    Parameters
    ----------
    device : Device
        The device; it must exist.
    is_optional : bool
        Whether the processor takes over if the device cannot do the work, as with "auto".
    """

    def __init__(self, device: Device, is_optional: bool = False) -> None:
        self.device, self.is_optional = device, is_optional
        self.library = device.library or _default_library(device)
        self.xp = _namespace(self.library)
        self.dtype = getattr(self.xp, device.dtype)
        self.itemsize = np.dtype(device.dtype).itemsize
        self._place = _find_place(self.library, device)

    def __eq__(self, other: object) -> bool:
        """Compare by device and library, so that "auto" and "cuda" share what is on the device."""
        return isinstance(other, Backend) and (self.device, self.library) == (other.device, other.library)

    def __hash__(self) -> int:
        return hash((self.device, self.library))

    @functools.cached_property
    def _uploads(self) -> Any:
        """The stream for copies that do not wait for computations; None unless PyTorch runs on a GPU.

        The stream is created on first use.
        """
        if self.library == "torch" and self.device.name != CPU:
            return importlib.import_module("torch").cuda.Stream(self._place)
        return None

    def asarray(self, values: NDArray[Any]) -> Array:
        """Copy an array from the host to the device, converting floats (not integers) to the device's dtype."""
        dtype = self.dtype if values.dtype.kind == "f" else None
        return self.xp.asarray(np.ascontiguousarray(values), dtype=dtype, device=self._place)

    def upload(self, values: NDArray[Any]) -> Array:
        """Copy an array while the device computes, unlike `asarray`, which waits for all pending work.

        Computations that read the array must be queued by this thread, or by the thread whose stream this
        thread shares (see `share_stream`).
        """
        if self._uploads is None:
            return self.asarray(values)
        torch = importlib.import_module("torch")
        with torch.cuda.stream(self._uploads):
            array = self.asarray(values)
        self._uploads.synchronize()
        # The memory of the array is reused only after the computations on this stream that read it have finished.
        array.record_stream(torch.cuda.current_stream(self._place))
        return array

    def share_stream(self) -> Callable[[], None] | None:
        """Return a function with which another thread adopts this thread's stream; None if there are no streams.

        With PyTorch, each thread has its own current stream.
        """
        if self._uploads is None:
            return None
        cuda = importlib.import_module("torch").cuda
        return functools.partial(cuda.set_stream, cuda.current_stream(self._place))

    def empty(self, shape: tuple[int, ...]) -> Array:
        """Return an uninitialised array."""
        return self.xp.empty(shape, dtype=self.dtype, device=self._place)

    def full(self, shape: tuple[int, ...], value: float) -> Array:
        """Return an array filled with a number; unlike a copy from the host, this does not wait for other work."""
        return self.xp.full(shape, value, dtype=self.dtype, device=self._place)

    def to_host(self, values: Array) -> NDArray[Any]:
        """Copy an array from the device to NumPy, converting floats to float64."""
        if self.library == "torch":
            values = values.cpu().numpy()
        elif self.library == "cupy":
            values = values.get()
        return _as_float64(np.asarray(values))

    def to_host_later(self, *arrays: Array) -> Callable[[], list[NDArray[Any]]]:
        """Queue copies from the device to NumPy; return a function that waits for the copies and returns them.

        With PyTorch, that function does not wait for work that is queued afterwards, unless the copies are large.
        """
        if self._uploads is None or sum(each.numel() * each.element_size() for each in arrays) > _MOST_PINNED:
            return lambda: [self.to_host(each) for each in arrays]
        copies = [each.to("cpu", non_blocking=True) for each in arrays]
        copied = importlib.import_module("torch").cuda.current_stream(self._place).record_event()

        def wait() -> list[NDArray[Any]]:
            copied.synchronize()
            # Copied again, because pinned memory is scarce.
            return [_as_float64(each.numpy().copy()) for each in copies]

        return wait

    def memory(self) -> int:
        """Return the number of bytes that a call may use."""
        if self.device.memory is not None:
            return self.device.memory
        free = self._free_memory()
        return _DEFAULT_MEMORY if free is None else int(_SHARE_OF_FREE * free)

    def _free_memory(self) -> int | None:
        if self.library == "torch" and self.device.name != CPU:
            torch = importlib.import_module("torch")
            # Memory that PyTorch has cached counts as free.
            cached = torch.cuda.memory_reserved(self._place) - torch.cuda.memory_allocated(self._place)
            return int(torch.cuda.mem_get_info(self._place)[0] + cached)
        if self.library == "cupy":
            cupy = importlib.import_module("cupy")
            with self._place:
                cached = cupy.get_default_memory_pool().free_bytes()
                return int(cupy.cuda.runtime.memGetInfo()[0] + cached)
        return None

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Return whether an error means that the device is out of memory."""
        name = type(error).__name__
        # A lack of page-locked memory is a general CUDA error, whose class depends on the version of PyTorch.
        is_cuda = isinstance(error, RuntimeError) and "CUDA error: out of memory" in str(error)
        return isinstance(error, MemoryError) or name in ("OutOfMemoryError", "_ArrayMemoryError") or is_cuda

    def release(self) -> None:
        """Release cached memory to the device."""
        if self.library == "torch" and self.device.name != CPU:
            importlib.import_module("torch").cuda.empty_cache()
        elif self.library == "cupy":
            importlib.import_module("cupy").get_default_memory_pool().free_all_blocks()

    def top_k(self, values: Array, k: int) -> tuple[Array, Array]:
        """Return the k largest entries of each row, in descending order, and their indices."""
        if self.library == "torch":
            largest, indices = importlib.import_module("torch").topk(values, k, dim=1)
            return largest, indices
        if self.library in ("numpy", "cupy") and k < values.shape[1]:
            found = self.xp.argpartition(values, values.shape[1] - k, axis=1)[:, -k:]
            order = self.xp.argsort(-self.xp.take_along_axis(values, found, axis=1), axis=1)
            found = self.xp.take_along_axis(found, order, axis=1)
        else:
            found = self.xp.argsort(values, axis=1, descending=True)[:, :k]
        return self.xp.take_along_axis(values, found, axis=1), found

    def second(self, values: Array, places: Array) -> Array:
        """Return the largest entry of each row other than the one at a given index; -inf if there is no other."""
        if self.library == "array_api_strict":
            is_one = self.xp.arange(values.shape[1])[None, :] == places
            return self.xp.max(self.xp.where(is_one, -self.xp.inf, values), axis=1)
        # The values are overwritten for a moment, because copying all of them would take as long as the rest of
        # this method.
        taken = self.xp.take_along_axis(values, places, axis=1)
        self._put(values, places, -self.xp.inf)
        second = self.xp.max(values, axis=1)
        self._put(values, places, taken)
        return second

    def _put(self, values: Array, places: Array, new: Any) -> None:
        """Replace one entry of each row."""
        if self.library == "torch":
            values.scatter_(1, places, new)
        else:
            values[self.xp.arange(values.shape[0])[:, None], places] = new

    @property
    def has_sparse_products(self) -> bool:
        """Whether `sparse_product` is faster than a dense product if most entries are zero."""
        return self.library != "array_api_strict"

    def sparse_product(self, rows: Any, matrix: Array) -> Array:
        """Multiply sparse rows on the host (a SciPy CSR array) by a matrix on the device."""
        if self.library == "torch":
            torch = importlib.import_module("torch")
            arrays = (np.asarray(rows.indptr, np.int64), np.asarray(rows.indices, np.int64), rows.data)
            starts, columns, values = (torch.from_numpy(each).to(self._place) for each in arrays)
            with warnings.catch_warnings():
                # PyTorch warns once that its sparse matrices are new, and that it does not check them.
                warnings.simplefilter("ignore", UserWarning)
                left = torch.sparse_csr_tensor(starts, columns, values.to(self.dtype), size=rows.shape)
                return left @ matrix
        if self.library == "cupy":
            on_device = importlib.import_module("cupyx.scipy.sparse").csr_matrix(rows)
            return on_device.astype(self.dtype) @ matrix
        return sparse.csr_array(rows).astype(self.dtype) @ matrix

    def synchronise(self) -> None:
        """Wait until the device has finished all pending work."""
        if self.library == "torch" and self.device.name != CPU:
            importlib.import_module("torch").cuda.synchronize(self._place)
        elif self.library == "cupy":
            importlib.import_module("cupy").cuda.get_current_stream().synchronize()


def as_backend(device: Any) -> Backend | None:
    """Return the backend for the value of a `device` parameter; None for the compiled kernels on the processor.

    Parameters
    ----------
    device : {"cpu", "auto"}, name of a device, or Device
        "auto" selects a GPU if there is one.

    Examples
    --------
    >>> as_backend("cpu") is None
    True
    >>> as_backend("tpu")
    Traceback (most recent call last):
        ...
    fairbandits.models.device.backend.DeviceError: device must be "cpu", "cuda", "cuda:N" or "auto", got 'tpu'
    """
    if device == AUTO:
        try:
            return _backend_for(Device("cuda"), is_optional=True)
        except (DeviceError, ImportError):
            return None
    wanted = device if isinstance(device, Device) else Device(device)
    if wanted.name == CPU and wanted.library is None:
        return None
    return _backend_for(wanted)


@functools.lru_cache(maxsize=16)
def _backend_for(device: Device, is_optional: bool = False) -> Backend:
    # One backend for each device, so that its library is looked up once.
    return Backend(device, is_optional)


def _as_float64(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(np.float64, copy=False) if array.dtype.kind == "f" else array


def _default_library(device: Device) -> str:
    for library in ("torch", "cupy"):
        try:
            importlib.import_module(library)
            return library
        except ImportError:
            continue
    raise DeviceError(
        f"device must be available, got {device.name!r}, but neither PyTorch nor CuPy is installed; "
        f'{install_hint("gpu")}, or use device="auto" for the processor where there is no GPU'
    )


def _namespace(library: str) -> Any:
    if library == "array_api_strict":
        return importlib.import_module(library)
    try:
        return importlib.import_module(f"array_api_compat.{library}")
    except ImportError as error:
        raise DeviceError(
            f"device needs array-api-compat and {library} ({error}); {install_hint('gpu')}"
        ) from None


def _find_place(library: str, device: Device) -> Any:
    """Return the device in the form that its library expects."""
    kind, _, number = device.name.partition(":")
    if library in ("numpy", "array_api_strict"):
        if kind != CPU:
            raise DeviceError(f'device must be "cpu" for {library}, got {device.name!r}')
        return None
    if library == "torch":
        torch = importlib.import_module("torch")
        if kind == CPU:
            return torch.device(CPU)
        available = torch.cuda.device_count()
    else:
        available = _count_cupy_devices()
    if int(number or 0) >= available:
        raise DeviceError(
            f"device must be available, got {device.name!r}, but {library} finds {available} CUDA device(s); "
            'use device="auto" for the processor where there is no GPU'
        )
    if library == "torch":
        # The number is always given; without it, the result would be the thread's current device.
        return torch.device(kind, int(number or 0))
    return importlib.import_module("cupy").cuda.Device(int(number or 0))


def _count_cupy_devices() -> int:
    cupy = importlib.import_module("cupy")
    try:
        return int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError:
        return 0
