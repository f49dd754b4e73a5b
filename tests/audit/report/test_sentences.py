"""The sentences of an audit."""

import re

import numpy as np
import pandas as pd
import pytest

from fairbandits.audit import audit
from fairbandits.audit.report.page import audit_page
from fairbandits.audit.report.tables import verdict_notes, verdict_table
from fairbandits.audit.report.time_phrases import since
from fairbandits.audit.time_blocks import TimeBlocks
from tests.audit import logs


def frame_of(counts, arms=None):
    """Return a log of zeros and ones, given the number of each by sex."""
    rows = [(sex, reward) for sex, (zeros, ones) in counts.items() for reward in [0.0] * zeros + [1.0] * ones]
    frame = pd.DataFrame(rows, columns=["sex", "reward"]).sample(frac=1, random_state=0, ignore_index=True)
    return frame.assign(arm="a" if arms is None else arms)


def watch(log, **settings):
    """Audit a log with anytime-valid intervals."""
    return audit(log, sequential=True, **settings)


def test_two_groups_with_a_gap():
    assert watch(frame_of({"female": (12_000, 8_000), "male": (8_000, 12_000)})).sentence == (
        "Female users received 0.200 less reward per decision than male users (0.400 vs 0.600; 95% CI for the "
        "gap: 0.172 to 0.228). The interval excludes zero, so the gap is unlikely to be chance. "
        "The gap has been detectable since decision 1,000."
    )


def test_more_than_two_groups():
    result = watch(frame_of({"f": (1_200, 800), "m": (800, 1_200), "x": (1_000, 1_000)}), tolerance=0.3)
    assert result.sentence == (
        "Users with sex = f received the least reward per decision (0.400) and users with sex = m the most "
        "(0.600), a gap of 0.200 (95% CI: 0.111 to 0.289). The whole interval lies within the tolerance of 0.3."
    )
    assert result.verdict == "Fair (95% confidence): the gap is within the tolerance of 0.3 for sex."


def test_a_gap_that_may_be_chance():
    frame = frame_of({"f": (510, 490), "m": (500, 500)})
    assert watch(frame).sentence == (
        "Users with sex = f received 0.010 less reward per decision than users with sex = m (0.490 vs 0.500; "
        "95% CI for the gap: 0.000 to 0.134). The interval includes zero, so the gap may be chance."
    )
    undecided = watch(frame, tolerance=0.05)
    assert undecided.sentence.endswith(
        "95% CI for the gap: 0.000 to 0.134). The interval includes the tolerance of 0.05, so there is no "
        "decision yet."
    )
    assert undecided.verdict == (
        "Undecided: there is too little data to tell whether the gap is within the tolerance of 0.05 for sex."
    )
    assert watch(frame, tolerance=0.05, confidence=0.9).sentence.count("90% CI") == 1


def test_unfair():
    result = watch(frame_of({"f": (12_000, 8_000), "m": (8_000, 12_000)}), tolerance=0.05)
    assert "0.172 to 0.228). The whole interval lies above the tolerance of 0.05." in result.sentence
    assert result.verdict == "Unfair (95% confidence): the gap exceeds the tolerance of 0.05 for sex."
    assert str(result).startswith(f"{result.sentence}\n{result.verdict}\n\nsex  rewards")


def test_a_low_confidence_does_not_exclude_chance():
    result = watch(frame_of({"f": (12_000, 8_000), "m": (8_000, 12_000)}), confidence=0.5)
    assert "). The interval excludes zero. The gap has been" in result.sentence
    assert "unlikely to be chance" not in result.sentence


def test_a_high_confidence_is_not_rounded():
    result = audit(frame_of({"f": (500, 500), "m": (500, 500)}), confidence=0.9999999, tolerance=0.5)
    assert "99.99999% CI" in result.sentence
    assert result.verdict.startswith("Fair (99.99999% confidence)")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (
            ("men", "women"),
            "Users with sex = men received 0.200 less reward per decision than users with sex = women",
        ),
        (("older men", "older women"), "Users with sex = older men received"),
        (
            ("male", "Male "),
            "Users with sex = male received 0.200 less reward per decision than users with sex = 'Male '",
        ),
        (("non-binary", "female"), "Non-binary users received 0.200 less reward per decision than female users"),
    ],
)
def test_labels_before_users(labels, expected):
    low, high = labels
    assert watch(frame_of({low: (1_200, 800), high: (800, 1_200)})).sentence.startswith(expected)


