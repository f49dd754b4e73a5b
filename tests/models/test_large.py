"""What makes large things fast changes no result: threads, float32, arms by the thousand."""

import tracemalloc

import numpy as np
import pytest

from fairbandits import Catalogue, LinTS, LinUCB, Model, Uniform
from fairbandits.models import DisjointModel, as_rows, disjoint, threads
from fairbandits.policies.lints import probability_of_best
from tests.textbook import Textbook


@pytest.mark.parametrize("model", ["disjoint", "shared"])
@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("n_users", [30, 200])
def test_threads_change_no_bit(model, full, n_users, monkeypatch):
    rng = np.random.default_rng(0)
    policy = LinUCB(model=model, random_state=0)
    contexts = rng.normal(size=(n_users, 41, 12)) * (1.0 if full else rng.random((n_users, 41, 12)) < 0.2)
    for user in contexts[:30]:
        policy.learn(policy.choose(user), 0.5)
    alone = policy.score(contexts)
    calls = []
    monkeypatch.setattr(threads, "n_threads", lambda: 3)
    monkeypatch.setattr(threads, "_PER_THREAD", 1)
    monkeypatch.setattr(threads, "LEAST_WORK", 0)
    monkeypatch.setattr(disjoint, "LEAST_WORK", 0)
    pool = threads._pool()
    monkeypatch.setattr(threads, "_pool", lambda: calls.append(1) or pool)
    together = policy.score(contexts)
    # Two for scores, two for their sums, and two for corrections where arm parts differ.
    assert len(calls) == (6 if model == "disjoint" and not full else 4)
    np.testing.assert_array_equal(alone.mean, together.mean)
    np.testing.assert_array_equal(alone.total, together.total)
    np.testing.assert_array_equal(alone.width, together.width)


