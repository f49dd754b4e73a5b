"""Logs as Fairlearn's MetricFrame."""

import sys

import pandas as pd
import pytest
from fairlearn.metrics import MetricFrame, count, mean_prediction

from fairbandits.adapters.fairlearn import metric_frame
from fairbandits.audit import audit
from tests.audit import logs


def test_the_metric_frame_agrees_with_fairlearn_and_with_the_audit():
    frame = logs.make()
    ours = metric_frame(frame, groups=["sex"])
    rewarded = frame.dropna(subset="reward")
    theirs = MetricFrame(
        metrics={"rewards": count, "mean_reward": mean_prediction},
        y_true=rewarded.reward,
        y_pred=rewarded.reward,
        sensitive_features=rewarded.sex,
    )
    pd.testing.assert_frame_equal(
        ours.by_group[["rewards", "mean_reward"]], theirs.by_group, check_dtype=False, check_names=False
    )
    analysis = audit(frame)["sex"].analysis
    assert ours.difference()["mean_reward"] == pytest.approx(float(analysis.gap), abs=1e-12)
    assert ours.by_group["missing"].to_dict() == pytest.approx(
        {group.name: group.missing_share.value for group in analysis.groups}
    )


def test_the_metric_frame_of_intersections():
    frame = logs.make()
    ours = metric_frame(frame).by_group["mean_reward"]
    for group in audit(frame)["sex", "race"].groups:
        assert ours[group.labels] == pytest.approx(group.mean)


def test_without_fairlearn_the_error_names_the_extra_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "fairlearn.metrics", None)
    expected = r"metric_frame needs fairlearn; .* pip install 'fairbandits\[fairlearn\]'"
    with pytest.raises(ImportError, match=expected):
        metric_frame(logs.make(10))
