"""Worlds as Gymnasium environments."""

import sys

import numpy as np
import pytest
import scipy.sparse
from gymnasium.utils.env_checker import check_env

from fairbandits.adapters.gymnasium import as_gymnasium
from fairbandits.worlds import LinearWorld, StudentsAndVideos, Visit


class TwoRounds:
    """A world of two rounds with the contexts it is given."""

    def __init__(self, *contexts):
        self.contexts = contexts

    def __len__(self):
        return len(self.contexts)

    def visits(self):
        for contexts in self.contexts:
            rewards = np.full(contexts.shape[0], 0.5)
            yield Visit(contexts, "a", rewards, rewards)


# The checker prefers bounded observations; a world has no bounds.
@pytest.mark.filterwarnings("ignore:.*Box observation space:UserWarning")
@pytest.mark.parametrize(
    "world",
    [LinearWorld(rounds=30), StudentsAndVideos(train=20, test=10, data="stand-in")],
    ids=["linear", "students"],
)
def test_the_environment_passes_the_checker_of_gymnasium(world):
    check_env(as_gymnasium(world), skip_render_check=True)


def test_an_episode_is_the_world():
    world = LinearWorld(rounds=5)
    env = as_gymnasium(world)
    observation, info = env.reset()
    for number, visit in enumerate(world.visits()):
        assert (observation == visit.contexts).all()
        assert info["group"] == visit.group
        assert info["part"] == "test"
        observation, reward, terminated, truncated, info = env.step(2)
        assert reward == visit.rewards[2]
        assert info["expected"] == visit.expected[2]
        assert info["best"] == visit.expected.max()
        assert info["delay"] == 0
        assert (terminated, truncated) == (number == 4, False)
    assert not observation.any()
    assert (info["group"], info["part"]) == (visit.group, "test")
    with pytest.raises(ValueError, match="call reset first"):
        env.step(0)


def test_sparse_contexts_are_made_dense():
    observation, _ = as_gymnasium(TwoRounds(scipy.sparse.csr_array(np.eye(3)))).reset()
    assert (observation == np.eye(3)).all()


def test_contexts_of_another_shape_are_refused():
    env = as_gymnasium(TwoRounds(np.eye(3), np.eye(4)))
    env.reset()
    with pytest.raises(ValueError, match=r"contexts must have shape \(3, 3\) in every round, got \(4, 4\)"):
        env.step(0)


@pytest.mark.parametrize("action", [-1, 3, 99, 0.5, "0", None])
def test_invalid_actions_are_refused(action):
    env = as_gymnasium(TwoRounds(np.eye(3), np.eye(3)))
    env.reset()
    with pytest.raises(ValueError, match=f"action must be the index of an arm, from 0 to 2, got {action!r}"):
        env.step(action)
    assert not env.step(np.int64(2))[2], "a refused step must not advance the world"


def test_without_gymnasium_the_error_names_the_extra_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(ImportError, match=r"as_gymnasium needs Gymnasium; .* pip install 'fairbandits\[gym\]'"):
        as_gymnasium(LinearWorld(rounds=5))
