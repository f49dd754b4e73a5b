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


def test_good_worlds_pass():
    train = replace(GOOD, part="train", group=None, arms=None)
    check_world(Given(train, GOOD, replace(GOOD, group=("a", 1)), replace(GOOD, group=None)))
    check_world(Given(replace(GOOD, contexts=scipy.sparse.csr_array(np.eye(3)))))
    check_world(Given(replace(GOOD, group={"sex": "f", "race": None}), replace(GOOD, group={"race": 1, "sex": 2})))
    check_world(Given(GOOD, replace(GOOD, contexts=np.eye(3)[:2], expected=[0, 1], rewards=[0, 1], arms=None)))
    check_world(Given(replace(GOOD, rewards=np.array([-3.0, 0, 7]))), reward_range=None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contexts": np.ones(3)}, r"round 1: contexts have shape \(3,\); expected two dimensions"),
        ({"contexts": np.ones((0, 3))}, r"contexts have shape \(0, 3\)"),
        ({"contexts": np.full((3, 3), np.nan)}, "contexts hold NaN or infinity"),
        ({"contexts": np.full((3, 3), "x")}, "contexts are <U1; expected numbers"),
        ({"contexts": np.ones((3, 4))}, "contexts are 4 wide after 3"),
        ({"expected": np.ones(2)}, r"expected has shape \(2,\); expected \(3,\)"),
        ({"rewards": np.ones((3, 1))}, r"rewards has shape \(3, 1\)"),
        ({"rewards": np.array([0, np.inf, 0])}, "rewards hold NaN or infinity"),
        ({"rewards": np.array([0, 2.0, 0])}, "rewards run from 0 to 2; expected 0 to 1"),
        ({"group": ["a"]}, "the group .* cannot be hashed; use text"),
        ({"group": ("a", ["b"])}, "cannot be hashed"),
        ({"group": {"sex": ["a"]}}, "cannot be hashed"),
        ({"group": {}}, "group is an empty mapping"),
        ({"group": {1: "a"}}, "name them by text"),
        ({"group": {"sex": "a"}}, r"the group names \['sex'\] after \[\]"),
        ({"arms": ["x"]}, "1 arms for 3 rows"),
        ({"arms": ["x", "y", "x"]}, "two arms have the same id"),
        ({"arms": ["x", "y", 0.5]}, "use text or whole numbers"),
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
        (Given(), "the world has no rounds"),
        (Given("visit"), "round 0: visits.. gave a str; yield Visit records"),
        (Shared(rounds=5), "round 0: rewards differ between two readings; .* seed a new generator"),
        (Overwriting(rounds=5), "the contexts of round 0 changed after they were handed out"),
        (Once(GOOD), "round 0: one reading ended before the other"),
        (Once(GOOD, replace(GOOD, group="b")), "group is 'a' in one reading and 'b' in another"),
        (Once(GOOD, replace(GOOD, arms=None)), "arms differ between two readings"),
    ],
)
def test_a_bad_world_is_told(world, message):
    with pytest.raises(AssertionError, match=message):
        check_world(world)