def test_all_sentences_of_a_comparison_name_groups_alike():
    frame = two_arms({"a": (600, 400)}, {"a": (300, 200), "b": (200, 300)})
    frame = pd.concat([frame, frame_of({"other": (550, 450)})], ignore_index=True)
    frame.loc[::7, "reward"] = np.nan
    result = audit(frame)
    analysis = result["sex"].analysis
    words = result.sentences
    sentences = words.whole(analysis), words.effects(analysis), words.one_sided(analysis), words.missing(analysis)
    assert {"male users", "female users"}.isdisjoint(re.findall(r"\w+ users", " ".join(sentences)))


def test_equal_means():
    assert watch(frame_of({"f": (500, 500), "m": (500, 500)})).sentence.startswith(
        "All groups by sex received the same mean reward per decision (0.500; 95% CI for the gap: 0.000 to 0."
    )


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"f": (5, 5), "m": (500, 500)}, "only m has at least 100 rewards."),
        ({"f": (5, 5), "m": (5, 5)}, "no group has at least 100 rewards."),
    ],
)
def test_groups_that_are_too_small(counts, expected):
    result = watch(frame_of(counts))
    assert result.sentence == f"No comparison by sex is possible: {expected}"
    small = " and ".join(f"{name} (10)" for name in counts if sum(counts[name]) < 100)
    assert result.sentences.too_small(result["sex"]) == (
        f"Too small to compare (decisions in brackets): {small}. A group needs at least 100 rewards."
    )


def test_a_finished_log_without_decision():
    result = audit(frame_of({"f": (510, 490), "m": (500, 500)}), tolerance=0.05)
    assert (
        "95% CI for the gap: 0.000 to 0.061). The interval includes the tolerance of 0.05, so there is no "
        "decision yet. A gap of 0.119 would have been detected with 80% power." in result.sentence
    )
    assert result.verdict == (
        "Undecided: there is too little data to tell whether the gap is within the tolerance of 0.05 for sex."
    )


def test_too_few_users_of_a_finished_log():
    result = audit(frame_of({"f": (4, 4), "m": (500, 500)}))
    assert result.sentence == (
        "No comparison by sex is possible: only m has at least 10 decisions and 5 expected successes and failures."
    )


def test_assumptions():
    frame = frame_of({"f": (50, 50), "m": (50, 50)})
    users = audit(frame.assign(user=range(200)))
    assert users.sentences.assumption() == (
        "The intervals are fixed-sample and cluster-robust: they assume that users are independent of each "
        "other, and "
        "allow for any dependence between the rewards of one user."
    )
    assert audit(frame).sentences.assumption() == (
        "There is no user column, so the intervals assume that all decisions are independent. If users have "
        "more than one decision each, the intervals are too narrow; name the column (--user)."
    )
    assert watch(frame).sentences.assumption().endswith("not about a population of users.")


def test_unassessed():
    frame = frame_of({"f": (500, 500), "m": (500, 500), "x": (2, 2)})
    frame.loc[frame.index[frame.sex == "f"][:10], "sex"] = None
    result = audit(frame)
    assert result.sentences.unassessed(result["sex"]) == (
        "Not assessed by sex: 14 of 2,004 decisions (0.7%), 10 of unknown group and 4 in groups too small to "
        "compare."
    )


def test_the_share_that_is_not_assessed_differs_from_the_allowed_one():
    frame = frame_of({"f": (500, 500), "m": (500, 500)})
    frame.loc[frame.index[frame.sex == "f"][:20], "sex"] = None
    result = audit(frame, tolerance=0.3, max_unassessed=0.0098)
    assert "1.00% of the decisions could not be assessed by sex (at most 0.98% may be left out)" in result.verdict


def test_no_user_with_both_attributes_known():
    frame = logs.make(400, unknown=0.0)
    is_known = np.arange(400) % 2 == 0
    result = audit(frame.assign(sex=frame.sex.where(is_known), race=frame.race.where(~is_known)))
    assert result.sentences.summary(result["sex", "race"]) == (
        "No comparison by sex x race is possible: no user has known values of all these attributes."
    )


def test_the_headline_is_about_an_attribute_rather_than_an_intersection():
    assert audit(logs.make(20_000, gap=0.3)).headline.name == "sex"


def test_the_headline_is_about_a_clear_gap_rather_than_an_unclear_one():
    hidden = logs.make(20_000, gap=0.0, n_arms=1, unknown=0.0)
    rng = np.random.default_rng(0)
    hidden["race"] = np.where(rng.random(20_000) < 0.5, "Black", "White")
    is_disadvantaged = (hidden.sex == "female") == (hidden.race == "White")
    hidden["reward"] = (rng.random(20_000) < np.where(is_disadvantaged, 0.2, 0.8)) * 1.0
    result = audit(hidden)
    assert result["sex"].conclusion == result["race"].conclusion == "undecided"
    assert result.headline.name == "sex x race"
    disadvantaged = ("female White users", "male Black users")
    assert result.sentence.startswith(
        tuple(f"Over the whole log, {users} received the least" for users in disadvantaged)
    )


