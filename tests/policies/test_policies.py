"""What each policy does beyond what all of them promise."""

import gc
import json
import math
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.base import clone

import fairbandits
from fairbandits import (
    Decision,
    EpsilonGreedy,
    FairLinUCB,
    LinTS,
    LinUCB,
    Model,  # noqa: F401  (a repr names it)
    NaiveLinUCB,
    Uniform,
    alpha_from_delta,
    alpha_schedule,
    fair_linucb_regret_bound,
    linucb_regret_bound,
)
from fairbandits.contexts import correlated_columns
from fairbandits.models import as_rows
from fairbandits.policies.lints import ThompsonPicker, probability_of_best
from fairbandits.policies.serialisation import params_to_dict
from tests.helpers import POLICIES, contexts_for, fresh, teach

# -- parameters ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", POLICIES)
def test_parameters_follow_scikit_learn(name):
    policy, _ = teach(fresh(POLICIES[name], random_state=5))
    twin = clone(policy)
    # Two copies of a feature map are not equal, but have equal fingerprints.
    assert params_to_dict(twin.get_params()) == params_to_dict(policy.get_params())
    assert twin.rounds_learned == 0
    if getattr(policy.get_params().get("model"), "feature_map", None) is None:
        assert eval(repr(policy), vars(fairbandits)).get_params() == policy.get_params()  # noqa: S307
    assert teach(twin)[1] == teach(fresh(POLICIES[name], random_state=5))[1]


def test_parameters_that_may_change_take_effect_at_once():
    policy, _ = teach(FairLinUCB(gamma=0.0, random_state=0))
    contexts = contexts_for(np.random.default_rng(0))[None]
    assert not policy.score(contexts).fairness.any()
    assert policy.set_params(gamma=2.0).score(contexts).fairness.any()
    seeded = [policy.set_params(random_state=i)._rng.random() for i in (1, 2, 2)]
    assert seeded[0] == np.random.default_rng(1).random() != seeded[1]
    assert seeded[1] == seeded[2], "the same seed again starts again"


# -- the model -----------------------------------------------------------------------------------------


def test_alpha_of_lemma_1_grows_with_what_was_learned():
    policy = LinUCB(alpha="theory", model="shared", ridge=2.0, delta=0.1, theta_norm=1.5, random_state=0)
    contexts = contexts_for(np.random.default_rng(0))
    policy.choose(contexts)
    start = math.sqrt(2) * 1.5 + math.sqrt(2 * math.log(10))
    assert policy.alpha_now() == pytest.approx(start)
    alphas = [policy.alpha_now()]
    for seed in range(30):
        teach(policy, rounds=50, seed=seed)
        A = policy.reward_model.gram_of(0)
        by_hand = math.sqrt(2) * 1.5 + math.sqrt(
            2 * math.log(math.sqrt(np.linalg.det(A)) * 2.0 ** (-len(A) / 2) / 0.1)
        )
        assert policy.alpha_now() == pytest.approx(by_hand, rel=1e-9)
        alphas.append(policy.alpha_now())
    assert alphas == sorted(alphas)
    assert alpha_schedule(len(A) * math.log(2.0) - 1e-12, len(A), 2.0, 0.1, 1.5) == pytest.approx(start)


def test_alpha_from_delta_and_bounds_are_the_formulae():
    assert alpha_from_delta(0.1) == pytest.approx(1 + math.sqrt(math.log(20) / 2))
    T, d, L, M, ridge, delta, gamma = 5_000, 134, 3.0, 1.0, 9.0, 0.01, 2.0
    log = math.log(1 + T * L**2 / (d * ridge))
    bound = (
        math.sqrt(2 * T * d * log)
        * (2 + gamma)
        * (math.sqrt(ridge) * M + math.sqrt(2 * math.log(1 / delta) + d * log))
    )
    setting = {"ridge": ridge, "delta": delta, "context_norm": L, "theta_norm": M}
    assert fair_linucb_regret_bound(T, d, gamma=gamma, **setting) == pytest.approx(bound)
    assert linucb_regret_bound(T, d, **setting) == pytest.approx(bound * 2 / (2 + gamma))


