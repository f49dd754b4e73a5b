"""The oracle against the full linear programme, and the shape of its frontier."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from fairbandits.compare.oracle import optimum
from fairbandits.compare.run_summary import summarise_trace
from fairbandits.compare.subgroups import SubgroupMeans, assessed_groups, reward_gap
from fairbandits.compare.suite import TEST_PART
from fairbandits.simulate.trace import Trace, as_objects

TOLERANCES = (0.0, 0.02, 0.1, 0.5)


def trace_of(rewards, attributes):
    """Return a trace of rounds with these rewards of arms; the choices do not matter."""
    n = len(rewards)
    best, worst = rewards.max(axis=1), rewards.min(axis=1)
    labels = as_objects([0] * n), as_objects(["test"] * n)
    groups = {name: as_objects(values) for name, values in attributes.items()}
    return Trace(best, best, best, worst, best, *labels, groups)


def means_of(rewards, attributes):
    """Return the subgroup means of two copies of the rounds: the last two fifths of five copies are measured."""
    copies = 5
    repeated = {name: values * copies for name, values in attributes.items()}
    means = summarise_trace(trace_of(np.tile(rewards, (copies, 1)), repeated)).part(TEST_PART)
    assert means.count.sum() == 2 * len(rewards)
    return means


def full_programme(rewards, attributes, tolerance):
    """Solve the programme with one variable per round and arm: the probability of choosing the arm."""
    rounds, arms = rewards.shape
    value = rewards.ravel() / rounds
    one_choice = np.kron(np.eye(rounds), np.ones(arms))
    pairs = []
    for values in attributes.values():
        names = sorted(set(values) - {None})
        shares = {name: np.array([v == name for v in values]) / values.count(name) for name in names}
        means = {name: (rewards * share[:, None]).ravel() for name, share in shares.items()}
        pairs += [means[one] - means[other] for one in names for other in names if one != other]
    limits = {"A_ub": np.array(pairs), "b_ub": np.full(len(pairs), tolerance)}
    solution = linprog(-value, **limits, A_eq=one_choice, b_eq=np.ones(rounds), bounds=(0, 1), method="highs")
    return None if solution.x is None else -solution.fun


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tolerance", TOLERANCES)
def test_the_reduced_programme_has_the_optimum_of_the_full_one(seed, tolerance):
    rng = np.random.default_rng(seed)
    rewards = rng.random((18, 4)) * rng.random((18, 1))
    attributes = {"sex": rng.choice(["f", "m"], 18).tolist(), "race": rng.choice(["x", "y", "z"], 18).tolist()}
    means = means_of(rewards, attributes)
    oracle = optimum(means, tolerance, assessed_groups([means]))
    full = full_programme(rewards, attributes, tolerance)
    if full is None:  # with two attributes, no policy may be able to meet the tolerance
        assert oracle is None
    else:
        assert oracle.reward == pytest.approx(full, abs=1e-7)
        assert reward_gap(oracle.groups) <= tolerance + 1e-7


def test_a_user_of_unknown_group_gets_the_best_arm():
    rewards = np.array([[0.2, 0.9], [0.1, 0.5], [0.3, 1.0]])
    attributes = {"sex": ["f", "m", None]}
    means = means_of(rewards, attributes)
    oracle = optimum(means, 0.0, assessed_groups([means]))
    assert oracle.reward == pytest.approx((0.5 + 0.5 + 1.0) / 3)
    assert oracle.reward == pytest.approx(full_programme(rewards, attributes, 0.0))


def test_a_tolerance_that_no_policy_can_meet():
    rewards = np.array([[0.1, 0.2], [0.8, 0.9]])
    means = means_of(rewards, {"sex": ["f", "m"]})
    groups = assessed_groups([means])
    assert optimum(means, 0.5, groups) is None
    assert full_programme(rewards, {"sex": ["f", "m"]}, 0.5) is None
    assert optimum(means, 0.6 + 1e-9, groups).reward == pytest.approx((0.2 + 0.8) / 2)


def test_without_groups_the_oracle_loses_nothing():
    means = means_of(np.array([[0.1, 0.2], [0.8, 0.9]]), {})
    assert optimum(means, 0.0, {}).reward == pytest.approx(0.55)


@st.composite
def subgroup_means(draw):
    # Coarser than 1e-7: the solver of older SciPys takes what is feasible by less for infeasible.
    values = st.integers(0, 100_000).map(lambda number: number / 100_000)
    names = [(("sex", sex), ("race", race)) for sex in "fm" for race in "xyz"][: draw(st.integers(2, 6))]
    bounds = np.sort([[draw(values), draw(values)] for _ in names])
    bounds[:, 0] = bounds[:, 0].min()  # so that any tolerance can be met
    bounds[:, 1] = np.maximum(bounds[:, 1], bounds[:, 0])
    count = np.array([float(draw(st.integers(1, 50))) for _ in names])
    return SubgroupMeans(tuple(names), count, bounds[:, 1], bounds[:, 1], bounds[:, 0])


@settings(max_examples=40, deadline=None)
@given(subgroup_means())
def test_the_optimum_is_concave_in_the_tolerance(means):
    groups = means.rounds_by_group()
    rewards = np.array([optimum(means, tolerance, groups).reward for tolerance in np.linspace(0, 1, 9)])
    steps = np.diff(rewards)
    assert (steps >= -1e-7).all()
    assert (np.diff(steps) <= 1e-6).all()
    assert rewards[-1] == pytest.approx(means.overall_mean(means.best), abs=1e-7)
