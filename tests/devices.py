"""The devices on which tests of batch scoring run: the processor everywhere, and a GPU where there is one."""

from fairbandits.models.device import Device, DeviceError, as_backend

NUMPY = Device("cpu", library="numpy")
_OPTIONAL = {
    "torch on the processor": Device("cpu", library="torch"),
    "torch": Device("cuda", library="torch"),
    "cupy": Device("cuda", library="cupy"),
}


def _is_available(device: Device) -> bool:
    try:
        return as_backend(device) is not None
    except (DeviceError, ImportError):
        return False


#: The devices of this machine by name. Development needs the first two: without their libraries, tests fail.
DEVICES = {
    "numpy": NUMPY,
    "array_api_strict": Device("cpu", library="array_api_strict"),
    **{name: device for name, device in _OPTIONAL.items() if _is_available(device)},
}
