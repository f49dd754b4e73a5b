"""Rewards that are learned together: what learning them one by one leads to."""

import functools
import itertools
import signal
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from fairbandits import Catalogue, Decision, FairLinUCB, LinUCB, Model
from fairbandits.models import disjoint, low_rank_regressions, row_batch
from fairbandits.models.disjoint import DisjointModel
from fairbandits.models.low_rank_regressions import LowRankRegressions
from fairbandits.policies import batch_updates
from tests.helpers import POLICIES, fresh

D, ARMS = 12, [f"arm {i}" for i in range(9)]
MODELS = ["disjoint", "shared", "hybrid"]
GROUPS = [{"sex": "f", "age": 1}, {"sex": "m"}, None, {"age": 2, "sex": "f"}, {"age": 1}]


@pytest.fixture(autouse=True)
def together(monkeypatch):
    """Count the batches that were learned together."""
    learned = []
    real = batch_updates.learn_together

    def counted(*args):
        learned.append(real(*args))
        return learned[-1]

    monkeypatch.setattr("fairbandits.policies.policy.learn_together", counted)
    return learned


def contexts_of(rng, n_users, n_arms=9, filled=1.0):
    contexts = rng.normal(size=(n_users, n_arms, D)) / np.sqrt(D)
    return contexts * (rng.random(contexts.shape) < filled)


def decide(policy, n_users=60, seed=0, filled=1.0, arms=ARMS):
    rng = np.random.default_rng(seed)
    groups = [GROUPS[i] for i in rng.integers(0, len(GROUPS), n_users)]
    return policy.choose_many(contexts_of(rng, n_users, len(arms), filled), groups, arms)


def rewards_of(n, reward_range=(0.0, 1.0), seed=1):
    low, high = reward_range
    return low + (high - low) * np.random.default_rng(seed).random(n)


def one_by_one(policy, decisions, rewards, **how):
    for decision, reward in zip(decisions, np.asarray(rewards).tolist(), strict=True):
        policy.learn(decision, reward, **how)


