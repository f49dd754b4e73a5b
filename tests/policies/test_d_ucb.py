"""D-UCB and F-UCB, as an independent implementation has them."""

import math

import numpy as np
import pytest
from scipy import sparse

from fairbandits import DUCB, FUCB
from fairbandits.models import as_rows
from fairbandits.models.cell_means import CellMeans

NAMES = ["female", "male", "match", "length", "age"]
N_ARMS = 6


class TextbookUCB:
    """The rewards of each cell in a list; everything is computed afresh in every round."""

    def __init__(self, separators, delta):
        self.separators, self.delta = separators, delta
        self.rewards = {}

    def cell(self, x):
        return tuple(float(x[column]) for column in self.separators)

    def interval(self, x):
        """Return the mean of the cell, and half the width of its interval."""
        rewards = self.rewards.get(self.cell(x), [])
        mean = sum(rewards) / len(rewards) if rewards else 0.0
        return mean, math.sqrt(2.0 * math.log(1.0 / self.delta) / max(1, len(rewards)))

    def ucb(self, x):
        return sum(self.interval(x))

    def discrepancy(self, x):
        """Return the smallest and the largest difference to the twin that the intervals allow."""
        twin = [x[1], x[0], 1.0 - x[2], *x[3:]]
        (mean, half), (twin_mean, twin_half) = self.interval(x), self.interval(twin)
        largest = max(mean + half - (twin_mean - twin_half), twin_mean + twin_half - (mean - half))
        return abs(mean - twin_mean) - half - twin_half, largest

    def learn(self, x, reward):
        self.rewards.setdefault(self.cell(x), []).append(reward)