@pytest.mark.parametrize("model", ["disjoint", "shared"])
def test_coefficients_are_those_of_ridge_regression(model):
    policy = LinUCB(ridge=0.5, model=model, random_state=0)
    rng = np.random.default_rng(0)
    X, r = rng.normal(size=(50, 4)), rng.random(50)
    for x, reward in zip(X, r, strict=True):
        policy.learn(policy.choose(x[None], arms=["a"]), reward)
    np.testing.assert_allclose(policy.coefficients("a"), np.linalg.solve(X.T @ X + 0.5 * np.eye(4), X.T @ r))
    other = policy.coefficients("b")
    assert other.any() == (model == "shared")


def test_an_untouched_arm_has_the_width_of_its_ridge():
    contexts = [[3.0, 0.0, 4.0]]
    assert LinUCB(ridge=4.0).choose(contexts).scores.width.item() == pytest.approx(5.0 / 2.0)
    assert LinUCB(ridge=0.25).choose(contexts).scores.width.item() == pytest.approx(5.0 / 0.5)


def test_a_hundred_thousand_arms_that_nobody_received_cost_no_matrices():
    policy = LinUCB(random_state=0)
    contexts = sparse.csr_array((np.ones(100_000), (np.arange(100_000), np.arange(100_000) % 134)), (100_000, 134))
    policy.choose(contexts[:2])
    gc.collect()
    tracemalloc.start()
    decision = policy.choose(contexts)
    policy.learn(decision, 0.5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert policy.reward_model.n_slots == 1
    assert peak < 60 * 2**20


def test_arms_that_were_never_learned_take_no_slot():
    policy, _ = teach(LinUCB(random_state=0), rounds=3, n_arms=50)
    assert policy.reward_model.rows_learned.sum() == 3
    assert policy.reward_model.n_slots <= 4


# -- decisions -----------------------------------------------------------------------------------------


def test_a_decision_holds_what_learning_needs_after_the_caller_reuses_his_arrays():
    policy = LinUCB(random_state=0)
    for form in (np.asarray, sparse.csr_array):
        for contexts in (contexts_for(np.random.default_rng(1)), np.random.default_rng(2).random((6, 10))):
            given = form(contexts.copy())
            decision = policy.choose(given, {"sex": "f"})
            (given if form is np.asarray else given.data)[:] = 7.0
            np.testing.assert_array_equal(decision.context, contexts[decision.index])
    assert decision.group == (("sex", "f"),)
    assert decision.score == decision.scores.total[decision.index]
    assert repr(decision).startswith(f"Decision(number=3, arm={decision.arm}, probability=1.0, mean=")
    with pytest.raises(AttributeError):
        decision.arm = 3


@pytest.mark.parametrize("reused", ["data", "indices", "indptr"])
def test_a_single_sparse_context_is_kept_after_the_caller_reuses_his_arrays(reused):
    arrays = np.array([3.0]), np.array([2]), np.array([0, 1])
    contexts = sparse.csr_array(arrays, shape=(1, 4))
    decision = LinUCB(random_state=0).choose(contexts)
    getattr(contexts, reused)[:] = 0
    np.testing.assert_array_equal(decision.context, [0.0, 0.0, 3.0, 0.0])


def test_ties_are_broken_evenly_and_said():
    contexts = np.eye(4)[[0, 1, 2, 2]]
    picks = [LinUCB(random_state=i).choose(contexts) for i in range(2_000)]
    assert {decision.probability for decision in picks} == {0.25}
    counts = np.bincount([decision.arm for decision in picks], minlength=4)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_scores_that_differ_by_rounding_alone_are_ties():
    """Two arms that learned the same rows in another order have the same score on paper, not in a computer."""
    rng = np.random.default_rng(0)
    X, r = rng.random((30, 6)), rng.random(30)
    policy = LinUCB(alpha=0.4, random_state=0)
    for arm, order in (("a", np.arange(30)), ("b", rng.permutation(30))):
        for i in order:
            policy.learn(policy.choose(X[[i]], arms=[arm]), r[i])
    decisions = [policy.choose(x[[0, 0]], arms=["a", "b"]) for x in np.split(X, 30)]
    assert any(d.scores.total[0] != d.scores.total[1] for d in decisions)
    assert all(d.probability == 0.5 for d in decisions)


def test_epsilon_spreads_over_all_arms():
    policy = EpsilonGreedy(epsilon=0.4, random_state=0)
    policy.learn(policy.choose([[1.0]], arms=["good"]), 1.0)
    decisions = [policy.choose([[1.0]] * 4, arms=["good", "b", "c", "d"]) for _ in range(3_000)]
    assert {(d.arm == "good", round(d.probability, 9)) for d in decisions} == {(True, 0.7), (False, 0.1)}
    share = np.mean([d.arm == "good" for d in decisions])
    assert share == pytest.approx(0.7, abs=0.03)


def test_uniform_counts_who_got_what():
    policy, arms = teach(Uniform(random_state=0), rounds=300)
    assert set(arms) == set(range(6))
    assert {s.group: s.count for s in policy.groups.summaries()} == {"male": 150, "female": 150}


def test_naive_does_not_see_the_columns():
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(10)]
    blind = NaiveLinUCB(drop=["c0", "c7"], columns=names, random_state=0)
    plain = LinUCB(random_state=0)
    for t in range(100):
        for form in (np.asarray, sparse.csr_array):
            contexts = contexts_for(rng) if t % 2 else rng.random((6, 10))
            cleared = contexts.copy()
            cleared[:, [0, 7]] = 0.0
            one, two = blind.choose(form(contexts), "f"), plain.choose(form(cleared), "f")
            assert one.arm == two.arm
            np.testing.assert_allclose(one.scores.total, two.scores.total, rtol=1e-12)
            blind.learn(one, 0.5)
            plain.learn(two, 0.5)


