"""Means with cluster-robust variances, compared with the matrices of the textbook."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbandits.statistics.clusters import row_means
from tests.statistics.users import means_of_users


def rows_of(rng, n_users, n_rows):
    user = rng.integers(n_users, size=n_rows)
    own = rng.uniform(0.2, 0.8, n_users)
    return user, np.clip(own[user] + rng.normal(0.0, 0.1, n_rows), 0.0, 1.0)


def sums_of(user, reward):
    return np.bincount(user).astype(float), np.bincount(user, reward)


@given(st.integers(0, 1_000), st.integers(3, 30))
def test_the_variance_is_that_of_a_regression_with_clustered_errors(seed, n_users):
    user, reward = rows_of(np.random.default_rng(seed), n_users, 6 * n_users)
    count, total = sums_of(user, reward)
    group = np.zeros(len(count), int)
    means = means_of_users(count, total, group, np.array([np.sum(reward**2)]))
    present = np.unique(user)
    by_hand = 0.0
    for each in present:
        # The residuals of the user's rows, times (I - H)^(-1/2) of the regression on a constant.
        mine = reward[user == each] - reward.mean()
        values, vectors = np.linalg.eigh(np.eye(len(mine)) - np.full((len(mine), len(mine)), 1 / len(reward)))
        adjusted = vectors @ (vectors.T @ mine / np.sqrt(values))
        by_hand += adjusted.sum() ** 2 / len(reward) ** 2
    assert means.mean[0] == pytest.approx(reward.mean())
    assert means.variance[0] == pytest.approx(max(by_hand, reward.var(ddof=1) / len(reward)))
    assert means.users[0] == len(present)
    assert means.effective_users[0] == pytest.approx(len(reward) ** 2 / np.sum(count**2))


def test_groups_are_separate():
    rng = np.random.default_rng(0)
    parts = [rows_of(rng, 20, 100), rows_of(rng, 30, 200)]
    sums = [sums_of(*part) for part in parts]
    squares = np.array([np.sum(reward**2) for _, reward in parts])
    group = np.repeat([0, 1], [len(count) for count, _ in sums])
    both = means_of_users(*(np.concatenate(part) for part in zip(*sums, strict=True)), group, squares)
    for number, (count, total) in enumerate(sums):
        alone = means_of_users(count, total, np.zeros(len(count), int), squares[number : number + 1])
        assert both.mean[number] == pytest.approx(alone.mean[0])
        assert both.variance[number] == pytest.approx(alone.variance[0])


def test_users_with_one_reward_each_are_independent_rows():
    reward = np.random.default_rng(0).random(50)
    one = np.ones(50)
    squares = np.array([np.sum(reward**2)])
    by_users = means_of_users(one, reward, np.zeros(50, int), squares)
    by_rows = row_means(np.array([50.0]), np.array([reward.sum()]), squares)
    assert by_rows.variance[0] == pytest.approx(reward.var(ddof=1) / 50)
    assert by_users.variance[0] == pytest.approx(by_rows.variance[0])
    assert by_users.effective_users[0] == by_rows.effective_users[0] == 50


def test_too_few_users_have_no_variance():
    means = means_of_users(np.array([10.0, 0.0]), np.array([5.0, 0.0]), np.array([0, 0]), np.array([5.0, 0.0]))
    assert np.isinf(means.variance[0])
    assert np.isnan(means.mean[1])
    assert means[[0]].users.tolist() == [1.0]
