"""Scoring many users against many arms on a GPU, or with any other library that has the array API."""

from __future__ import annotations

from fairbandits.models.device.backend import Backend, Device, DeviceError, as_backend
from fairbandits.models.device.scorers import DeviceScorer, scorer_for

__all__ = ["Backend", "Device", "DeviceError", "DeviceScorer", "as_backend", "scorer_for"]
