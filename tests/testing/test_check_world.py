"""check_world accepts valid worlds, and names the problem of every other."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from fairbandits.testing import check_world
from fairbandits.worlds import LinearWorld, Visit

GOOD = Visit(np.eye(3), "a", np.full(3, 0.5), np.full(3, 0.5), arms=["x", "y", 3], part="test")


class ListedWorld:
    """A world of the given visits."""

    def __init__(self, *visits, length=None):
        self.given = visits
        self.length = len(visits) if length is None else length

    def __len__(self):
        return self.length

    def visits(self):
        return iter(self.given)


class SharedGenerator(LinearWorld):
    """A world with one random generator for all iterations."""

    def __post_init__(self):
        super().__post_init__()
        self.rng = np.random.default_rng(0)

    def visits(self):
        for visit in super().visits():
            yield replace(visit, rewards=self.rng.random(self.n_arms))


class ReusedArray(LinearWorld):
    """A world that writes all contexts into the same array."""

    def visits(self):
        contexts = np.empty((self.n_arms, self.n_features))
        for visit in super().visits():
            contexts[:] = visit.contexts
            yield replace(visit, contexts=contexts)


class ReadOnce(ListedWorld):
    """A world with a single iterator."""

    def __init__(self, *visits):
        super().__init__(*visits)
        self.iterator = iter(visits)

    def visits(self):
        return self.iterator


class Endless(LinearWorld):
    """A world that never ends."""

    def visits(self):
        while True:
            yield from super().visits()


class EndlessNone(LinearWorld):
    """A world that never ends and yields no visits."""

    def visits(self):
        while True:
            yield


class NoIterator(ListedWorld):
    """A world whose visits() returns a list."""

    def visits(self):
        return list(self.given)


def test_rewards_may_be_missing_or_late_and_means_unknown():
    unknown = np.array([0.5, np.nan, np.nan])
    check_world(ListedWorld(replace(GOOD, rewards=np.full(3, np.nan)), replace(GOOD, delay=np.int64(9))))
    check_world(ListedWorld(replace(GOOD, expected=unknown, rewards=unknown)))


def test_valid_worlds_pass():
    train = replace(GOOD, part="train", group=None, arms=None)
    check_world(ListedWorld(train, GOOD, replace(GOOD, group=1), replace(GOOD, group=None)))
    check_world(ListedWorld(replace(GOOD, contexts=scipy.sparse.csr_array(np.eye(3)))))
    check_world(
        ListedWorld(replace(GOOD, group={"sex": "f", "race": None}), replace(GOOD, group={"race": 1, "sex": 2}))
    )
    two = np.array([0, 1])
    check_world(ListedWorld(GOOD, replace(GOOD, contexts=np.eye(3)[:2], expected=two, rewards=two, arms=None)))
    check_world(ListedWorld(replace(GOOD, rewards=np.array([-3.0, 0, 7]))), reward_range=None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contexts": np.ones(3)}, r"contexts must be a matrix with one row per arm, got 1 dimension"),
        ({"contexts": np.ones((0, 3))}, "contexts must have at least one row"),
        ({"contexts": np.full((3, 3), np.nan)}, "got 9 entries that are not"),
        ({"contexts": np.full((3, 3), "x")}, "contexts must be a matrix of numbers"),
        ({"contexts": np.eye(3) * 1j}, "contexts must be real numbers, got complex ones"),
        ({"contexts": scipy.sparse.csr_array(np.eye(3) * 1j)}, "contexts must be real numbers, got complex ones"),
        ({"contexts": np.ones((3, 4))}, "contexts must have the same columns in every round, got 4 after 3"),
        ({"expected": np.ones(2)}, r"expected must have shape \(3,\), .*, got \(2,\)"),
        ({"expected": [0.5, 0.5, 0.5]}, "expected must be a numpy array, got a list"),
        ({"rewards": [0.5, 0.5, 0.5]}, "rewards must be a numpy array, got a list"),
        ({"rewards": np.ones((3, 1))}, r"rewards must have shape \(3,\), .*, got \(3, 1\)"),
        ({"rewards": np.ones(3) * 1j}, "rewards must be real numbers, got complex128"),
        (
            {"rewards": np.array([0, np.inf, 0])},
            "rewards must be finite, or NaN if unknown, got infinity",
        ),
        ({"rewards": np.array([0, 2.0, 0])}, "rewards must be from 0 to 1, got 0 to 2"),
        ({"rewards": np.array([0, 2.0, np.nan])}, "rewards must be from 0 to 1, got 0 to 2"),
        (
            {"expected": np.array([0.5, np.nan, 0.5])},
            "expected is NaN where rewards is not; a mean may be unknown only if the reward is never seen",
        ),
        (
            {"expected": np.full(3, np.nan), "rewards": np.full(3, np.nan)},
            "expected must be known for at least one arm, got NaN for all",
        ),
        ({"delay": -1}, "delay must be a non-negative integer, got -1; use 0 for a reward that arrives at once"),
        ({"delay": 1.0}, "delay must be a non-negative integer, got 1.0"),
        ({"delay": True}, "delay must be a non-negative integer, got True"),
        ({"group": ["a"]}, "group must be a string, an integer, or a mapping"),
        ({"group": ("a", 1)}, "group must be a string, an integer, or a mapping"),
        ({"group": np.array(["a", "b"])}, "group must be a string, an integer, or a mapping"),
        ({"group": {"sex": ["a"]}}, "group must be a string, an integer, or a mapping"),
        ({"group": {}}, "a mapping of groups must have at least one attribute, got none"),
        ({"group": {1: "a"}}, "must be a non-empty string"),
        (
            {"group": {"sex": "a"}},
            r"groups must have the same attributes in every round, got \['sex'\] after \[\]",
        ),
        ({"arms": ["x"]}, r"one id per row of contexts, got 1 for 3"),
        ({"arms": ["x", "y", "x"]}, "arm ids must be unique"),
        ({"arms": ["x", "y", 0.5]}, "arm id must be a string or an integer, got 0.5"),
        ({"arms": ["x", "y", True]}, "arm id must be a string or an integer, got True"),
        ({"arms": "xyz"}, "arms must be a sequence of ids"),
        ({"part": "exam"}, "part must be 'train' or 'test', got 'exam'"),
        ({"part": "train"}, "a 'train' round follows a 'test' round"),
    ],
)
def test_an_invalid_round_is_named(change, message):
    with pytest.raises(AssertionError, match=message) as caught:
        check_world(ListedWorld(GOOD, replace(GOOD, **change)))
    assert str(caught.value).startswith("round 1: ")


@pytest.mark.parametrize(
    ("world", "message"),
    [
        (object(), "a world must have the methods .*, got a object"),
        (ListedWorld(GOOD, length=2), r"visits\(\) must yield len\(world\) = 2 rounds, got 1"),
        (Endless(rounds=5), r"visits\(\) must yield len\(world\) = 5 rounds, got more than 5"),
        (EndlessNone(rounds=5), r"round 0: visits\(\) must yield Visit objects, got a NoneType"),
        (NoIterator(GOOD), r"visits\(\) must return an iterator, got a list"),
        (ListedWorld(), "a world must have at least one round, got none"),
        (ListedWorld("visit"), r"round 0: visits\(\) must yield Visit objects, got a str"),
        (SharedGenerator(rounds=5), "round 0: rewards differ between two iterations; .* seed a new generator"),
        (ReusedArray(rounds=5), "the contexts of round 0 changed after they were yielded"),
        (ReadOnce(GOOD, "visit"), r"round 0: visits\(\) must yield Visit objects, got a str"),
        (ReadOnce(GOOD), "round 0: one iteration ended before the other"),
        (ReadOnce(GOOD, replace(GOOD, group="b")), "group is 'a' in one iteration and 'b' in another"),
        (ReadOnce(GOOD, replace(GOOD, arms=None)), "arms differ between two iterations"),
    ],
)
def test_an_invalid_world_is_refused(world, message):
    with pytest.raises(AssertionError, match=message):
        check_world(world)
