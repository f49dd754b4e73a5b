"""Models: each against an independent one, and all of them under every policy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, SplineTransformer, StandardScaler

from fairbandits import Catalogue, FairLinUCB, LinTS, LinUCB, Model, Policy, PolicyFileError
from fairbandits.cli import main
from fairbandits.models import DisjointModel, HybridModel, as_rows
from fairbandits.models.logistic import to_rewards, working_row
from fairbandits.registry import make_run, parse_params
from tests.helpers import CURVED, MODELS, SAMPLE, contexts_for, fresh, teach
from tests.models.by_hand import DiscountByHand, HybridByHand, logistic_step
from tests.policies.test_textbook import CONTEXTS


def played(policy, n, contexts_of, reward_of, width=12, seed=0):
    """Choose and learn for a while, and tell of every round what was shown and what was learned."""
    rng = np.random.default_rng(seed)
    for t in range(n):
        arms = [f"a{i}" for i in range(4 + t // 60)]
        contexts = contexts_of(rng, len(arms), width)
        decision = policy.choose(contexts, "+-"[t % 2], arms)
        reward = reward_of(rng, contexts[decision.index])
        yield contexts, arms, decision, reward
        policy.learn(decision, reward)


def any_reward(rng, x):
    return float(rng.random())


def click(rng, x):
    return float(rng.random() < 1 / (1 + np.exp(-x.sum() + 1)))


# -- hybrid --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("contexts", CONTEXTS)
@pytest.mark.parametrize("ridge", [0.1, 1.0, 10.0])
def test_hybrid_is_algorithm_2_of_li_et_al(ridge, contexts):
    policy, by_hand = LinUCB(alpha=0.7, ridge=ridge, model="hybrid", random_state=0), HybridByHand(12, ridge)
    for rows, arms, decision, reward in played(policy, 250, CONTEXTS[contexts], any_reward):
        expected = np.array([by_hand.score(arm, x, x) for x, arm in zip(rows, arms, strict=True)])
        np.testing.assert_allclose(decision.scores.mean, expected[:, 0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(decision.scores.width, expected[:, 1], rtol=1e-9, atol=1e-9)
        x = rows[decision.index]
        by_hand.learn(decision.arm, x, x, reward)


def test_hybrid_stays_right_over_many_rounds():
    rng = np.random.default_rng(0)
    model, by_hand = HybridModel(5, 0.5), HybridByHand(5, 0.5)
    for i in range(5_000):
        x = rng.normal(size=5)
        model.learn(i % 7, as_rows(x[None]).row(0, 0), x.sum())
        by_hand.learn(i % 7, x, x, x.sum())
    x = rng.normal(size=5)
    found = model.score(as_rows(np.repeat(x[None], 8, axis=0)), np.arange(8))
    expected = np.array([by_hand.score(arm, x, x) for arm in range(8)]).T
    np.testing.assert_allclose(np.array(found)[:, 0], expected, rtol=1e-9)


def test_hybrid_coefficients_make_the_mean():
    policy, _ = teach(LinUCB(model="hybrid", random_state=0))
    contexts = contexts_for(np.random.default_rng(1))
    mean = policy.score(contexts[None], arms=[0, 1, 2, 3, 4, "new"]).mean[0]
    for arm, x, expected in zip([0, 1, 2, 3, 4, "new"], contexts, mean, strict=True):
        assert policy.coefficients(arm) @ x == pytest.approx(expected, abs=1e-12)
    assert policy.coefficients().any()
    assert policy.coefficients() == pytest.approx(policy.coefficients("new")), "all that a new arm has is common"


def test_a_forgotten_arm_leaves_behind_what_it_taught_the_common_part():
    policy, _ = teach(LinUCB(model="hybrid", random_state=0))
    common = policy.coefficients()
    policy.forget_arm(2)
    np.testing.assert_array_equal(policy.coefficients(2), common)


def test_hybrid_halves_merge_even_where_arms_were_forgotten():
    left, right = (teach(LinUCB(model="hybrid", random_state=0), seed=seed)[0] for seed in (1, 2))
    left.forget_arm(1)
    merged, empty = left.merge(right), LinUCB(model="hybrid", random_state=0)
    contexts = contexts_for(np.random.default_rng(3))[None]
    for one, two in ((left.merge(empty), left), (empty.merge(left), left), (merged, right.merge(left))):
        np.testing.assert_allclose(one.score(contexts).mean, two.score(contexts).mean, atol=1e-12)
        np.testing.assert_allclose(one.score(contexts).width, two.score(contexts).width, atol=1e-12)


def test_thompson_draws_of_arms_that_share_a_part_go_together():
    policy, _ = teach(LinTS(alpha=0.7, model="hybrid", random_state=0))
    contexts = contexts_for(np.random.default_rng(3))
    draws = policy.score(np.repeat(contexts[None], 20_000, axis=0)).exploration
    model = policy.reward_model
    lifted = np.array([model.ridge * model.arms.inverse_of(policy._arms.rows[a]) @ contexts[a] for a in range(6)])
    own = [contexts[a] @ model.arms.inverse_of(policy._arms.rows[a]) @ contexts[a] for a in range(6)]
    covariance = lifted @ model.shared.inverse_of(0) @ lifted.T + np.diag(own)
    np.testing.assert_allclose(np.cov(draws.T), 0.49 * covariance, atol=0.01)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_rows=st.integers(0, 30),
    ridge=st.sampled_from([0.2, 1.0, 5.0]),
    cut=st.integers(0, 30),
)
def test_hybrid_is_one_regression_on_the_common_and_all_own_columns(seed, n_rows, ridge, cut):
    """With rows of any weight; and two halves of the rows, merged, are the whole."""
    rng = np.random.default_rng(seed)
    n_arms, d = 3, 4
    A, b = ridge * np.eye((n_arms + 1) * d), np.zeros((n_arms + 1) * d)
    whole, left, right = (HybridModel(d, ridge) for _ in range(3))
    for i in range(n_rows):
        x, arm, reward, weight = rng.normal(size=d), int(rng.integers(n_arms)), rng.random(), rng.random()
        wide = np.kron(np.append(1.0, np.eye(n_arms)[arm]), x)
        A, b = A + weight * np.outer(wide, wide), b + weight * reward * wide
        for model in (whole, left if i < cut else right):
            model.learn(arm, as_rows(x[None]).row(0, 0), reward, weight)
    left.merge(right, [(arm, arm) for arm in range(n_arms)])
    x = rng.normal(size=d)
    wide = np.kron(np.column_stack([np.ones(n_arms), np.eye(n_arms)]), x)
    mean, width = wide @ np.linalg.solve(A, b), np.sqrt(np.diag(wide @ np.linalg.solve(A, wide.T)))
    for model in (whole, left):
        found = model.score(as_rows(np.repeat(x[None], n_arms, axis=0)), np.arange(n_arms))
        np.testing.assert_allclose(found[0][0], mean, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found[1][0], width, rtol=1e-9, atol=1e-9)


def test_hybrid_in_half_the_memory():
    exact, short = (
        teach(LinUCB(model=Model(kind="hybrid", dtype=d), random_state=0))[0] for d in ("float64", "float32")
    )
    contexts = contexts_for(np.random.default_rng(1))[None]
    np.testing.assert_allclose(short.score(contexts).total, exact.score(contexts).total, atol=1e-5)
    assert short.reward_model.arms._inverse(0).dtype == np.float32


# -- forgetting ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("contexts", CONTEXTS)
@pytest.mark.parametrize("kind", ["disjoint", "shared"])
@pytest.mark.parametrize("discount", [0.5, 0.97, 0.999])
def test_forgetting_is_weighted_regression(kind, contexts, discount):
    policy = LinUCB(alpha=0.7, ridge=0.5, model=Model(kind=kind, discount=discount), random_state=0)
    by_hand = DiscountByHand(12, 0.5, discount)
    for rows, arms, decision, reward in played(policy, 150, CONTEXTS[contexts], any_reward):
        slots = arms if kind == "disjoint" else ["all"] * len(arms)
        expected = np.array([by_hand.score(slot, x) for slot, x in zip(slots, rows, strict=True)])
        np.testing.assert_allclose(decision.scores.mean, expected[:, 0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(decision.scores.width, expected[:, 1], rtol=1e-9, atol=1e-9)
        by_hand.learn(slots[decision.index], rows[decision.index], reward)


def test_forgetting_is_steady():
    rng = np.random.default_rng(0)
    model = DisjointModel(4, 0.1, discount=0.99)
    A = 0.1 * np.eye(4)
    # One direction comes no more after a while, and must fall back to what the ridge says.
    X = np.column_stack([rng.normal(size=(100_000, 3)) * [1.0, 1e-3, 1e3], np.arange(100_000) < 1_000])
    rows, ridge = as_rows(X), 0.001 * np.eye(4)
    for i, x in enumerate(X):
        model.learn(0, rows.row(0, i), 0.5)
        A = 0.99 * A + ridge + x[:, None] * x
    np.testing.assert_allclose(model.gram_of(0), A, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.inverse_of(0) @ A, np.eye(4), atol=1e-6)
    assert model.inverse_of(0)[3, 3] == pytest.approx(10.0)


def test_hybrid_forgets_too():
    """What is common follows from the arms, as in Algorithm 2 with weighted sums."""
    rng = np.random.default_rng(0)
    model, by_hand = HybridModel(6, 0.5, discount=0.9), DiscountByHand(6, 0.5, 0.9)
    for i in range(200):
        x = rng.normal(size=6)
        model.learn(i % 4, as_rows(x[None]).row(0, 0), x[0])
        by_hand.learn(i % 4, x, x[0])
    A0, b0 = 0.5 * np.eye(6), np.zeros(6)
    for slot in range(4):
        A, b = by_hand.solve(slot)
        B = A - 0.5 * np.eye(6)
        A0 += B - B.T @ np.linalg.inv(A) @ B
        b0 += b - B.T @ np.linalg.inv(A) @ b
    np.testing.assert_allclose(model.beta(), np.linalg.solve(A0, b0), rtol=1e-9)
    np.testing.assert_allclose(model.shared.gram_of(0), A0, atol=1e-9)


def test_forgetting_follows_rewards_that_turn():
    loss = {}
    for discount in (1.0, 0.9):
        policy = LinUCB(alpha=0.3, model=Model(discount=discount), random_state=0)
        picks = []
        for t in range(600):
            decision = policy.choose(np.ones((2, 1)))
            picks.append(decision.arm)
            policy.learn(decision, float(decision.arm == int(t >= 300)))
        loss[discount] = np.mean(np.array(picks[300:]) != 1)
    assert loss[0.9] < 0.1 < loss[1.0]


def test_merged_memories_add_up():
    policies = [LinUCB(model=Model(discount=0.5), random_state=0) for _ in range(2)]
    for policy, rewards in zip(policies, ([1.0, 1.0], [0.0]), strict=True):
        for reward in rewards:
            policy.learn(policy.choose([[1.0]]), reward)
    merged = policies[0].merge(policies[1])
    assert merged.coefficients(0).item() == pytest.approx(1.5 / (1.0 + 1.5 + 1.0))


# -- logistic ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["disjoint", "shared"])
def test_logistic_steps_are_those_of_a_general_minimiser(kind):
    policy = LinUCB(ridge=0.5, model=Model(kind=kind, link="logistic"), random_state=0)
    state = {}
    for rows, arms, decision, reward in played(policy, 120, CONTEXTS["dense"], click, width=5):
        slots = arms if kind == "disjoint" else ["all"] * len(arms)
        for i, (slot, x) in enumerate(zip(slots, rows, strict=True)):
            theta, A = state.get(slot, (np.zeros(5), 0.5 * np.eye(5)))
            z, width = theta @ x, np.sqrt(x @ np.linalg.solve(A, x))
            upper = 1 / (1 + np.exp(-z - width))
            assert decision.scores.mean[i] == pytest.approx(1 / (1 + np.exp(-z)), abs=1e-6)
            assert decision.scores.mean[i] + decision.scores.width[i] == pytest.approx(upper, abs=1e-6)
        slot = slots[decision.index]
        state[slot] = logistic_step(*state.get(slot, (np.zeros(5), 0.5 * np.eye(5))), rows[decision.index], reward)


def learned_clicks(n, seed, ridge=1.0, kind="disjoint", width=4):
    """Let a policy with one arm learn clicks of which the chances are known."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=width)
    X = rng.normal(size=(n, width))
    y = (rng.random(n) < 1 / (1 + np.exp(-X @ theta))).astype(float)
    policy = LinUCB(ridge=ridge, model=Model(kind=kind, link="logistic"), random_state=0)
    for x, reward in zip(X, y, strict=True):
        policy.learn(policy.choose(x[None], arms=["a"]), reward)
    return policy, theta, X, y


