"""Right: the same arm every round, and the same scores, as the paper's pseudo-code."""

import numpy as np
import pytest
from scipy import sparse

from fairbandits import FairLinUCB, LinUCB
from tests.textbook import Textbook

ROUNDS = 260


def one_hot_contexts(rng, n, width):
    """A user's part that all arms share, an arm's part of its own, one number that is not 0 or 1."""
    contexts = np.zeros((n, width))
    contexts[:, rng.choice(width // 2, 3, replace=False)] = 1.0
    contexts[:, width // 2] = rng.random()
    for row in contexts:
        row[width // 2 + 1 + rng.integers(width // 2 - 1)] = 1.0
    return contexts


def dense_contexts(rng, n, width):
    return rng.normal(size=(n, width))


def play(policy, textbook, contexts_of, form, rounds=ROUNDS, width=16):
    """Both decide and learn; rewards come late and out of order, arms appear, not all users have a group."""
    rng = np.random.default_rng(7)
    theta = rng.random(width)
    pending = []
    for t in range(rounds):
        arms = [f"a{i}" for i in range(4 + t // 40)]
        if t % 5 == 0:
            arms = arms[1:]
        contexts = contexts_of(rng, len(arms), width)
        group = [None, "+", "-", "-", "+", "-"][rng.integers(6)]
        expected, scores = textbook.choose(contexts, arms)
        decision = policy.choose(form(contexts), group, arms)
        assert decision.arm == expected, f"round {t}"
        np.testing.assert_allclose(decision.scores.total, scores, rtol=1e-9, atol=1e-9)
        x = contexts[decision.index]
        reward = float(np.clip(x @ theta / 4 + 0.1 * rng.normal() + 0.1 * (group == "+"), 0, 1))
        pending.append((decision, x, reward, group))
        while len(pending) > 6 or (pending and rng.random() < 0.5):
            late, x, reward, group = pending.pop(rng.integers(len(pending)))
            policy.learn(late, reward)
            textbook.learn(late.arm, x, reward, group)


CONTEXTS = {"one-hot": one_hot_contexts, "dense": dense_contexts}
FORMS = {"array": np.asarray, "csr": sparse.csr_array, "csc": sparse.csc_matrix, "list": np.ndarray.tolist}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("contexts", CONTEXTS)
@pytest.mark.parametrize("ridge", [0.1, 1, 10])
@pytest.mark.parametrize("model", ["disjoint", "shared"])
def test_linucb_is_the_textbook(model, ridge, contexts, form):
    policy = LinUCB(alpha=0.7, ridge=ridge, model=model, random_state=1)
    play(policy, Textbook(0.7, 0, ridge, model, seed=1), CONTEXTS[contexts], FORMS[form])


@pytest.mark.parametrize("form", ["array", "csr"])
@pytest.mark.parametrize("contexts", CONTEXTS)
@pytest.mark.parametrize("gamma", [0, 1, 3])
@pytest.mark.parametrize("ridge", [0.1, 1, 10])
@pytest.mark.parametrize("model", ["disjoint", "shared"])
def test_fair_linucb_is_the_textbook(model, ridge, gamma, contexts, form):
    policy = FairLinUCB(alpha=0.7, gamma=gamma, ridge=ridge, model=model, random_state=1)
    play(policy, Textbook(0.7, gamma, ridge, model, seed=1), CONTEXTS[contexts], FORMS[form])


@pytest.mark.parametrize("model", ["disjoint", "shared"])
@pytest.mark.parametrize("contexts", CONTEXTS)
def test_gamma_0_is_linucb_bitwise(model, contexts):
    rng = np.random.default_rng(0)
    plain = LinUCB(alpha=0.5, model=model, random_state=4)
    fair = FairLinUCB(alpha=0.5, gamma=0.0, model=model, random_state=4)
    for t in range(400):
        rows = CONTEXTS[contexts](rng, 8, 12)
        one, two = plain.choose(rows, "+-"[t % 2]), fair.choose(rows, "+-"[t % 2])
        assert one.arm == two.arm
        assert one.scores.total.tobytes() == two.scores.total.tobytes()
        reward = rng.random()
        plain.learn(one, reward)
        fair.learn(two, reward)


def test_one_group_at_first_then_the_other_is_the_textbook():
    """The order experiment: while one group alone has been seen, the other stands at 0, literally."""
    rng = np.random.default_rng(3)
    policy = FairLinUCB(alpha=0.5, gamma=3, random_state=0)
    textbook = Textbook(0.5, 3, 1.0, "disjoint", seed=0, plus="male", minus="female")
    for t in range(200):
        contexts = one_hot_contexts(rng, 5, 12)
        group = "female" if t < 100 else "male"
        expected, scores = textbook.choose(contexts, list(range(5)))
        decision = policy.choose(contexts, group)
        assert decision.arm == expected
        np.testing.assert_allclose(decision.scores.total, scores, rtol=1e-9)
        reward = rng.random()
        policy.learn(decision, reward)
        textbook.learn(expected, contexts[decision.index], reward, group)
        if t == 150:
            policy.groups.restart()
            textbook.restart()


def test_three_values_and_two_attributes_compare_the_group_ahead_with_the_group_behind():
    policy = FairLinUCB(alpha=1.0, gamma=2.0, random_state=0)
    said = [("Black", "f", 0, 0.2), ("White", "m", 0, 0.9), ("Asian", "f", 1, 0.5), ("Black", "m", 1, 0.4)]
    for race, sex, arm, reward in said:
        policy.learn(policy.choose(np.eye(2)[[arm]], {"race": race, "sex": sex}, arms=[arm]), reward)
    decision = policy.choose(np.eye(2), {"race": "White", "sex": "f"})
    # race: White .9 is ahead, Black .3 behind; sex: m .65 is ahead, f .35 behind.
    bias = [((0.9 - 0.2) + (0.9 - 0.2)) / 2, ((0.0 - 0.4) + (0.4 - 0.5)) / 2]
    narrowest = decision.scores.width.min()
    expected = 1.0 * narrowest / 2 * (1 - np.array(bias)) * 2.0
    np.testing.assert_allclose(decision.scores.fairness, expected, rtol=1e-12)


def test_means_that_are_equal_on_paper_give_no_penalty():
    """.2 + 1 and 1 + .2 have the same mean, and not the same rounding."""
    policy = FairLinUCB(gamma=1.0, random_state=0)
    for arm, (group, reward) in enumerate([("m", 0.2), ("m", 1.0), ("p", 1.0), ("p", 0.2)]):
        policy.learn(policy.choose(np.eye(4)[[arm]], group, arms=[arm]), reward)
    fairness = policy.score(np.eye(4)[None]).fairness
    np.testing.assert_allclose(fairness, fairness[0, 0])


def test_penalty_takes_other_ranges_of_reward_to_the_same_scale():
    """Rewards in stars of 0 to 5 lead to the same penalty as the same rewards in [0, 1]."""
    unit = FairLinUCB(gamma=3, random_state=0)
    stars = FairLinUCB(gamma=3, reward_range=(0, 5), random_state=0)
    for i, reward in enumerate([0.2, 0.8, 0.4, 1.0]):
        for policy, scale in ((unit, 1), (stars, 5)):
            policy.learn(policy.choose(np.eye(3)[[i % 3]], "ab"[i % 2], arms=[i % 3]), reward * scale)
    one, two = (policy.score(np.eye(3)[None]).fairness for policy in (unit, stars))
    np.testing.assert_allclose(5 * one, two, rtol=1e-12)