def two_arms(female, male):
    """Return a log, given the number of zeros and ones by arm for each sex."""
    frames = []
    for sex, arms in (("female", female), ("male", male)):
        for arm, (zeros, ones) in arms.items():
            frames.append(pd.DataFrame({"sex": sex, "arm": arm, "reward": [0.0] * zeros + [1.0] * ones}))
    return pd.concat(frames, ignore_index=True).sample(frac=1, random_state=0, ignore_index=True)


def test_effects():
    exposure = audit(two_arms({"a": (2_400, 600), "b": (200, 800)}, {"a": (800, 200), "b": (600, 2_400)}))
    assert exposure.sentences.effects(exposure["sex"].analysis) == (
        "Exposure effect: female users were shown less rewarding arms, which accounts for 0.300 of the gap "
        "(95% CI: "
        "0.274 to 0.326). Within-arm effect: both groups received the same reward from the same arms."
    )
    both = watch(two_arms({"a": (500, 500), "b": (1_200, 1_800)}, {"a": (900, 2_100), "b": (200, 800)}))
    assert both.sentences.effects(both["sex"].analysis) == (
        "Exposure effect: female users were shown more rewarding arms, which reduces the gap by 0.050. "
        "Within-arm effect: female users received less reward from the same arms, which accounts for 0.200 of the "
        "gap."
    )
    neither = audit(two_arms({"a": (500, 500)}, {"a": (400, 600)}))
    assert neither.sentences.effects(neither["sex"].analysis).startswith(
        "Exposure effect: both groups were shown equally rewarding arms."
    )


def test_top_arms():
    exposure = audit(two_arms({"a": (2_400, 600), "b": (200, 800)}, {"a": (800, 200), "b": (600, 2_400)}))
    assert exposure.sentences.top_arms(exposure["sex"].analysis) == (
        "Of 2 arms, these contribute most to the gap: b (0.1500) and a (0.1500)."
    )
    one = audit(two_arms({"a": (500, 500)}, {"a": (400, 600)}))
    assert one.sentences.top_arms(one["sex"].analysis) == "There is only one arm."
    same = audit(two_arms({"a": (500, 500), "b": (500, 500)}, {"a": (500, 500), "b": (500, 500)}))
    assert same.sentences.top_arms(same["sex"].analysis) == "No arm contributes to the gap."


def test_one_sided_arms():
    result = audit(two_arms({"a": (500, 500)}, {"a": (400, 600), "b": (100, 900)}))
    assert result.sentences.one_sided(result["sex"].analysis) == (
        "50.0% of the rewards of male users and 0.0% of those of female users came from arms that the other group "
        "was never shown. The rewards that the other group would have received from them are unknown, so their "
        "contribution counts as an exposure effect."
    )
    shared = audit(two_arms({"a": (500, 500)}, {"a": (400, 600)}))
    assert shared.sentences.one_sided(shared["sex"].analysis) is None


def test_missing_rewards():
    none = audit(frame_of({"female": (500, 500), "male": (400, 600)}))
    assert none.sentences.missing(none["sex"].analysis) == "No rewards are missing."
    frame = frame_of({"female": (2_000, 2_000), "male": (1_000, 3_000)})
    frame.loc[frame.index[frame.sex == "female"][:1_000], "reward"] = np.nan
    result = audit(frame)
    assert result.sentences.missing(result["sex"].analysis) == (
        "Rewards are missing most often for female users (25.0%) and least often for male users (0.0%). "
        "The shares differ by at least 23 percentage points (95% confidence). Depending on the missing rewards, "
        "the observed gap could lie between 0.128 and 0.378, apart from sampling error; the same group would "
        "still be disadvantaged."
    )
    frame.loc[frame.index[:2_000], "reward"] = np.nan
    many = audit(frame)
    assert many.sentences.missing(many["sex"].analysis).endswith(
        "and another group could be the disadvantaged one."
    )


def test_rewards_that_are_missing_equally_often():
    frame = frame_of({"en": (500, 500), "fr": (400, 600)})
    for sex in ("en", "fr"):
        frame.loc[frame.index[frame.sex == sex][:62], "reward"] = np.nan
    result = audit(frame)
    assert result.sentences.missing(result["sex"].analysis).startswith(
        "Rewards are missing about equally often in all groups (6.2%). Depending on the missing rewards"
    )


def parts_of(effects):
    return effects.removesuffix(".").split(". ")


