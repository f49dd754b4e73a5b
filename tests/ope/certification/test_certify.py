"""The joint test: its error rate at the boundary of each condition, its power, and the sequence of tests."""

import numpy as np
import pytest
from scipy.stats import binom

from fairbandits.ope.certification.certify import Certifier
from fairbandits.ope.certification.family_sums import FamilySums
from fairbandits.ope.certification.joint_conditions import JointConditions
from fairbandits.ope.certification.mixture import Mixture
from fairbandits.ope.group_index import GroupIndex
from fairbandits.ope.log_rows import LogRows

GROUPS = GroupIndex({"sex": ["female", "male"]})
BOTH = Mixture("sex", np.array([0.0, 1.0, 1.0]), np.zeros(3))
FEMALE_ALONE = Mixture("sex", np.array([0.0, 1.0, 0.0]), np.zeros(3))
LOGGING = Mixture("sex", np.zeros(3), np.zeros(3))
REPEATS = 150


def draw_sums(mean, seed, n=600):
    """Sum a log of a uniform policy over two arms; the fitted policy always chooses the second one."""
    rng = np.random.default_rng(seed)
    sex, arm = rng.integers(0, 2, n), rng.integers(0, 2, n)
    reward = (rng.random(n) < np.asarray(mean)[sex, arm]).astype(float)
    groups = np.column_stack([np.zeros(n, int), 1 + sex])
    rows = LogRows(np.arange(n), np.ones(n, bool), arm, reward, np.full(n, 0.5), groups, (), None, {})
    sums = FamilySums(GROUPS, n)
    sums.add(rows, np.tile([0.0, 1.0], (n, 1)), np.full((n, 2), 0.5))
    return sums


def conditions(tolerance, margin):
    return JointConditions(GROUPS, tolerance, margin, 0.05, references=(1,))


@pytest.mark.parametrize(
    ("mean", "mixture", "tolerance", "margin"),
    [
        ([[0.2, 0.7], [0.2, 0.5]], BOTH, 0.2, 0.01),  # the gap is the tolerance
        ([[0.2, 0.5], [0.2, 0.7]], BOTH, 0.2, 0.01),
        ([[0.6, 0.4], [0.5, 0.5]], FEMALE_ALONE, 0.9, 0.1),  # female users lose the margin
    ],
)
def test_a_policy_at_the_boundary_is_certified_as_seldom_as_promised(mean, mixture, tolerance, margin):
    certified = sum(
        Certifier(draw_sums(mean, seed), conditions(tolerance, margin)).test(mixture).passes
        for seed in range(REPEATS)
    )
    assert certified <= binom.ppf(0.999, REPEATS, 0.05)


def test_a_good_policy_is_certified():
    test = Certifier(draw_sums([[0.2, 0.6], [0.3, 0.6]], 0, n=4_000), conditions(0.1, 0.01)).test(BOTH)
    assert test.passes
    assert test.reward.value == pytest.approx(0.6, abs=0.05)
    assert abs(test.largest_gap.estimate.value) < 0.1
    assert test.smallest_change.estimate.low > 0.1
    assert {change.group for change in test.changes} == {"female", "male"}


def test_groups_that_keep_the_logging_policy_are_not_compared_with_it():
    certifier = Certifier(draw_sums([[0.5, 0.5], [0.5, 0.5]], 0), conditions(0.3, 0.0))
    assert [change.group for change in certifier.test(FEMALE_ALONE).changes] == ["female"]
    kept = certifier.test(LOGGING)
    assert kept.passes
    assert kept.smallest_change is None
    assert kept.to_dict()["changes"] == []


def test_the_sequence_ends_at_the_first_failure():
    certifier = Certifier(draw_sums([[0.5, 0.9], [0.9, 0.5]], 0, n=4_000), conditions(0.1, 0.01))
    tests = certifier.run_sequence([LOGGING, BOTH, LOGGING])
    assert [test.passes for test in tests] == [True, False]