def test_columns_correlated_with_a_group():
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b", "c"], 500)
    users = np.column_stack([group == "a", rng.random(500), (group == "c") + rng.random(500), np.ones(500)])
    assert correlated_columns(users, group) == (0, 2)
    assert correlated_columns(users, group, threshold=0.99) == (0,)
    assert correlated_columns(users, group, columns=["x", "y", "z", "one"]) == ("x", "z")


# -- Thompson sampling ---------------------------------------------------------------------------------

NORMALS = {
    "alike": ([0.0] * 5, [1.0] * 5),
    "one ahead": ([0.5, 0.0, 0.1], [0.2, 0.3, 0.1]),
    "one much narrower": ([0.0, 0.1, -0.2], [1.0, 1e-4, 0.5]),
    "one sure": ([0.0, 0.3], [1.0, 0.0]),
    "hopeless": ([0.0, 50.0], [1.0, 1.0]),
    "all sure and level": ([0.3, 0.3, 0.1], [0.0, 0.0, 0.0]),
    "two sure and level": ([0.0, 0.0, -0.5, 0.2], [0.0, 0.0, 0.0, 1.0]),
    "many": (list(np.linspace(0, 0.3, 60)), [0.1] * 60),
}


@pytest.mark.parametrize("case", NORMALS)
def test_the_probability_of_being_best_is_an_exact_integral(case):
    mean, sd = (np.array(numbers) for numbers in NORMALS[case])
    exact = np.array([probability_of_best(i, mean, sd) for i in range(mean.size)])
    assert exact.sum() == pytest.approx(1.0, abs=1e-8)
    draws = np.random.default_rng(0).normal(mean, sd, (200_000, mean.size))
    best = draws == draws.max(axis=1, keepdims=True)
    np.testing.assert_allclose((best / best.sum(axis=1, keepdims=True)).mean(axis=0), exact, atol=0.006)


