"""The sums of a part, and the values of mixtures that follow from them."""

import numpy as np
import pytest

from fairbandits.ope.certification.family_sums import FamilySums
from fairbandits.ope.certification.mixture import Mixture
from fairbandits.ope.group_index import OVERALL, GroupIndex
from fairbandits.ope.log_rows import LogRows

GROUPS = GroupIndex({"sex": ["female", "male"]})
N = 400


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    groups = np.column_stack([np.zeros(N, int), rng.integers(1, 3, N)])
    groups[:10, 1] = -1
    user = np.repeat(np.arange(1, N // 2 + 1), 2).astype(np.uint64)
    groups[1::2, 1] = groups[::2, 1]
    propensity = rng.uniform(0.2, 0.8, N)
    arm, reward = rng.integers(0, 3, N), rng.random(N)
    return LogRows(np.arange(N), np.ones(N, bool), arm, reward, propensity, groups, (), user, {})


@pytest.fixture(scope="module")
def policy():
    rng = np.random.default_rng(1)
    return rng.dirichlet(np.ones(3), N), rng.random((N, 3))


@pytest.fixture(scope="module")
def sums(rows, policy):
    found = FamilySums(GROUPS, N)
    for part in (slice(0, 150), slice(150, N)):
        found.add(rows.select(part), policy[0][part], policy[1][part])
    return found


def mixture(fitted, uniform):
    return Mixture("sex", np.array([0.0, *fitted]), np.array([0.0, *uniform]))


@pytest.mark.parametrize("group", [OVERALL, 1, 2])
def test_mixtures_are_what_their_own_weights_give(rows, policy, sums, group):
    mixed = mixture([0.3, 1.0], [0.2, 0.0])
    units, logged = sums.mixed(mixed, group)
    of_row = np.where(rows.groups[:, 1] > 0, rows.groups[:, 1], 0)
    chosen = np.arange(N), rows.arm
    probabilities, predictions = policy
    shares = mixed.logging[of_row], mixed.fitted[of_row], mixed.uniform[of_row]
    weight = shares[0] + (shares[1] * probabilities[chosen] + shares[2] / 3) / rows.propensity
    both = shares[1][:, None] * probabilities + shares[2][:, None] / 3
    control = (weight - shares[0]) * predictions[chosen] - (both * predictions).sum(axis=1)
    members = np.ones(N, bool) if group == OVERALL else rows.groups[:, 1] == group
    for column, expected in zip(
        (units.rows, units.weights, units.rewards, units.controls[:, 0], logged.rewards),
        (np.ones(N), weight, weight * rows.reward, control, rows.reward),
        strict=True,
    ):
        by_user = np.bincount(rows.user[members].astype(int), expected[members])
        assert np.allclose(np.sort(column), np.sort(by_user[np.unique(rows.user[members].astype(int))]))
    assert units.max_weight >= weight[members].max()


def test_means_of_the_three_policies(rows, sums):
    for group in (1, 2):
        expected = []
        for fitted, uniform in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)):
            units, _ = sums.mixed(mixture([fitted] * 2, [uniform] * 2), group)
            expected.append((units.rewards - units.controls[:, 0]).sum() / units.rows.sum())
        assert sums.means(group) == pytest.approx(expected)
        logged = sums.logged(group)
        assert logged.rewards.sum() / logged.rows.sum() == pytest.approx(expected[0])


def test_users_are_counted_by_group(rows, sums):
    assert sums.n_units() == N // 2
    assert sums.n_units(1) + sums.n_units(2) == N // 2 - 5
    assert sums.rows == N
