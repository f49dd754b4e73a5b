"""Logs of past decisions: read and written, whatever they are stored in; policies learned from them."""

from fairbandits.categorical import Categorical, Label
from fairbandits.logs.chunk import Chunk
from fairbandits.logs.encoder import ContextEncoder
from fairbandits.logs.errors import LogError
from fairbandits.logs.fitting import Fitted, fit
from fairbandits.logs.log import Log
from fairbandits.logs.offers import ArmTable, Offers, read_arms
from fairbandits.logs.roles import Roles
from fairbandits.logs.writing import write_log

__all__ = [
    "ArmTable",
    "Categorical",
    "Chunk",
    "ContextEncoder",
    "Fitted",
    "Label",
    "Log",
    "LogError",
    "Offers",
    "Roles",
    "fit",
    "read_arms",
    "write_log",
]