@pytest.mark.parametrize("kind", ["disjoint", "shared"])
def test_logistic_converges_to_the_batch_regression(kind):
    policy, _, X, y = learned_clicks(4_000, seed=0, kind=kind)
    batch = LogisticRegression(C=1.0, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(policy.coefficients("a"), batch.coef_[0], atol=0.02)
    mu = batch.predict_proba(X)[:, 1]
    information = np.eye(4) + (X.T * (mu * (1 - mu))) @ X
    np.testing.assert_allclose(policy.reward_model.model.gram_of(0), information, rtol=0.1, atol=20)


def test_logistic_intervals_cover():
    """Two widths up is above the true chance nearly always, as 97.7% of a normal distribution is."""
    inside = []
    for seed in range(40):
        policy, theta, *_ = learned_clicks(150, seed)
        X = np.random.default_rng(1_000 + seed).normal(size=(25, 4))
        scores = policy.score(X[:, None], arms=["a"])
        chance = 1 / (1 + np.exp(-X @ theta))
        inside.append(chance <= (scores.mean + 2.0 * scores.width)[:, 0])
    assert 0.93 < np.mean(inside) < 0.999


@settings(max_examples=200, deadline=None)
@given(z=st.floats(-50, 50), variance=st.floats(0, 1e4), reward=st.floats(0, 1), width=st.floats(0, 100))
def test_logistic_steps_solve_their_equation(z, variance, reward, width):
    target, weight = working_row(z, variance, reward)
    # What a ridge regression makes of that row.
    after = z + variance * weight * (target - z) / (1.0 + variance * weight)
    mu = 1 / (1 + np.exp(-after))
    assert after == pytest.approx(z + variance * (reward - mu), abs=1e-6 * (1.0 + variance))
    mean, up = to_rewards(np.array([[z]]), np.array([[width]]))
    assert 0.0 <= mean.item() <= mean.item() + up.item() <= 1.0 + 1e-12
    assert up.item() >= 0.0


def test_logistic_predictions_are_in_units_of_reward():
    unit = LinUCB(model=Model(link="logistic"), random_state=0)
    stars = LinUCB(model=Model(link="logistic"), reward_range=(1, 5), random_state=0)
    for reward in (0.0, 1.0, 1.0, 0.25):
        unit.learn(unit.choose(np.eye(2)), reward)
        stars.learn(stars.choose(np.eye(2)), 1 + 4 * reward)
    one, two = unit.score(np.eye(2)[None]), stars.score(np.eye(2)[None])
    np.testing.assert_allclose(two.mean, 1 + 4 * one.mean)
    np.testing.assert_allclose(two.width, 4 * one.width)


def test_logistic_takes_what_is_certain():
    """A hundred thousand clicks in a row, then none: no overflow, no NaN."""
    policy = LinUCB(ridge=1e-6, model=Model(link="logistic"), random_state=0)
    decision = policy.choose([[1e3]])
    for reward in [1.0] * 2_000 + [0.0] * 50:
        policy.learn(decision, reward, again=True)
    scores = policy.score([[[1e3]]])
    assert np.isfinite(scores.mean).all()
    assert np.isfinite(scores.width).all()


def test_merged_clicks_are_nearly_the_whole():
    policy, _, X, y = learned_clicks(2_000, seed=0)
    halves = []
    for part in (slice(0, 1_000), slice(1_000, None)):
        half = LinUCB(model=Model(link="logistic"), random_state=0)
        for x, reward in zip(X[part], y[part], strict=True):
            half.learn(half.choose(x[None], arms=["a"]), reward)
        halves.append(half)
    merged = halves[0].merge(halves[1])
    np.testing.assert_allclose(merged.coefficients("a"), policy.coefficients("a"), atol=0.1)


# -- feature maps --------------------------------------------------------------------------------------

MAPS = {
    "Nystroem": Nystroem(n_components=7, random_state=0),
    "RBFSampler": RBFSampler(n_components=30, random_state=0),
    "splines": SplineTransformer(n_knots=4),
    "sparse splines": SplineTransformer(n_knots=6, sparse_output=True),
    "polynomials": PolynomialFeatures(degree=2),
    "pipeline": make_pipeline(StandardScaler(), Nystroem(n_components=5, random_state=0)),
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("kind", ["disjoint", "shared", "hybrid"])
def test_a_mapped_policy_is_a_plain_one_on_mapped_contexts(kind, name):
    feature_map = clone(MAPS[name]).fit(SAMPLE)
    ours = FairLinUCB(model=Model(kind=kind, feature_map=feature_map), random_state=0)
    plain = FairLinUCB(model=kind, random_state=0)
    rng = np.random.default_rng(0)
    for t in range(40):
        contexts = contexts_for(rng)
        one, two = ours.choose(contexts, "+-"[t % 2]), plain.choose(feature_map.transform(contexts), "+-"[t % 2])
        assert one.arm == two.arm
        np.testing.assert_allclose(one.scores.total, two.scores.total, atol=1e-9)
        np.testing.assert_allclose(one.context, two.context)
        reward = rng.random()
        ours.learn(one, reward)
        plain.learn(two, reward)
    many = np.array([contexts_for(rng) for _ in range(5)])
    np.testing.assert_allclose(
        ours.score(many).mean,
        plain.score([feature_map.transform(contexts) for contexts in many]).mean,
        atol=1e-9,
    )


def test_offers_of_a_catalogue_are_mapped_too():
    catalogue = Catalogue(np.eye(4), 6, ["a", "b", "c", "d"])
    users = np.random.default_rng(0).random((3, 6))
    policy = LinUCB(model=Model(kind="hybrid", feature_map=CURVED), random_state=0)
    offers = [catalogue.offer(user) for user in users]
    policy.learn(policy.choose(offers[0]), 0.7)
    written = policy.score([offer.toarray() for offer in offers], arms=["a", "b", "c", "d"])
    np.testing.assert_allclose(policy.score(catalogue.offer_many(users)).total, written.total, atol=1e-12)


def test_a_curved_reward_is_learned_by_a_map():
    rng = np.random.default_rng(0)
    feature_map = SplineTransformer(n_knots=6).fit(rng.random((200, 1)))
    error = {}
    for name, model in {"line": "shared", "curve": Model(kind="shared", feature_map=feature_map)}.items():
        policy = LinUCB(ridge=0.01, model=model, random_state=0)
        for x in rng.random(400):
            policy.learn(policy.choose([[x]]), 0.5 + 0.5 * np.sin(6 * x))
        x = np.linspace(0.05, 0.95, 50)
        error[name] = np.abs(policy.score(x[:, None, None]).mean[:, 0] - 0.5 - 0.5 * np.sin(6 * x)).max()
    assert error["curve"] < 0.05 < error["line"] / 4


def test_a_map_is_given_to_load_and_checked(tmp_path):
    policy, _ = teach(LinUCB(model=Model(kind="shared", feature_map=CURVED, discount=0.99), random_state=0))
    policy.save(tmp_path / "policy")
    loaded = Policy.load(tmp_path / "policy", feature_map=Nystroem(n_components=8, random_state=0).fit(SAMPLE))
    assert loaded.checksum() == policy.checksum()
    assert loaded.model.discount == 0.99
    with pytest.raises(PolicyFileError, match="saved with a feature map, a Nystroem; pass it as feature_map="):
        Policy.load(tmp_path / "policy")
    with pytest.raises(
        PolicyFileError, match="saved with a different feature map, a Nystroem with different output"
    ):
        Policy.load(tmp_path / "policy", feature_map=Nystroem(n_components=8, random_state=1).fit(SAMPLE))
    for model in ("shared", Model(kind="shared")):
        LinUCB(model=model).save(tmp_path / "plain")
        with pytest.raises(PolicyFileError, match="saved without a feature map; load it without one"):
            Policy.load(tmp_path / "plain", feature_map=CURVED)


def test_policies_with_different_maps_do_not_merge():
    other = Nystroem(n_components=8, random_state=1).fit(SAMPLE)
    one, two, three = (
        LinUCB(model=Model(feature_map=feature_map), random_state=0)
        for feature_map in (CURVED, other, clone(CURVED).fit(SAMPLE))
    )
    with pytest.raises(ValueError, match=r"got different model"):
        one.merge(two)
    one.merge(three)


class Halves:
    n_features_in_ = 10

    def transform(self, contexts):
        return contexts[::2]


class Broken:
    n_features_in_ = 10

    def transform(self, contexts):
        raise RuntimeError("no more")


class Late(Broken):
    def transform(self, contexts):
        if len(contexts) == 6:
            raise RuntimeError("too late")
        return contexts


class Nothing:
    n_features_in_ = 10

    def transform(self, contexts):
        return np.full((len(contexts), 3), np.nan)


def test_maps_that_cannot_serve_are_refused():
    import pandas as pd

    with pytest.raises(ValueError, match="got an unfitted Nystroem; fit it on representative contexts"):
        Model(feature_map=Nystroem())
    for wrong in ("Nystroem", Nystroem, LogisticRegression(), np.eye(3)):
        with pytest.raises(ValueError, match="feature_map must be a fitted transformer"):
            Model(feature_map=wrong)
    with pytest.raises(ValueError, match=r"fitted on named columns; fit it on table.to_numpy"):
        Model(feature_map=StandardScaler().fit(pd.DataFrame({"a": [1.0, 2.0]})))
    contexts = contexts_for(np.random.default_rng(0))
    for wrong, words in {
        Halves(): "one row per context, got 4 for 8 from a Halves",
        Broken(): "a Broken that fails for numbers between 0 and 1: no more",
        Late(): "a Late that fails for these contexts: too late",
        Nothing(): "contexts must be finite",
    }.items():
        with pytest.raises(ValueError, match=words):
            LinUCB(model=Model(feature_map=wrong)).choose(contexts)
    with pytest.raises(ValueError, match=r"contexts must have 10 columns, .*, got 9"):
        LinUCB(model=Model(feature_map=CURVED)).choose(contexts[:, 1:])
    bounded = SplineTransformer(extrapolation="error").fit(0.1 * SAMPLE)
    with pytest.raises(ValueError, match="a SplineTransformer that fails for numbers between 0 and 1"):
        Model(feature_map=bounded)


def test_a_stateless_map_serves_once_it_is_fitted():
    squares = FunctionTransformer(np.square).fit(SAMPLE)
    decision = LinUCB(model=Model(feature_map=squares), random_state=0).choose(np.full((1, 10), 3.0))
    np.testing.assert_array_equal(decision.context, np.full(10, 9.0))


# -- the parameter -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kind": "joint"}, "kind must be one of disjoint, shared, hybrid, auto, got 'joint'"),
        ({"link": "probit"}, "link must be one of identity, logistic, got 'probit'"),
        ({"dtype": "int8"}, "dtype must be one of float64, float32, got 'int8'"),
        ({"discount": 0}, "discount must be a number above 0 and at most 1, got 0"),
        ({"discount": 1.01}, "discount must be a number above 0 and at most 1, got 1.01"),
        ({"discount": True}, "discount must be a number above 0 and at most 1, got True"),
        ({"discount": "much"}, "discount must be a number above 0 and at most 1, got 'much'"),
        ({"discount": float("nan")}, "discount must be a number above 0 and at most 1, got nan"),
    ],
)
def test_models_that_are_none(params, message):
    with pytest.raises(ValueError, match=message):
        Model(**params)


