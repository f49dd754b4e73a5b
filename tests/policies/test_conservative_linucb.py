"""Conservative LinUCB: CLUCB and CLUCB2 as an independent implementation has them, and their constraint."""

import json
import math

import numpy as np
import pytest
from scipy import sparse

from fairbandits import Catalogue, ConservativeLinUCB, Decision, LinUCB, Model
from fairbandits.models import as_rows
from fairbandits.models.conservative import ConservativeModel
from fairbandits.policies import SufficientStatistics
from fairbandits.policies.baseline_rows import split_baseline, with_baseline

WIDTH, N_ARMS = 4, 6


class TextbookCLUCB:
    """Both algorithms of the paper with the sets of rounds written out; everything is summed up afresh."""

    def __init__(self, alpha, loss, reward):
        self.alpha, self.loss, self.reward = alpha, loss, reward
        self.optimistic, self.conservative = [], []  # (context, baseline's context, reward) of each round

    def solved(self):
        A, b = np.eye(WIDTH), np.zeros(WIDTH)
        # CLUCB does not learn from the baseline, whose reward it knows.
        for x, _, reward in self.optimistic + (self.conservative if self.reward is None else []):
            A += np.outer(x, x)
            b += reward * x
        return A, np.linalg.solve(A, b)

    def extreme(self, x, sign):
        """Return the lowest (sign -1) or highest (sign 1) theta.x in the confidence region."""
        A, theta = self.solved()
        return theta @ x + sign * self.alpha * math.sqrt(x @ np.linalg.solve(A, x))

    def choose(self, contexts, place):
        best = max(range(len(contexts)), key=lambda arm: self.extreme(contexts[arm], 1))
        z = sum((x for x, _, _ in self.optimistic), np.zeros(WIDTH))
        lowest = self.extreme(z + contexts[best], -1)
        if self.reward is not None:
            rounds = len(self.optimistic) + len(self.conservative) + 1
            is_safe = lowest + len(self.conservative) * self.reward >= (1 - self.loss) * rounds * self.reward
        else:
            v = sum((b for _, b, _ in self.optimistic), np.zeros(WIDTH))
            w = sum((x for x, _, _ in self.conservative), np.zeros(WIDTH))
            highest = self.extreme(v + contexts[place], 1)
            is_safe = lowest + self.loss * max(self.extreme(w, -1), 0.0) >= (1 - self.loss) * highest
        return best if is_safe else place

    def learn(self, contexts, arm, place, reward):
        rounds = self.conservative if arm == place else self.optimistic
        rounds.append((contexts[arm], contexts[place], reward))


