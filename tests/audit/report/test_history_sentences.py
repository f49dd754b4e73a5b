"""What an audit says about a gap that opens, closes, reverses or stays, and about groups that fall out of it."""

import numpy as np
import pytest

from fairbandits.audit import audit
from tests.audit import logs

NOW = "In the most recent window (31 March to 9 April 2024), "
IN_WINDOW, IN_ALL = "for sex in the most recent window", "for sex over the whole log"


@pytest.mark.parametrize(
    ("gap", "change", "sentences", "verdict"),
    [
        pytest.param(
            lambda day: 0.3 * (day >= 90),
            "opened",
            [
                "Over the whole log, female users received 0.029 less reward per decision than male users",
                "The whole interval lies within the tolerance of 0.05.",
                f"{NOW}female users received 0.297 less than male users (95% CI: 0.272 to 0.322), above",
                "The gap opened during the log: this is the first window in which it is above the tolerance.",
            ],
            f"{IN_WINDOW}. Over the whole log, it is within the tolerance.",
            id="opens late",
        ),
        pytest.param(
            lambda day: 0.3 if day < 50 else -0.3,
            "reversed",
            [
                "The whole interval lies within the tolerance of 0.05.",
                f"{NOW}male users received 0.311 less than female users (95% CI: 0.286 to 0.335), above",
                "The gap reversed: female users received less until 19 February 2024, male users from 20 "
                "February 2024 on.",
            ],
            f"{IN_WINDOW}. Over the whole log, it is within the tolerance.",
            id="reverses",
        ),
        pytest.param(
            lambda day: 0.3 * (day < 50),
            "closed",
            [
                "Over the whole log, female users received 0.149 less reward per decision than male users",
                "The whole interval lies above the tolerance of 0.05.",
                f"{NOW}male users received 0.012 less than female users (95% CI: 0.000 to 0.038), within",
                "The gap closed: it was last above the tolerance from 10 to 19 February 2024, and is within "
                "it now.",
            ],
            f"{IN_ALL}. In the most recent window, it is within the tolerance.",
            id="fixed",
        ),
        pytest.param(
            lambda day: 0.1,
            "steady",
            [
                "The whole interval lies above the tolerance of 0.05.",
                f"{NOW}female users received 0.090 less than male users (95% CI: 0.064 to 0.116), above",
                "The gap was above the tolerance in 8 of 10 time windows, and no window shows that it "
                "opened or closed.",
            ],
            f"{IN_ALL} and in the most recent window.",
            id="steady",
        ),
        pytest.param(
            lambda day: 0.3 * (day // 10 % 3 == 1),
            "returned",
            [
                "The gap came and went: it was above the tolerance in 3 of 10 time windows, last from 11 "
                "to 20 March 2024."
            ],
            f"{IN_ALL}. In the most recent window, it is within the tolerance.",
            id="comes and goes",
        ),
        pytest.param(
            lambda day: 0.4 if day < 50 else 0.15,
            "shrank",
            ["The gap became smaller: it was above the tolerance in all 10 time windows, and still is."],
            f"{IN_ALL} and in the most recent window.",
            id="shrinks",
        ),
        pytest.param(
            lambda day: 0.15 if day < 50 else 0.4,
            "grew",
            ["The gap became larger: it was above the tolerance in all 10 time windows, and still is."],
            f"{IN_ALL} and in the most recent window.",
            id="grows",
        ),
    ],
)
def test_histories(gap, change, sentences, verdict):
    result = audit(logs.of_users(gap), tolerance=0.05)
    assert result.status == 1
    for sentence in sentences:
        assert sentence in result.sentence
    assert result.sentence.endswith(sentences[-1])
    assert result.verdict == f"Unfair (95% confidence): the gap exceeds the tolerance of 0.05 {verdict}"
    assert result.to_dict()["comparisons"][0]["history"]["change"] == change


def test_a_small_group_does_not_hide_when_a_gap_opened():
    frame = logs.of_users(lambda day: 0.3 * (day >= 70))
    frame.loc[frame.user_id % 100 == 7, "sex"] = "x"
    result = audit(frame, tolerance=0.05)
    history = result.to_dict()["comparisons"][0]["history"]
    assert (history["change"], history["between"]) == ("opened", [["male"], ["female"]])
    assert {window["conclusion"] for window in history["windows"][:7]} == {"undecided"}
    assert result.sentence.endswith(
        "The gap between users with sex = male and users with sex = female opened during the log: it has been "
        "above the tolerance since the window of 11 to 20 March 2024."
    )


def test_a_gap_that_reverses_twice():
    result = audit(logs.of_users(lambda day: -0.3 if 30 <= day < 60 else 0.3), tolerance=0.05)
    assert result.sentence.endswith("The gap reversed more than once, first after 30 January 2024.")


def test_harms_that_reverse():
    result = audit(logs.of_users(lambda day: 0.3 if day < 50 else -0.3), tolerance=0.05, lower_is_better=True)
    assert result.sentence.endswith(
        "The gap reversed: male users received more until 19 February 2024, female users from 20 February 2024 on."
    )


def test_other_groups_are_apart_in_other_windows():
    frame = logs.of_users(lambda day: 0.4 * (day >= 80))
    is_third = frame.user_id % 3 == 0
    frame.loc[is_third, "sex"] = "x"
    early = is_third & (frame.time < frame.time.min() + np.timedelta64(30, "D"))
    frame.loc[early, "reward"] = (frame.reward[early] == 1.0) * (np.arange(early.sum()) % 3 > 0) * 1.0
    result = audit(frame, tolerance=0.05)
    assert result.sentence.endswith(
        "since the window of 21 to 30 March 2024. In 3 more windows, the gap between other groups was above the "
        "tolerance."
    )


def test_no_gap():
    result = audit(logs.of_users(lambda day: 0.0), tolerance=0.05)
    assert result.status == 0
    assert result.sentence.endswith("In none of the 10 time windows was the gap demonstrably above the tolerance.")
    assert result.verdict == (
        "Fair (95% confidence): the gap is within the tolerance of 0.05 for sex, over the whole log and in "
        "the most "
        "recent window."
    )


def test_without_a_tolerance():
    result = audit(logs.of_users(lambda day: 0.3 * (day < 50)))
    assert (
        f"{NOW}male users received 0.012 less than female users (95% CI: 0.000 to 0.038), which may be chance."
        in (result.sentence)
    )
    assert result.sentence.endswith(
        "The gap became smaller: it was detectable in 5 of 10 time windows, last from 10 to 19 February 2024."
    )


def test_99_users_who_all_received_nothing():
    result = audit(logs.with_group(logs.of_users(lambda day: 0.0), "other", 99), tolerance=0.05)
    assert result.status == 1
    assert result.sentence.startswith(
        "Over the whole log, users with sex = other received the least reward per decision (0.000) and users with "
        "sex = female the most (0.503), a gap of 0.503"
    )
    assert "This window has too little data on users with sex = other." in result.sentence
    assert result.sentence.endswith(
        "The gap between users with sex = female and users with sex = other was last above the tolerance from 31 "
        "January to 9 February 2024. Since then, there is too little data on the groups concerned."
    )
    assert result.verdict.endswith(
        "for sex over the whole log. In the most recent window, it is within the tolerance, with too little "
        "data on other."
    )


def test_users_of_unknown_group():
    result = audit(logs.with_group(logs.of_users(lambda day: 0.0), None, 5_000), tolerance=0.05)
    assert result.status == 3
    assert result.verdict == (
        "Undecided: 55.6% of the users could not be assessed by sex (at most 1.0% may be left out)."
    )
    assert result.sentences.unassessed(result["sex"]) == (
        "Not assessed by sex: 5,000 of 9,000 users (55.6%), all of unknown group."
    )
    many = audit(logs.with_group(logs.of_users(lambda day: 0.0), None, 20_000), tolerance=0.05, max_unassessed=1.0)
    assert many.verdict == "Undecided: the 20,000 users whose sex is unknown could hide a gap of up to 0.145."


def test_a_small_group_beyond_the_tolerance():
    result = audit(logs.with_group(logs.of_users(lambda day: 0.0), "other", 9), tolerance=0.05)
    assert result.status == 3
    assert result.verdict == (
        "Undecided: other (sex), too small to compare, demonstrably lies beyond the tolerance."
    )
    assert result.sentences.unassessed(result["sex"]) == (
        "Not assessed by sex: 9 of 4,009 users (0.2%), all in groups too small to compare."
    )
    assert result.sentences.too_small(result["sex"]) == (
        "Too small to compare (users in brackets): other (9). A group needs at least 10 users and 5 expected "
        "successes and failures."
    )


def test_an_undecided_window():
    result = audit(logs.of_users(lambda day: 0.0, n=30_000), tolerance=0.05)
    assert result.status == 3
    assert "; this window does not show whether the tolerance is met." in result.sentence
    assert result.verdict == (
        "Undecided: over the whole log, the gap is within the tolerance of 0.05, but there is too little data "
        "in the most recent window to tell for sex."
    )


def test_a_group_that_is_absent_now():
    frame = logs.of_users(lambda day: 0.0)
    frame.loc[(frame.user_id % 20 < 2) & (frame.time < frame.time.max() - np.timedelta64(20, "D")), "sex"] = "x"
    frame = frame[(frame.user_id % 20 >= 2) | (frame.sex == "x")]
    result = audit(frame, tolerance=0.1)
    assert result.verdict.endswith("The most recent window has too little data on x.")


def test_harms():
    result = audit(logs.of_users(lambda day: 0.2), lower_is_better=True, tolerance=0.05)
    assert result.sentence.startswith(
        "Over the whole log, male users received 0.199 more harm per decision than female"
    )
    assert f"{NOW}male users received 0.195 more than female users" in result.sentence
    effects = result.sentences.effects(result["sex"].analysis)
    assert "Within-arm effect: male users received more harm from the same arms" in effects


@pytest.mark.parametrize(
    ("times", "phrase"),
    [
        (None, "In the most recent window (decisions from 18,001 on)"),
        (lambda n: np.linspace(0.0, 7.0, n), "In the most recent window (times 6.3 to 7.1)"),
        (
            lambda n: np.datetime64("2026-01-10", "us") + np.linspace(0, 36_000, n).astype("timedelta64[s]"),
            "In the most recent window (10 January 2026, 09:00 to 10:15)",
        ),
        (
            lambda n: np.datetime64("2025-11-01", "us") + (np.arange(n) * 80 // n).astype("timedelta64[D]"),
            "In the most recent window (12 to 19 January 2026)",
        ),
    ],
)
def test_windows_of_time(times, phrase):
    frame = logs.of_users(lambda day: 0.1, n=20_000).drop(columns="time")
    result = audit(frame if times is None else frame.assign(time=times(len(frame))))
    assert phrase in result.sentence
