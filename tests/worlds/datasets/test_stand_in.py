"""The stand-in: its figures are those of the real data, and it comes out as they say."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from fairbandits.worlds import encode, load_students, load_videos
from fairbandits.worlds.datasets.stand_in import read_figures, standin_students, standin_videos
from fairbandits.worlds.figures import FIGURES

TOOL = Path(__file__).parents[3] / "tools/summarise_data.py"


@pytest.fixture(scope="module")
def summarise():
    spec = importlib.util.spec_from_file_location("summarise_data", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool.summarise


def test_the_figures_are_those_of_the_real_data(real_folder, summarise):
    summary = summarise(load_students(real_folder), load_videos(real_folder))
    assert summary.keys() == FIGURES.keys()
    for name, numbers in summary.items():
        assert np.array_equal(numbers, read_figures(name)), name


def test_the_standin_has_the_counts_it_was_dealt_from(summarise):
    for name, numbers in summarise(standin_students(), standin_videos()).items():
        # Quantiles of whole numbers move by one or two when they are spread out again.
        room = 2 if name.startswith(("age |", "hours")) else 0
        assert np.abs(numbers - read_figures(name)).max() <= room, name


def test_the_standin_is_the_same_every_time():
    again = standin_students.__wrapped__()
    for name, column in standin_students().columns.items():
        assert np.array_equal(column, again[name])
    again = standin_videos.__wrapped__()
    for name, column in standin_videos().columns.items():
        assert np.array_equal(column, again[name])


def test_the_standin_says_that_it_is_one():
    assert not standin_students().real
    assert not standin_videos().real


def test_sex_goes_with_the_same_columns_as_in_the_real_data(real_folder):
    correlations = []
    for students in (standin_students(), load_students(real_folder)):
        features = encode.student_features(students)
        male = features[:, encode.STUDENT_COLUMNS.index("sex=Male")]
        centred = features - features.mean(axis=0)
        correlations.append(male @ centred / len(male) / features.std(axis=0) / male.std())
    assert np.abs(correlations[0] - correlations[1]).max() < 0.08
