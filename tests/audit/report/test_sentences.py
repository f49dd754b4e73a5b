"""What a person is told, in every case."""

import numpy as np
import pandas as pd
import pytest

from fairbandits.audit import audit
from fairbandits.audit.report.phrases import since
from fairbandits.audit.time_blocks import TimeBlocks
from tests.audit import logs


def frame_of(counts, arms=None):
    """A log of zeros and ones: by sex, how many of each."""
    rows = [(sex, reward) for sex, (zeros, ones) in counts.items() for reward in [0.0] * zeros + [1.0] * ones]
    frame = pd.DataFrame(rows, columns=["sex", "reward"]).sample(frac=1, random_state=0, ignore_index=True)
    return frame.assign(arm="a" if arms is None else arms)


def test_two_groups_that_are_apart():
    assert audit(frame_of({"f": (12_000, 8_000), "m": (8_000, 12_000)})).sentence == (
        "Users whose sex is f gained 0.200 less per decision than those whose sex is m (0.400 against 0.600). "
        "We are 95% sure that the difference is between 0.172 and 0.228. It has shown since decision 1,000."
    )


def test_more_groups():
    found = audit(frame_of({"f": (1_200, 800), "m": (800, 1_200), "x": (1_000, 1_000)}), tolerance=0.3)
    assert found.sentence == (
        "Users whose sex is f gained least (0.400 per decision) and those whose sex is m most (0.600): 0.200 "
        "apart. We are 95% sure that the difference is at most 0.289: within the 0.3 that is tolerated."
    )
    assert found.verdict == "Fair, with confidence: groups are within 0.3 of each other by sex."


def test_a_difference_that_may_be_chance():
    frame = frame_of({"f": (510, 490), "m": (500, 500)})
    assert audit(frame).sentence == (
        "Users whose sex is f gained 0.010 less per decision than those whose sex is m (0.490 against 0.500). "
        "That may be chance: we are 95% sure that the difference is at most 0.134, and it may be none at all."
    )
    unsure = audit(frame, tolerance=0.05)
    assert unsure.sentence.endswith(
        "We are 95% sure that the difference is between 0.000 and 0.134: whether it is within the 0.05 that is "
        "tolerated cannot be said yet."
    )
    assert unsure.verdict == (
        "Too little data: whether groups are within 0.05 of each other cannot be said by sex."
    )
    assert audit(frame, tolerance=0.05, confidence=0.9).sentence.count("We are 90% sure") == 1


def test_unfair():
    found = audit(frame_of({"f": (12_000, 8_000), "m": (8_000, 12_000)}), tolerance=0.05)
    assert "between 0.172 and 0.228: more than the 0.05 that is tolerated." in found.sentence
    assert found.verdict == "Unfair, with confidence: groups are not within 0.05 of each other by sex."
    assert str(found) == f"{found.sentence} {found.verdict}"


def test_all_the_same():
    assert audit(frame_of({"f": (500, 500), "m": (500, 500)})).sentence.startswith(
        "By sex, all groups gained the same per decision (0.500)."
    )


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"f": (5, 5), "m": (500, 500)}, "By sex nothing can be said: of all groups only m has 100 rewards."),
        ({"f": (5, 5), "m": (5, 5)}, "By sex nothing can be said: no group has 100 rewards."),
    ],
)
def test_too_small(counts, expected):
    found = audit(frame_of(counts))
    assert found.sentence == expected
    small = ", ".join(name for name in counts if sum(counts[name]) < 100)
    assert found.words.too_small(found["sex"]).startswith(
        f"Too small to say anything, with fewer than 100 rewards: {small.replace(', ', ' (10) and ')} (10)."
    )


def test_nobody_is_known_by_both():
    frame = logs.make(400, unknown=0.0)
    known = np.arange(400) % 2 == 0
    frame = frame.assign(sex=frame.sex.where(known), race=frame.race.where(~known))
    assert audit(frame).words.about(audit(frame)["sex", "race"]) == (
        "By sex x race nothing can be said: there is nobody of whom all of it is known."
    )


def test_an_attribute_is_told_of_before_an_intersection():
    found = audit(logs.make(20_000, gap=0.3))
    assert found.foremost.name == "sex"
    # But what is sure goes before what is not.
    hidden = logs.make(20_000, gap=0.0, n_arms=1, unknown=0.0)
    bad = (hidden.sex == "female") == (hidden.race == "White")
    rng = np.random.default_rng(0)
    hidden["reward"] = (rng.random(20_000) < np.where(bad, 0.2, 0.8)) * 1.0
    hidden["race"] = np.where(rng.random(20_000) < 0.5, "Black", "White")
    bad = (hidden.sex == "female") == (hidden.race == "White")
    hidden["reward"] = (rng.random(20_000) < np.where(bad, 0.2, 0.8)) * 1.0
    found = audit(hidden)
    assert found["sex"].word == found["race"].word == "unsure"
    assert found.foremost.name == "sex x race"
    assert found.sentence.startswith("Users whose sex is ")
    assert " and whose race is " in found.sentence


