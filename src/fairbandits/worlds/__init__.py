"""Where the true reward is known: students and videos, and synthetic worlds."""

from fairbandits.worlds.datasets.loading import fetch, load_students, load_videos, locate, status
from fairbandits.worlds.datasets.tables import DataError, DataMissingError
from fairbandits.worlds.encode import PAPER_NAIVE_COLUMNS
from fairbandits.worlds.students import StudentsAndVideos
from fairbandits.worlds.synthetic import LinearWorld
from fairbandits.worlds.world import TwinWorld, Visit, World

__all__ = [
    "PAPER_NAIVE_COLUMNS",
    "DataError",
    "DataMissingError",
    "LinearWorld",
    "StudentsAndVideos",
    "TwinWorld",
    "Visit",
    "World",
    "fetch",
    "load_students",
    "load_videos",
    "locate",
    "status",
]