@pytest.mark.parametrize(
    "model", ["hybrid", "disjoint", Model(kind="shared", discount=0.9), Model(kind="shared", link="logistic")]
)
def test_theory_is_for_one_line_that_forgets_nothing(model):
    with pytest.raises(
        ValueError, match=r'linear and without forgetting for alpha="theory", got .*; use model="shared"'
    ):
        LinUCB(alpha="theory", model=model)
    LinUCB(alpha="theory", model=Model(kind="shared"))


@pytest.mark.parametrize("name", MODELS)
def test_models_are_parameters_like_others(name):
    policy = LinUCB(model=MODELS[name])
    copy = clone(policy)
    teach(copy)
    if "curved" in name or "splines" in name:
        assert copy.model is policy.model, "it does not change, and a clone of the map would not be fitted"
        other = Nystroem(n_components=8, random_state=9).fit(SAMPLE)
        assert copy.model == policy.model != Model(kind=policy.model.kind, feature_map=other)
        assert len({copy.model, policy.model}) == 1
    else:
        assert eval(repr(policy)).get_params() == policy.get_params() == copy.get_params()  # noqa: S307
        assert fresh(policy).set_params(model=Model(kind="shared")).model == Model(kind="shared")
    with pytest.raises(ValueError, match="model cannot be changed after learning"):
        copy.set_params(model=Model(kind="shared", discount=0.123))


