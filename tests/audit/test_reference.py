import math

import numpy as np
import pytest

from fairbandits.audit import audit
from tests.audit.logs import make


def log(**options):
    return make(missing=0.0, unknown=0.0, **options)


def test_differences_and_ratios_are_to_the_reference_group():
    frame = log()
    result = audit(frame, groups=["sex"], reference="female")["sex"].reference
    means = frame.groupby("sex")["reward"].mean()
    [male] = result.groups
    assert (result.reference.name, male.group.name) == ("female", "male")
    assert male.difference.value == pytest.approx(means["male"] - means["female"])
    assert male.ratio.value == pytest.approx(means["male"] / means["female"])
    assert male.ratio.low <= male.ratio.value <= male.ratio.high


def test_the_default_is_the_advantaged_group():
    frame = log()
    assert audit(frame, groups=["sex"])["sex"].reference.reference.name == "male"
    harmed = audit(frame, groups=["sex"], lower_is_better=True)["sex"].reference
    assert harmed.reference.name == "female"
    assert harmed.groups[0].ratio.low > 1.0


def test_the_difference_has_the_interval_of_the_gap():
    comparison = audit(log(), groups=["sex"])["sex"]
    [female] = comparison.reference.groups
    assert (-female.difference.high, -female.difference.low) == pytest.approx(
        (comparison.analysis.gap.low, comparison.analysis.gap.high)
    )


def test_one_reference_for_each_attribute_gives_that_of_the_intersection():
    result = audit(log(), groups=["sex", "race"], reference=["female", "White"])
    assert result["sex"].reference.reference.name == "female"
    assert result["sex", "race"].reference.reference.labels == ("female", "White")
    only_sex = audit(log(), groups=["sex", "race"], reference="female")
    assert only_sex["race"].reference.reference is only_sex["race"].analysis.advantaged


@pytest.mark.parametrize("lowest", [1.0, -2.0])
def test_rewards_that_do_not_begin_at_zero_have_no_ratios(lowest):
    frame = log()
    frame["reward"] = lowest + 4.0 * frame["reward"]
    [female] = audit(frame, groups=["sex"], reward_range=(lowest, lowest + 4.0))["sex"].reference.groups
    means = frame.groupby("sex")["reward"].mean()
    assert female.difference.value == pytest.approx(means["female"] - means["male"])
    assert math.isnan(female.ratio.value)


def test_ratios_do_not_depend_on_the_unit_of_rewards():
    frame = log()
    [female] = audit(frame, groups=["sex"])["sex"].reference.groups
    frame["reward"] *= 4.0
    [scaled] = audit(frame, groups=["sex"], reward_range=(0.0, 4.0))["sex"].reference.groups
    assert scaled.ratio.value == pytest.approx(female.ratio.value)
    assert (scaled.ratio.low, scaled.ratio.high) == pytest.approx((female.ratio.low, female.ratio.high))


def test_a_reference_that_is_too_small_gives_no_ratios():
    frame = log()
    frame.loc[:4, "sex"] = "other"
    assert audit(frame, groups=["sex"], reference="other")["sex"].reference is None


def test_numbers_are_named_by_their_digits():
    frame = log().assign(sex=np.arange(6_000) % 3)
    assert audit(frame, groups=["sex"], reference="1")["sex"].reference.reference.labels == (1,)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("mael", "reference must be a group, got 'mael'; the groups are sex: female, male"),
        (["male", "female"], "reference must name at most one group of sex, got male, female"),
    ],
)
def test_wrong_references(reference, message):
    with pytest.raises(ValueError, match=message):
        audit(log(), groups=["sex"], reference=reference)


@pytest.mark.parametrize("option", [{"reference": "male"}, {"impact_ratios": True}])
def test_a_watched_log_has_no_reference(option):
    with pytest.raises(ValueError, match="must not be set with sequential; they need a finished log"):
        audit(log(), groups=["sex"], sequential=True, **option)
