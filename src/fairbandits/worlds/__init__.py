"""Environments with known rewards: students and videos, tables of ratings or labels, and synthetic worlds."""

from fairbandits.worlds.datasets.loading import (
    dataset_status,
    fetch_dataset,
    find_dataset,
    load_students,
    load_videos,
)
from fairbandits.worlds.datasets.tables import DataError, DataMissingError
from fairbandits.worlds.features import PAPER_NAIVE_COLUMNS
from fairbandits.worlds.labelled import LabelledWorld
from fairbandits.worlds.modified_world import ModifiedWorld
from fairbandits.worlds.ratings import RatingsWorld
from fairbandits.worlds.replay import ReplayWorld
from fairbandits.worlds.sample_tables import SampleTables
from fairbandits.worlds.students import StudentsAndVideos
from fairbandits.worlds.synthetic import LinearWorld
from fairbandits.worlds.world import TwinWorld, Visit, World

__all__ = [
    "PAPER_NAIVE_COLUMNS",
    "DataError",
    "DataMissingError",
    "LabelledWorld",
    "LinearWorld",
    "ModifiedWorld",
    "RatingsWorld",
    "ReplayWorld",
    "SampleTables",
    "StudentsAndVideos",
    "TwinWorld",
    "Visit",
    "World",
    "dataset_status",
    "fetch_dataset",
    "find_dataset",
    "load_students",
    "load_videos",
]