def test_importing_imports_no_scikit_learn():
    import subprocess
    import sys

    code = "import sys, fairbandits; fairbandits.LinUCB(model='hybrid'); assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# -- by name -------------------------------------------------------------------------------------------

NAMED = {
    "hybrid": "hybrid",
    "Model(link=logistic)": Model(link="logistic"),
    "Model(kind=shared, discount=0.999)": Model(kind="shared", discount=0.999),
    "Model()": Model(),
}


@pytest.mark.parametrize("text", NAMED)
def test_models_by_name(text):
    run = make_run("LinUCB", "LinearWorld", policy_params=parse_params([f"model={text}"]), rounds=30)
    assert run.make_policy().model == NAMED[text]
    assert len(run.simulate()) == 30


@pytest.mark.parametrize(
    "text",
    [
        "Nystroem(kernel=poly, degree=2, n_components=5)",
        "SplineTransformer",
        "PolynomialFeatures(degree=2)",
        "sklearn.random_projection:GaussianRandomProjection(n_components=3)",
    ],
)
def test_feature_maps_by_name_are_fitted_on_the_first_visits(text, tmp_path):
    params = parse_params([f"model=Model(kind=shared, feature_map={text})"])
    run = make_run("LinUCB", "LinearWorld", policy_params=params, rounds=60)
    policy = run.make_policy(run.make_world())
    assert text.partition("(")[0].endswith(type(policy.model.feature_map).__name__)
    first, again = run.simulate(tmp_path), run.simulate()
    np.testing.assert_array_equal(first.reward, again.reward)
    assert len(list(tmp_path.iterdir())) == 1, "what is kept is found by plain values"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Model(kind=joint)", "kind must be one of disjoint, shared, hybrid, auto, got 'joint'"),
        ("Model(speed=3)", "Model does not take these parameters: .*speed"),
        ("Model(feature_map=Nystrom)", "feature_map must be one of Nystroem, RBFSampler, .*, got 'Nystrom'"),
        ("Model(feature_map=Nystroem(colour=3))", "Nystroem does not take these parameters: .*colour"),
        ("Model(feature_map=3)", "feature_map must be one of .*, got 3"),
        (
            "Model(feature_map=fractions:Fraction)",
            "feature_map must be a scikit-learn transformer .*, got 'fractions:Fraction'",
        ),
        ("Modell(kind=shared)", "model must be one of disjoint, shared, hybrid, auto, a fairbandits.Model"),
        ("Model(kind)", "a parameter must be written as name=value, .*, got 'kind'"),
    ],
)
def test_names_that_are_no_models(text, words):
    with pytest.raises(ValueError, match=words):
        make_run("LinUCB", "LinearWorld", policy_params=parse_params([f"model={text}"])).make_policy()


def test_a_map_that_does_not_fit_its_world_is_one_line(capsys, tmp_path):
    arguments = ["simulate", "--world", "LinearWorld", "--rounds", "9", "--out", str(tmp_path)]
    assert main([*arguments, "--set", "model=Model(feature_map=Nystroem(kernel=colour))"]) == 2
    assert "kernel" in capsys.readouterr().err