@pytest.mark.parametrize(("said", "cores"), [("1", 1), ("0", None), ("many", None), ("", None), ("10000", None)])
def test_how_many_threads(said, cores, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    found = threads.n_threads.__wrapped__()
    assert found == cores if cores else found >= 1


@pytest.mark.parametrize("full", [True, False])
def test_float32_is_close_and_takes_half_the_memory(full):
    rng = np.random.default_rng(1)
    contexts = rng.normal(size=(3000, 60)) * (1.0 if full else rng.random((3000, 60)) < 0.2)
    rows = as_rows(contexts)
    exact, short = DisjointModel(60, 1.0), DisjointModel(60, 1.0, "float32")
    for i in range(2500):
        for model in (exact, short):
            model.learn(i % 2, rows.row(0, i), float(contexts[i, :5].sum()))
    slots = np.arange(3000) % 2
    (mean, width), (mean_32, width_32) = exact.score(rows, slots), short.score(rows, slots)
    np.testing.assert_allclose(mean_32, mean, atol=2e-4)
    np.testing.assert_allclose(width_32, width, rtol=2e-4, atol=2e-5)
    assert short.arrays()["blocks"].nbytes == exact.arrays()["blocks"].nbytes // 2


def test_float32_survives_a_file_and_a_merge(tmp_path):
    rng = np.random.default_rng(2)
    policies = [LinUCB(model=Model(dtype="float32"), random_state=0) for _ in range(2)]
    for policy in policies:
        for _ in range(50):
            policy.learn(policy.choose(rng.normal(size=(4, 6))), rng.random())
    policies[0].save(tmp_path / "policy.safetensors")
    again = LinUCB.load(tmp_path / "policy.safetensors")
    assert again.checksum() == policies[0].checksum()
    merged = policies[0].merge(policies[1])
    assert merged.rounds_learned == 100
    assert merged.reward_model.arrays()["blocks"].dtype == np.float32


def test_a_dtype_that_is_none():
    with pytest.raises(ValueError, match="dtype must be one of float64, float32, got 'float16'"):
        Model(dtype="float16")


@pytest.mark.parametrize("n_arms", [10, 1_000, 10_000])
@pytest.mark.parametrize("model", ["disjoint", "shared"])
def test_many_arms_are_scored_as_the_textbook_does(n_arms, model):
    rng = np.random.default_rng(3)
    features = np.eye(9)[rng.integers(9, size=n_arms)]
    catalogue = Catalogue(features, 8)
    policy = LinUCB(alpha=0.7, model=model, random_state=1)
    textbook = Textbook(alpha=0.7, gamma=0.0, ridge=1.0, model=model, seed=1)
    for _ in range(5 if n_arms > 1_000 else 15):
        offer = catalogue.offer(np.eye(8)[rng.integers(8)])
        contexts = offer.toarray()
        _, scores = textbook.choose(contexts, list(catalogue.arms))
        decision = policy.choose(offer)
        np.testing.assert_allclose(decision.scores.total, scores, rtol=1e-9, atol=1e-9)
        reward = rng.random()
        policy.learn(decision, reward)
        textbook.learn(decision.arm, contexts[decision.index], reward, None)


@pytest.mark.parametrize("width", [16, 300, 1_024])
@pytest.mark.parametrize("filled", [5, None])
def test_wide_contexts_are_scored_as_a_direct_solve_does(width, filled):
    rng = np.random.default_rng(4)
    contexts = np.zeros((6, width))
    for row in contexts:
        columns = rng.choice(width, filled or width, replace=False)
        row[columns] = rng.normal(size=columns.size)
    policy = LinUCB(alpha=0.7, model="shared", random_state=1)
    A, b = np.eye(width), np.zeros(width)
    for _ in range(6):
        decision = policy.choose(contexts)
        inverse = np.linalg.inv(A)
        scores = contexts @ inverse @ b + 0.7 * np.sqrt(np.einsum("ad,de,ae->a", contexts, inverse, contexts))
        np.testing.assert_allclose(decision.scores.total, scores, rtol=1e-9, atol=1e-9)
        policy.learn(decision, 0.3)
        x = contexts[decision.index]
        A, b = A + np.outer(x, x), b + 0.3 * x


def test_untouched_arms_take_no_matrices():
    catalogue = Catalogue(np.eye(26)[np.arange(100_000) % 26], 108)
    policy = LinUCB(random_state=0)
    policy.choose(catalogue.offer(np.ones(108)))  # compiles
    tracemalloc.start()
    for _ in range(3):
        policy.learn(policy.choose(catalogue.offer(np.ones(108))), 0.5)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60 * 2**20


def test_an_arm_that_comes_is_looked_up_and_one_that_goes_is_not():
    catalogue = Catalogue(np.eye(3), 1)
    policy = LinUCB(alpha=0.0, random_state=0)
    offer = catalogue.offer([1.0])
    first = policy.choose(offer)
    policy.learn(first, 1.0)
    again = policy.choose(offer)
    assert again.scores.mean[first.index] > 0.0
    policy.forget_arm(first.arm)
    assert policy.choose(offer).scores.mean[first.index] == 0.0


def test_uniform_serves_a_hundred_thousand_arms():
    decision = Uniform(random_state=0).choose(Catalogue(np.ones((100_000, 1)), 0).offer([]))
    assert decision.probability == 1e-5


def test_decisions_for_many_do_not_follow_the_matrix_they_came_from():
    contexts = np.random.default_rng(5).random((3, 4, 5))
    policy = LinUCB(random_state=0)
    decisions = policy.choose_many(contexts)
    expected = [contexts[user, index].copy() for user, index in enumerate(decisions.indices)]
    contexts[:] = 9.0
    for decision, context in zip(decisions, expected, strict=True):
        np.testing.assert_array_equal(decision.context, context)


def test_thompson_draws_where_float32_is_not_positive_definite():
    rng = np.random.default_rng(6)
    policy = LinTS(model=Model(kind="shared", dtype="float32"), random_state=0)
    for _ in range(30):
        policy.learn(policy.choose(1e4 * rng.normal(size=(5, 6))), 0.5)
    assert policy.rounds_learned == 30


def test_spreads_that_are_worlds_apart():
    assert probability_of_best(0, np.array([0.0, 0.5]), np.array([1e-320, 0.5])) == pytest.approx(
        0.158655, abs=1e-6
    )


def test_a_run_among_others_uses_one_thread(monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: 3)
    monkeypatch.setattr(threads, "_PER_THREAD", 1)
    monkeypatch.setattr(threads, "LEAST_WORK", 0)
    monkeypatch.setattr(disjoint, "LEAST_WORK", 0)
    monkeypatch.setattr(threads, "_pool", None)
    with threads.one_thread():
        assert threads.over_arms(lambda lo, hi: hi - lo, (), 7, 10**9) == 7
