"""Columns, education levels and ratings of students and videos, against the facts of the paper."""

import numpy as np
import pytest

from fairbandits.worlds import load_students, load_videos
from fairbandits.worlds.datasets.tables import Table
from fairbandits.worlds.features import (
    CONTEXT_COLUMNS,
    PAPER_NAIVE_COLUMNS,
    QUARTILES,
    STUDENT_COLUMNS,
    VIDEO_COLUMNS,
    education_level,
    quartile_bin,
    rate_bin,
    student_features,
    video_features,
    video_rating,
)


def test_the_number_of_columns_is_that_of_the_paper():
    assert len(STUDENT_COLUMNS) == 107
    assert len(VIDEO_COLUMNS) == 25
    assert len(CONTEXT_COLUMNS) == 134
    assert len(set(CONTEXT_COLUMNS)) == 134


def test_the_naive_policy_drops_existing_columns():
    assert len(PAPER_NAIVE_COLUMNS) == 8
    assert set(PAPER_NAIVE_COLUMNS) <= set(STUDENT_COLUMNS)


def test_students(source):
    students = load_students(source)
    assert len(students) == 32_561
    assert np.bincount(students["sex"]).tolist() == [10_771, 21_790]
    features = student_features(students)
    assert features.shape == (32_561, 107)
    assert (features.min(), features.max()) == (0, 1)
    # Three numbers, then exactly one value of each of the nine categorical columns.
    assert (features[:, 3:].sum(axis=1) == 9).all()
    assert (features.max(axis=0) == 1).all()
    levels, counts = np.unique(education_level(students), return_counts=True)
    assert levels.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert counts.tolist() == [1_198, 3_055, 10_501, 7_291, 10_516]


def test_every_column_is_at_the_index_of_its_name(source):
    students = load_students(source)
    features = student_features(students)
    husband = features[:, STUDENT_COLUMNS.index("relationship=Husband")]
    assert (husband == (students.labels("relationship") == "Husband")).all()
    age = features[:, STUDENT_COLUMNS.index("age")]
    assert np.allclose(17 + 73 * age, students["age"])


def test_videos(source):
    videos = load_videos(source)
    assert len(videos) == 1_580
    features = video_features(videos)
    assert features.shape == (1_580, 25)
    assert (features.sum(axis=1) == 6).all()
    ratings, counts = np.unique(video_rating(videos), return_counts=True)
    assert np.allclose(ratings, [0, 0.2, 0.4, 0.6, 0.8, 1])
    assert counts.tolist() == [144, 23, 44, 106, 335, 928]


@pytest.mark.parametrize(
    ("number", "level"),
    [(1, 0), (4, 0), (5, 0.25), (8, 0.25), (9, 0.5), (10, 0.75), (11, 1), (16, 1)],
)
def test_education_levels(number, level):
    students = Table({"education-num": np.array([number])}, real=False)
    assert education_level(students) == level


def test_edges_belong_to_the_lower_bin():
    videos = Table(
        {"rate": np.array([0, 1.0, 1.01, 4.0, 5.0]), "length": np.array([82.0, 83, 203, 386, 1])}, False
    )
    assert rate_bin(videos).tolist() == [0, 0, 1, 3, 4]
    assert quartile_bin(videos, "length").tolist() == [0, 1, 1, 3, 0]


def test_the_quartiles_are_those_of_the_real_videos(real_folder):
    videos = load_videos(real_folder)
    for name, edges in QUARTILES.items():
        assert np.quantile(videos[name], [0.25, 0.5, 0.75]).tolist() == list(edges)


def test_education_and_its_number_agree(source):
    students = load_students(source)
    assert (students["education-num"] == students["education"] + 1).all()
