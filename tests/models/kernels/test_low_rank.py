"""Regressions with few observations have no matrices, and predict what others predict."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits import Catalogue, LinUCB, Model
from fairbandits.models import DisjointModel, as_rows
from fairbandits.models.array_pool import ArrayPool
from fairbandits.models.kernels.layouts import FIRST_STEP, MATRICES, N_STEPS

WIDTH, RIDGE = 24, 0.7


def rows_of(n, filled, seed=0, width=WIDTH):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    for row in X:
        row[rng.choice(width, width - filled, replace=False)] = 0.0
    return X


def learned(X, rewards, weights=None, **options):
    model = DisjointModel(X.shape[1], RIDGE, **options)
    for i, reward in enumerate(rewards):
        model.learn(0, as_rows(X[[i]]).row(0, 0), reward, 1.0 if weights is None else weights[i])
    return model


def has_matrices(model, slot=0):
    return model.where[slot, MATRICES] >= 0


def assert_is_textbook(model, X, rewards, weights, probes, tolerance=1e-9):
    A = RIDGE * np.eye(X.shape[1]) + (X.T * weights) @ X
    b = X.T @ (weights * rewards)
    inverse = np.linalg.inv(A)
    mean, width = model.score(as_rows(probes), np.zeros(len(probes), np.int64))
    close = {"rtol": tolerance, "atol": tolerance}
    np.testing.assert_allclose(mean[0], probes @ inverse @ b, **close)
    np.testing.assert_allclose(width[0], np.sqrt(np.einsum("ad,de,ae->a", probes, inverse, probes)), **close)
    np.testing.assert_allclose(model.gram_of(0), A, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.inverse_of(0), inverse, **close)
    np.testing.assert_allclose(model.coefficients(0), inverse @ b, **close)
    assert model.log_det_of(0) == pytest.approx(np.linalg.slogdet(A)[1], rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("filled", [4, 10, WIDTH])
def test_every_row_is_learned_as_the_textbook_does(filled, dtype):
    X, rng = rows_of(20, filled), np.random.default_rng(1)
    rewards, weights = rng.random(20), rng.random(20) + 0.1
    grown = []
    for n in range(1, 20):
        model = learned(X[:n], rewards[:n], weights, dtype=dtype)
        tolerance = 1e-9 if dtype == "float64" else 1e-5
        assert_is_textbook(model, X[:n], rewards[:n], weights[:n], rows_of(7, filled, 2), tolerance)
        grown.append(has_matrices(model))
    assert grown == [n > max(1, filled // 3) for n in range(1, 20)]


@given(st.integers(0, 12), st.integers(0, 12), st.booleans(), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_two_halves_merge_into_the_whole(n_one, n_other, is_full, seed):
    n = n_one + n_other
    X, rewards = rows_of(n, WIDTH if is_full else 12, seed), np.random.default_rng(seed).random(n)
    one, other = learned(X[:n_one], rewards[:n_one]), learned(X[n_one:], rewards[n_one:])
    one.merge(other, [(0, 0)])
    assert_is_textbook(one, X, rewards, np.ones(n), rows_of(3, WIDTH, 3), 1e-8)


def test_an_empty_model_merges_another_bitwise():
    X = rows_of(6, WIDTH)
    other, empty = learned(X, np.linspace(0, 1, 6)), DisjointModel(WIDTH, RIDGE)
    empty.merge(other, [(0, 0)])
    for name, array in other.arrays().items():
        np.testing.assert_array_equal(empty.arrays()[name], array, err_msg=name)


def test_rows_far_too_large_for_steps_are_solved_afresh():
    X = 1e3 * rows_of(3, WIDTH)
    model = learned(X, [0.1, 0.2, 0.3])
    assert has_matrices(model)
    assert_is_textbook(model, X, np.array([0.1, 0.2, 0.3]), np.ones(3), rows_of(3, WIDTH, 4), 1e-8)


def test_forgetting_frees_memory():
    X = rows_of(40, WIDTH)
    model, rows = DisjointModel(WIDTH, RIDGE), as_rows(X)
    for _ in range(5):
        for slot, n in ((0, 3), (1, 14), (2, 5)):
            for i in range(n):
                model.learn(slot, rows.row(0, i), 0.5)
            assert has_matrices(model, slot) == (n > WIDTH // 3)
        sizes = {name: array.shape for name, array in model.arrays().items()}
        for slot in range(3):
            model.forget(slot)
            np.testing.assert_array_equal(model.gram_of(slot), RIDGE * np.eye(WIDTH))
    assert sizes["gram"][0] == 1
    assert sizes["steps"][0] <= 8 + 5
    assert all(array.shape[0] == 0 for array in model.arrays().values())


def test_a_saved_low_rank_model_continues_bitwise(tmp_path):
    rng = np.random.default_rng(5)
    policy = LinUCB(random_state=0)
    for _ in range(30):
        policy.learn(policy.choose(rng.normal(size=(7, 20))), rng.random())
    assert not any(has_matrices(policy.reward_model, slot) for slot in range(7))
    policy.forget_arm(3)
    policy.save(tmp_path / "policy.safetensors")
    again = LinUCB.load(tmp_path / "policy.safetensors")
    assert again.checksum() == policy.checksum()
    for contexts, reward in zip(rng.normal(size=(60, 7, 20)), rng.random(60), strict=True):
        for one in (policy, again):
            one.learn(one.choose(contexts), reward)
    assert again.checksum() == policy.checksum()
    assert all(has_matrices(policy.reward_model, slot) for slot in range(7))


WRONG = {
    "a step from outside": lambda w: w.__setitem__((0, FIRST_STEP), 99),
    "a step twice": lambda w: w.__setitem__((0, FIRST_STEP), w[0, FIRST_STEP + 1]),
    "a matrix from outside": lambda w: w.__setitem__((1, MATRICES), 99),
    "a matrix below the first": lambda w: w.__setitem__((1, MATRICES), -2),
    "more steps than there is room for": lambda w: w.__setitem__((0, N_STEPS), 99),
    "fewer steps than none": lambda w: w.__setitem__((0, N_STEPS), -1),
    "more steps than are named": lambda w: w.__setitem__((0, N_STEPS), w[0, N_STEPS] + 1),
    "fewer steps than are named": lambda w: w.__setitem__((0, N_STEPS), w[0, N_STEPS] - 1),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_places_that_cannot_be_are_refused(wrong):
    X = rows_of(20, WIDTH)
    model, rows = learned(X[:4], [0.5] * 4), as_rows(X)
    for i in range(14):
        model.learn(1, rows.row(0, i), 0.5)
    arrays = {name: array.copy() for name, array in model.arrays().items()}
    DisjointModel(WIDTH, RIDGE).restore(arrays)
    WRONG[wrong](arrays["where"])
    with pytest.raises(ValueError, match=r"where names low-rank steps|a place is taken twice, or is not one"):
        DisjointModel(WIDTH, RIDGE).restore(arrays)


@pytest.mark.parametrize("model", ["disjoint", "hybrid"])
def test_scores_that_rounding_broke_leave_what_was_learned_alone(model):
    rng = np.random.default_rng(6)
    policy = LinUCB(model=model, random_state=0)
    for _ in range(20):
        policy.learn(policy.choose(rng.normal(size=(2, 3))), 0.5)
    contexts = rng.normal(size=(1, 2, 3))
    truth = policy.score(contexts).width
    model = policy.reward_model.arms if model == "hybrid" else policy.reward_model
    for slot in range(2):
        model._write_inverse(slot, -model._inverse(slot))
    before = policy.checksum()
    np.testing.assert_allclose(policy.score(contexts).width, truth, rtol=1e-9)
    assert policy.checksum() == before


def test_ten_thousand_arms_that_learned_one_row_take_no_matrices():
    catalogue = Catalogue(np.eye(26)[np.arange(10_000) % 26], 108)
    policy = LinUCB(random_state=0)
    user = (np.arange(108) % 6 == 0).astype(float)
    for arm in range(10_000):
        policy.learn(policy.choose(catalogue.offer(user, arms=[arm])), 0.5)
    held = sum(array.nbytes for array in policy.reward_model.arrays().values())
    assert held < 10_000 * 5_000  # a matrix alone would be 72,000
    assert policy.choose(catalogue.offer(user)).scores.width.std() < 1e-12


def test_models_that_have_matrices_from_the_first_row():
    X = rows_of(1, WIDTH)
    for description in (Model(kind="shared"), Model(kind="hybrid", discount=0.9), Model(discount=0.9)):
        model = description.build(WIDTH, RIDGE)
        model.learn(0, as_rows(X).row(0, 0), 0.5)
        assert has_matrices(getattr(model, "arms", model))


@given(st.lists(st.integers(0, 5), max_size=60))
def test_a_pool_hands_out_the_first_place_that_is_free(calls):
    pool, taken = ArrayPool({"x": ((), np.float64)}), {}
    for call in calls:
        if call < 4 or call - 4 not in taken:
            place = pool.take()
            assert place == min(set(range(len(taken) + 1)) - set(taken))
            assert pool["x"][place] == 0.0
            pool["x"][place] = taken[place] = place + 1.0
        else:
            pool.give_back(call - 4)
            del taken[call - 4]
    used = pool.used()
    assert len(used["x"]) == max(taken, default=-1) + 1
    again = ArrayPool({"x": ((), np.float64)})
    again.restore(used, taken)
    assert again.take() == pool.take()


@pytest.mark.parametrize("call", [1, 2, 3])
def test_a_pool_that_cannot_grow_stays_as_it_was(monkeypatch, call):
    pool = ArrayPool(dict.fromkeys("xyz", ((2,), np.float64)))
    place = pool.take()
    pool["x"][place] = 1.0
    real, calls = np.zeros, itertools.count(1)

    def short(*args):
        if next(calls) == call:
            raise MemoryError
        return real(*args)

    with monkeypatch.context() as patched:
        patched.setattr(np, "zeros", short)
        with pytest.raises(MemoryError):
            pool.take()
    assert {len(array) for array in pool.arrays.values()} == {1}
    assert pool.take() == 1
    np.testing.assert_array_equal(pool["x"], [[1.0, 1.0], [0.0, 0.0]])
