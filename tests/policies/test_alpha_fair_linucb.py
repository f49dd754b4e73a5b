"""AlphaFairLinUCB: the textbook's scores, and what its docstring claims about weights and regret."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbandits import AlphaFairLinUCB, GroupRewards, LinUCB
from fairbandits.fairness import welfare_weights


class TextbookAlphaFair:
    """One regression per arm, solved anew every round; sums of rewards by group."""

    def __init__(self, alpha, aversion, ridge):
        self.alpha, self.aversion, self.ridge = alpha, aversion, ridge
        self.learned = []

    def weight(self, group):
        sums, counts = {}, {}
        for _, _, reward, own in self.learned:
            if own is not None:
                sums[own] = sums.get(own, 0.0) + reward
                counts[own] = counts.get(own, 0) + 1
        if group not in counts or len(counts) < 2 or sum(sums.values()) == 0.0:
            return 1.0
        overall = sum(sums.values()) / sum(counts.values())
        gradient = {g: ((sums[g] + overall) / (counts[g] + 1)) ** -self.aversion for g in counts}
        return gradient[group] / (sum(gradient.values()) / len(gradient))

    def scores(self, contexts, arms, group):
        scores = []
        for x, arm in zip(contexts, arms, strict=True):
            gram, moment = self.ridge * np.eye(len(x)), np.zeros(len(x))
            for other, z, reward, _ in self.learned:
                if other == arm:
                    gram += np.outer(z, z)
                    moment += reward * z
            mean = x @ np.linalg.solve(gram, moment)
            width = np.sqrt(x @ np.linalg.solve(gram, x))
            scores.append(self.weight(group) * mean + self.alpha * width)
        return np.array(scores)


@pytest.mark.parametrize("aversion", [0.0, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("ridge", [0.1, 1.0])
def test_agrees_with_the_textbook(aversion, ridge):
    rng = np.random.default_rng(3)
    policy = AlphaFairLinUCB(alpha=0.4, aversion=aversion, ridge=ridge, random_state=0)
    textbook = TextbookAlphaFair(0.4, aversion, ridge)
    arms = ["a", "b", "c"]
    for t in range(120):
        contexts = rng.normal(size=(3, 5))
        group = [None, "x", "y", "z"][rng.integers(4)]
        expected = textbook.scores(contexts, arms, group)
        decision = policy.choose(contexts, group, arms)
        np.testing.assert_allclose(decision.scores.total, expected, rtol=1e-9, atol=1e-9)
        assert expected[decision.index] >= expected.max() - 1e-9, f"round {t}"
        reward = float(rng.random() * {"x": 0.2, "y": 0.6}.get(group, 1.0))
        policy.learn(decision, reward)
        textbook.learned.append((decision.arm, contexts[decision.index], reward, group))


GROUPS = st.lists(st.tuples(st.floats(0.0, 1.0), st.integers(1, 50)), min_size=2, max_size=6)


@given(GROUPS, st.floats(0.0, 20.0))
def test_weights_are_1_on_average_and_below_the_number_of_groups(summaries, aversion):
    groups = GroupRewards()
    for name, (mean, count) in enumerate(summaries):
        for _ in range(count):
            groups.add(mean, name)
    weights = welfare_weights(groups, aversion)
    assert weights.mean() == pytest.approx(1.0)
    assert weights.min() >= 0.0
    assert weights.max() <= len(summaries) * (1 + 1e-12)
    equal = [name for name, (_, count) in enumerate(summaries) if count == summaries[0][1]]
    by_mean = sorted(equal, key=lambda name: summaries[name][0])
    assert (np.diff(weights[by_mean]) <= 1e-9).all(), "of equally large groups, the worse off weighs more"


def test_no_rewards_at_all_weigh_equally():
    groups = GroupRewards()
    for name in ("x", "y"):
        groups.add(0.0, name)
    assert welfare_weights(groups, 1.0).tolist() == [1.0, 1.0]


@given(st.integers(0, 10_000))
def test_a_choice_costs_at_most_two_radii_where_alpha_over_the_weight_is_a_radius(seed):
    """The claim of the docstring, for any theta in the confidence ellipsoid."""
    rng = np.random.default_rng(seed)
    policy = AlphaFairLinUCB(alpha=3.0, model="shared", random_state=0)
    for _ in range(12):
        policy.learn(policy.choose(rng.normal(size=(3, 4)), "xy"[rng.integers(2)]), float(rng.random()))
    contexts = rng.normal(size=(5, 4))
    group = "xy"[rng.integers(2)]
    weight = dict(zip(policy.groups.attributes["group"], welfare_weights(policy.groups, 1.0), strict=True))[group]
    radius = 3.0 / weight
    decision = policy.choose(contexts, group)
    direction = rng.normal(size=4)
    model = policy.reward_model
    theta = policy.coefficients() + radius * model.root_of(0).T @ (direction / np.linalg.norm(direction))
    cost = (contexts @ theta).max() - contexts[decision.index] @ theta
    assert cost <= 2.0 * radius * decision.scores.width[decision.index] + 1e-9


def test_a_user_of_weight_w_is_served_as_by_linucb_with_alpha_over_w():
    rng = np.random.default_rng(0)
    policy, plain = AlphaFairLinUCB(alpha=0.6, random_state=0), LinUCB(alpha=0.6, random_state=0)
    for t in range(40):
        contexts, group = rng.normal(size=(1, 3)), "xy"[t % 2]
        reward = float(rng.random()) * (0.3 if group == "x" else 1.0)
        for each in (policy, plain):
            each.learn(each.choose(contexts, group, arms=[t % 4]), reward)
    weight = dict(zip(policy.groups.attributes["group"], welfare_weights(policy.groups, 1.0), strict=True))["x"]
    assert weight > 1.2
    plain.set_params(alpha=0.6 / weight)
    contexts = rng.normal(size=(1, 4, 3))
    ours, theirs = (each.score(contexts, ["x"]).total for each in (policy, plain))
    np.testing.assert_allclose(ours, weight * theirs, rtol=1e-9)


def test_aversion_must_be_a_number_in_range():
    with pytest.raises(ValueError, match=r"aversion must be a number of at least 0 and at most 100, got -1"):
        AlphaFairLinUCB(aversion=-1)
