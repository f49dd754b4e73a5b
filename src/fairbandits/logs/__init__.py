"""Logs of past decisions in any storage format: reading, writing, and fitting policies to them."""

from fairbandits.categorical import Categorical, Label
from fairbandits.logs.chunk import Chunk
from fairbandits.logs.errors import LogError
from fairbandits.logs.fingerprint import Fingerprint
from fairbandits.logs.fitting import FitResult, fit
from fairbandits.logs.label_variants import label_variants
from fairbandits.logs.log import Log
from fairbandits.logs.offers import ArmTable, OfferBuilder, read_arms
from fairbandits.logs.roles import Roles
from fairbandits.logs.writing import write_log

__all__ = [
    "ArmTable",
    "Categorical",
    "Chunk",
    "Fingerprint",
    "FitResult",
    "Label",
    "Log",
    "LogError",
    "OfferBuilder",
    "Roles",
    "fit",
    "label_variants",
    "read_arms",
    "write_log",
]
