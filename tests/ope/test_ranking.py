"""Comparisons between policies, and required gaps."""

import numpy as np
import pytest

from fairbandits.ope import evaluate
from fairbandits.ope.gap_verdict import gap_conclusion
from fairbandits.ope.report.sentences import EvaluationSentences
from tests.ope.logs import make_log


def always(arm):
    def policy(users):
        return np.full(len(users), arm)

    policy.__name__ = arm
    return policy


def by_feature(users):
    return np.where(users["x_low"] > 0, "biology", "algebra")


@pytest.fixture(scope="module")
def three():
    return evaluate(make_log(6_000), [by_feature, always("chemistry"), always("biology")])


def test_all_pairs_are_compared_jointly(three):
    pairs = [(each.first, each.second) for each in three.differences]
    names = ["by_feature", "chemistry", "biology"]
    assert pairs == [(name, "the log") for name in names] + [
        ("by_feature", "chemistry"),
        ("by_feature", "biology"),
        ("chemistry", "biology"),
    ]
    assert all(each.estimate.confidence == pytest.approx(1.0 - 0.05 / 6) for each in three.differences)
    values = {policy.title: policy.preferred.value.overall.value for policy in three.policies}
    for each in three.differences[3:]:
        assert each.estimate.value == pytest.approx(values[each.first] - values[each.second], abs=0.02)


def test_policies_are_ranked_as_far_as_the_log_allows(three):
    ranking = list(EvaluationSentences(three).ranking())
    assert ranking[0].startswith("Of 3 policies, by_feature ranks highest, with an estimated value of 0.")
    assert any(sentence.startswith("by_feature is better than chemistry, by 0.") for sentence in ranking)
    assert "The log does not show which is better: chemistry or biology." in ranking


def test_paired_differences_are_narrower_than_those_of_separate_estimates():
    frame = make_log(4_000)

    def nearly_the_same(users):
        return np.where(np.arange(len(users)) % 20 == 0, "chemistry", by_feature(users))

    found = evaluate(frame, [by_feature, nearly_the_same])
    difference = found.differences[-1].estimate
    one = found.policies[0].preferred.value.overall
    assert difference.high - difference.low < 0.6 * (one.high - one.low)


def test_a_policy_and_itself_do_not_differ(frame):
    found = evaluate(frame, {"one": by_feature, "two": by_feature}).differences[-1].estimate
    assert found.value == pytest.approx(0.0, abs=1e-6)
    assert found.low <= 0.0 <= found.high
    assert found.high - found.low < 0.01


@pytest.mark.parametrize(("tolerance", "status", "conclusion"), [(0.5, 0, "within"), (0.02, 1, "beyond")])
def test_a_required_gap(tolerance, status, conclusion):
    # Males receive 0.1 to 0.2 more, whatever the arm.
    frame = make_log(12_000)
    found = evaluate(frame, by_feature, require_gap=tolerance)
    assert found.status == status
    assert gap_conclusion(found.policies[0].preferred, "sex", tolerance) == conclusion
    sentences = " ".join(EvaluationSentences(found).summary(found.policies[0]))
    assert {0: "The gap by sex is within the required 0.5.", 1: "The gap by sex exceeds the required 0.02."}[
        status
    ] in sentences
    assert "The worst-off group by sex would be female, with 0." in sentences


def test_a_required_gap_that_the_log_cannot_judge(frame):
    found = evaluate(frame[:300], by_feature, require_gap=0.02)
    assert found.status == 3
    assert "The log does not show whether the gap by sex is within" in " ".join(
        EvaluationSentences(found).summary(found.policies[0])
    )
    assert evaluate(frame[:300], by_feature).status == 0
    with pytest.raises(ValueError, match="require_gap must be above 0, got -1"):
        evaluate(frame, by_feature, require_gap=-1)
