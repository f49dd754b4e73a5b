"""Who got what: the record against plain arithmetic."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits import Gap, GroupRewards

GROUPS = st.sampled_from(["a", "b", "c", None, {"sex": "f"}, {"sex": "m", "race": 1}, {"sex": None, "race": 2}])
STREAM = st.lists(st.tuples(st.floats(0, 1), GROUPS, st.sampled_from(["x", "y", 3, None])), max_size=60)


def belongs(group, attribute, value):
    pairs = group if isinstance(group, dict) else {"group": group}
    return pairs.get(attribute) == value


def recorded(stream):
    groups = GroupRewards()
    for reward, group, arm in stream:
        groups.add(reward, group, arm)
    return groups


@settings(deadline=None)  # the first call compiles
@given(STREAM)
def test_counts_means_and_variances(stream):
    groups = recorded(stream)
    for standing in groups.summaries():
        rewards = [r for r, group, _ in stream if belongs(group, standing.attribute, standing.group)]
        assert standing.count == len(rewards)
        assert standing.mean == pytest.approx(np.mean(rewards))
        if len(rewards) > 1:
            assert standing.variance == pytest.approx(np.var(rewards, ddof=1), abs=1e-12)
        assert 0.0 <= standing.low <= standing.mean + 1e-12
        assert standing.mean - 1e-12 <= standing.high <= 1.0


@given(STREAM)
def test_difference_ratio_and_worst_off(stream):
    groups = recorded(stream)
    means = {(s.attribute, s.group): s.mean for s in groups.summaries()}
    for attribute, values in groups.attributes.items():
        ours = [means[attribute, value] for value in values]
        gap = groups.gap(attribute)
        assert float(gap) == pytest.approx(max(ours) - min(ours))
        assert gap.low - 1e-12 <= gap <= gap.high + 1e-12
        if len(ours) > 1:
            ratio = groups.ratio(attribute)
            assert float(ratio) == pytest.approx(min(ours) / max(ours) if max(ours) else 1.0)
            assert ratio.low - 1e-12 <= ratio <= ratio.high + 1e-12
            assert means[attribute, gap.advantaged] == max(ours)
            assert means[attribute, gap.disadvantaged] == min(ours)
    if means:
        assert groups.worst_off().mean == min(means.values())
        assert groups.gap() == max(groups.gap(attribute) for attribute in groups.attributes)


@given(STREAM, st.integers(0, 60))
def test_two_parts_merged_are_the_whole(stream, cut):
    whole, left, right = recorded(stream), recorded(stream[:cut]), recorded(stream[cut:])
    left.merge(right)
    ours, theirs = ({(s.attribute, s.group): s for s in g.summaries()} for g in (left, whole))
    assert ours.keys() == theirs.keys()
    for key, standing in ours.items():
        assert standing.count == theirs[key].count
        assert standing.mean == pytest.approx(theirs[key].mean, abs=1e-12)
        assert standing.low == pytest.approx(theirs[key].low, abs=1e-9)
    for arm in {arm for _, _, arm in stream} - {None}:
        assert float(left.arm_bias(arm)) == pytest.approx(float(whole.arm_bias(arm)), abs=1e-12)


def test_arm_bias_says_who_an_arm_favours():
    groups = GroupRewards()
    for _ in range(50):
        groups.add(0.9, "male", "sports")
        groups.add(0.1, "female", "sports")
        groups.add(0.6, "female", "maths")
    bias = groups.arm_bias("sports")
    assert float(bias) == pytest.approx(0.8)
    assert (bias.advantaged, bias.disadvantaged) == ("male", "female")
    assert 0.0 < bias.low < bias < bias.high <= 1.0
    unknown = groups.arm_bias("maths")
    assert float(unknown) == pytest.approx(-0.6), "a group that never received the arm counts as 0"
    assert (unknown.low, unknown.high) == (-1.0, 1.0), "but nothing is known of it"


def test_restart_starts_the_groups_anew_and_keeps_the_arms():
    groups = GroupRewards()
    groups.add(0.9, "male", "x")
    groups.add(0.1, "female", "x")
    groups.restart()
    assert groups.gap() == 0.0
    assert groups.worst_off() is None
    assert groups.attributes == {"group": ("male", "female")}
    groups.add(0.5, "male")
    groups.add(0.4, "female")
    assert float(groups.arm_bias("x")) == pytest.approx(0.8)


def test_nothing_to_compare_is_said_by_the_interval():
    groups = GroupRewards()
    for gap in (groups.gap(), recorded([(0.5, "a", None)]).gap()):
        assert gap == 0.0
        assert (gap.low, gap.high, gap.advantaged) == (0.0, 1.0, None)
    assert groups.ratio() == 1.0
    assert (groups.ratio().low, groups.ratio().high) == (0.0, 1.0)
    groups.add(0.5, "a", "x")
    assert (groups.arm_bias("x").low, groups.arm_bias("x").high) == (-1.0, 1.0)


def test_intervals_exclude_zero_once_the_gap_is_plain():
    rng = np.random.default_rng(0)
    groups = GroupRewards()
    for _ in range(2_000):
        groups.add(rng.random() * 0.8, "a")
        groups.add(0.2 + rng.random() * 0.8, "b")
    assert groups.gap().low > 0.05
    assert groups.ratio().high < 0.95


def test_other_ranges_scale_everything():
    stream = [(0.2, "a", "x"), (0.9, "b", "x"), (0.5, "a", "x"), (0.7, "b", "x")] * 30
    unit = recorded(stream)
    stars = GroupRewards(reward_range=(0, 5))
    for reward, group, arm in stream:
        stars.add(5 * reward, group, arm)
    for question in ("gap", "arm_bias"):
        ours, theirs = (getattr(g, question)(*(["x"] if question == "arm_bias" else [])) for g in (unit, stars))
        for field in ("low", "high"):
            assert getattr(theirs, field) == pytest.approx(5 * getattr(ours, field))


def test_difference_holds_for_all_groups_at_once_at_all_times():
    """Five groups that gain the same: how often does any look at any time claim a gap?"""
    rng = np.random.default_rng(5)
    claims = 0
    for _ in range(60):
        groups = GroupRewards()
        claimed = False
        for t in range(400):
            groups.add(float(rng.random() < 0.5), "abcde"[rng.integers(5)])
            if t % 20 == 19:
                claimed |= groups.gap(confidence=0.8).low > 0.0
        claims += claimed
    assert claims / 60 <= 0.2 + 3 * np.sqrt(0.16 / 60)


def test_a_gap_is_a_number_that_can_be_copied_and_not_changed():
    gap = recorded([(0.1, "a", None), (0.6, "b", None)]).gap()
    assert isinstance(gap, float)
    for twin in (copy.deepcopy(gap), pickle.loads(pickle.dumps(gap))):  # noqa: S301
        assert isinstance(twin, Gap)
        assert twin == gap
        assert (twin.low, twin.advantaged) == (gap.low, gap.advantaged)
    with pytest.raises(AttributeError, match="is immutable"):
        gap.low = 0.0
    assert repr(gap).startswith("Gap(0.5, low=0")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: g.add(1.5, "a"), r"reward must lie in \[0, 1\], got 1.5"),
        (lambda g: g.add("much", "a"), "reward must be a number"),
        (lambda g: g.add(0.5, "a", arm=("x",)), "arm id must be a string or an integer"),
        (lambda g: g.add(float("nan"), "a"), "reward must lie in"),
        (lambda g: g.add(0.5, 0.3), "group must be a string, an integer, or a mapping"),
        (lambda g: g.add(0.5, {"": "a"}), "must be a non-empty string"),
        (lambda g: g.add(0.5, {3: "a"}), "must be a non-empty string"),
        (lambda g: g.gap("height"), r"attribute must be one of \['group'\], got 'height'"),
        (lambda g: g.arm_bias("nope"), "arm must be one of the 1 arms with rewards, got 'nope'"),
        (lambda g: g.merge(GroupRewards((0, 2))), "must have the same reward_range to merge"),
        (lambda g: GroupRewards((-1, 1)).ratio(), "non-negative for a ratio"),
        (lambda g: GroupRewards((1, 0)), "lower one first"),
        (lambda g: GroupRewards((0, float("inf"))), "two numbers below"),
        (lambda g: GroupRewards(3), "a pair"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_changes(call, message):
    groups = recorded([(0.5, "a", "x")])
    before = {name: array.tobytes() for name, array in groups.arrays().items()}
    with pytest.raises(ValueError, match=message):
        call(groups)
    assert {name: array.tobytes() for name, array in groups.arrays().items()} == before
    assert groups.attributes == {"group": ("a",)}


@given(STREAM)
def test_a_gap_without_an_interval_is_the_same_gap(stream):
    groups = recorded(stream)
    for attribute in (None, *groups.attributes):
        cheap, full = groups.gap(attribute, confidence=None), groups.gap(attribute)
        assert float(cheap) == float(full)
        assert (cheap.attribute, cheap.advantaged, cheap.disadvantaged) == (
            full.attribute,
            full.advantaged,
            full.disadvantaged,
        )
        assert np.isnan([cheap.low, cheap.high, cheap.confidence]).all()
    with pytest.raises(ValueError, match="attribute must be one "):
        groups.gap("age", confidence=None)


@given(STREAM)
def test_the_mean_of_a_group(stream):
    groups = recorded(stream)
    for summary in groups.summaries():
        assert groups.mean_of(summary.attribute, summary.group) == summary.mean
    assert groups.mean_of("group", "nobody") == 0.0
    assert groups.mean_of("age", 3) == 0.0


def test_copies_go_on_with_rewards_of_their_own():
    groups = recorded([(0.9, "a", "x"), (0.1, "b", "y")])
    twins = copy.deepcopy(groups), pickle.loads(pickle.dumps(groups))  # noqa: S301
    groups.restart()
    for twin in twins:
        twin.add(0.5, "a", "x")
        assert twin.means.tolist() == [pytest.approx(0.7), 0.1]
        assert twin.counts.tolist() == [2.0, 1.0]
        assert twin.arm_means[0, 0] == pytest.approx(0.7)
        assert twin.mean_of("group", "a") == twin.summaries()[0].mean == pytest.approx(0.7)
