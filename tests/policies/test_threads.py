"""One policy shared by threads: no reward is lost, and nothing is corrupted."""

import copy
import pickle
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import clone

from fairbandits import Catalogue, EqualRegretLinUCB, EvenLinUCB, FairLinUCB, GroupRewards, LinTS, LinUCB
from fairbandits.categorical import Categorical
from fairbandits.policies import SufficientStatistics
from tests.helpers import POLICIES, fresh, teach

THREADS = 8
N_ARMS, USERS = 12, 4


@contextmanager
def eager_switching():
    """Let threads take turns as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def in_threads(work, others=()):
    """Call `work(number)` in several threads beside others, and raise what one of them raised."""
    errors = []

    def guarded(call, *args):
        try:
            call(*args)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work, number)) for number in range(THREADS)]
    threads += [threading.Thread(target=guarded, args=(other,)) for other in others]
    with eager_switching():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]


def catalogue():
    rng = np.random.default_rng(0)
    return Catalogue(
        rng.random((N_ARMS, 3)), USERS, arms=[f"a{i}" for i in range(N_ARMS)], matches={"sex": ["f", "m"] * 6}
    )


def stress(policy, rounds):
    """Choose and learn in threads beside one that reads; return what was learned, in any order."""
    videos = catalogue()
    learned = [[] for _ in range(THREADS)]
    done = threading.Event()
    left = [THREADS]

    def work(number):
        try:
            rng = np.random.default_rng(number)
            users, rewards = np.eye(USERS)[rng.integers(USERS, size=rounds)], rng.random(rounds)
            for user, reward in zip(users, rewards.tolist(), strict=True):
                group = "fm"[number % 2]
                decision = policy.choose(videos.offer(user, {"sex": group}), group)
                policy.learn(decision, reward)
                learned[number].append((decision.context, decision.arm, reward, group))
        finally:
            left[0] -= 1
            if not left[0]:
                done.set()

    def read():
        while not done.is_set():
            assert sum(summary.count for summary in policy.groups.summaries()) <= THREADS * rounds
            policy.groups.gap()
            policy.groups.gap(confidence=None)
            policy.groups.mean_of("group", "a")
            policy.score(videos.offer(np.ones(USERS)), ["f"])
            policy.state()

    in_threads(work, [read])
    return [each for one in learned for each in one]


def check(policy, learned):
    """Compare a policy with one that learns the same from sums."""
    contexts, arms, rewards, groups = zip(*learned, strict=True)
    arm_labels, group_labels = sorted(set(arms)), ["f", "m"]
    statistics = SufficientStatistics(fresh(policy))
    statistics.add(
        np.array(contexts),
        Categorical(np.array([arm_labels.index(arm) for arm in arms]), arm_labels),
        np.array(rewards),
        {"group": Categorical(np.array([group_labels.index(group) for group in groups]), group_labels)},
    )
    replayed = fresh(policy)
    replayed.learn_statistics(statistics)
    assert policy.rounds_learned == len(learned)
    assert {s.group: s.count for s in policy.groups.summaries()} == {g: groups.count(g) for g in group_labels}
    assert sorted(policy.arms_learned) == arm_labels
    for arm in (None, *arm_labels):
        np.testing.assert_allclose(policy.coefficients(arm), replayed.coefficients(arm), atol=1e-9)
    for group in group_labels:
        mean = [r for r, g in zip(rewards, groups, strict=True) if g == group]
        [ours] = [s.mean for s in policy.groups.summaries() if s.group == group]
        assert ours == pytest.approx(np.mean(mean), abs=1e-9)


@pytest.mark.parametrize("model", ["disjoint", "shared", "hybrid"])
def test_threads_lose_no_reward(model):
    policy = FairLinUCB(model=model, random_state=0)
    check(policy, stress(policy, 250))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["disjoint", "shared", "hybrid"])
def test_eight_threads_a_hundred_thousand_rounds(model):
    policy = FairLinUCB(model=model, random_state=0)
    check(policy, stress(policy, 12_500))


def test_every_other_call_beside_learning(tmp_path):
    """Batches, slates, forgetting, saving, merging and parameters: no exception, and exact counts."""
    policy, other = (EqualRegretLinUCB(random_state=seed) for seed in range(2))
    rng = np.random.default_rng(0)
    contexts = rng.random((5, N_ARMS, 4))

    def work(number):
        for i in range(40):
            match (number + i) % 4:
                case 0:
                    policy.learn_many(policy.choose_many(contexts, ["f", "m", "f", "m", None]), [0.5] * 5)
                case 1:
                    for slate in policy.choose_many(contexts, ["f"] * 5, k=3):
                        policy.learn(slate, [1.0, None, 0.0])
                case 2:
                    other.merge(policy)
                    policy.save(tmp_path / f"policy{number}")
                    policy.probabilities(contexts)
                    [policy.learn(policy.choose(contexts[0], "m"), 0.0) for _ in range(5)]
                case 3:
                    policy.set_params(random_state=i)
                    policy.forget_arm(policy.choose(contexts[0]).arm, missing_ok=True)
                    policy.checksum()
                    policy.merge(other)

    in_threads(work)
    expected = 5 * sum((number + i) % 4 < 3 for number in range(THREADS) for i in range(40))
    assert policy.rounds_learned == expected
    unknown = sum((number + i) % 4 == 0 for number in range(THREADS) for i in range(40))
    assert sum(s.count for s in policy.groups.summaries()) == expected - unknown
    assert sum(s.count for s in policy.regrets.summaries()) == expected - unknown


def test_policies_that_share_a_generator_take_turns():
    rng = np.random.default_rng(0)
    policies = [LinTS(random_state=rng) for _ in range(THREADS)]

    def work(number):
        for _ in range(60):
            policies[number].learn(policies[number].choose(np.eye(3), "f"), 0.5)

    in_threads(work)
    assert [policy.rounds_learned for policy in policies] == [60] * THREADS


def test_merging_in_both_directions_at_once_does_not_block():
    policies = [teach(LinUCB(random_state=seed))[0] for seed in range(2)]

    def work(number):
        for _ in range(20):
            assert policies[number % 2].merge(policies[1 - number % 2]).rounds_learned == 120

    in_threads(work)


def test_a_record_of_its_own_takes_rewards_of_threads():
    groups = GroupRewards()

    def work(number):
        for i in range(300):
            groups.add(0.5, group=f"g{(number + i) % 5}", arm=i % 7)
            groups.gap()
            groups.gap(confidence=None)
            groups.mean_of("group", "a")

    in_threads(work)
    assert sum(summary.count for summary in groups.summaries()) == THREADS * 300


@pytest.mark.parametrize("name", POLICIES)
def test_copies_have_a_lock_of_their_own(name):
    policy, _ = teach(fresh(POLICIES[name], random_state=0))
    for twin in (copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))):  # noqa: S301
        assert twin._lock is not policy._lock
        assert all(each._lock is twin._lock for each in (twin.groups, *twin.records().values()))
        assert twin.checksum() == policy.checksum()
        teach(twin, rounds=3)
    assert clone(policy)._lock is not policy._lock


def test_a_policy_is_copied_while_another_thread_holds_it():
    policy, _ = teach(EvenLinUCB(random_state=0))
    with policy._lock:
        twin = copy.deepcopy(policy)
    teach(twin, rounds=3)