def rounds(n, seed=0):
    """Contexts of users and videos: the reward depends on sex, match and length, not on age."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        sex = rng.integers(2)
        contexts = np.zeros((N_ARMS, 5))
        contexts[:, sex] = 1.0
        contexts[:, 2] = rng.integers(2, size=N_ARMS)
        contexts[:, 3] = rng.integers(3, size=N_ARMS) / 2.0
        contexts[:, 4] = rng.random()
        yield contexts, ("female", "male")[sex], rng


def expected_reward(x):
    # A match is worth more for short videos; long ones are the same for everybody.
    return 0.2 + 0.2 * x[3] + 0.5 * (x[3] < 1.0) * x[2]


def noisy(x, rng):
    return float(rng.random() < expected_reward(x))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("separators", [["match", "length"], [0, 1, 2, 3]])
def test_d_ucb_is_the_textbook(separators, form):
    policy = DUCB(separators=separators, columns=NAMES, delta=0.1, random_state=0)
    numbers = [NAMES.index(each) if isinstance(each, str) else each for each in separators]
    textbook = TextbookUCB(numbers, 0.1)
    for contexts, group, rng in rounds(400):
        decision = policy.choose(form(contexts), group)
        scores = [textbook.ucb(x) for x in contexts]
        np.testing.assert_allclose(decision.scores.total, scores, rtol=1e-9, atol=1e-9)
        assert scores[decision.index] == pytest.approx(max(scores), abs=1e-9)
        x = contexts[decision.index]
        reward = noisy(x, rng)
        policy.learn(decision, reward)
        textbook.learn(x, reward)


def test_f_ucb_is_the_textbook():
    tolerance = 0.35
    policy = FUCB(
        swap=[("female", "male")],
        flip=["match"],
        separators=["match", "length"],
        columns=NAMES,
        delta=0.4,
        tolerance=tolerance,
        random_state=0,
    )
    textbook = TextbookUCB([2, 3], 0.4)
    chosen_from = {"fair": 0, "explored": 0}
    for contexts, group, rng in rounds(800):
        decision = policy.choose(contexts, group)
        scores = np.array([textbook.ucb(x) for x in contexts])
        smallest, largest = np.array([textbook.discrepancy(x) for x in contexts]).T
        is_fair = largest <= tolerance
        np.testing.assert_allclose(decision.scores.total[is_fair], scores[is_fair], rtol=1e-9, atol=1e-9)
        if is_fair.any():
            assert scores[decision.index] == pytest.approx(scores[is_fair].max(), abs=1e-9)
            assert is_fair[decision.index]
        else:
            assert smallest[decision.index] == pytest.approx(smallest.min(), abs=1e-9)
        chosen_from["fair" if is_fair.any() else "explored"] += 1
        x = contexts[decision.index]
        reward = noisy(x, rng)
        policy.learn(decision, reward)
        textbook.learn(x, reward)
    assert min(chosen_from.values()) > 50, "both cases must occur"


@pytest.mark.parametrize("seed", range(3))
def test_the_regret_of_d_ucb_is_within_its_bound(seed):
    delta, n_cells, n_rounds = 1e-4, 6, 1500
    policy = DUCB(separators=["match", "length"], columns=NAMES, delta=delta, random_state=seed)
    regret = 0.0
    for contexts, group, rng in rounds(n_rounds, seed):
        decision = policy.choose(contexts, group)
        expected = [expected_reward(x) for x in contexts]
        regret += max(expected) - expected[decision.index]
        policy.learn(decision, noisy(contexts[decision.index], rng))
    log = math.log(1.0 / delta)
    assert 0.0 < regret <= math.sqrt(32 * n_cells * n_rounds * log) + n_cells * math.sqrt(8 * log)


@pytest.mark.parametrize("seed", range(3))
def test_arms_that_f_ucb_keeps_are_fair(seed):
    tolerance, kept = 0.35, 0
    policy = FUCB(
        flip=["match"],
        separators=["match", "length"],
        columns=NAMES,
        delta=0.05,
        tolerance=tolerance,
        random_state=seed,
    )
    for contexts, group, rng in rounds(4000, seed):
        decision = policy.choose(contexts, group)
        x = contexts[decision.index]
        if decision.scores.fairness[decision.index] == 0.0:
            twin = x.copy()
            twin[2] = 1.0 - x[2]
            assert abs(expected_reward(x) - expected_reward(twin)) <= tolerance
            kept += 1
        policy.learn(decision, noisy(x, rng))
    assert kept > 500


def test_users_of_unknown_group_and_users_without_twins_are_served_as_by_d_ucb():
    contexts, group, _ = next(rounds(1))
    assert not FUCB(flip=[2]).score(contexts[None], [None]).fairness.any()
    assert FUCB(flip=[2]).score(contexts[None], [group]).fairness.any()
    assert not FUCB().score(contexts[None], [group]).fairness.any()


def test_the_default_tolerance_is_a_tenth_of_the_range():
    rows = [[[0.0, 1.0]]]
    for reward_range, tolerance in (((0, 1), 0.1), ((1, 5), 0.4)):
        low, high = reward_range
        for given, is_kept in ((None, True), (tolerance * 0.9, False)):
            policy = FUCB(flip=[0], delta=1.0, tolerance=given, reward_range=reward_range, random_state=0)
            for x, reward in (([0.0, 1.0], 0.5), ([1.0, 1.0], 0.595)):
                policy.learn(policy.choose([x], "a"), low + reward * (high - low))
            assert (policy.score(rows, ["a"]).fairness.item() == 0.0) is is_kept


def test_negative_zero_is_zero():
    policy = DUCB(random_state=0)
    policy.learn(policy.choose([[0.0, 1.0]]), 1.0)
    assert policy.score([[[-0.0, 1.0]]]).mean.item() == 1.0


def test_wrong_parameters_are_refused():
    for name in ("separators", "columns"):
        with pytest.raises(ValueError, match=f"{name} must be a list of columns, got 'match'"):
            DUCB(**{name: "match"})
    with pytest.raises(ValueError, match=r"delta must be a number above 0 and at most 1, got 0.0"):
        DUCB(delta=0.0)
    with pytest.raises(ValueError, match=r"separators must have columns in 0..1, got 7"):
        DUCB(separators=[7]).choose([[1.0, 0.0]])
    with pytest.raises(ValueError, match="tolerance must be a number of at least 0 or None, got -1"):
        FUCB(tolerance=-1)
    with pytest.raises(ValueError, match="flip must be a list of columns, got 'match'"):
        FUCB(flip="match")


def test_a_damaged_state_of_cells_is_refused():
    model = CellMeans(2)
    model.learn(0, as_rows([[1.0, 0.0]]).row(0, 0), 0.5)
    arrays = model.arrays()
    with pytest.raises(ValueError, match=r"cells must be 3 wide with a count and a sum each, got \(1, 2\)"):
        CellMeans(3).restore(arrays)
    with pytest.raises(ValueError, match="cells must differ"):
        model.restore({name: np.repeat(array, 2, axis=0) for name, array in arrays.items()})
    with pytest.raises(ValueError, match="row must be 2 wide, got 1"):
        model.learn(0, as_rows([[1.0]]).row(0, 0), 0.5)
