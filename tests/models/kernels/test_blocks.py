"""Regressions in blocks of eight predict what each would by itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from fairbandits import Catalogue, LinUCB, NaiveLinUCB
from fairbandits.models import DisjointModel, HybridModel, SharedModel, as_rows
from fairbandits.models.kernels import blocks
from fairbandits.models.kernels.vectors import LANES, add_weighted, set_products, subtract_outer, subtract_square

WIDTH, RIDGE = 9, 0.7
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


class Direct:
    """A and b of every arm, solved afresh whenever somebody asks."""

    def __init__(self, n_arms, width=WIDTH):
        self.A, self.b = np.tile(RIDGE * np.eye(width), (n_arms, 1, 1)), np.zeros((n_arms, width))

    def learn(self, arm, x, reward):
        self.A[arm] += np.outer(x, x)
        self.b[arm] += reward * x

    def forget(self, arm):
        self.A[arm], self.b[arm] = RIDGE * np.eye(len(self.A[arm])), 0.0

    def score(self, contexts, arms):
        inverse = np.linalg.inv(self.A[arms])
        mean = np.einsum("ad,ade,ae->a", contexts, inverse, self.b[arms])
        return mean, np.sqrt(np.einsum("ad,ade,ae->a", contexts, inverse, contexts))


def sparse_contexts(rng, n_arms, kind):
    """One row per arm: a common part, and own parts that stay, that change now and then, or that fill the row."""
    if kind == "full":
        return rng.normal(size=(n_arms, WIDTH))
    contexts = np.zeros((n_arms, WIDTH))
    contexts[:, rng.choice(4, 2, replace=False)] = rng.normal(size=2)
    contexts[np.arange(n_arms), 4 + np.arange(n_arms) % 3] = 1.0
    if kind == "changing":
        contexts[rng.random(n_arms) < 0.4, 7] = rng.normal()
    return contexts


def assert_scores(model, direct, contexts, arms):
    # Arms that learned nothing have no slot.
    slots = np.where(model.rows_learned[arms] > 0, arms, -1) if model.n_slots > max(arms) else np.array(arms)
    mean, width = model.score(as_rows(contexts), slots)
    expected = direct.score(contexts, arms)
    np.testing.assert_allclose(mean[0], expected[0], **CLOSE)
    np.testing.assert_allclose(width[0], expected[1], **CLOSE)


@pytest.mark.parametrize("kind", ["staying", "changing", "full"])
@given(seed=st.integers(0, 2**32 - 1), n_arms=st.integers(1, 20), rounds=st.integers(1, 80))
@settings(max_examples=25, deadline=None)
def test_every_model_is_a_direct_solve(kind, seed, n_arms, rounds):
    rng = np.random.default_rng(seed)
    model, direct = DisjointModel(WIDTH, RIDGE), Direct(n_arms)
    for number in range(rounds):
        contexts = sparse_contexts(rng, n_arms, kind)
        # A few arms learn most, so that their block is folded while others wait.
        arm, reward = int(rng.integers(n_arms) ** 2 / n_arms), rng.random()
        model.learn(arm, as_rows(contexts).row(0, arm), reward)
        direct.learn(arm, contexts[arm], reward)
        if rng.random() < 0.05:
            gone = int(rng.integers(n_arms))
            model.forget(gone)
            direct.forget(gone)
        if number % 7 == 0:
            again = DisjointModel(WIDTH, RIDGE)
            again.restore(model.arrays())
            model = again
        if number % 3 == 0:
            offered = rng.permutation(n_arms)[: rng.integers(1, n_arms + 1)]
            assert_scores(model, direct, sparse_contexts(rng, n_arms, kind)[: len(offered)], offered)
    for arm in range(min(n_arms, model.n_slots)):
        np.testing.assert_allclose(model.inverse_of(arm), np.linalg.inv(direct.A[arm]), **CLOSE)
        np.testing.assert_allclose(model.coefficients(arm), np.linalg.solve(direct.A[arm], direct.b[arm]), **CLOSE)


def test_goes_on_bitwise_after_a_file_with_steps_that_wait(tmp_path):
    rng = np.random.default_rng(0)
    policy = LinUCB(random_state=0)
    for _ in range(120):
        policy.learn(policy.choose(sparse_contexts(rng, 11, "changing")), rng.random())
    assert 0 < policy.reward_model.arrays()["pending"].max() < blocks.MOST_PENDING
    policy.save(tmp_path / "policy")
    again = LinUCB.load(tmp_path / "policy")
    for _ in range(60):
        contexts, reward = sparse_contexts(rng, 11, "changing"), rng.random()
        for one in (policy, again):
            one.learn(one.choose(contexts), reward)
    assert again.checksum() == policy.checksum()


def test_arms_of_one_model_are_scored_alike():
    rng = np.random.default_rng(1)
    model, contexts = DisjointModel(WIDTH, RIDGE), sparse_contexts(rng, 6, "staying")
    for i in range(20):
        model.learn(i % 3, as_rows(contexts).row(0, i % 3), 0.5)
    together = model.score(as_rows(contexts), np.array([2, 0, 2, 1, 0, 2]))
    for arm, slot in enumerate([2, 0, 2, 1, 0, 2]):
        alone = model.score(as_rows(contexts), np.array([slot] * 6))
        for one, other in zip(together, alone, strict=True):
            np.testing.assert_allclose(one[0, arm], other[0, arm], rtol=1e-12)


def learned_from(catalogue, users, policy, rng, rounds=60):
    for _ in range(rounds):
        decision = policy.choose(catalogue.offer(users[rng.integers(len(users))], {"sex": "fm"[rng.integers(2)]}))
        policy.learn(decision, rng.random())


def test_arms_that_changed_their_features_are_not_taken_for_what_they_were():
    rng = np.random.default_rng(2)
    users = np.eye(6)
    before, after = (
        Catalogue(rng.integers(2, size=(5, 4)), 6, matches={"sex": ["f", "m", "m", "f", None]}) for _ in range(2)
    )
    policy = LinUCB(random_state=0)
    learned_from(before, users, policy, rng)
    for catalogue in (before, after):
        offer = catalogue.offer(users[3] + users[1], {"sex": "m"})
        from_matrix = policy.score([offer.toarray()])
        np.testing.assert_allclose(policy.score(offer).total, from_matrix.total, **CLOSE)


def test_columns_that_are_left_out_are_left_out_of_own_parts_too():
    rng = np.random.default_rng(3)
    features = rng.normal(size=(5, 4))
    catalogue = Catalogue(features, 6, matches={"sex": list("fmmfm")})
    policy = NaiveLinUCB(drop=[6, 7, 10], random_state=0)
    learned_from(catalogue, np.eye(6), policy, rng)
    offer = catalogue.offer(np.ones(6), {"sex": "f"})
    np.testing.assert_allclose(policy.score(offer).total, policy.score([offer.toarray()]).total, **CLOSE)
    assert not policy.coefficients(0)[[6, 7, 10]].any()


def test_no_entry_lies_on_two_lines_of_the_cache():
    for dtype in ("float64", "float32"):
        empty = blocks.empty_blocks(3, WIDTH, dtype)
        assert empty.ctypes.data % 64 == 0
        assert empty.shape == (3, 10 * 11 // 2 + 5 * 10, LANES)


def test_rows_that_do_not_fit_are_refused():
    rows = as_rows(np.ones((2, 3)))
    for model in (DisjointModel(4, 1.0), SharedModel(4, 1.0), HybridModel(4, 1.0)):
        with pytest.raises(ValueError, match="rows must be 4 wide"):
            model.score(rows, np.zeros(2, np.int64))
    with pytest.raises(ValueError, match=r"with an arm each, got 3 and 1 arm\(s\)"):
        DisjointModel(3, 1.0).score(rows, np.zeros(1, np.int64))


@njit
def call_all(table, places, weights, lo, hi, out):
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    add_weighted(out, np.uint64(0), out, one, table, two, places, weights, lo, hi)
    subtract_square(out, two, out, one, table, two, places, weights, lo, hi)
    set_products(out, three, table, one, table, three, hi - lo)


@njit
def call_outer(matrix, steps, columns):
    subtract_outer(matrix, np.uint64(2), steps, np.uint64(1), columns[1], columns, np.uint64(2), 3, np.uint64(4))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("lo", "hi"), [(0, 0), (0, 1), (1, 5)])
def test_loops_over_eight_numbers(dtype, lo, hi):
    rng = np.random.default_rng(4)
    table, out = rng.normal(size=(20, LANES)).astype(dtype), rng.normal(size=(4, LANES))
    places, weights = rng.integers(17, size=6).astype(np.uint64), rng.normal(size=6)
    before, read = out.copy(), table.astype(np.float64)
    total = before[1] + weights[lo:hi] @ read[2 + places[lo:hi].astype(int)]
    call_all(table, places, weights, np.uint64(lo), np.uint64(hi), out)
    products = (read[1 : 1 + hi - lo] * read[3 : 3 + hi - lo]).sum(axis=0)
    expected = [total, before[1], before[2] - total**2, products]
    np.testing.assert_allclose(out, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_outer_products_are_subtracted_from_a_row(dtype):
    rng = np.random.default_rng(5)
    matrix, steps = (rng.normal(size=(16, LANES)).astype(dtype) for _ in range(2))
    columns = np.array([0, 3], np.uint64)
    expected = matrix.astype(np.float64)
    for j in (0, 3):
        for first in (1, 5, 9):
            expected[2 + j] -= steps[first + 3].astype(np.float64) * steps[first + j]
    call_outer(matrix, steps, columns)
    np.testing.assert_allclose(matrix, expected, rtol=1e-12 if dtype == np.float64 else 1e-6)
