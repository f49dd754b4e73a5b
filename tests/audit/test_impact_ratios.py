import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import hypergeom

from fairbandits.audit import audit


def applicants(rates, sizes, seed=0):
    """Return a log of applicants, one row each, with exactly the given selection rates."""
    parts = []
    for name, rate in rates.items():
        reward = np.zeros(sizes[name])
        reward[: round(rate * sizes[name])] = 1.0
        parts.append(pd.DataFrame({"race": name, "reward": reward}))
    frame = pd.concat(parts, ignore_index=True).assign(arm="job")
    return frame.assign(applicant=np.arange(len(frame))).sample(frac=1.0, random_state=seed, ignore_index=True)


RATES = {"White": 0.5, "Black": 0.3, "Asian": 0.45, "Other": 0.8}
SIZES = {"White": 600, "Black": 300, "Asian": 200, "Other": 20}


def impact(frame, **options):
    return audit(frame, groups=["race"], impact_ratios=True, **options)["race"].impact


def test_ratios_are_to_the_most_selected_category_of_at_least_two_percent():
    frame = applicants(RATES, SIZES)
    frame.loc[len(frame)] = ["x", 1.0, "job", 10**6]
    frame.loc[frame["race"] == "x", "race"] = None
    result = impact(frame, user="applicant")
    found = {each.group.name: each for each in result.categories}
    assert (result.kind, result.most_selected.name, result.unknown) == ("selection", "White", 1.0)
    assert result.categories[0].group.name == "White"
    assert {name: each.ratio.value for name, each in found.items()} == pytest.approx(
        {name: rate / 0.5 for name, rate in RATES.items()}
    )
    assert {name: (each.n, each.selected) for name, each in found.items()} == {
        name: (SIZES[name], round(SIZES[name] * RATES[name])) for name in RATES
    }
    assert found["Other"].is_below_two_percent
    assert found["Other"].share == pytest.approx(20 / 1_121)
    assert [name for name, each in found.items() if each.is_below_four_fifths] == ["Black"]


def test_fisher_is_the_sum_of_hypergeometric_probabilities():
    result = impact(applicants(RATES, SIZES))
    [black] = [each for each in result.categories if each.group.name == "Black"]
    distribution = hypergeom(900, 390, 300)
    likely = distribution.pmf(np.arange(301))
    assert black.p_value == pytest.approx(likely[likely <= distribution.pmf(90) * (1 + 1e-9)].sum(), rel=1e-6)
    assert black.corrected_p_value == pytest.approx(6 * black.p_value)
    assert result.no_test is None
    assert math.isnan(result.categories[0].p_value)


def test_fisher_does_not_apply_to_users_who_come_back():
    frame = applicants(RATES, SIZES)
    frame["applicant"] //= 2
    result = impact(frame, user="applicant")
    assert result.no_test == "some users have more than one decision, but the test requires independent decisions"
    assert all(math.isnan(each.p_value) for each in result.categories)


def test_selection_is_the_favourable_outcome_if_lower_is_better():
    result = impact(applicants(RATES, SIZES), lower_is_better=True)
    [white] = [each for each in result.categories if each.group.name == "White"]
    assert result.most_selected.name == "Black"
    assert white.ratio.value == pytest.approx(0.5 / 0.7)


def test_nobody_is_the_most_selected_if_nobody_is_selected():
    result = impact(applicants(dict.fromkeys(RATES, 0.0), SIZES))
    assert result.most_selected is None
    assert len(result.categories) == len(RATES)
    assert all(math.isnan(each.ratio.value) and math.isnan(each.p_value) for each in result.categories)
    assert not any(each.is_below_four_fifths for each in result.categories)


@pytest.mark.parametrize("lower_is_better", [False, True])
@pytest.mark.parametrize("has_users", [False, True])
def test_scores_count_the_users_above_the_median_of_all(has_users, lower_is_better):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"race": rng.choice(["a", "b", "c"], 999), "arm": 0, "visitor": np.arange(999)})
    frame["reward"] = np.clip(rng.normal(0.5 + 0.1 * (frame["race"] == "a"), 0.2), 0.0, 1.0)
    options = {"user": "visitor"} if has_users else {}
    result = impact(
        frame if has_users else frame.drop(columns="visitor"), lower_is_better=lower_is_better, **options
    )
    median = frame["reward"].median()
    is_selected = frame["reward"] < median if lower_is_better else frame["reward"] > median
    expected = is_selected.groupby(frame["race"]).mean()
    assert (result.kind, result.median) == ("scoring", median)
    assert {each.group.name: each.rate for each in result.categories} == pytest.approx(expected.to_dict())
    assert result.no_test == "rewards are scores, but the test is for selections"


def test_the_score_of_a_user_is_the_mean_of_the_user():
    frame = pd.DataFrame({"visitor": np.repeat(np.arange(100), 3), "arm": 0})
    frame["race"] = np.where(frame["visitor"] < 50, "a", "b")
    frame["reward"] = np.tile([0.0, 0.5, 0.6], 100) + 0.2 * (frame["race"] == "a")
    result = impact(frame, user="visitor")
    assert {each.group.name: (each.n, each.rate) for each in result.categories} == {"a": (50, 1.0), "b": (50, 0.0)}


def test_small_categories_have_ratios_without_intervals():
    result = impact(applicants({"White": 0.5, "Black": 0.5}, {"White": 300, "Black": 8}))
    assert [(each.ratio.value, math.isnan(each.ratio.low)) for each in result.categories] == [
        (1.0, False),
        (1.0, True),
    ]


def test_they_are_reported_only_if_asked_for():
    assert audit(applicants(RATES, SIZES), groups=["race"])["race"].impact is None
