"""The stand-in: its counts are those of the real data, and its rows have these counts."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from fairbandits.worlds import load_students, load_videos
from fairbandits.worlds.datasets.stand_in import read_counts, stand_in_students, stand_in_videos
from fairbandits.worlds.datasets.stand_in_counts import COUNTS
from fairbandits.worlds.features import STUDENT_COLUMNS, student_features

TOOL = Path(__file__).parents[3] / "tools/summarise_data.py"


@pytest.fixture(scope="module")
def summarise():
    spec = importlib.util.spec_from_file_location("summarise_data", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool.summarise


def test_the_counts_are_those_of_the_real_data(real_folder, summarise):
    summary = summarise(load_students(real_folder), load_videos(real_folder))
    assert summary.keys() == COUNTS.keys()
    for name, numbers in summary.items():
        assert np.array_equal(numbers, read_counts(name)), name


def test_the_stand_in_has_the_counts_of_the_real_data(summarise):
    for name, numbers in summarise(stand_in_students(), stand_in_videos()).items():
        # Quantiles of integers move by one or two when they are interpolated.
        tolerance = 2 if name.startswith(("age |", "hours")) else 0
        assert np.abs(numbers - read_counts(name)).max() <= tolerance, name


def test_the_stand_in_is_the_same_every_time():
    again = stand_in_students.__wrapped__()
    for name, column in stand_in_students().columns.items():
        assert np.array_equal(column, again[name])
    again = stand_in_videos.__wrapped__()
    for name, column in stand_in_videos().columns.items():
        assert np.array_equal(column, again[name])


def test_the_stand_in_is_not_marked_as_real():
    assert not stand_in_students().real
    assert not stand_in_videos().real


def test_sex_correlates_with_the_same_columns_as_in_the_real_data(real_folder):
    correlations = []
    for students in (stand_in_students(), load_students(real_folder)):
        features = student_features(students)
        male = features[:, STUDENT_COLUMNS.index("sex=Male")]
        centred = features - features.mean(axis=0)
        correlations.append(male @ centred / len(male) / features.std(axis=0) / male.std())
    assert np.abs(correlations[0] - correlations[1]).max() < 0.08