def rounds(n, seed):
    rng = np.random.default_rng(seed)
    theta = np.array([0.5, 0.3, 0.2, 0.0])
    for _ in range(n):
        contexts = rng.random((N_ARMS, WIDTH)) * (rng.random((N_ARMS, WIDTH)) < 0.8)
        contexts[:, 0] = rng.random()
        yield contexts, contexts @ theta, rng


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("known", [None, 0.4])
@pytest.mark.parametrize("loss", [0.05, 0.3])
def test_conservative_linucb_is_the_textbook(loss, known, form):
    alpha = 0.6
    policy = ConservativeLinUCB(alpha=alpha, baseline=2, baseline_reward=known, max_loss=loss, random_state=0)
    textbook = TextbookCLUCB(alpha, loss, known)
    for t, (contexts, expected, rng) in enumerate(rounds(150, seed=3)):
        decision = policy.choose(form(contexts))
        assert decision.arm == textbook.choose(contexts, 2), f"round {t}"
        reward = float(np.clip(expected[decision.arm] + 0.1 * rng.normal(), 0.0, 1.0))
        policy.learn(Decision.from_dict(json.loads(json.dumps(decision.to_dict()))), reward)
        textbook.learn(contexts, decision.arm, 2, reward)
    assert min(len(textbook.optimistic), len(textbook.conservative)) > 10, "both cases must occur"
    sums = [
        sum(x for x, _, _ in textbook.optimistic),
        sum(b for _, b, _ in textbook.optimistic),
        sum(x for x, _, _ in textbook.conservative),
    ]
    np.testing.assert_allclose(policy.reward_model.sums, sums, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(policy.coefficients(), textbook.solved()[1], rtol=1e-9, atol=1e-9)


def worst_shortfall(policy, seed, n=700, loss=0.1):
    """Return by how much the expected reward fell short of what the constraint demands, at the worst moment."""
    earned = baseline = worst = 0.0
    rng = np.random.default_rng(seed)
    theta = np.array([0.1, 0.7])
    for _ in range(n):
        # The baseline's reward is always 0.5; most other arms are worse, and a few better.
        contexts = np.column_stack([np.ones(N_ARMS), np.append(4.0 / 7.0, 0.7 * rng.random(N_ARMS - 1) ** 2)])
        contexts[-1, 1] = 1.0 if rng.random() < 0.2 else 0.0
        expected = contexts @ theta
        decision = policy.choose(contexts)
        earned += expected[decision.index]
        baseline += expected[0]
        worst = max(worst, (1 - loss) * baseline - earned)
        policy.learn(decision, float(rng.random() < expected[decision.index]))
    return worst


@pytest.mark.parametrize("known", [None, 0.5])
def test_the_constraint_holds_at_all_times(known):
    setting = {"alpha": "theory", "delta": 0.05, "model": "shared"}
    shortfalls = []
    for seed in range(5):
        policy = ConservativeLinUCB(**setting, baseline_reward=known, max_loss=0.1, random_state=seed)
        shortfalls.append(worst_shortfall(policy, seed))
        assert policy.reward_model.rounds.min() > 5, "it must explore, and it must hold back"
    assert max(shortfalls) <= 1e-9
    assert worst_shortfall(LinUCB(**setting, random_state=0), 0) > 1.0


def test_without_a_limit_on_the_loss_it_is_linucb():
    ours = ConservativeLinUCB(max_loss=1.0, alpha=0.3, baseline_reward=0.4, random_state=0)
    plain = LinUCB(alpha=0.3, model="shared", random_state=0)
    for contexts, expected, _ in rounds(60, seed=1):
        one, two = ours.choose(contexts, arms=list("abcdef")), plain.choose(contexts, arms=list("abcdef"))
        assert one.arm == two.arm
        for policy, decision in ((ours, one), (plain, two)):
            policy.learn(decision, float(np.clip(expected[decision.index], 0, 1)))


def test_a_slate_begins_with_the_baseline_where_the_best_arm_is_not_safe():
    policy = ConservativeLinUCB(baseline="usual", alpha=0.5, max_loss=0.01, random_state=0)
    contexts = np.eye(3)
    slate = policy.choose(contexts, arms=["a", "usual", "b"], k=2)
    assert slate.picked[0] == "usual"
    policy.learn(slate, [0.5, 0.5])
    assert policy.reward_model.rounds.tolist() == [1, 1], "each arm counts as a round"


@pytest.mark.parametrize("known", [None, 0.5])
def test_rounds_without_the_baseline_count_only_if_its_reward_is_known(known):
    policy = ConservativeLinUCB(baseline="usual", baseline_reward=known, random_state=0)
    policy.learn(policy.choose([[1.0]], arms=["other"]), 0.5)
    policy.learn_logged([[1.0], [1.0]], ["other", "usual"], [0.5, 0.5])
    assert policy.reward_model.rounds.tolist() == ([0, 1] if known is None else [2, 1])


def test_the_baseline_may_be_forgotten_and_come_back():
    policy = ConservativeLinUCB(baseline="usual", max_loss=0.01, random_state=0)
    contexts, arms = np.eye(2), ["new", "usual"]
    policy.learn(policy.choose(contexts, arms=arms), 0.9)
    policy.forget_arm("usual")
    assert policy.choose(contexts, arms=arms).arm == "usual"
    assert policy.reward_model.rounds.tolist() == [0, 1]


def test_another_baseline_may_be_set_before_learning_and_not_after():
    policy = ConservativeLinUCB(baseline="a", max_loss=0.01, random_state=0).set_params(baseline="b")
    decision = policy.choose(np.eye(2), arms=["a", "b"])
    assert decision.arm == "b"
    policy.learn(decision, 0.5)
    with pytest.raises(ValueError, match="baseline cannot be changed after learning, got 'a'"):
        policy.set_params(baseline="a")


def test_rows_hold_the_baseline_whatever_their_layout():
    features = [[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]
    catalogue = Catalogue(features, n_user_features=2, matches={"sex": ["f", "m", "f"]})
    users = [[0.5, 0.0], [0.0, 3.0]]
    offers = [catalogue.offer_many(users, {"sex": ["f", "m"]}).rows, catalogue.offer(users[1], {"sex": "f"}).rows]
    rng = np.random.default_rng(0)
    for rows in (*offers, as_rows(rng.random((6, 4)), 4, 2), as_rows(np.eye(6), 6, 2)):
        dense = rows.toarray().reshape(rows.n_users, rows.n_arms, rows.width)
        for place in (None, 0, 1):
            both = with_baseline(rows, place)
            for user in range(rows.n_users):
                for arm in range(rows.n_arms):
                    own, baseline = split_baseline(both.row(user, arm))
                    np.testing.assert_array_equal(own.dense(), dense[user, arm])
                    expected = np.zeros(rows.width) if place is None else dense[user, place]
                    np.testing.assert_array_equal(np.zeros(rows.width) if baseline is None else baseline, expected)


def test_wrong_parameters_and_states_are_refused():
    for model in ("disjoint", Model(kind="shared", discount=0.9), Model(kind="shared", link="logistic"), None):
        with pytest.raises(ValueError, match="model must be shared, linear and without forgetting, got"):
            ConservativeLinUCB(model=model)
    with pytest.raises(ValueError, match=r"baseline_reward must lie in reward_range, \[0, 1\], got 2.0"):
        ConservativeLinUCB(baseline_reward=2.0)
    with pytest.raises(ValueError, match=r"max_loss must be a number of at least 0 and at most 1, got 1.5"):
        ConservativeLinUCB(max_loss=1.5)
    with pytest.raises(ValueError, match=r"arm id must be a string or an integer, got 0.5"):
        ConservativeLinUCB(baseline=0.5)
    policy = ConservativeLinUCB()
    with pytest.raises(ValueError, match="statistics need a model for which the order of rewards does not matter"):
        policy.learn_statistics(SufficientStatistics(policy))
    model = ConservativeModel(2, 1.0)
    for wrong in ({"sums": np.zeros((3, 1))}, {"rounds": np.zeros(2)}):
        with pytest.raises(ValueError, match="must have the shape"):
            model.restore({**model.arrays(), **wrong})
