"""The results of an audit, compared with direct computations from the rows."""

import pickle
import sys
from dataclasses import astuple

import numpy as np
import pytest

from fairbandits import cluster
from fairbandits.audit import audit
from fairbandits.audit.grouped_sums import attribute_combinations
from fairbandits.logs import LogError
from tests.audit import logs


def test_the_decomposition_is_exact():
    frame = logs.make()
    analysis = audit(frame)["sex"].analysis
    parts = analysis.decomposition
    assert parts.exposure_effect.value + parts.within_arm_effect.value == pytest.approx(
        float(analysis.gap), abs=1e-12
    )
    assert sum(part.total.value for part in parts.arms) + parts.rest == pytest.approx(
        float(analysis.gap), abs=1e-12
    )
    female, male = (frame[frame.sex == sex].dropna(subset="reward") for sex in logs.SEXES)
    centre = (female.reward.mean() + male.reward.mean()) / 2
    for part in parts.arms:
        rewards = [group[group.arm == part.arm].reward for group in (male, female)]
        p = [len(each) / len(group) for each, group in zip(rewards, (male, female), strict=True)]
        assert part.shares == pytest.approx(p)
        m = [each.mean() if len(each) else max(r.mean() for r in rewards) for each in rewards]
        assert part.exposure_effect == pytest.approx((p[0] - p[1]) * ((m[0] + m[1]) / 2 - centre))
        assert part.within_arm_effect == pytest.approx((p[0] + p[1]) / 2 * (m[0] - m[1]))
        assert part.total.low < part.total.value < part.total.high
    # The last arm is shown to male users only.
    assert parts.one_sided_shares == (pytest.approx(0.2, abs=0.03), 0.0)
    assert np.isnan(next(part.means[1] for part in parts.arms if part.arm == "video 4"))


def test_missing_rewards():
    frame = logs.make(missing=0.0)
    rng = np.random.default_rng(1)
    is_missing = rng.random(len(frame)) < np.where(frame.sex == "female", 0.3, 0.05)
    frame.loc[is_missing, "reward"] = np.nan
    analysis = audit(frame)["sex"].analysis
    shares = frame.assign(is_missing=is_missing).groupby("sex")["is_missing"].mean()
    assert {group.name: group.missing_share.value for group in analysis.groups} == pytest.approx(shares.to_dict())
    assert (analysis.missing.most.name, analysis.missing.least.name) == ("female", "male")
    assert analysis.missing.share_gap.value == pytest.approx(shares["female"] - shares["male"])
    assert (
        0.15
        < analysis.missing.share_gap.low
        < analysis.missing.share_gap.value
        < analysis.missing.share_gap.high
        < 0.35
    )
    filled = {value: frame.reward.fillna(value).groupby(frame.sex).mean() for value in (0.0, 1.0)}
    low, high = (filled[v]["male"] - filled[1 - v]["female"] for v in (0.0, 1.0))
    assert analysis.missing.gap_bounds == pytest.approx((low, high))


def test_false_alarms_are_rare():
    # Without a true gap, few audits may report one in any of their comparisons.
    alarms = sum(
        any(
            comparison.conclusion == "gap"
            for comparison in audit(logs.make(800, seed, gap=0.0, n_arms=1)).comparisons
        )
        for seed in range(60)
    )
    assert alarms <= 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 1.0}, "confidence must be between 0 and 1, exclusive, got 1.0"),
        ({"tolerance": -0.1}, "tolerance must be a non-negative number, got -0.1"),
        ({"tolerance": float("nan")}, "tolerance must be a non-negative number, got nan"),
        ({"confidence": "95%"}, "confidence must be between 0 and 1, exclusive, got '95%'"),
        ({"tolerance": "2%"}, "tolerance must be a non-negative number, got '2%'"),
        ({"min_rows": 0}, r"min_rows \(--min-rows\) must be an integer of at least 1, got 0"),
        ({"min_rows": 1.5}, r"min_rows \(--min-rows\) must be an integer of at least 1, got 1\.5"),
        ({"max_unassessed": 1.5}, r"max_unassessed \(--max-unassessed\) must be between 0 and 1, got 1\.5"),
        ({"reward_range": (1, 0)}, "reward_range must be two numbers"),
    ],
)
def test_invalid_settings(options, message):
    with pytest.raises(ValueError, match=message):
        audit(logs.make(100), **options)