def assert_alike(one, two, tolerance=1e-9):
    assert one.rounds_learned == two.rounds_learned
    assert one.arms_learned == two.arms_learned
    for ours, theirs in zip(one._ledger.arrays().values(), two._ledger.arrays().values(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    contexts = contexts_of(np.random.default_rng(9), 5)
    ours, theirs = (policy.score(contexts, GROUPS, ARMS) for policy in (one, two))
    for part in ("mean", "width", "fairness"):
        np.testing.assert_allclose(getattr(ours, part), getattr(theirs, part), rtol=tolerance, atol=tolerance)
    for arm in (*ARMS, None):
        np.testing.assert_allclose(one.coefficients(arm), two.coefficients(arm), rtol=tolerance, atol=tolerance)
    assert one.groups.attributes == two.groups.attributes
    n_arms = len(one._arms.rows)
    np.testing.assert_array_equal(one.groups.counts, two.groups.counts)
    np.testing.assert_allclose(one.groups.means, two.groups.means, atol=tolerance)
    np.testing.assert_array_equal(one.groups.arm_counts[:, :n_arms], two.groups.arm_counts[:, :n_arms])
    np.testing.assert_allclose(one.groups.arm_means[:, :n_arms], two.groups.arm_means[:, :n_arms], atol=tolerance)
    np.testing.assert_array_equal(one.groups.arm_counts[:, -1], 0.0)


def assert_alike_but_for_order(one, two):
    """Arms and groups may be numbered in another order."""
    contexts = contexts_of(np.random.default_rng(9), 5)
    ours, theirs = (policy.score(contexts, arms=ARMS) for policy in (one, two))
    np.testing.assert_allclose(ours.mean, theirs.mean, atol=1e-9)
    np.testing.assert_allclose(ours.width, theirs.width, atol=1e-9)
    assert one.rounds_learned == two.rounds_learned
    assert {*one.arms_learned} == {*two.arms_learned}
    for attribute in ("sex", "age"):
        ours, theirs = ({s.group: s for s in policy.groups.summaries(attribute)} for policy in (one, two))
        assert {group: s.count for group, s in ours.items()} == {group: s.count for group, s in theirs.items()}
        assert [s.mean for s in ours.values()] == pytest.approx([theirs[group].mean for group in ours])


def pair(model="disjoint", **params):
    return tuple(FairLinUCB(model=model, random_state=0, **params) for _ in range(2))


@pytest.mark.parametrize("filled", [1.0, 0.3], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "model", [*MODELS, Model(dtype="float32"), Model(kind="hybrid", dtype="float32")], ids=str
)
def test_as_if_learned_one_by_one(model, filled, together):
    """Over several days: arms are new, then have few observations, then matrices."""
    one, two = pair(model)
    for day in range(5):
        rewards = rewards_of(60, seed=day)
        one_by_one(one, decide(one, seed=day, filled=filled), rewards)
        two.learn_many(decide(two, seed=day, filled=filled), rewards)
        # The two must go on deciding alike, which single precision cannot promise.
        if "float32" not in str(model):
            assert_alike(one, two)
    if "float32" in str(model):
        assert one.rounds_learned == two.rounds_learned
    assert together == [True] * 5


@pytest.mark.parametrize("n_users", [16, 60, 500])
@pytest.mark.parametrize("model", MODELS)
def test_repeated_arms(model, n_users):
    """Few rows of an arm are updates, many are solved once."""
    one, two = pair(model)
    for day in range(3):
        rewards = rewards_of(n_users, seed=day)
        one_by_one(one, decide(one, n_users, day, arms=ARMS[:2]), rewards)
        two.learn_many(decide(two, n_users, day, arms=ARMS[:2]), rewards)
    assert_alike(one, two)


@pytest.mark.parametrize("model", MODELS)
def test_records_and_several_results_of_choose_many(model, together):
    one, records, results = (FairLinUCB(model=model, random_state=0) for _ in range(3))
    rewards = rewards_of(90)
    one_by_one(one, [*decide(one, 50, 1), *decide(one, 40, 2)], rewards)
    stored = [decision.to_dict() for decision in [*decide(records, 50, 1), *decide(records, 40, 2)]]
    records.learn_many([Decision.from_dict(each) for each in stored], rewards.tolist())
    results.learn_many([decide(results, 50, 1), decide(results, 40, 2)], rewards)
    assert_alike(one, records)
    assert_alike(one, results)
    assert together == [True, True]


def test_decisions_on_eligible_arms(together):
    one, two = pair()
    rng = np.random.default_rng(3)
    contexts, eligible, rewards = contexts_of(rng, 80), rng.random((80, 9)) < 0.5, rewards_of(80)
    eligible[:, 0] = True
    apart = one.choose_many(contexts, arms=ARMS, eligible=eligible)
    one_by_one(one, apart, rewards)
    two.learn_many(two.choose_many(contexts, arms=ARMS, eligible=eligible), rewards)
    assert_alike(one, two)
    assert together == [True]


def test_decisions_of_choose_and_of_a_catalogue(together):
    one, two = pair()
    rng = np.random.default_rng(4)
    catalogue = Catalogue(sparse.csr_array(np.eye(9, D - 4)), 4, arms=ARMS)
    users = rng.normal(size=(120, 4))
    rewards = rewards_of(120)
    one_by_one(one, [one.choose(catalogue.offer(user)) for user in users], rewards)
    two.learn_many([two.choose(catalogue.offer(user)) for user in users], rewards)
    assert_alike(one, two)
    one_by_one(one, one.choose_many(catalogue.offer_many(users)), rewards)
    two.learn_many(two.choose_many(catalogue.offer_many(users)), rewards)
    assert_alike(one, two)
    ours, theirs = (policy.score(catalogue.offer_many(users)) for policy in (one, two))
    np.testing.assert_allclose(ours.total, theirs.total, atol=1e-9)
    assert together == [True, True]


def test_rewards_in_other_units(together):
    one, two = pair(reward_range=(-5.0, 20.0))
    rewards = rewards_of(60, (-5.0, 20.0))
    one_by_one(one, decide(one), rewards)
    two.learn_many(decide(two), rewards)
    assert_alike(one, two)
    assert together == [True]


@pytest.mark.parametrize("rewards", [[1] * 60, np.arange(60) % 2, np.ones(60, np.float32), [np.float64(0.5)] * 60])
def test_rewards_of_any_type(rewards, together):
    one, two = pair()
    one_by_one(one, decide(one), rewards)
    two.learn_many(decide(two), rewards)
    assert_alike(one, two)
    assert together == [True]


@pytest.mark.parametrize("model", MODELS)
def test_again(model):
    one, two = pair(model)
    ours, theirs, rewards = decide(one), decide(two), rewards_of(60)
    for _ in range(2):
        one_by_one(one, ours, rewards, again=True)
        two.learn_many(theirs, rewards, again=True)
    two.learn_many([*theirs, *theirs], [*rewards, *rewards], again=True)
    for _ in range(2):
        one_by_one(one, ours, rewards, again=True)
    assert_alike(one, two)
    with pytest.raises(ValueError, match="has already been learned"):
        two.learn_many(theirs, rewards)


@pytest.mark.parametrize("model", MODELS)
def test_forgotten_arms(model, together):
    one, two = pair(model)
    rewards = rewards_of(60)
    waiting = []
    for policy in (one, two):
        policy.learn_many(decide(policy, seed=5), rewards)
        waiting.append(decide(policy, seed=6))
        for arm in (policy.arms_learned[1], policy.arms_learned[3]):
            policy.forget_arm(arm)
    del together[:]
    one_by_one(one, waiting[0], rewards)
    two.learn_many(waiting[1], rewards)
    assert_alike(one, two)
    # New arms get the numbers of the forgotten ones.
    one_by_one(one, decide(one, seed=7), rewards)
    two.learn_many(decide(two, seed=7), rewards)
    assert_alike(one, two)
    assert together == [True, True]


def test_decisions_of_two_sessions(tmp_path, together):
    one, two = pair()
    rewards = rewards_of(100)
    both = []
    for i, policy in enumerate((one, two)):
        before = list(decide(policy, 50, 1))
        policy.save(tmp_path / f"{i}")
        loaded = FairLinUCB.load(tmp_path / f"{i}")
        both.append((loaded, [each for pair in zip(before, decide(loaded, 50, 2), strict=True) for each in pair]))
    (one, ours), (two, theirs) = both
    one_by_one(one, ours, rewards)
    two.learn_many(theirs, rewards)
    assert_alike(one, two)
    assert together == [True]


@pytest.mark.parametrize("model", MODELS)
def test_a_failure_in_the_middle(model):
    """A row that float64 cannot hold: those before it are learned, it and those after it are not."""
    one, two = pair(model)
    messages = []
    for policy in (one, two):
        contexts = contexts_of(np.random.default_rng(0), 60)
        contexts[40:, :, 1] = contexts[40:, :, 0] = 1e25
        decisions = policy.choose_many(contexts, arms=ARMS)
        learn = functools.partial(one_by_one, one) if policy is one else two.learn_many
        with pytest.raises(ValueError, match="contexts must keep A positive definite") as raised:
            learn(decisions, rewards_of(60))
        messages.append(str(raised.value))
        assert [policy.has_learned(each) for each in decisions] == [True] * 40 + [False] * 20
    assert messages[0] == messages[1]
    assert_alike(one, two)


def test_a_failure_of_memory_leaves_no_new_arms(monkeypatch):
    policy = LinUCB(random_state=0)
    decisions = decide(policy)

    def full(*_):
        raise MemoryError

    monkeypatch.setattr(DisjointModel, "reserve", full)
    with pytest.raises(MemoryError):
        policy.learn_many(decisions, rewards_of(60))
    assert policy.arms_learned == ()
    assert not any(map(policy.has_learned, decisions))
    monkeypatch.undo()
    policy.learn_many(decisions, rewards_of(60))
    assert policy.rounds_learned == 60


def fail_at(monkeypatch, owner, name, call, error):
    """Let a function raise an error when it is called for the n-th time."""
    real, calls = getattr(owner, name), itertools.count(1)

    def failing(*args):
        if next(calls) == call:
            raise error
        return real(*args)

    monkeypatch.setattr(owner, name, failing)


def learn_the_rest(policy, decisions, rewards):
    """Learn what a batch that failed has left; return how many decisions it had learned."""
    left = [i for i, decision in enumerate(decisions) if not policy.has_learned(decision)]
    policy.learn_many([decisions[i] for i in left], rewards[left])
    return len(decisions) - len(left)


@pytest.mark.parametrize("n_before", [0, 1, 60], ids="{} before".format)
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize(
    ("model", "owner", "name", "call"),
    [
        ("disjoint", LowRankRegressions, "_open_many", 2),
        ("disjoint", low_rank_regressions, "open_matrices", 1),
        ("disjoint", row_batch.RowBatch, "gather", 3),
        ("hybrid", LowRankRegressions, "_open_many", 2),
        ("hybrid", row_batch.RowBatch, "gather", 3),
    ],
)
def test_no_row_is_learned_again_after_an_error(monkeypatch, model, owner, name, call, error, n_before):
    one, two = pair(model)
    for policy in (one, two):
        policy.learn_many(decide(policy, n_before, seed=8) if n_before else [], rewards_of(n_before))
    ours, theirs, rewards = decide(one), decide(two), rewards_of(60)
    one.learn_many(ours, rewards)
    monkeypatch.setattr(row_batch, "_ENTRIES_AT_A_TIME", 20 * D)
    fail_at(monkeypatch, owner, name, call, error)
    with pytest.raises(error):
        two.learn_many(theirs, rewards)
    learned = [decision for decision in theirs if two.has_learned(decision)]
    arms = two._model.arms if model == "hybrid" else two._model
    assert two.rounds_learned == arms.rows_learned.sum() == n_before + len(learned)
    assert {*two.arms_learned} >= {decision.arm for decision in learned}
    assert arms.rows_learned[[*two._arms.rows.values()]].all()
    assert learn_the_rest(two, theirs, rewards) == len(learned) < 60
    assert_alike_but_for_order(one, two)


def test_memory_that_is_short_when_arms_need_matrices(monkeypatch):
    one, two = pair()
    ours, theirs, rewards = decide(one), decide(two), rewards_of(60)
    one_by_one(one, ours, rewards)
    two.learn(theirs[0], rewards[0])
    with monkeypatch.context() as patched:
        fail_at(patched, disjoint, "empty_blocks", 1, MemoryError)
        with pytest.raises(MemoryError):
            two.learn_many(theirs[1:], rewards[1:])
    assert two.rounds_learned == two._model.rows_learned.sum() == learn_the_rest(two, theirs, rewards)
    assert_alike_but_for_order(one, two)


@pytest.mark.parametrize("model", MODELS)
def test_an_interrupt_waits_until_the_batch_is_learned(monkeypatch, model):
    """Python raises it right after the kernel during which it arrived."""
    real = batch_updates.codes_of

    def interrupted(values):
        signal.raise_signal(signal.SIGINT)
        return real(values)

    one, two = pair(model)
    one.learn_many(decide(one), rewards_of(60))
    decisions = decide(two)
    monkeypatch.setattr(batch_updates, "codes_of", interrupted)
    # A shell lets programs that it starts in the background ignore interrupts, and so their children.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            two.learn_many(decisions, rewards_of(60))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert all(map(two.has_learned, decisions))
    assert_alike(one, two)


@pytest.mark.parametrize(
    ("rewards", "message"),
    [
        ([0.5] * 59 + [1.5], r"reward must lie in \[0, 1\], got 1.5"),
        ([0.5] * 59 + ["yes"], "reward must be a number, got 'yes'"),
        (np.append(np.full(59, 0.5), np.nan), r"reward must lie in \[0, 1\], got"),
        ([0.5] * 59, r"rewards must have one entry per decision, got 59 for 60 decision\(s\)"),
    ],
)
def test_errors_are_those_of_single_decisions(rewards, message):
    policy = LinUCB(random_state=0)
    decisions = decide(policy)
    before = policy.checksum()
    with pytest.raises(ValueError, match=message):
        policy.learn_many(decisions, rewards)
    assert policy.checksum() == before
    assert policy.rounds_learned == 0


def test_arrays_are_checked_like_single_rewards(together):
    """A masked reward has no value; 0.1 in single precision is above 0.1."""
    masked = np.ma.masked_array(np.full(60, 0.05), mask=np.arange(60) == 3)
    policy = LinUCB(random_state=0, reward_range=(0.0, 0.1))
    decisions = decide(policy)
    for rewards in (masked, np.full(60, 0.1, np.float32)):
        warning = pytest.warns() if rewards is masked else nullcontext()
        with warning, pytest.raises(ValueError, match="must lie in"):
            policy.learn_many(decisions, rewards)
    assert policy.rounds_learned == 0
    policy.learn_many(decisions, np.full(60, 0.05, np.float32))
    assert together == [False, False, True]


def test_decisions_are_checked_before_the_first_is_learned():
    policy, other = LinUCB(random_state=0), LinUCB(random_state=0)
    decisions = decide(policy)
    with pytest.raises(ValueError, match="must have been made by this policy"):
        policy.learn_many([*decisions, *decide(other)], [0.5] * 120)
    with pytest.raises(ValueError, match="decisions must be unique"):
        policy.learn_many([*decisions, decisions[0]], [0.5] * 61)
    policy.learn(decisions[7], 0.5)
    with pytest.raises(ValueError, match="has already been learned"):
        policy.learn_many(decisions, [0.5] * 60)
    assert policy.rounds_learned == 1


def test_contexts_of_another_width():
    policy = LinUCB(random_state=0)
    narrow = policy.choose_many(np.ones((60, 2, 3)))
    policy.learn_many(decide(policy), [0.5] * 60)
    with pytest.raises(ValueError, match="contexts must be 12 wide, like those the policy has learned, got 3"):
        policy.learn_many(narrow, [0.5] * 60)
    assert policy.rounds_learned == 60


def test_slates_are_learned_one_by_one(together):
    one, two = pair()
    rng = np.random.default_rng(0)
    contexts = contexts_of(rng, 30)
    rewards = rewards_of(30)
    one_by_one(one, one.choose_many(contexts, arms=ARMS, k=2), rewards)
    two.learn_many(two.choose_many(contexts, arms=ARMS, k=2), rewards)
    assert_alike(one, two)
    assert together == [False]


@pytest.mark.parametrize("name", [name for name in POLICIES if "curved" not in name and "splines" not in name])
def test_every_policy(name):
    rng = np.random.default_rng(0)
    contexts, rewards = np.abs(contexts_of(rng, 40, 6))[:, :, :10], rewards_of(40)
    groups = [("f", "m")[i % 2] for i in range(40)]
    one, two = (fresh(POLICIES[name], random_state=0) for _ in range(2))
    one_by_one(one, one.choose_many(contexts, groups), rewards)
    two.learn_many(two.choose_many(contexts, groups), rewards)
    assert one.rounds_learned == two.rounds_learned
    if one._model is not None and "LinTS" not in name:
        ours, theirs = (policy.score(contexts, groups) for policy in (one, two))
        np.testing.assert_allclose(ours.mean, theirs.mean, atol=1e-9)
        np.testing.assert_allclose(ours.width, theirs.width, atol=1e-9)
    assert one.groups.attributes == two.groups.attributes
    np.testing.assert_allclose(one.groups.means, two.groups.means, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), model=st.sampled_from(MODELS))
def test_any_split_into_batches(data, model):
    """However a stream is cut into batches, it leads to the same policy."""
    n = data.draw(st.integers(20, 150))
    cuts = sorted({0, n, *data.draw(st.lists(st.integers(0, n), max_size=4))})
    seed = data.draw(st.integers(0, 1000))
    one, two = pair(model)
    ours, theirs, rewards = decide(one, n, seed, 0.6), list(decide(two, n, seed, 0.6)), rewards_of(n, seed=seed)
    one_by_one(one, ours, rewards)
    for first, end in itertools.pairwise(cuts):
        two.learn_many(theirs[first:end], rewards[first:end])
    assert_alike(one, two)
