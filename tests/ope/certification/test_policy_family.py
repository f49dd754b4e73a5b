"""The shares of the members of a family."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fairbandits.ope.certification.mixture import Mixture
from fairbandits.ope.certification.policy_family import SHARES, policy_family
from fairbandits.ope.group_index import GroupIndex

REWARD = st.floats(0.0, 1.0)


class _Means:
    """Sums of which only the means by group are needed."""

    def __init__(self, means):
        self._means = means

    def means(self, group):
        return self._means[group - 1]


@settings(deadline=None)
@given(st.lists(st.tuples(REWARD, REWARD, REWARD), min_size=2, max_size=4), st.floats(0.01, 0.2))
def test_shares_are_probabilities_and_close_the_gap_as_far_as_possible(means, tolerance):
    table = np.array(means)
    groups = GroupIndex({"sex": [f"group {i}" for i in range(len(means))]})
    members = policy_family(_Means(table), groups, tolerance)
    assert members[0].is_logging_policy
    for member in members:
        assert (member.fitted >= 0.0).all()
        assert (member.uniform >= 0.0).all()
        assert (member.logging >= -1e-12).all()
        assert not member.fitted[0]
        assert not member.uniform[0]


@settings(deadline=None)
@given(st.tuples(REWARD, REWARD, REWARD), st.tuples(REWARD, REWARD, REWARD))
def test_a_gap_of_zero_is_reached_if_the_uniform_policy_gives_little(one, two):
    table = np.array([one, two])
    # The fitted policy is better than the logging policy, which is better than the uniform one.
    table = np.sort(table, axis=1)[:, [1, 2, 0]]
    assume(table[:, 2].max() < table[:, 0].min())
    members = policy_family(_Means(table), GroupIndex({"sex": ["female", "male"]}), 0.02)
    for share in SHARES:
        ours = [m for m in members if np.isclose(m.fitted.max(), share) or m.uniform.any()]
        values = [
            (table * np.column_stack([m.logging[1:], m.fitted[1:], m.uniform[1:]])).sum(axis=1) for m in ours
        ]
        assert min(float(np.ptp(value)) for value in values) <= 2e-3


def test_members_differ_and_name_their_shares():
    groups = GroupIndex({"sex": ["female", "male"]})
    members = policy_family(_Means(np.array([[0.4, 0.6, 0.3], [0.5, 0.8, 0.3]])), groups, 0.02)
    titles = [member.title(groups) for member in members]
    assert titles[0] == "logging policy"
    assert "fitted policy for 100% of female users, 100% of male users" in titles
    assert len({(m.fitted.tobytes(), m.uniform.tobytes()) for m in members}) == len(members)
    mixed = Mixture("sex", np.array([0.0, 0.5, 0.0]), np.array([0.0, 0.0, 0.25]))
    assert mixed.title(groups) == "fitted policy for 50% of female users; uniform policy for 25% of male users"
    assert mixed.to_dict(groups)["groups"]["male"] == {"fitted": 0.0, "logging": 0.75, "uniform": 0.25}


def test_the_attribute_with_the_largest_gap_is_adjusted():
    groups = GroupIndex({"sex": ["female", "male"], "race": ["Black", "White"]})
    table = np.array([[0.5, 0.6, 0.4], [0.52, 0.6, 0.4], [0.4, 0.6, 0.4], [0.6, 0.6, 0.4]])
    assert {member.attribute for member in policy_family(_Means(table), groups, 0.02)} == {"race"}