def test_thompson_draws_come_from_what_is_believed():
    policy, _ = teach(LinTS(alpha=0.7, model="shared", random_state=0))
    contexts = contexts_for(np.random.default_rng(3))
    draws = policy.score(np.repeat(contexts[None], 4_000, axis=0)).exploration
    covariance = 0.49 * contexts @ policy.reward_model.inverse_of(0) @ contexts.T
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.04)
    assert policy.choose(contexts).probability is None


def test_thompson_without_spread_is_greedy():
    for model in ("disjoint", "shared"):
        policy, _ = teach(LinTS(alpha=0.0, model=model, random_state=0))
        assert policy.choose(contexts_for(np.random.default_rng(3))).probability is not None


# -- arms that come and go -----------------------------------------------------------------------------


def test_a_forgotten_arm_starts_anew_under_its_id():
    policy, _ = teach(FairLinUCB(random_state=0))
    before = policy.groups.gap()
    policy.forget_arm(2)
    assert not policy.coefficients(2).any()
    assert policy.groups.gap() == before, "what users received stays counted"
    again = policy.choose(np.eye(10)[:1], "male", arms=[2])
    assert again.scores.width.item() == 1.0
    policy.learn(again, 1.0)
    assert policy.coefficients(2)[0] == 0.5


def test_a_late_reward_for_a_forgotten_arm_counts_for_its_user_alone():
    policy, _ = teach(LinUCB(random_state=0))
    late = policy.choose(np.eye(10)[:1], "male", arms=[2])
    policy.forget_arm(2)
    counts = {s.group: s.count for s in policy.groups.summaries()}
    policy.learn(late, 1.0)
    assert {s.group: s.count for s in policy.groups.summaries()} == counts | {"male": counts["male"] + 1}
    assert 2 not in policy._arms
    again = policy.choose(np.eye(10)[:1], "male", arms=[2])
    policy.learn(again, 0.5)
    assert policy.coefficients(2)[0] == pytest.approx(0.25)


def test_an_arm_can_be_forgotten_while_its_first_reward_is_on_its_way():
    policy = FairLinUCB(random_state=0)
    late = policy.choose(np.eye(3)[:1], "male", arms=["x"])
    policy.forget_arm("x", missing_ok=True)
    policy.learn(late, 1.0)
    assert "x" not in policy._arms
    policy.groups.add(0.5, "female", arm="y")
    policy.forget_arm("y")


def test_contexts_may_change_their_width_while_nothing_has_been_learned():
    policy = LinUCB(random_state=0)
    early = policy.choose(np.eye(3))
    policy.learn(policy.choose(np.eye(4)), 0.5)
    with pytest.raises(ValueError, match=r"must be 4 wide.*, got 3"):
        policy.learn(early, 0.5)


def test_arms_and_groups_come_in_any_container():
    policy = LinUCB(random_state=0)
    for arms in (
        pd.Index(list("abc")),
        pd.Series(list("abc")),
        np.array(list("abc")),
        (a for a in "abc"),
        range(3),
    ):
        assert policy.choose(np.eye(3), arms=arms).arm in ("a", "b", "c", 0, 1, 2)
    frame = pd.DataFrame(np.eye(3), columns=list("xyz"))
    assert policy.choose(frame, group=np.str_("m")).group == (("group", "m"),)
    decisions = policy.choose_many(np.array([np.eye(3)] * 3), pd.Series(["m", None, pd.NA]))
    assert [d.group for d in decisions] == [(("group", "m"),), (), ()], (
        "what is missing in a frame is unknown here"
    )
    assert policy.choose(np.eye(3), {"sex": float("nan"), "race": "a"}).group == (("race", "a"),)


