"""Logs of past decisions: who gained what, what another policy would have done, policies that start warm."""

from fairbandits.coded import Coded, Label
from fairbandits.logs.chunk import Chunk
from fairbandits.logs.contexts import Encoder
from fairbandits.logs.errors import LogError
from fairbandits.logs.judge import judge
from fairbandits.logs.log import Log
from fairbandits.logs.roles import Roles

__all__ = ["Chunk", "Coded", "Encoder", "Label", "Log", "LogError", "Roles", "judge"]
