import json
import math
import re

import numpy as np
import pandas as pd
import pytest

from fairbandits.audit import audit
from fairbandits.audit.intervals import IntervalEstimate
from fairbandits.audit.report.further_sections import further_sections, further_to_dict
from fairbandits.audit.report.omissions import omission_sentences
from fairbandits.audit.report.page import audit_page
from fairbandits.audit.report.sections import between, ratio_text, sections_html
from tests.audit.logs import make


def log():
    frame = make(missing=0.0, gap=0.2)
    rng = np.random.default_rng(1)
    return frame.assign(
        education=np.where(rng.random(len(frame)) < 0.5, "<high>", "low"),
        age=rng.normal(40.0, 10.0, len(frame)),
        visitor=np.arange(len(frame)),
    )


def texts(result, attributes, title):
    [section] = [each for each in further_sections(result, result[attributes]) if each.title.startswith(title)]
    return " ".join(section.texts)


@pytest.fixture(scope="module")
def result():
    return audit(log(), groups=["sex", "race"], given=["education"], user="visitor", impact_ratios=True)


def test_sentences_of_two_groups(result):
    assert "Female users received 0." in texts(result, "sex", "Compared with male")
    assert "times the reward of male users (95% CI:" in texts(result, "sex", "Compared with male")
    adjusted = texts(result, "sex", "Adjusted for education")
    assert "Given the same education, female users received 0." in adjusted
    assert "less reward than male users (95% CI:" in adjusted
    assert "may itself be a result of discrimination" in adjusted
    assert "within 2 strata" in adjusted
    impact = texts(result, "sex", "Impact ratios")
    assert "Below four fifths: female." in impact
    assert impact.count("is not a finding of discrimination") == 1
    assert "Shown a narrower catalogue than male users (95% confidence): female." in texts(
        result, "sex", "Exposure"
    )


def test_unknown_categories_are_counted(result):
    unknown = int(result["race"].unassessed.unknown)
    assert f"The category of {unknown} users is unknown; no rate includes them." in texts(result, "race", "Impact")
    assert "The categories of all users are known." in texts(result, "sex", "Impact")


def test_harms_and_numbers():
    frame = log().drop(columns="visitor")
    result = audit(frame, groups=["sex"], given=["age"], lower_is_better=True, impact_ratios=True)
    assert "times the harm of female users" in texts(result, "sex", "Compared with female")
    assert "Given the same age, male users received" in texts(result, "sex", "Adjusted for age")
    assert "more harm than female users (95% CI:" in texts(result, "sex", "Adjusted for age")
    assert "doubly robust (AIPW)" in texts(result, "sex", "Adjusted for age")
    assert "There is no user column, so the test assumes one decision per user." in texts(result, "sex", "Impact")
    assert "favourable outcome (reward 0)" in texts(result, "sex", "Impact")


def test_no_overlap():
    frame = log()
    frame["job"] = np.where((frame["sex"] == "male") & (frame["visitor"] % 2 == 0), "sailor", "teacher")
    assert "% of the rewards of a group could not be compared" in texts(
        audit(frame, groups=["sex"], given=["job"]), "sex", "Adjusted"
    )
    frame["job"] = frame["sex"]
    assert "Female users cannot be compared with male users: none have the same job." in texts(
        audit(frame, groups=["sex"], given=["job"]), "sex", "Adjusted"
    )


def test_scores():
    frame = log()
    frame["reward"] = np.random.default_rng(0).random(len(frame))
    frame["visitor"] //= 2
    result = audit(frame, groups=["sex"], user="visitor", impact_ratios=True)
    impact = texts(result, "sex", "Impact")
    assert "The scoring rate is the share of users whose score is above the overall median" in impact
    assert "Fisher's exact test does not apply: rewards are scores, but the test is for selections." in impact
    assert "No impact ratio is below four fifths." in impact
    result = audit(frame.assign(reward=frame["reward"] - 0.5), groups=["sex"], reward_range=(-1.0, 1.0))
    assert texts(result, "sex", "Compared with") == (
        "Ratios are left out: the lowest possible reward is -1, not 0, so they would depend on the choice of zero."
    )
    [section] = [each for each in further_sections(result, result["sex"]) if each.title.startswith("Compared")]
    assert section.headers == ("difference", "95% CI")


