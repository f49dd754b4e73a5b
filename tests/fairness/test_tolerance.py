"""Policies that hold a tolerated difference, and what they are made of."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fairbandits import EvenLinUCB, FairLinUCB, GroupRewards, LinUCB
from fairbandits.fairness import arm_correction, group_debt, tolerance
from fairbandits.policies.even_linucb import AIM
from fairbandits.simulate import simulate
from fairbandits.worlds import StudentsAndVideos, UnequalWorld


def record(rewards, arm=None):
    """Make a record from lists of rewards by group."""
    groups = GroupRewards()
    for group, values in rewards.items():
        for value in values:
            groups.add(value, group, arm)
    return groups


def key_of(group):
    return (("group", str(group)),)


def noise_by_hand(lists, span=1.0):
    """Return the standard error of each mean, and the threshold of a lead in standard errors, as in a textbook."""
    within = sum(np.sum((values - np.mean(values)) ** 2) for values in lists.values())
    pooled = (within + (span / 2) ** 2) / (sum(map(len, lists.values())) - len(lists) + 1)
    own = {group: np.var(values, ddof=1) if len(values) > 1 else 0.0 for group, values in lists.items()}
    errors = {group: np.sqrt(max(own[group], pooled) / len(values)) for group, values in lists.items()}
    return errors, max(1.0, np.sqrt(2 * np.log(len(lists) - 1))) if len(lists) > 2 else 1.0


def by_hand(rewards, me, aim, patience):
    lists = {group: np.array(values) for group, values in rewards.items() if len(values)}
    errors, z = noise_by_hand(lists)
    owed = [0.0]
    for other in set(lists) - {me} if me in lists else ():
        lead = lists[me].mean() - lists[other].mean()
        noise = z * np.hypot(errors[me], errors[other])
        counts = lead - noise**2 / lead if lead > noise else 0.0
        owed.append((counts - aim) * min(len(lists[me]), len(lists[other])))
    return max(owed) / patience


@settings(deadline=None)  # the first call compiles
@given(
    st.dictionaries(st.sampled_from("abcd"), st.lists(st.floats(0, 1), max_size=6), min_size=1),
    st.floats(0, 0.3),
    st.floats(1, 50),
)
def test_a_debt_is_what_the_words_say(rewards, aim, patience):
    groups = record(rewards)
    for me in "abcde":
        expected = by_hand(rewards, me, aim, patience)
        assert group_debt(groups, key_of(me), aim, patience) == pytest.approx(expected, abs=1e-9)


@settings(deadline=None)
@given(
    st.integers(1, 300),
    st.integers(0, 300),
    st.floats(1, 50),
    st.floats(0, 0.1),
    st.floats(0, 1),
    st.lists(st.floats(0, 1), min_size=1, max_size=20),
    st.floats(0, 0.3),
    st.floats(0, 0.3),
)
def test_a_lead_falls_as_fast_as_it_is_said_to(n_behind, more, patience, aim, lead, shares, most, spread):
    """The excess of the lead falls by the stated factor, to `r / (1 + n / patience)` and a standard error."""
    n_ahead, pull = n_behind + more, 1 + n_behind / patience
    # Of any lead, at most what one reward can give up.
    centres = 0.4, 0.4 + aim + lead * min(0.2, 0.4 / pull)
    received = {
        group: [centre + (-1) ** k * spread for k in range(n)]
        for group, centre, n in zip(("behind", "ahead"), centres, (n_behind, n_ahead), strict=True)
    }
    groups = record(received)
    behind, ahead = (groups.mean_of("group", name) for name in ("behind", "ahead"))
    excess = ahead - behind - aim
    for share in shares:
        r = share * most
        errors, _ = noise_by_hand(received)
        lead, error = excess + aim, np.hypot(errors["behind"], errors["ahead"])
        counts = (lead - error**2 / lead if lead > error else 0.0) - aim
        debt = group_debt(groups, key_of("ahead"), aim, patience)
        assert debt == pytest.approx(max(counts, 0.0) * n_behind / patience, abs=1e-9)
        reward = behind + aim + r - debt
        assume(0.0 <= reward <= 1.0)
        groups.add(reward, "ahead")
        received["ahead"].append(reward)
        after = groups.mean_of("group", "ahead") - behind - aim
        assert after == pytest.approx(excess - (excess + debt - r) / (n_ahead + 1), abs=1e-9)
        # However much each user would receive, up to `most`.
        limit = (most + n_behind / patience * error) / pull
        assert after - limit <= (excess - limit) * (1 - pull / (n_ahead + 1)) + 1e-9
        excess, n_ahead = after, n_ahead + 1


def draws(rng, n_groups, n, mean):
    return {f"group {g}": rng.binomial(1, mean, n).astype(float) for g in range(n_groups)}


@pytest.mark.parametrize("n_majorities", [2, 19, 49])
def test_equal_majorities_do_not_hide_a_minority_that_is_behind(n_majorities):
    rng = np.random.default_rng(0)
    rewards = draws(rng, n_majorities, 2000, 0.5)
    rewards["minority"] = np.array([0.0, 1.0, 0, 0, 0] * 20)
    groups = record(rewards)
    measured = groups.gap(confidence=None)
    assert measured > 0.29
    assert group_debt(groups, key_of(measured.advantaged), 0.0, 100.0) > 0.25  # of 0.3, with 100 rounds
    groups = record(rewards | {"minority": rng.binomial(1, 0.3, 2000)})
    advantaged = groups.gap(confidence=None).advantaged
    assert group_debt(groups, key_of(advantaged), 0.0, 2000.0) > 0.17  # of 0.2, with 2,000 rounds


def test_newcomers_do_not_hide_a_lead():
    rng = np.random.default_rng(0)
    rewards = {"a": rng.binomial(1, 0.95, 2000), "b": rng.binomial(1, 0.85, 2000)}
    alone = group_debt(record(rewards), key_of("a"), 0.0, 2000.0)
    newcomers = {f"newcomer {g}": [1.0] for g in range(300)}
    assert alone > 0.08
    assert group_debt(record(rewards | newcomers), key_of("a"), 0.0, 2000.0) > 0.8 * alone


@pytest.mark.parametrize("others", [{}, {"ahead": [1.0] * 9 + [0.0]}], ids=["alone", "and one that differs"])
def test_equal_groups_owe_each_other_hardly_anything_however_many_they_are(others):
    """The lowest of many means is low by chance, which is no reason to level anybody down."""
    rng = np.random.default_rng(0)
    owed, by_means = [], []
    for _ in range(200):
        rewards = draws(rng, 20, 60, 0.5)
        by_means.append(record(rewards).gap(confidence=None) - 0.01)
        groups = record(rewards | {name: values * 200 for name, values in others.items()})
        owed.append(max(group_debt(groups, key_of(name), 0.01, 60.0) for name in rewards))
    assert np.mean(by_means) > 0.2
    assert np.mean(owed) < 0.05
    assert np.mean(np.array(owed) == 0.0) > 0.35


def test_the_range_of_rewards_is_the_unit():
    rng = np.random.default_rng(0)
    rewards = draws(rng, 3, 40, 0.5) | draws(rng, 1, 40, 0.9)
    unit = group_debt(record(rewards), key_of("group 0"), 0.01, 10.0)
    assert unit > 0.1
    for span in (1e-160, 1e-9, 100.0, 1e49):
        groups = GroupRewards((0.0, span))
        for name, values in rewards.items():
            for value in values:
                groups.add(span * value, name)
        debt = group_debt(groups, key_of("group 0"), 0.01 * span, 10.0)
        assert debt == pytest.approx(unit * span) or (span == 1e-160 and debt == 0.0)


@pytest.mark.parametrize("compute", [group_debt, arm_correction])
def test_a_record_does_not_change_while_it_is_read(compute, monkeypatch):
    """The kernels do not check bounds, so the arrays they are given must be of one moment."""
    groups = record({"a": [0.1, 0.5], "b": [0.9, 0.8]})
    totals_of, is_free = tolerance._totals_of, []

    def spy(record):
        with ThreadPoolExecutor(1) as pool:
            is_free.append(pool.submit(groups.lock.acquire, blocking=False).result())
        return totals_of(record)

    monkeypatch.setattr(tolerance, "_totals_of", spy)
    compute(groups, key_of("b") if compute is group_debt else np.array([0]), 0.0, 10.0)
    assert is_free == [False]


def test_a_debt_of_several_attributes_is_the_largest_and_nobody_unknown_owes():
    groups = GroupRewards()
    for sex, race, reward in (("f", "x", 0.2), ("m", "x", 0.8), ("m", "y", 0.9)) * 10:
        groups.add(reward, {"sex": sex, "race": race})
    sex, race = (group_debt(groups, (pair,), 0.0, 10.0) for pair in (("sex", "m"), ("race", "y")))
    assert group_debt(groups, (("sex", "m"), ("race", "y")), 0.0, 10.0) == max(sex, race) > 0.0
    assert group_debt(groups, (), 0.0, 10.0) == 0.0
    assert group_debt(groups, (("age", "old"),), 0.0, 10.0) == 0.0


def test_arms_draw_by_what_they_gave_the_group_behind():
    groups = GroupRewards()
    for _ in range(50):
        groups.add(0.9, "m", "for men")
        groups.add(0.1, "f", "for men")
        groups.add(0.6, "m", "for all")
        groups.add(0.6, "f", "for all")
    rows = np.array([0, 1, -1])
    men, everybody, unknown = arm_correction(groups, rows, aim=0.0, patience=100.0)
    debt = group_debt(groups, key_of("m"), 0.0, 100.0)
    assert men < everybody
    assert everybody == pytest.approx(debt / 2)
    assert unknown == pytest.approx(debt / 2)
    assert (arm_correction(groups, rows, aim=0.5, patience=100.0) == 0.0).all()
    assert (arm_correction(GroupRewards(), rows, aim=0.0, patience=100.0) == 0.0).all()


def test_an_arm_that_one_group_never_received_says_nothing():
    groups = record({"m": [0.9] * 30, "f": [0.3] * 30}, arm="a")
    for _ in range(20):
        groups.add(1.0, "m", "b")
    a, b = arm_correction(groups, np.array([0, 1]), 0.0, 100.0)
    assert b > a


def test_without_groups_it_is_linucb_that_explores_less_and_less():
    rng = np.random.default_rng(0)
    even = EvenLinUCB(alpha=0.3, settle=1e15, model="disjoint", random_state=1)
    plain = LinUCB(alpha=0.3, random_state=1)
    for _ in range(100):
        contexts, reward = rng.random((5, 4)), rng.random()
        a, b = even.choose(contexts), plain.choose(contexts)
        assert a.arm == b.arm
        even.learn(a, reward)
        plain.learn(b, reward)
    policy = EvenLinUCB(alpha=0.3, settle=100.0, random_state=1)
    for rounds in (0, 100, 300):
        while policy.rounds_learned < rounds:
            policy.learn(policy.choose(np.eye(2)), 0.5)
        assert policy.alpha_for(()) == pytest.approx(0.3 / np.sqrt(1 + rounds / 100))


def test_a_group_that_comes_late_is_explored_for():
    policy = EvenLinUCB(alpha=0.3, settle=10.0, random_state=1)
    for _ in range(1_000):
        policy.learn(policy.choose(np.eye(2), "early"), 0.5)
    assert policy.alpha_for((("group", "early"),)) < 0.04
    assert policy.alpha_for((("group", "late"),)) == 0.3
    for _ in range(50):
        policy.learn(policy.choose(np.eye(2), "late"), 0.5)
    assert policy.alpha_for((("group", "late"),)) < 0.06


def test_no_arm_counts_for_more_than_the_best_less_the_debt():
    policy = EvenLinUCB(alpha=0.0, tolerance=0.0, patience=100.0, random_state=0)
    for _ in range(40):
        for arm, reward in (("good", 0.9), ("fair", 0.5), ("poor", 0.1)):
            policy.learn(policy.choose([[1.0]], "m", [arm]), reward)
            policy.learn(policy.choose([[1.0]], "f", [arm]), reward / 3)
    scores = policy.choose([[1.0]] * 3, "m", ["good", "fair", "poor"]).scores
    debt = group_debt(policy.groups, key_of("m"), 0.0, 100.0)
    pull = arm_correction(policy.groups, np.array([0, 1, 2]), 0.0, 100.0)
    ceiling = scores.mean.max() - debt
    np.testing.assert_allclose(scores.total - pull, np.minimum(scores.mean, ceiling), atol=1e-12)
    behind = policy.choose([[1.0]] * 3, "f", ["good", "fair", "poor"]).scores
    assert (behind.fairness == 0.0).all()  # who owes nothing gives up nothing


@pytest.mark.parametrize("model", ["disjoint", "shared", "auto"])
def test_it_holds_the_tolerance_where_the_best_for_everybody_is_unfair(model):
    world = StudentsAndVideos(scarce="male", train=0, test=4_000, data="stand-in", random_state=0)

    def last(policy):
        return simulate(policy, world).last(1_000).metrics()

    held = last(EvenLinUCB(tolerance=0.02, model=model, random_state=0))
    plain = last(LinUCB(model=model, random_state=0))
    assert held["reward_gap"] < 0.03
    assert plain["reward_gap"] > 0.1
    assert held["worst_off_reward"] > plain["worst_off_reward"] - 0.005


def test_auto_holds_the_tolerance_too_and_gamma_three_does_not():
    world = StudentsAndVideos(scarce="male", train=0, test=4_000, data="stand-in", random_state=0)
    auto, three = (
        simulate(FairLinUCB(gamma=gamma, random_state=0), world).last(1_000).metrics()["reward_gap"]
        for gamma in ("auto", 3.0)
    )
    assert auto < 0.03
    assert three > 0.1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: EvenLinUCB(alpha=-1), "alpha must be a number of at least 0"),
        (lambda: EvenLinUCB(tolerance=-0.1), "tolerance must be a number of at least 0"),
        (lambda: EvenLinUCB(settle=0), "settle must be a number above 0"),
        (lambda: EvenLinUCB(patience=0), "patience must be a number above 0"),
        (lambda: FairLinUCB(gamma="much"), 'gamma must be a number of at least 0 or "auto", got'),
        (lambda: FairLinUCB(gamma=-1), "gamma must be a number of at least 0"),
        (lambda: FairLinUCB(gamma="auto", tolerance=-1), "tolerance must be a number of at least 0"),
    ],
)
def test_parameters_that_make_no_sense(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_nobody_loses_where_the_tolerance_is_out_of_reach():
    """The group that is behind receives its best arms, however large the debt has become."""
    trace = simulate(EvenLinUCB(model="disjoint", random_state=0), UnequalWorld(rounds=4000))
    last = trace.expected[-800:]
    groups = np.array(trace.groups_by("group")[-800:])
    assert last[groups == "b"].mean() == pytest.approx(0.4, abs=0.005)
    assert last[groups == "a"].mean() == pytest.approx(0.6, abs=0.005)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**16), st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.3), st.booleans())
def test_nobody_gives_up_more_than_twice_their_debt(seed, ahead, behind, tolerance, of_two_attributes):
    """The predicted reward of the chosen arm is at most 2 debts, and the exploration, below the best one."""
    rng = np.random.default_rng(seed)
    policy = EvenLinUCB(tolerance=tolerance, model="disjoint", random_state=seed)
    contexts = rng.random((6, 4))
    for _ in range(60):
        sex = "m" if rng.random() < 0.5 else "f"
        group = {"sex": sex, "age": rng.choice(["old", "young"])} if of_two_attributes else sex
        reward = (ahead if sex == "m" else behind) * rng.random()
        policy.learn(policy.choose(contexts, group), reward)
    name = "sex" if of_two_attributes else "group"
    for sex in "mf":
        decision = policy.choose(contexts, {name: sex})
        debt = group_debt(policy.groups, ((name, sex),), AIM * tolerance, policy.patience)
        assert decision.regret <= 2 * debt + decision.scores.exploration.max() + 1e-9
