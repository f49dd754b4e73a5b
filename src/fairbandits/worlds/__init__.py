"""Where the true reward is known: students and videos, and synthetic worlds."""

from fairbandits.worlds.base import TwinWorld, Visit, World
from fairbandits.worlds.data import fetch, load_students, load_videos, locate, status
from fairbandits.worlds.encode import PAPER_NAIVE_COLUMNS
from fairbandits.worlds.gym import as_gymnasium
from fairbandits.worlds.students import StudentsAndVideos
from fairbandits.worlds.synthetic import LinearWorld
from fairbandits.worlds.tables import DataError, DataMissingError

__all__ = [
    "PAPER_NAIVE_COLUMNS",
    "DataError",
    "DataMissingError",
    "LinearWorld",
    "StudentsAndVideos",
    "TwinWorld",
    "Visit",
    "World",
    "as_gymnasium",
    "fetch",
    "load_students",
    "load_videos",
    "locate",
    "status",
]