def rewarded(**counts):
    """Return a log, given the number of decisions and of rewards of each sex."""
    rows = [(sex, float(i < ones)) for sex, (n, ones) in counts.items() for i in range(n)]
    return pd.DataFrame(rows, columns=["sex", "reward"]).assign(arm="a")


def test_a_reference_group_without_rewards_has_no_ratios():
    result = audit(rewarded(female=(500, 0), male=(500, 200)), reference="female")
    assert texts(result, "sex", "Compared with") == ("Female users received no reward, so ratios are not defined.")
    [section] = further_sections(result, result["sex"])
    [(_, cells)] = section.rows
    assert cells[0] == "0.400"
    assert cells[2:] == ["", ""]
    harms = audit(rewarded(female=(500, 0), male=(500, 200)), lower_is_better=True)
    assert texts(harms, "sex", "Compared with").startswith("Female users received no harm, so ratios")


def test_no_bound_is_infinite():
    result = audit(rewarded(female=(500, 200), male=(500, 1)), reference="male")
    assert "∞" not in sections_html(further_sections(result, result["sex"]))
    assert between(IntervalEstimate(2.0, 0.5, math.inf), ratio_text) == "at least 0.500"


def test_nobody_was_selected():
    result = audit(rewarded(female=(500, 0), male=(500, 0)), impact_ratios=True)
    impact = texts(result, "sex", "Impact ratios")
    assert "Nobody was selected, so impact ratios are not defined." in impact
    assert "Fisher's exact test does not apply: nobody was selected." in impact
    assert "most selected" not in impact
    assert "Below four fifths" not in impact
    assert result.to_dict()["comparisons"][0]["impact"]["most_selected"] is None


def test_a_constant_factor():
    frame = log().assign(country="x")
    adjusted = texts(audit(frame, groups=["sex"], given=["country"]), "sex", "Adjusted")
    assert "within 1 stratum, weighted" in adjusted
    assert "an error probability of their own, so they may be narrower than the unadjusted ones." in adjusted


def test_exposure_names_its_units(result):
    [section] = [each for each in further_sections(result, result["sex"]) if each.title.startswith("Exposure")]
    assert re.fullmatch(r"[\d.]+ vs [\d.]+ arms in [\d,]+ decisions", dict(section.rows)["female"][1])


def test_a_reference_group_that_is_too_small_leaves_out_sections():
    frame = log()
    frame.loc[:4, "sex"] = "x"
    without = audit(frame, groups=["sex"], reference="x")
    because = "because the reference group, x, is too small."
    sections = "the comparison with a reference group and the exposure to arms"
    assert omission_sentences(without)[1:] == [f"Left out by sex: {sections}, {because}"]
    adjusted = audit(frame, groups=["sex"], reference="x", given=["education"])
    [*_, sentence] = omission_sentences(adjusted)
    assert sentence == f"Left out by sex: adjusted gaps, {sections}, {because}"
    assert sentence in audit_page(adjusted)
    assert omission_sentences(audit(frame, groups=["sex"], reference="male"))[1:] == []


def test_small_cells_leave_out_sections():
    [sentence] = omission_sentences(audit(log(), groups=["sex"], min_cell=20, reference="male"))
    assert sentence == (
        "Left out: the comparison with a reference group and the exposure to arms, because they could reveal "
        "groups with fewer than 20 users (--min-cell)."
    )
    assert omission_sentences(audit(log(), groups=["sex"], sequential=True)) == []


def test_names_are_escaped_in_the_page(result):
    page = sections_html(further_sections(result, result["sex"]))
    assert page.count("<h3>") == 4
    assert "Fisher&#x27;s p" in page


def test_json_has_all_analyses_without_nan(result):
    values = further_to_dict(result["sex"], 0)
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert values["impact"]["most_selected"] == ["male"]
    assert values["adjusted"]["method"] == "standardised"
    assert values["exposure"]["groups"][-1]["arms_difference"] == {"value": None, "low": None, "high": None}
    assert values["reference"]["groups"][0]["group"] == ["female"]
