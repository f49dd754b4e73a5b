"""FairX-UCB and FairX-TS: exposure in proportion to merit, as an independent implementation has it."""

import copy
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fairbandits import FairXTS, FairXUCB, LinUCB
from fairbandits.policies.merit import Merit

MERITS = {"exponential": lambda mu, c: math.exp(c * mu), "power": lambda mu, c: 1.0 + mu**c}
WIDTH, N_ARMS = 4, 5


def fair_shares(mu, merit, c):
    """Return the share of each arm in the merit of all."""
    f = [MERITS[merit](each, c) for each in mu]
    return [each / sum(f) for each in f]


def earned(mu, merit, c):
    return sum(share * each for share, each in zip(fair_shares(mu, merit, c), mu, strict=True))


class TextbookFairX:
    """Ridge regressions that are solved in every round, and the best corner of the box by trying them all."""

    def __init__(self, model, alpha, merit, c):
        self.model, self.alpha, self.merit, self.c = model, alpha, merit, c
        self.rows = {}

    def key(self, arm):
        return arm if self.model == "disjoint" else 0

    def solved(self, arm):
        A, b = np.eye(WIDTH), np.zeros(WIDTH)
        for x, reward in self.rows.get(self.key(arm), []):
            A += np.outer(x, x)
            b += reward * x
        return A, np.linalg.solve(A, b)

    def intervals(self, contexts):
        found = []
        for arm, x in enumerate(contexts):
            A, theta = self.solved(arm)
            half = self.alpha * math.sqrt(x @ np.linalg.solve(A, x))
            found.append([min(max(x @ theta + side, 0.0), 1.0) for side in (-half, half)])
        return found

    def probabilities(self, contexts):
        corners = itertools.product(*self.intervals(contexts))
        return fair_shares(max(corners, key=lambda mu: earned(mu, self.merit, self.c)), self.merit, self.c)

    def learn(self, arm, x, reward):
        self.rows.setdefault(self.key(arm), []).append((x, reward))


def rounds(n, seed=0):
    rng = np.random.default_rng(seed)
    theta = rng.random(WIDTH) / 2.0
    for _ in range(n):
        contexts = rng.random((N_ARMS, WIDTH))
        yield contexts, lambda x: float(np.clip(x @ theta + 0.1 * rng.normal(), 0.0, 1.0))


@pytest.mark.parametrize(
    ("merit", "c"), [("exponential", 8.0), ("exponential", 0.5), ("power", 1.0), ("power", 4.0)]
)
@pytest.mark.parametrize("model", ["disjoint", "shared"])
def test_fairx_ucb_is_the_textbook(model, merit, c):
    policy = FairXUCB(model=model, alpha=0.4, merit=merit, steepness=c, random_state=0)
    textbook = TextbookFairX(model, 0.4, merit, c)
    for contexts, reward_of in rounds(120):
        expected = textbook.probabilities(contexts)
        np.testing.assert_allclose(policy.probabilities(contexts[None])[0], expected, rtol=1e-9, atol=1e-9)
        decision = policy.choose(contexts)
        assert decision.probability == pytest.approx(expected[decision.index], abs=1e-9)
        x = contexts[decision.index]
        reward = reward_of(x)
        policy.learn(decision, reward)
        textbook.learn(decision.arm, x, reward)


@pytest.mark.parametrize("model", ["disjoint", "shared"])
def test_fairx_ts_is_the_textbook_with_the_same_draws(model):
    policy = FairXTS(model=model, alpha=0.3, merit="power", steepness=2.0, random_state=1)
    textbook = TextbookFairX(model, 0.3, "power", 2.0)
    for contexts, reward_of in rounds(120, seed=1):
        rng = copy.deepcopy(policy._rng)
        decision = policy.choose(contexts)
        normal = rng.standard_normal((1, WIDTH if model == "shared" else N_ARMS))[0]
        drawn = []
        for arm, x in enumerate(contexts):
            A, theta = textbook.solved(arm)
            if model == "shared":
                # A = L L', so that L'^-1 z has the covariance A^-1.
                mu = x @ (theta + 0.3 * np.linalg.solve(np.linalg.cholesky(A).T, normal))
            else:
                mu = x @ theta + 0.3 * math.sqrt(x @ np.linalg.solve(A, x)) * normal[arm]
            drawn.append(min(max(mu, 0.0), 1.0))
        np.testing.assert_allclose(decision.scores.total, drawn, rtol=1e-9, atol=1e-9)
        expected = np.searchsorted(np.cumsum(fair_shares(drawn, "power", 2.0)), rng.random(), side="right")
        assert decision.arm == expected
        assert decision.probability is None
        x = contexts[decision.index]
        reward = reward_of(x)
        policy.learn(decision, reward)
        textbook.learn(decision.arm, x, reward)


UNIT = st.floats(0.0, 1.0)
BOXES = st.lists(st.tuples(UNIT, UNIT, UNIT), min_size=1, max_size=6)
FUNCTIONS = st.tuples(st.just("exponential"), st.floats(0.0, 30.0)) | st.tuples(
    st.just("power"), st.floats(1.0, 30.0)
)