def two_arms(female, male):
    """By arm, how many zeros and ones: for each sex."""
    frames = []
    for sex, arms in (("f", female), ("m", male)):
        for arm, (zeros, ones) in arms.items():
            frames.append(pd.DataFrame({"sex": sex, "arm": arm, "reward": [0.0] * zeros + [1.0] * ones}))
    return pd.concat(frames, ignore_index=True).sample(frac=1, random_state=0, ignore_index=True)


def test_causes():
    shown = audit(two_arms({"a": (2_400, 600), "b": (200, 800)}, {"a": (800, 200), "b": (600, 2_400)}))
    difference = shown["sex"].difference
    assert shown.words.causes(difference) == (
        "The group behind, f, was shown arms that give less: that makes 0.300 of the difference. "
        "From the same arm both got much the same."
    )
    assert shown.words.carriers(difference) == "Of 2 arms, these carry most of it: a (0.1500) and b (0.1500)."
    both = audit(two_arms({"a": (500, 500), "b": (1_200, 1_800)}, {"a": (900, 2_100), "b": (200, 800)}))
    assert both.words.causes(both["sex"].difference) == (
        "The group behind, f, was shown arms that give more: that takes 0.050 off the difference. "
        "From the same arms f got less: that makes 0.200 of the difference."
    )
    one = audit(two_arms({"a": (500, 500)}, {"a": (400, 600)}))
    assert one.words.carriers(one["sex"].difference) == "There is one arm only."
    assert one.words.causes(one["sex"].difference).startswith("Both groups were shown much the same.")
    same = audit(two_arms({"a": (500, 500), "b": (500, 500)}, {"a": (500, 500), "b": (500, 500)}))
    assert same.words.carriers(same["sex"].difference) == "No arm carries it."


def test_arms_that_only_one_group_was_shown():
    found = audit(two_arms({"a": (500, 500)}, {"a": (400, 600), "b": (100, 900)}))
    assert found.words.one_sided(found["sex"].difference) == (
        "50.0% of the rewards of m and 0.0% of those of f came from arms that the other group was never shown. "
        "What they would have given the other group nobody knows: their part counts as who was shown what."
    )
    even = audit(two_arms({"a": (500, 500)}, {"a": (400, 600)}))
    assert even.words.one_sided(even["sex"].difference) is None


def test_missing_rewards():
    none = audit(frame_of({"f": (500, 500), "m": (400, 600)}))
    assert none.words.missing(none["sex"].difference) == "No rewards are missing."
    frame = frame_of({"f": (2_000, 2_000), "m": (1_000, 3_000)})
    frame.loc[frame.index[frame.sex == "f"][:1_000], "reward"] = np.nan
    found = audit(frame)
    text = found.words.missing(found["sex"].difference)
    assert text.startswith(
        "Careful: rewards are missing most often for f (25.0%) and least often for m (0.0%). We are 95% sure "
        "that this is no chance: the shares are at least 22 percentage points apart. Had they come, and been as "
        "extreme as can be, the difference could be anything from 0.128 to 0.378."
    )
    assert text.endswith("Even then the same group would be behind.")
    frame.loc[frame.index[:2_000], "reward"] = np.nan
    much = audit(frame)
    assert much.words.missing(much["sex"].difference).endswith("They could even turn it round.")


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        (("row", 0, 999), "since decision 30"),
        (("number", 0.0, 7.0), "since time 0.2"),
        (("date", "2026-01-10", "2026-03-10"), "since 12 January 2026"),
        (("date", "2025-01-10", "2027-01-10"), "since the week of 20 January 2025"),
        (("date", "2020-01-10", "2027-01-10"), "since the 4 weeks from 24 February 2020"),
        (("date", "2026-01-10", "2026-01-12"), "since 10 January 2026, 02:00"),
        (("date", "2026-01-10T00:00", "2026-01-10T00:10"), "since 10 January 2026, 00:00:20"),
    ],
)
def test_since_when(blocks, expected):
    kind, low, high = blocks
    ends = [np.datetime64(end, "us").astype(np.int64) if kind == "date" else end for end in (low, high)]
    assert since(TimeBlocks(kind).covering(*ends), 2) == expected


def test_what_is_sure_never_looks_like_nothing():
    found = audit(frame_of({"f": (10_000, 10_000), "m": (9_426, 10_574)}))
    assert 0.0 < found["sex"].difference.gap.low < 0.0005
    assert "between 0.000 and" not in found.sentence


def test_numbers_have_the_digits_that_they_need():
    stars = logs.make(3_000).assign(reward=lambda f: 1 + 4 * f.reward)
    assert "0.0" not in audit(stars, reward_range=(1, 5)).sentence.split("(")[1].split(")")[0]
    money = logs.make(3_000).assign(reward=lambda f: 1_000 * f.reward)
    assert ".0 " not in audit(money, reward_range=(0, 1_000)).sentence
