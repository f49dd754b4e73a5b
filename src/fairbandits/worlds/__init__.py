"""Environments with known rewards: students and videos, tables of ratings or labels, real and synthetic data."""

from fairbandits.worlds.datasets.errors import DataError, DataMissingError
from fairbandits.worlds.datasets.loading import (
    fetch_dataset,
    find_dataset,
    load_dataset,
    load_students,
    load_videos,
)
from fairbandits.worlds.datasets.status import dataset_status
from fairbandits.worlds.features import PAPER_NAIVE_COLUMNS
from fairbandits.worlds.labelled import LabelledWorld
from fairbandits.worlds.modified_world import ModifiedWorld
from fairbandits.worlds.ratings import RatingsWorld
from fairbandits.worlds.real_data import AdultIncome, Compas, GermanCredit, MovieLens, Warfarin
from fairbandits.worlds.replay import ReplayWorld
from fairbandits.worlds.sample_tables import SampleTables
from fairbandits.worlds.students import StudentsAndVideos
from fairbandits.worlds.synthetic import LinearWorld, UnequalWorld
from fairbandits.worlds.world import TwinWorld, Visit, World

__all__ = [
    "PAPER_NAIVE_COLUMNS",
    "AdultIncome",
    "Compas",
    "DataError",
    "DataMissingError",
    "GermanCredit",
    "LabelledWorld",
    "LinearWorld",
    "ModifiedWorld",
    "MovieLens",
    "RatingsWorld",
    "ReplayWorld",
    "SampleTables",
    "StudentsAndVideos",
    "TwinWorld",
    "UnequalWorld",
    "Visit",
    "Warfarin",
    "World",
    "dataset_status",
    "fetch_dataset",
    "find_dataset",
    "load_dataset",
    "load_students",
    "load_videos",
]