def test_an_effect_that_may_be_chance():
    result = audit(two_arms({"a": (600, 400), "b": (400, 600)}, {"a": (490, 490), "b": (306, 714)}))
    effects = result.sentences.effects(result["sex"].analysis)
    assert parts_of(effects)[0].endswith(") and may be chance")
    assert parts_of(effects)[1].startswith("Within-arm effect: female users received less reward")
    assert effects.count("may be chance") == 1


@pytest.fixture(scope="module")
def small_extremes():
    """An audit in which the groups with the extreme means are small, and two large ones demonstrably differ."""
    counts = {"female": (6_000, 4_000), "male": (4_500, 5_500), "x": (15, 8), "y": (8, 15)}
    return audit(frame_of(counts), tolerance=0.05)


def test_the_table_shows_the_clearest_gap(small_extremes):
    _, rows = verdict_table(small_extremes)
    clearest = small_extremes["sex"].analysis.clearest
    assert clearest.extremes.low < 0.05 < clearest.difference.low
    interval = f"{clearest.difference.low:.3f} to {clearest.difference.high:.3f}"
    assert rows[0] == ("sex", ["whole log", "0.150*", interval, "female", "unfair"])
    note = verdict_notes(small_extremes)[0]
    assert note.startswith(
        "* sex, whole log: the clearest gap, between users with sex = female and users with sex = male. The "
        "largest, 0.304 between users with sex = x and users with sex = y, is less certain (95% CI: "
    )
    for text in (str(small_extremes), small_extremes._repr_html_(), audit_page(small_extremes)):
        assert note in text


def test_a_window_shows_the_clearest_gap():
    counts = {"female": (6_000, 4_000), "male": (4_500, 5_500), "x": (150, 80), "y": (80, 150)}
    result = audit(frame_of(counts), tolerance=0.02)
    recent = result["sex"].analysis.recent
    assert recent.conclusion == "unfair"
    assert {recent.disadvantaged.name, recent.advantaged.name} == {"x", "y"}
    assert {recent.clearest.disadvantaged.name, recent.clearest.advantaged.name} == {"female", "male"}
    assert "This interval is for the largest gap between any two groups" in result.sentences.recent(
        result["sex"].analysis
    )
    _, rows = verdict_table(result)
    assert (rows[1][1][0], rows[1][1][3]) == ("now", "female")


def test_a_comparison_is_found_by_its_name():
    result = audit(logs.make(2_000))
    assert result["sex x race"] is result["sex", "race"]
    with pytest.raises(KeyError, match="there is no comparison by 'race x sex'"):
        result["race x sex"]


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        (("row", 0, 999), "since decision 30"),
        (("number", 0.0, 7.0), "since time 0.2"),
        (("date", "2026-01-10", "2026-03-10"), "since 12 January 2026"),
        (("date", "2025-01-10", "2027-01-10"), "since the week of 20 January 2025"),
        (("date", "2020-01-10", "2027-01-10"), "since the 4-week period from 24 February 2020"),
        (("date", "2026-01-10", "2026-01-12"), "since 10 January 2026, 02:00"),
        (("date", "2026-01-10T00:00", "2026-01-10T00:10"), "since 10 January 2026, 00:00:20"),
    ],
)
def test_since(blocks, expected):
    unit, low, high = blocks
    ends = [np.datetime64(end, "us").astype(np.int64) if unit == "date" else end for end in (low, high)]
    assert since(TimeBlocks(unit).covering(*ends), 2) == expected


def test_rare_arms():
    rng = np.random.default_rng(0)
    frame = frame_of({"f": (500, 500), "m": (500, 500)}).assign(arm=rng.integers(0, 1_000, 2_000))
    result = audit(frame)
    assert "of the rewards came from arms so rare that one of the groups was, by chance, never shown them." in (
        result.sentences.one_sided(result["sex"].analysis)
    )


def test_a_clear_gap_is_not_rounded_to_zero():
    result = watch(frame_of({"f": (10_000, 10_000), "m": (9_426, 10_574)}))
    assert 0.0 < result["sex"].analysis.gap.low < 0.0005
    assert ": 0.000 to" not in result.sentence


def test_the_number_of_decimals_follows_the_reward_range():
    stars = logs.make(3_000).assign(reward=lambda f: 1 + 4 * f.reward)
    assert "(2.794 vs 3.321; 95% CI for the gap: 0.082 to 0.973)" in watch(stars, reward_range=(1, 5)).sentence
    money = logs.make(3_000).assign(reward=lambda f: 1_000 * f.reward)
    assert "(448 vs 580; 95% CI for the gap: 21 to 243)" in watch(money, reward_range=(0, 1_000)).sentence