@settings(max_examples=200, deadline=None)
@given(BOXES, FUNCTIONS)
def test_no_point_of_the_box_earns_more(box, function):
    low, high = np.sort([each[:2] for each in box], axis=1).T
    inside = low + (high - low) * np.array([each[2] for each in box])
    best = Merit(*function).optimistic(low[None], high[None])[0]
    assert ((best >= low) & (best <= high)).all()
    value = earned(best, *function)
    assert value >= earned(inside, *function) - 1e-12
    assert (
        value
        >= max(earned(corner, *function) for corner in itertools.product(*zip(low, high, strict=True))) - 1e-12
    )


@settings(max_examples=200, deadline=None)
@given(BOXES, FUNCTIONS)
def test_the_regrets_of_a_round_are_bounded_by_what_was_not_known(box, function):
    """The two inequalities on which the bounds rest: gamma is 1, L the Lipschitz constant, mu the truth."""
    kind, c = function
    lipschitz = c * math.exp(c) if kind == "exponential" else c
    low, high = np.sort([each[:2] for each in box], axis=1).T
    truth = low + (high - low) * np.array([each[2] for each in box])
    merit = Merit(*function)
    optimistic = merit.optimistic(low[None], high[None])
    (ours,), (fair,) = merit.shares(optimistic), merit.shares(truth[None])
    off = float(ours @ np.abs(optimistic[0] - truth))
    assert np.abs(ours - fair).sum() <= 2.0 * lipschitz * off + 1e-9
    assert fair @ truth - ours @ truth <= off + 1e-9


def test_the_intervals_of_the_shared_model_allow_all_that_the_ellipsoid_allows():
    policy = FairXUCB(model="shared", alpha=0.5, merit="exponential", steepness=5.0, random_state=0)
    for contexts, reward_of in rounds(40):
        decision = policy.choose(contexts)
        policy.learn(decision, reward_of(contexts[decision.index]))
    theta, A = policy.coefficients(), policy.reward_model.gram_of(0)
    optimistic = earned(policy.score(contexts[None]).total[0], "exponential", 5.0)
    rng = np.random.default_rng(0)
    for _ in range(500):
        direction = np.linalg.solve(np.linalg.cholesky(A).T, rng.normal(size=WIDTH))
        direction *= 0.5 * rng.random() / math.sqrt(direction @ A @ direction)
        assert earned((contexts @ (theta + direction)).clip(0.0, 1.0), "exponential", 5.0) <= optimistic + 1e-12


def test_exposure_becomes_proportional_to_true_merit():
    rng = np.random.default_rng(5)  # not the stream from which the policies draw
    true = np.array([0.9, 0.5, 0.1])
    fair = fair_shares(true, "power", 2.0)
    for policy in (
        FairXUCB(merit="power", steepness=2.0, alpha=0.5, random_state=0),
        FairXTS(merit="power", steepness=2.0, alpha=0.5, random_state=0),
    ):
        for _ in range(3000):
            decision = policy.choose(np.ones((3, 1)))
            policy.learn(decision, float(rng.random() < true[decision.index]))
        shares = policy.merit_function().shares(policy.score(np.ones((1, 3, 1))).total)
        np.testing.assert_allclose(shares[0], fair, atol=0.04)
    greedy = LinUCB(random_state=0).probabilities(np.ones((1, 3, 1)))
    assert np.abs(greedy - fair).sum() > 0.0


def test_arms_and_slates_are_drawn_with_the_stated_probability():
    policy = FairXUCB(merit="exponential", steepness=3.0, alpha=0.0, random_state=0)
    for arm, reward in [("a", 0.9), ("b", 0.4), ("c", 0.1)] * 50:
        policy.learn(policy.choose([[1.0]], arms=[arm]), reward)
    arms = ["a", "b", "c"]
    (expected,) = policy.probabilities([[[1.0]] * 3], arms=arms)
    picked = policy.choose_many([[[1.0]] * 3] * 3000, arms=arms).picked
    counts = [picked.count(arm) for arm in arms]
    assert stats.chisquare(counts, 3000 * expected).pvalue > 1e-4
    slate = policy.choose([[1.0]] * 3, arms=arms, k=2)
    first, second = (expected[index] for index in slate.indices)
    assert slate.probability == pytest.approx(first * second / (1.0 - first))


def test_without_exploration_thompson_sampling_has_a_closed_form():
    policy = FairXTS(alpha=0.0, random_state=0)
    assert policy.choose([[1.0], [1.0]]).probability == pytest.approx(0.5)


def test_wrong_parameters_are_refused():
    with pytest.raises(ValueError, match="merit must be one of exponential, power, got 'linear'"):
        FairXUCB(merit="linear")
    with pytest.raises(ValueError, match=r"steepness must be a number of at least 0 and at most 500, got -1.0"):
        FairXTS(steepness=-1.0)
    with pytest.raises(ValueError, match=r'steepness must be at least 1 for merit="power", got 0.5; use merit='):
        FairXUCB(merit="power", steepness=0.5)
