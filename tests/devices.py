"""The devices on which tests of batch scoring run: NumPy everywhere, and a GPU where there is one."""

from fairbandits.models.device import Device, DeviceError, as_backend

_WANTED = {
    "numpy": Device("cpu", library="numpy"),
    "array_api_strict": Device("cpu", library="array_api_strict"),
    "torch on the processor": Device("cpu", library="torch"),
    "torch": Device("cuda", library="torch"),
    "cupy": Device("cuda", library="cupy"),
}


def _is_available(device: Device) -> bool:
    try:
        return as_backend(device) is not None
    except (DeviceError, ImportError):
        return False


#: The devices of this machine by name.
DEVICES = {name: device for name, device in _WANTED.items() if _is_available(device)}
NUMPY = _WANTED["numpy"]
