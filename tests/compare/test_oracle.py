"""The oracle against the full programme, and what a frontier must be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from fairbandits.compare.cell_sums import CellSums, counted_groups, difference, sum_up
from fairbandits.compare.oracle import optimum
from fairbandits.compare.suite import TEST_PART
from fairbandits.simulate.trace import Trace, as_objects

TOLERANCES = (0.0, 0.02, 0.1, 0.5)


def world_of(rewards, attributes):
    """A trace of rounds with these rewards of arms, in which anything was picked."""
    n = len(rewards)
    best, worst = rewards.max(axis=1), rewards.min(axis=1)
    words = as_objects([0] * n), as_objects(["test"] * n)
    groups = {name: as_objects(values) for name, values in attributes.items()}
    return Trace(best, best, best, worst, best, *words, groups)


def cells_of(rewards, attributes):
    """The cells of all rounds; sum_up looks at the last two fifths, so three are put before them."""
    times = 5
    stretched = {name: values * times for name, values in attributes.items()}
    cells = sum_up(world_of(np.tile(rewards, (times, 1)), stretched))[1][TEST_PART]
    assert cells.count.sum() == 2 * len(rewards)
    return cells


def full_programme(rewards, attributes, tolerance):
    """One variable for each round and arm: the probability of the pick."""
    rounds, arms = rewards.shape
    value = rewards.ravel() / rounds
    one_pick = np.kron(np.eye(rounds), np.ones(arms))
    pairs = []
    for values in attributes.values():
        names = sorted(set(values) - {None})
        shares = {name: np.array([v == name for v in values]) / values.count(name) for name in names}
        means = {name: (rewards * share[:, None]).ravel() for name, share in shares.items()}
        pairs += [means[one] - means[other] for one in names for other in names if one != other]
    limits = {"A_ub": np.array(pairs), "b_ub": np.full(len(pairs), tolerance)}
    solved = linprog(-value, **limits, A_eq=one_pick, b_eq=np.ones(rounds), bounds=(0, 1), method="highs")
    return None if solved.x is None else -solved.fun


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tolerance", TOLERANCES)
def test_the_small_programme_has_the_optimum_of_the_full_one(seed, tolerance):
    rng = np.random.default_rng(seed)
    rewards = rng.random((18, 4)) * rng.random((18, 1))
    attributes = {"sex": rng.choice(["f", "m"], 18).tolist(), "race": rng.choice(["x", "y", "z"], 18).tolist()}
    cells = cells_of(rewards, attributes)
    found = optimum(cells, tolerance, counted_groups([cells]))
    full = full_programme(rewards, attributes, tolerance)
    if full is None:  # two attributes can ask for what no policy can do
        assert found is None
    else:
        assert found.reward == pytest.approx(full, abs=1e-7)
        assert difference(found.groups) <= tolerance + 1e-7


def test_a_user_of_no_known_group_gets_the_best():
    rewards = np.array([[0.2, 0.9], [0.1, 0.5], [0.3, 1.0]])
    attributes = {"sex": ["f", "m", None]}
    cells = cells_of(rewards, attributes)
    found = optimum(cells, 0.0, counted_groups([cells]))
    assert found.reward == pytest.approx((0.5 + 0.5 + 1.0) / 3)
    assert found.reward == pytest.approx(full_programme(rewards, attributes, 0.0))


def test_where_no_policy_can_keep_it():
    rewards = np.array([[0.1, 0.2], [0.8, 0.9]])
    cells = cells_of(rewards, {"sex": ["f", "m"]})
    groups = counted_groups([cells])
    assert optimum(cells, 0.5, groups) is None
    assert full_programme(rewards, {"sex": ["f", "m"]}, 0.5) is None
    assert optimum(cells, 0.6 + 1e-9, groups).reward == pytest.approx((0.2 + 0.8) / 2)


def test_without_groups_there_is_nothing_to_tolerate():
    cells = cells_of(np.array([[0.1, 0.2], [0.8, 0.9]]), {})
    assert optimum(cells, 0.0, {}).reward == pytest.approx(0.55)


@st.composite
def some_cells(draw):
    values = st.floats(0, 1, allow_subnormal=False)
    names = [(("sex", sex), ("race", race)) for sex in "fm" for race in "xyz"][: draw(st.integers(2, 6))]
    bounds = np.sort([[draw(values), draw(values)] for _ in names])
    bounds[:, 0] = bounds[:, 0].min()  # so that any tolerance can be kept
    bounds[:, 1] = np.maximum(bounds[:, 1], bounds[:, 0])
    count = np.array([float(draw(st.integers(1, 50))) for _ in names])
    return CellSums(tuple(names), count, bounds[:, 1], bounds[:, 1], bounds[:, 0])


@settings(max_examples=40, deadline=None)
@given(some_cells())
def test_a_frontier_rises_ever_slower_to_the_best_of_all(cells):
    groups = cells.rounds()
    rewards = np.array([optimum(cells, tolerance, groups).reward for tolerance in np.linspace(0, 1, 9)])
    steps = np.diff(rewards)
    assert (steps >= -1e-7).all()
    assert (np.diff(steps) <= 1e-6).all()
    assert rewards[-1] == pytest.approx(cells.total(cells.best), abs=1e-7)
