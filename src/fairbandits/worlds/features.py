"""Features of students and videos: the paper's columns, education levels and video ratings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairbandits.worlds.datasets.tables import CATEGORIES, RANGES, Table

#: The quartiles of the 1,580 videos; a value on an edge belongs to the lower bin.
QUARTILES: dict[str, tuple[float, float, float]] = {
    "age": (619.75, 718.0, 743.0),
    "length": (82.0, 203.0, 385.5),
    "views": (282.5, 1213.5, 5623.5),
    "ratings": (3.0, 9.0, 29.0),
    "comments": (1.0, 5.0, 15.0),
}

#: The inner edges of the five equal bins of the rate, which runs from 0 to 5 stars.
RATE_EDGES = (1.0, 2.0, 3.0, 4.0)

#: The education level, as rewards use it, of each step that `education_step` returns.
EDUCATION_LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)

#: The 107 columns that describe a student.
STUDENT_COLUMNS: tuple[str, ...] = (
    *RANGES,
    *(f"{name}={value}" for name, values in CATEGORIES.items() for value in values),
)

#: The 25 columns that describe a video.
VIDEO_COLUMNS: tuple[str, ...] = (
    *(f"video-{name}=q{quarter}" for name in QUARTILES for quarter in (1, 2, 3, 4)),
    *(f"video-rate={low}-{low + 1}" for low in range(5)),
)

#: All 134 columns of a context: student, video, the speaker's sex, and whether student and speaker have the
#: same sex.
CONTEXT_COLUMNS: tuple[str, ...] = (*STUDENT_COLUMNS, *VIDEO_COLUMNS, "speaker=Male", "match")

#: The columns that the paper's naive policy drops: sex, and the columns it found correlated with sex.
PAPER_NAIVE_COLUMNS: tuple[str, ...] = (
    "sex=Male",
    "sex=Female",
    "marital-status=Divorced",
    "marital-status=Married-civ-spouse",
    "marital-status=Widowed",
    "relationship=Husband",
    "occupation=Adm-clerical",
    "income=<=50K",
)


def student_features(students: Table) -> NDArray[np.float64]:
    """Return one row of 107 numbers in [0, 1] per student, in the order of `STUDENT_COLUMNS`."""
    scaled = [(students[name][:, None] - low) / (high - low) for name, (low, high) in RANGES.items()]
    one_hot = [_one_hot(students[name], len(values)) for name, values in CATEGORIES.items()]
    return np.hstack(scaled + one_hot)


def education_step(students: Table) -> NDArray[np.intp]:
    """Return 0 (up to 8th grade), 1 (9th-12th), 2 (HS-grad), 3 (some college) or 4 (associate and above)."""
    return np.searchsorted([4, 8, 9, 10], students["education-num"], side="left")


def education_level(students: Table) -> NDArray[np.float64]:
    """Return the education level, in [0, 1], that the reward depends on."""
    return np.array(EDUCATION_LEVELS)[education_step(students)]


def video_features(videos: Table) -> NDArray[np.float64]:
    """Return one row of 25 zeros and ones per video, in the order of `VIDEO_COLUMNS`."""
    quartiles = [_one_hot(quartile_bin(videos, name), 4) for name in QUARTILES]
    return np.hstack([*quartiles, _one_hot(rate_bin(videos), 5)])


def video_rating(videos: Table) -> NDArray[np.float64]:
    """Return the rating, in [0, 1], that the reward depends on: the rate rounded to whole stars, divided by five.

    Halves are rounded to even, as by `numpy.rint`: 2.5 stars become 2, and 3.5 become 4.

    Examples
    --------
    >>> import numpy as np
    >>> video_rating(Table({"rate": np.array([2.5, 3.5, 4.5, 4.51])}, real=False)).tolist()
    [0.4, 0.8, 0.8, 1.0]
    """
    rating: NDArray[np.float64] = np.rint(videos["rate"]) / 5
    return rating


def quartile_bin(videos: Table, name: str) -> NDArray[np.intp]:
    """Return the quartile bin of each video in a column, 0 to 3."""
    return np.searchsorted(QUARTILES[name], videos[name], side="left")


def rate_bin(videos: Table) -> NDArray[np.intp]:
    """Return the bin of each video's rate, 0 to 4."""
    return np.searchsorted(RATE_EDGES, videos["rate"], side="left")


def _one_hot(codes: NDArray[np.intp], size: int) -> NDArray[np.float64]:
    return np.eye(size)[codes]
