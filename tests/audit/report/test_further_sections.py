import json

import numpy as np
import pytest

from fairbandits.audit import audit
from fairbandits.audit.report.further_sections import further_sections, further_to_dict
from fairbandits.audit.report.sections import sections_html
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
    assert "less reward than male users with the same education (95% CI:" in adjusted
    assert "a factor may itself result from it" in adjusted
    assert "within 2 strata" in adjusted
    impact = texts(result, "sex", "Impact ratios")
    assert "Below four fifths: female." in impact
    assert impact.count("is not a finding of discrimination") == 1
    assert "Shown a narrower catalogue than male users (95% confidence): female." in texts(
        result, "sex", "Exposure"
    )


def test_unknown_categories_are_counted(result):
    unknown = int(result["race"].unassessed.unknown)
    assert f"The category of {unknown} users is unknown; they are in no rate." in texts(result, "race", "Impact")
    assert "The category of all users is known." in texts(result, "sex", "Impact")


def test_harms_and_numbers():
    frame = log().drop(columns="visitor")
    result = audit(frame, groups=["sex"], given=["age"], lower_is_better=True, impact_ratios=True)
    assert "times the harm of female users" in texts(result, "sex", "Compared with female")
    assert "more harm than female users with the same age" in texts(result, "sex", "Adjusted for age")
    assert "doubly robust (AIPW)" in texts(result, "sex", "Adjusted for age")
    assert "There is no user column: it assumes one decision per user." in texts(result, "sex", "Impact")
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
    assert "The scoring rate is the share of users above the median score of all" in impact
    assert "Fisher's exact test does not apply: rewards are scores, and it is for selections." in impact
    assert "No impact ratio is below four fifths." in impact
    result = audit(frame.assign(reward=frame["reward"] - 0.5), groups=["sex"], reward_range=(-1.0, 1.0))
    assert "ratios have no meaning" in texts(result, "sex", "Compared with")


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
