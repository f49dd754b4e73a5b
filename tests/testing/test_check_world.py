"""The checker of worlds: it lets good ones pass, and says of each fault what it is."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from fairbandits.testing import check_world
from fairbandits.worlds import LinearWorld, Visit

GOOD = Visit(np.eye(3), "a", np.full(3, 0.5), np.full(3, 0.5), arms=["x", "y", 3], part="test")


class Given:
    """A world that goes through the visits that it is given."""

    def __init__(self, *visits, length=None):
        self.given = visits
        self.length = len(visits) if length is None else length

    def __len__(self):
        return self.length

    def visits(self):
        return iter(self.given)


class Shared(LinearWorld):
    """A world with one generator for all readings."""

    def __post_init__(self):
        super().__post_init__()
        self.rng = np.random.default_rng(0)

    def visits(self):
        for visit in super().visits():
            yield replace(visit, rewards=self.rng.random(self.n_arms))


class Overwriting(LinearWorld):
    """A world that writes every context into the same array."""

    def visits(self):
        contexts = np.empty((self.n_arms, self.n_features))
        for visit in super().visits():
            contexts[:] = visit.contexts
            yield replace(visit, contexts=contexts)


class Once(Given):
    """A world that can be read once."""

    def __init__(self, *visits):
        super().__init__(*visits)
        self.iterator = iter(visits)

    def visits(self):
        return self.iterator


class Endless(LinearWorld):
    """A world that goes on for ever."""

    def visits(self):
        while True:
            yield from super().visits()


class Empty(LinearWorld):
    """A world that goes on for ever and gives nothing."""

    def visits(self):
        while True:
            yield


class Listed(Given):
    """A world that gives its visits all at once."""

    def visits(self):
        return list(self.given)


def test_good_worlds_pass():
    train = replace(GOOD, part="train", group=None, arms=None)
    check_world(Given(train, GOOD, replace(GOOD, group=1), replace(GOOD, group=None)))
    check_world(Given(replace(GOOD, contexts=scipy.sparse.csr_array(np.eye(3)))))
    check_world(Given(replace(GOOD, group={"sex": "f", "race": None}), replace(GOOD, group={"race": 1, "sex": 2})))
    two = np.array([0, 1])
    check_world(Given(GOOD, replace(GOOD, contexts=np.eye(3)[:2], expected=two, rewards=two, arms=None)))
    check_world(Given(replace(GOOD, rewards=np.array([-3.0, 0, 7]))), reward_range=None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contexts": np.ones(3)}, r"contexts must be a matrix with one row per arm; got 1 dimension"),
        ({"contexts": np.ones((0, 3))}, "contexts have no rows"),
        ({"contexts": np.full((3, 3), np.nan)}, "contexts hold 9 entries that are NaN"),
        ({"contexts": np.full((3, 3), "x")}, "contexts must be a matrix of numbers"),
        ({"contexts": np.eye(3) * 1j}, "contexts are complex; expected real numbers"),
        ({"contexts": scipy.sparse.csr_array(np.eye(3) * 1j)}, "contexts are complex"),
        ({"contexts": np.ones((3, 4))}, "contexts are 4 wide after 3"),
        ({"expected": np.ones(2)}, r"expected has shape \(2,\); expected \(3,\)"),
        ({"expected": [0.5, 0.5, 0.5]}, "expected is a list; expected a numpy array"),
        ({"rewards": [0.5, 0.5, 0.5]}, "rewards is a list; expected a numpy array"),
        ({"rewards": np.ones((3, 1))}, r"rewards has shape \(3, 1\)"),
        ({"rewards": np.ones(3) * 1j}, "rewards are complex128; expected real numbers"),
        ({"rewards": np.array([0, np.inf, 0])}, "rewards hold NaN or infinity"),
        ({"rewards": np.array([0, 2.0, 0])}, "rewards run from 0 to 2; expected 0 to 1"),
        ({"group": ["a"]}, "a group is a string or a whole number"),
        ({"group": ("a", 1)}, "a group is a string or a whole number"),
        ({"group": np.array(["a", "b"])}, "a group is a string or a whole number"),
        ({"group": {"sex": ["a"]}}, "a group is a string or a whole number"),
        ({"group": {}}, "group is an empty mapping"),
        ({"group": {1: "a"}}, "named by a non-empty string"),
        ({"group": {"sex": "a"}}, r"the group names \['sex'\] after \[\]"),
        ({"arms": ["x"]}, r"got 1 arm id\(s\) for 3 row"),
        ({"arms": ["x", "y", "x"]}, "arm ids must differ"),
        ({"arms": ["x", "y", 0.5]}, "an arm id is a string or a whole number; got 0.5"),
        ({"arms": ["x", "y", True]}, "an arm id is a string or a whole number; got True"),
        ({"arms": "xyz"}, "arms must be a sequence of ids"),
        ({"part": "exam"}, "part is 'exam'; expected 'train' or 'test'"),
        ({"part": "train"}, "a 'train' round after a 'test' round"),
    ],
)
def test_a_bad_round_is_named(change, message):
    with pytest.raises(AssertionError, match=message) as caught:
        check_world(Given(GOOD, replace(GOOD, **change)))
    assert str(caught.value).startswith("round 1: ")


@pytest.mark.parametrize(
    ("world", "message"),
    [
        (object(), "object is not a World"),
        (Given(GOOD, length=2), r"gave 1 rounds but len\(\) says 2"),
        (Endless(rounds=5), r"gave more than 5 rounds but len\(\) says 5"),
        (Empty(rounds=5), "round 0: visits.. gave a NoneType; yield Visit records"),
        (Listed(GOOD), "visits.. gave a list; expected an iterator"),
        (Given(), "the world has no rounds"),
        (Given("visit"), "round 0: visits.. gave a str; yield Visit records"),
        (Shared(rounds=5), "round 0: rewards differ between two readings; .* seed a new generator"),
        (Overwriting(rounds=5), "the contexts of round 0 changed after they were handed out"),
        (Once(GOOD, "visit"), "round 0: visits.. gave a str"),
        (Once(GOOD), "round 0: one reading ended before the other"),
        (Once(GOOD, replace(GOOD, group="b")), "group is 'a' in one reading and 'b' in another"),
        (Once(GOOD, replace(GOOD, arms=None)), "arms differ between two readings"),
    ],
)
def test_a_bad_world_is_told(world, message):
    with pytest.raises(AssertionError, match=message):
        check_world(world)
