"""Logs of past decisions: who gained what, what another policy would have done, policies that start warm."""

from fairbandits.coded import Coded, Label
from fairbandits.logs.audit import Audit, audit, metric_frame
from fairbandits.logs.chunk import Chunk
from fairbandits.logs.contexts import Encoder
from fairbandits.logs.errors import LogError
from fairbandits.logs.fitting import Fitted, fit
from fairbandits.logs.judge import Judgement, judge
from fairbandits.logs.log import Log
from fairbandits.logs.offers import ArmTable, Offers, read_arms
from fairbandits.logs.roles import Roles
from fairbandits.logs.write import write_log

__all__ = [
    "ArmTable",
    "Audit",
    "Chunk",
    "Coded",
    "Encoder",
    "Fitted",
    "Judgement",
    "Label",
    "Log",
    "LogError",
    "Offers",
    "Roles",
    "audit",
    "fit",
    "judge",
    "metric_frame",
    "read_arms",
    "write_log",
]
