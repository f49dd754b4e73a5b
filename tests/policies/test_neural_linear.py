"""NeuralLinear: the posterior, written out for the network's representation; training, forgetting and files."""

import contextlib
import copy

import numpy as np
import pytest

from fairbandits import LinUCB, NeuralLinear
from fairbandits.models import as_rows
from fairbandits.models.neural_linear import NeuralLinearModel
from tests.helpers import contexts_for


def represent(layers, x):
    """The last hidden layer and a constant, unit by unit."""
    for weights, biases in layers:
        x = [max(sum(x[i] * weights[i, j] for i in range(len(x))) + biases[j], 0.0) for j in range(len(biases))]
    return np.array([*x, 1.0])


class TextbookNeuralLinear:
    """Bayesian linear regression with an inverse gamma prior on the noise, from all rewards at every round."""

    def __init__(self, ridge, a0, b0, is_shared):
        self.ridge, self.a0, self.b0, self.is_shared = ridge, a0, b0, is_shared
        self.learned = []

    def posterior(self, layers, arm):
        own = [(x, r) for other, x, r in self.learned if self.is_shared or other == arm]
        width = len(layers[-1][1]) + 1
        gram, moment, squares = self.ridge * np.eye(width), np.zeros(width), 0.0
        for x, reward in own:
            z = represent(layers, x)
            gram += np.outer(z, z)
            moment += reward * z
            squares += reward**2
        theta = np.linalg.solve(gram, moment)
        return theta, gram, self.a0 + len(own) / 2, self.b0 + (squares - theta @ gram @ theta) / 2

    def draw(self, layers, contexts, arms, rng):
        posteriors = [self.posterior(layers, arm) for arm in arms]
        n = 1 if self.is_shared else len(arms)
        sigma = np.sqrt(
            [b for *_, b in posteriors[:n]] / rng.standard_gamma([[a for _, _, a, _ in posteriors[:n]]])[0]
        )
        if self.is_shared:
            theta, gram, *_ = posteriors[0]
            noise = rng.standard_normal(len(theta))
            beta = theta + sigma[0] * np.linalg.solve(np.linalg.cholesky(gram).T, noise)
            return np.array([beta @ represent(layers, x) for x in contexts])
        # Arms are independent, so it is enough to draw the reward of each.
        rewards = []
        for i, (x, noise) in enumerate(zip(contexts, rng.standard_normal(len(arms)), strict=True)):
            theta, gram, *_ = posteriors[i]
            z = represent(layers, x)
            rewards.append(theta @ z + sigma[i] * noise * np.sqrt(z @ np.linalg.solve(gram, z)))
        return np.array(rewards)


@pytest.mark.parametrize("model", ["shared", "disjoint"])
@pytest.mark.parametrize("hidden", [(5,), (6, 4)])
def test_agrees_with_the_textbook_given_the_representation(model, hidden):
    """A run with two trainings; before, in between and after."""
    rng = np.random.default_rng(2)
    policy = NeuralLinear(model=model, hidden=hidden, ridge=0.25, noise_scale=0.5, random_state=4)
    textbook = TextbookNeuralLinear(0.25, 6.0, 0.5, model == "shared")
    policy.choose(contexts_for(rng, 4))
    arms = ["a", "b", "c", "d"]
    for t in range(80):
        contexts = contexts_for(rng, 4)
        layers = policy.reward_model.layers
        expected = textbook.draw(layers, contexts, arms, copy.deepcopy(policy._rng))
        decision = policy.choose(contexts, None, arms)
        np.testing.assert_allclose(decision.scores.total, expected, rtol=1e-9, atol=1e-9, err_msg=f"round {t}")
        assert decision.index == expected.argmax()
        reward = float(rng.random())
        policy.learn(decision, reward)
        textbook.learned.append((decision.arm, contexts[decision.index], reward))
        if t in (20, 60):
            policy.forget_arm(decision.arm)
            if model == "disjoint":
                textbook.learned = [each for each in textbook.learned if each[0] != decision.arm]


def test_draws_for_many_users_and_for_rows_not_scored_before():
    """A draw is `z' C'^-1 e` in widths, with `A = C C'`."""
    rng = np.random.default_rng(3)
    model = NeuralLinearModel(3, 0.5, "shared", (6,), 0.5)
    for _ in range(20):
        model.learn(0, as_rows(rng.random((1, 3))).row(0, 0), float(rng.random()))
    rows = as_rows(rng.random((12, 3)), n_users=4)
    drawn = model.sample(rows, np.zeros(3, np.int64), np.random.default_rng(5))
    e = np.random.default_rng(5).standard_normal((4, 7))
    beta = np.linalg.solve(np.linalg.cholesky(model.regression.gram_of(0)).T, e.T)
    z = np.array([represent(model.layers, x) for x in rows.toarray()]).reshape(4, 3, 7)
    width = model.score(rows, np.zeros(3, np.int64))[1]
    np.testing.assert_allclose(drawn * width, np.einsum("uaj,ju->ua", z, beta), rtol=1e-9, atol=1e-12)


