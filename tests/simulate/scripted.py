"""A small world from a list of visits, and a comparison of traces."""

import numpy as np

from fairbandits.worlds import Visit

SMALL = {"train": 60, "test": 40, "male_videos": 3, "female_videos": 7, "data": "stand-in"}


class ScriptedWorld:
    """A world of the given visits."""

    def __init__(self, visits):
        self._visits = visits

    def __len__(self):
        return len(self._visits)

    def visits(self):
        return iter(self._visits)


def one_arm_visit(reward, group, part="test"):
    rewards = np.array([reward])
    return Visit(np.ones((1, 1)), group, rewards, rewards, ["only"], part)


def assert_identical(trace, other):
    assert trace.to_bytes() == other.to_bytes()
    for name in ("reward", "expected", "best", "worst", "probability"):
        np.testing.assert_array_equal(getattr(trace, name), getattr(other, name))