def test_a_decision_can_be_kept_as_json():
    policy, twin = teach(FairLinUCB(random_state=0))[0], teach(FairLinUCB(random_state=0))[0]
    for contexts in (contexts_for(np.random.default_rng(1)), np.random.default_rng(1).random((6, 10))):
        decision = policy.choose(contexts, {"sex": "f", "race": "Black"})
        kept = Decision.from_dict(json.loads(json.dumps(decision.to_dict())))
        for field in ("arm", "probability", "group", "n_arms", "regret", "policy", "number", "score"):
            assert getattr(kept, field) == getattr(decision, field)
        policy.learn(kept, 0.7)
        twin.learn(twin.choose(contexts, {"sex": "f", "race": "Black"}), 0.7)
    assert policy.checksum() == twin.checksum()


def test_the_row_of_a_forgotten_arm_is_used_again():
    policy = LinUCB(random_state=0)
    for i in range(50):
        policy.learn(policy.choose([[1.0]], arms=[f"a{i}"]), 0.5)
        policy.forget_arm(f"a{i}")
    assert policy.reward_model.n_slots == 1


def test_rewards_may_stay_away_without_filling_the_memory():
    policy = Uniform(random_state=0)
    for _ in range(20_000):
        last = policy.choose([[1.0], [1.0]])
    policy.learn(last, 0.5)
    assert sum(array.nbytes for array in policy._ledger.arrays().values()) <= 20_000 / 8 * 1.3 + 8


# -- many at once --------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["disjoint", "shared"])
def test_scores_of_many_users_are_those_of_each(model):
    policy, _ = teach(FairLinUCB(model=model, random_state=0))
    rng = np.random.default_rng(1)
    users = np.array([contexts_for(rng) for _ in range(25)])
    one_by_one = np.array([policy.choose(user, "male").scores.total for user in users])
    for form in (users, list(users), [sparse.csr_array(user) for user in users], users.tolist()):
        np.testing.assert_allclose(policy.score(form).total, one_by_one, rtol=1e-12)
    decisions = policy.choose_many(users, ["male"] * 25, arms=list("abcdef"))
    assert [d.number for d in decisions] == list(range(decisions[0].number, decisions[0].number + 25))
    policy.learn_many(decisions, [0.5] * 25)


def test_a_matrix_with_duplicate_entries_means_their_sum():
    values, rows, columns = [1.0, 2.0, 4.0], [0, 0, 1], [3, 3, 9]
    coo = sparse.coo_array((values, (rows, columns)), shape=(2, 10))
    duplicated = sparse.csr_array((values, columns, [0, 2, 3]), shape=(2, 10))
    expected = as_rows(coo.toarray())
    for matrix in (coo, duplicated):
        got = as_rows(matrix)
        for arm in range(2):
            np.testing.assert_array_equal(got.row(0, arm).dense(), expected.row(0, arm).dense())
    assert duplicated.nnz == 3, "the caller's matrix stays as it was"


def test_probabilities_without_a_closed_form_are_counted():
    policy, _ = teach(LinTS(alpha=0.5, model="disjoint", random_state=0))
    contexts = np.array([contexts_for(np.random.default_rng(1))] * 2)
    exact = policy.probabilities(contexts, ["male", "female"])

    class SecretivePicker(ThompsonPicker):
        def probabilities(self, scores, groups):
            return None

    class Secretive(LinTS):
        @property
        def picker(self):
            return SecretivePicker(self.alpha, is_independent=True)

    counted = teach(Secretive(alpha=0.5, random_state=0))[0].probabilities(
        contexts, ["male", "female"], draws=4000
    )
    assert np.abs(counted - exact).max() < 5 * np.sqrt(0.25 / 4000)
    assert np.abs(exact.sum(axis=1) - 1.0).max() < 1e-9


def test_ties_share_the_probability():
    assert LinUCB().probabilities(np.ones((1, 4, 2))).tolist() == [[0.25] * 4]
    assert Uniform().probabilities(np.ones((2, 5, 1))).tolist() == [[0.2] * 5] * 2
    assert teach(LinTS(alpha=0.0))[0].probabilities(np.ones((1, 2, 10)), arms=["p", "q"]).tolist() == [[0.5, 0.5]]