def test_a_posterior_that_is_none_is_refused():
    model = NeuralLinearModel(2, 1.0, "shared", (3,), 0.5)
    model.learn(0, as_rows(np.eye(2)).row(0, 0), 0.5)
    model.regression._gram(0)[-1] = -1.0
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="contexts must keep A positive definite"):
        model.sample(as_rows(np.eye(2)), np.array([0, 1]), np.random.default_rng(0))


def test_the_network_is_trained_at_50_rewards_and_whenever_there_are_half_as_many_again():
    policy = NeuralLinear(hidden=(3,), random_state=0)
    rng, trained = np.random.default_rng(0), []
    policy.choose(contexts_for(rng))
    for t in range(1, 120):
        before = policy.reward_model.layers
        policy.learn(policy.choose(contexts_for(rng)), float(rng.random()))
        if policy.reward_model.layers is not before:
            trained.append(t)
    assert trained == [50, 75, 113]


def test_learns_what_no_linear_model_can():
    """The better arm is the one of its user's kind: an exclusive or."""

    def share_of_best(policy):
        rng, hits = np.random.default_rng(0), []
        for _ in range(900):
            user, arms = rng.integers(2), np.array([0.0, 1.0])
            contexts = np.column_stack([np.full(2, user), arms, np.ones(2)])
            decision = policy.choose(contexts, arms=[f"x{rng.integers(50)}", f"y{rng.integers(50)}"])
            hits.append(decision.index == user)
            policy.learn(decision, 0.5 + 0.3 * hits[-1] + 0.05 * rng.random())
        return np.mean(hits[600:])

    assert share_of_best(NeuralLinear(hidden=(16,), noise_scale=0.1, random_state=0)) > 0.95
    assert share_of_best(LinUCB(model="shared", random_state=0)) < 0.7


def test_the_same_rewards_lead_to_the_same_network_whatever_the_random_state():
    def taught(seed):
        policy, rng = NeuralLinear(hidden=(4,), random_state=seed), np.random.default_rng(0)
        for t in range(60):
            policy.learn(policy.choose(contexts_for(rng)[:1], arms=[t % 3]), float(rng.random()))
        return policy

    assert taught(1).checksum() == taught(2).checksum()


def test_contexts_too_large_to_train_on_keep_the_representation():
    policy = NeuralLinear(hidden=(3,), random_state=0)
    layers = None
    for t in range(55):
        decision = policy.choose(np.full((2, 2), 1e45))
        layers = policy.reward_model.layers if layers is None else layers
        with contextlib.suppress(ValueError):  # a regression that float64 cannot hold
            policy.learn(decision, t % 2)
    assert policy.reward_model.layers is layers
    assert np.isfinite(policy.score(np.ones((1, 2, 2))).total).all()


def test_a_damaged_state_is_refused():
    policy = NeuralLinear(hidden=(3,), random_state=0)
    policy.learn(policy.choose(np.eye(2)), 0.5)
    model = policy.reward_model
    arrays = model.arrays()
    with pytest.raises(ValueError, match=r"contexts has shape \(1, 2\), for 1 arms and 2 rewards"):
        model.restore({**arrays, "rewards": np.zeros(2)})
    with pytest.raises(ValueError, match=r"weights has shape \(3, 2\), for \(2, 3\)"):
        model.restore({**arrays, "weights.0": np.zeros((3, 2))})


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"hidden": ()}, r"hidden must be a tuple of positive integers, got \(\)"),
        ({"hidden": (5, 0)}, r"hidden must be a tuple of positive integers, got \(5, 0\)"),
        ({"hidden": 5}, r"hidden must be a tuple of positive integers, got 5"),
        ({"model": "hybrid"}, r"model must be one of disjoint, shared, got 'hybrid'"),
        ({"growth": 0.0}, r"growth must be a number above 0, got 0.0"),
        ({"noise_shape": 0.0}, r"noise_shape must be a number above 0, got 0.0"),
        ({"noise_scale": -1.0}, r"noise_scale must be a number above 0, got -1.0"),
    ],
)
def test_wrong_parameters_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        NeuralLinear(**params)


def test_parameters_can_change_until_something_is_learned():
    policy = NeuralLinear(random_state=0).set_params(hidden=(7,), growth=1.0)
    policy.learn(policy.choose(np.eye(2)), 0.5)
    assert policy.reward_model.regression.width == 8
    with pytest.raises(ValueError, match="hidden cannot be changed after learning"):
        policy.set_params(hidden=(3,))


def test_networks_are_not_sums_so_policies_do_not_merge():
    one, other = NeuralLinear(random_state=0), NeuralLinear(random_state=1)
    for policy in (one, other):
        policy.learn(policy.choose(np.eye(2)), 0.5)
    with pytest.raises(ValueError, match="policies with model=NeuralLinearModel cannot be merged"):
        one.merge(other)