def test_logs_without_groups_to_compare():
    frame = logs.make(200)
    with pytest.raises(
        LogError, match="column 'sex': a comparison needs at least two groups, got only 'male' in 200 rows"
    ):
        audit(frame.assign(sex="male"))
    with pytest.raises(
        LogError, match="column 'sex': a comparison needs at least two groups, got none in 200 rows"
    ):
        audit(frame.assign(sex=None))
    with pytest.raises(LogError, match="dataframe: no group column is given or recognised by its name"):
        audit(frame[["arm", "reward"]])


def test_an_unknown_comparison():
    result = audit(logs.make(500))
    assert result["sex", "race"].name == "sex x race"
    with pytest.raises(
        KeyError, match="no comparison by 'age'; the comparisons are by 'sex', 'race', 'sex x race'"
    ):
        result["age"]


def test_three_attributes_give_seven_comparisons_and_four_eleven():
    assert len(attribute_combinations("abc")) == 7
    assert len(attribute_combinations("abcd")) == 11
    assert attribute_combinations("a") == [("a",)]


def test_the_status_for_a_tolerance():
    frame = logs.make(60_000, gap=0.0, n_arms=1, unknown=0.0, missing=0.001)
    assert audit(frame, groups=["sex"], tolerance=0.2).status == 0
    assert audit(frame, tolerance=0.001).status == 3
    unfair = logs.make(60_000, gap=0.2)
    assert audit(unfair, tolerance=0.02).status == 1
    assert audit(unfair).status == 0
    assert {comparison.conclusion for comparison in audit(unfair).comparisons} <= {"gap", "undecided"}


def test_logs_without_rewards():
    frame = logs.make(500).assign(reward=np.nan)
    for sequential in (False, True):
        assert audit(frame, tolerance=0.1, sequential=sequential).status == 3


@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize("is_dated", [False, True])
def test_an_audit_in_parts_gives_the_same_results(tmp_path, monkeypatch, is_dated, sequential):
    # Clusters have tests of their own.
    frame = logs.make(4_000).assign(user=np.random.default_rng(0).integers(300, size=4_000))
    path = tmp_path / "log.parquet"
    (logs.dated(frame) if is_dated else frame).to_parquet(path, row_group_size=300)
    here = audit(path, sequential=sequential)
    map_reduce = cluster.map_reduce

    def in_five_parts(split, partial, merge, _):
        return map_reduce(lambda _: pickle.loads(pickle.dumps(split(5))), partial, merge)  # noqa: S301

    monkeypatch.setattr(sys.modules[audit.__module__], "map_reduce", in_five_parts)
    there = audit(path, sequential=sequential)
    for one, other in zip(here.comparisons, there.comparisons, strict=True):
        assert one.conclusion == other.conclusion
        for mine, theirs in zip(one.groups, other.groups, strict=True):
            assert mine.labels == theirs.labels
            assert (mine.rewards, mine.users, mine.missing) == (theirs.rewards, theirs.users, theirs.missing)
            np.testing.assert_allclose((mine.low, mine.high), (theirs.low, theirs.high), rtol=1e-9)
        if one.analysis is None:
            continue
        a, b = one.analysis, other.analysis
        np.testing.assert_allclose((a.gap, a.gap.low, a.gap.high), (b.gap, b.gap.low, b.gap.high), atol=1e-9)
        for name in ("exposure_effect", "within_arm_effect"):
            mine, theirs = (astuple(getattr(each.decomposition, name)) for each in (a, b))
            np.testing.assert_allclose(mine, theirs, atol=1e-9)
