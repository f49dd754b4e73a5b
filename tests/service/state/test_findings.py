"""Findings: in words and numbers, for groups that are large enough."""

import numpy as np
import pytest
from pydantic import TypeAdapter

from fairbandits.service.http.fairness_schema import FairnessResponse
from fairbandits.service.state.findings import Findings
from fairbandits.service.state.monitor import Monitor
from tests.service.logs import START, entries
from tests.service.small import small_config

_ANSWER = TypeAdapter(FairnessResponse)
_HOUR = 3600.0


def rounds(n, female, male, seed=0, start=START, **more):
    """Rounds of women and men in alternation, with these mean rewards, one per minute."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(n):
        is_female = i % 2 == 0
        mean = female if is_female else male
        group = {"gender": "female" if is_female else "male"}
        reward = float(np.clip(rng.normal(mean, 0.05), 0.0, 1.0))
        made.append({"groups": group, "reward": reward, "time": start + 60.0 * i} | more)
    return made


def look(log, **changed):
    config = small_config(**changed)
    monitor = Monitor(config)
    for entry in entries(log):
        monitor.apply(entry)
    return Findings(monitor, config)


def plain(log, **changed):
    return _ANSWER.validate_python(look(log, **changed).to_dict(), strict=True)


def test_a_gap_above_the_tolerance():
    found = plain(rounds(4000, 0.4, 0.7))
    [by_gender, by_region] = found["comparisons"]
    assert (found["status"], by_gender["conclusion"], by_region["conclusion"]) == ("unfair", "unfair", "too small")
    assert found["headline"] == "gender"
    assert found["sentence"].startswith("Female users received 0.3")
    for words in ("less reward per decision than male users", "95% CI", "above the tolerance of 0.05", "since"):
        assert words in found["sentence"]
    assert "Unfair (95% confidence)" in found["detail"]
    gap = by_gender["gap"]
    assert gap["value"] == pytest.approx(0.3, abs=0.01)
    assert 0.05 < gap["low"] < 0.3 < gap["high"]
    assert (gap["disadvantaged"], gap["advantaged"]) == (["female"], ["male"])


def test_since_when_a_gap_persists():
    # No gap at first; then men receive much more.
    turn = START + 60.0 * 4000
    log = rounds(4000, 0.5, 0.5) + rounds(8000, 0.2, 0.9, seed=1, start=turn)
    found = plain(log)
    assert found["status"] == "unfair"
    since = np.datetime64(found["comparisons"][0]["since"], "s").astype(int)
    assert turn - 8 * _HOUR < since < turn + 48 * _HOUR
    assert plain(log[:4000])["comparisons"][0]["since"] is None


def test_an_alert_disappears_when_the_gap_closes():
    apart = rounds(2000, 0.4, 0.7)
    closed = apart + rounds(2000, 0.7, 0.4, seed=1, start=START + 60.0 * 2000)
    assert look(apart).status == "unfair"
    assert look(closed).status != "unfair"


def test_fair_within_the_tolerance():
    log = rounds(6000, 0.5, 0.51)
    for i, one in enumerate(log):
        one["groups"] = one["groups"] | {"region": ("north", "south")[i // 2 % 2]}
    found = plain(log)
    assert found["status"] == "fair"
    assert (
        found["sentence"]
        == "Fair (95% confidence): the gap is within the tolerance of 0.05 for gender and region."
    )
    # One of two attributes is not enough.
    assert plain(rounds(6000, 0.5, 0.51))["status"] == "undecided"


def test_not_enough_data():
    found = plain([])
    assert (found["status"], found["decisions"], found["recent"]) == ("undecided", 0, [])
    assert found["sentence"].startswith("Undecided: there is too little data")
    assert plain(rounds(60, 0.45, 0.55))["status"] == "undecided"


def test_without_attributes_there_is_nothing_to_compare():
    found = plain(rounds(10, 0.5, 0.5), attributes={}, matches=["language"], arms=[])
    assert (found["status"], found["comparisons"], found["headline"]) == ("undecided", [], None)
    assert "No sensitive attributes are configured" in found["sentence"]


def test_small_groups_appear_nowhere():
    log = rounds(200, 0.5, 0.5)
    small = [{"groups": {"gender": "diverse"}, "reward": 0.123, "time": START + 60.0 * i} for i in range(19)]
    attributes = {"gender": ["female", "male", "diverse"]}
    hidden = look(log + small, attributes=attributes).to_dict()
    assert hidden["comparisons"][0]["not_shown"] == 1
    assert "diverse" not in str(hidden)
    assert hidden["recent"][0]["groups"] == {}
    shown = look(log + small + small[:1], attributes=attributes).to_dict()
    assert shown["comparisons"][0]["not_shown"] == 0
    assert [group["labels"] for group in shown["comparisons"][0]["groups"]] == [["female"], ["male"], ["diverse"]]
    assert [group["place"] for group in shown["comparisons"][0]["groups"]] == [0, 1, 2]


def test_a_line_begins_when_its_group_is_large_enough():
    found = plain(rounds(400, 0.5, 0.6), min_group=50)
    timeline = found["comparisons"][0]["timeline"]
    lengths = {len(timeline[name]) for name in ("ends", "gap_low", "gap_high")}
    lengths |= {len(group[name]) for group in timeline["groups"] for name in ("mean", "low", "high")}
    assert len(lengths) == 1
    assert timeline["ends"] == sorted(timeline["ends"])
    for line in timeline["groups"]:
        # 50 of its rewards have arrived after 100 of 400 rounds.
        known = [mean is not None for mean in line["mean"]]
        assert known == sorted(known)
        assert 0.2 < known.index(True) / len(known) < 0.3
        assert known == [low is not None for low in line["low"]]
    assert timeline["gap_low"][0] is None


def test_arms_add_up_to_the_gap_also_in_slates():
    log = rounds(2000, 0.4, 0.6)
    for i, one in enumerate(log):
        one["picked"] = ("python", "chess") if i % 3 else ("algèbre",)
        if i % 3:
            one["reward"] = [one["reward"], None if i % 5 else min(1.0, one["reward"] + 0.2)]
    found = plain(log)["comparisons"][0]
    parts = found["decomposition"]
    assert parts["n_arms"] == 3
    assert sum(arm["total"] for arm in parts["arms"]) == pytest.approx(found["gap"]["value"], abs=1e-5)
    assert parts["exposure_effect"] + parts["within_arm_effect"] == pytest.approx(found["gap"]["value"], abs=1e-5)


def test_exploration_burden_and_missing_rewards_by_group():
    log = rounds(400, 0.5, 0.5)
    for i, one in enumerate(log):
        is_female = i % 2 == 0
        one["explored"] = i % 20 == 0 or (is_female and i % 8 == 0)
        if is_female and i % 4 == 0:
            one["reward"] = None
    female, male = plain(log)["comparisons"][0]["groups"]
    assert (female["decisions"], female["rewards"], female["missing"]) == (200, 100, 100)
    assert female["missing_share"]["value"] == 0.5
    assert female["missing_share"]["low"] < 0.5 < female["missing_share"]["high"]
    assert (male["missing"], male["explorations"]) == (0, 0)
    assert female["explorations"] == 60
    assert (female["exploration_rate"], female["share_of_explorations"], female["share_of_decisions"]) == (
        0.3,
        1,
        0.5,
    )


def test_intervals_do_not_change_when_a_new_group_appears():
    log = rounds(200, 0.5, 0.5)
    attributes = {"gender": ["female", "male", "diverse"]}
    others = [{"groups": {"gender": "diverse"}, "reward": 0.5, "time": START} for _ in range(30)]
    before = plain(log, attributes=attributes)["comparisons"][0]["groups"]
    after = plain(log + others, attributes=attributes)["comparisons"][0]["groups"]
    assert [(group["low"], group["high"]) for group in before] == [
        (group["low"], group["high"]) for group in after[:2]
    ]
    # With fewer configured groups the intervals are narrower.
    alone = plain(log, attributes={"gender": ["female", "male"]})["comparisons"][0]["groups"]
    assert alone[0]["low"] > before[0]["low"]
