"""Different arms for different users: each user gets what choosing among only these arms would give."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from fairbandits import Catalogue, FairLinUCB, LinUCB
from fairbandits.policies import Decisions
from fairbandits.policies.mixed_decisions import MixedDecisions
from tests.helpers import ANY_WIDTH, POLICIES, contexts_for, fresh

N_USERS, N_ARMS, D = 7, 6, 10
IDS = [f"a{i}" for i in range(N_ARMS)]
RNG = np.random.default_rng(0)
FULL = RNG.random((N_USERS, N_ARMS, D))
THIN = FULL * (RNG.random(FULL.shape) < 0.3)
THIN[:, :, 0] = 1.0
GROUPS = ["f", "m", None, "f", "m", "f", "m"]
MASK = np.array([[0, 1, 1, 0, 0, 1]] * 2 + [[1] * 6] * 2 + [[0, 0, 0, 1, 0, 0]] + [[0, 1, 1, 0, 0, 1]] * 2, bool)
SETS = [None if row.all() else {arm for arm, is_in in zip(IDS, row, strict=True) if is_in} for row in MASK]
CATALOGUE = Catalogue(np.eye(N_ARMS)[:, :5], 4, IDS, {"sex": ["f", "m", "f", None, "m", "f"]})
USERS = RNG.random((N_USERS, 4))


def message_of(call):
    with pytest.raises(ValueError, match=r".") as error:
        call()
    return str(error.value)


def trained(policy, contexts=FULL, arms=IDS):
    for i in range(40):
        group = GROUPS[i % N_USERS]
        policy.learn(policy.choose(contexts[i % N_USERS], group, arms), 0.1 + 0.8 * (i % 3 == 0))
    return policy


def pair(name, contexts=FULL):
    """Two policies in the same state."""
    return [trained(fresh(POLICIES[name], random_state=0), contexts) for _ in range(2)]


@pytest.mark.parametrize("contexts", [FULL, THIN], ids=["full", "thin"])
@pytest.mark.parametrize("name", [name for name in ANY_WIDTH if "TS" not in name and "Neural" not in name])
def test_as_if_each_user_had_only_these_arms(name, contexts):
    many, alone = pair(name, contexts)
    first = many._ledger._current.issued
    decisions = many.choose_many(contexts, GROUPS, IDS, eligible=MASK)
    assert isinstance(decisions, MixedDecisions)
    ours = [
        alone.choose(contexts[user][MASK[user]], GROUPS[user], np.array(IDS)[MASK[user]].tolist())
        for user in range(N_USERS)
    ]
    for user, (decision, own) in enumerate(zip(decisions, ours, strict=True)):
        assert (decision.arm, decision.index, decision.group) == (own.arm, own.index, own.group)
        assert decision.arms == own.arms
        assert decision.probability == pytest.approx(own.probability)
        assert decision.number == first + user
        np.testing.assert_allclose(decision.scores.total, own.scores.total, atol=1e-12)
        np.testing.assert_allclose(decision.context, own.context)
        many.learn(decision, 0.5)
        alone.learn(own, 0.5)
    np.testing.assert_allclose(many.groups.means, alone.groups.means)


@pytest.mark.parametrize("model", ["disjoint", "shared", "hybrid"])
def test_users_with_the_same_arms_need_not_follow_each_other(model):
    """Kernels read the shared parts of users one after the other."""
    rng = np.random.default_rng(0)
    contexts = np.array([contexts_for(rng) for _ in range(6)])
    policy = LinUCB(model=model, random_state=0)
    for own in contexts:
        policy.learn(policy.choose(own), 0.5)
    decisions = policy.choose_many(contexts, eligible=[None, [0, 1], [3], None, [0, 1], None])
    whole = policy.score(contexts)
    for user, decision in enumerate(decisions):
        expected = whole.user(user).at(np.array(decision.arms))
        np.testing.assert_allclose(decision.scores.mean, expected.mean, rtol=1e-12)
        np.testing.assert_allclose(decision.scores.width, expected.width, rtol=1e-12)


@pytest.mark.parametrize("name", ["LinTS", "LinTS shared", "FairXTS"])
def test_thompson_sampling_stays_within_the_eligible_arms(name):
    policy = pair(name)[0]
    for _ in range(20):
        for user, arm in enumerate(policy.choose_many(FULL, GROUPS, IDS, eligible=SETS).picked):
            assert SETS[user] is None or arm in SETS[user]


@pytest.mark.parametrize("eligible", [SETS, [own and sorted(own) for own in SETS], pd.Series(SETS)], ids=type)
def test_collections_are_masks(eligible):
    one, two = pair("EpsilonGreedy")
    by_set = one.choose_many(FULL, GROUPS, IDS, eligible=eligible)
    by_mask = two.choose_many(FULL, GROUPS, IDS, eligible=MASK)
    assert by_set.picked == by_mask.picked
    assert by_set.indices.tolist() == by_mask.indices.tolist()


@pytest.mark.parametrize(
    "contexts",
    [FULL, THIN, [sparse.csr_array(one) for one in THIN], CATALOGUE.offer_many(USERS, {"sex": GROUPS})],
    ids=["full", "thin", "sparse", "offer"],
)
def test_the_whole_batch_without_its_decisions(contexts):
    arms = None if contexts is not FULL else IDS
    policy = LinUCB(random_state=0)
    ids = IDS if arms is not None or hasattr(contexts, "arms") else range(N_ARMS)
    decisions = policy.choose_many(contexts, GROUPS, arms, eligible=MASK)
    each = list(decisions)
    assert len(decisions) == N_USERS
    assert decisions.picked == [decision.arm for decision in each]
    assert decisions.probability == [decision.probability for decision in each]
    assert decisions.indices.tolist() == [decision.index for decision in each]
    assert [list(arms) for arms in decisions.arms] == [[ids[i] for i in np.flatnonzero(row)] for row in MASK]
    for scores, decision, (columns, values, _) in zip(decisions.scores, each, decisions.contexts(), strict=True):
        np.testing.assert_array_equal(scores.total, decision.scores.total)
        assert values == decision.context[columns].tolist()
        assert np.count_nonzero(values) == np.count_nonzero(decision.context)
    assert [decision.arm for decision in decisions[2:5]] == decisions.picked[2:5]
    assert decisions[-1].number == N_USERS - 1
    assert repr(decisions) == "<7 decisions on 3 sets of eligible arms>"


def test_offers_of_a_catalogue():
    policy, alone = (FairLinUCB(random_state=0) for _ in range(2))
    decisions = policy.choose_many(CATALOGUE.offer_many(USERS, {"sex": GROUPS}), GROUPS, eligible=SETS)
    for user, decision in enumerate(decisions):
        arms = None if SETS[user] is None else [arm for arm in IDS if arm in SETS[user]]
        own = alone.choose(CATALOGUE.offer(USERS[user], {"sex": GROUPS[user]}, arms), GROUPS[user])
        assert decision.arm == own.arm
        np.testing.assert_allclose(decision.context, own.context)
        np.testing.assert_allclose(decision.scores.total, own.scores.total)


@pytest.mark.parametrize("name", ["FairLinUCB", "EpsilonGreedy", "FairLinUCB hybrid"])
def test_slates(name):
    mask = MASK.copy()
    mask[4] = [0, 0, 0, 1, 1, 0]
    many, alone = pair(name)
    for user, slate in enumerate(many.choose_many(FULL, GROUPS, IDS, eligible=mask, k=2)):
        own = alone.choose(FULL[user], GROUPS[user], IDS, eligible=mask[user], k=2)
        assert (slate.picked, slate.indices, slate.number) == (own.picked, own.indices, own.number)
        assert slate.arms == tuple(np.array(IDS)[mask[user]])
        for row, other in zip(slate.rows, own.rows, strict=True):
            np.testing.assert_allclose(row.dense(), other.dense())
        many.learn(slate, [0.5, None])


def test_one_set_for_all_is_an_ordinary_batch():
    policy = LinUCB(random_state=0)
    assert isinstance(policy.choose_many(FULL, eligible=[None] * N_USERS), Decisions)
    decisions = policy.choose_many(FULL, arms=IDS, eligible=[["a4", "a1", "a1"]] * N_USERS)
    assert isinstance(decisions, Decisions)
    assert decisions.arms == ("a1", "a4"), "in the order of arms"
    assert decisions.scores.total.shape == (N_USERS, 2)


@pytest.mark.parametrize(
    "eligible", [["a2", "a5"], {"a2", "a5"}, np.isin(IDS, ["a2", "a5"]), np.array(["a5", "a2"])]
)
def test_eligible_arms_of_one_user(eligible):
    decision = LinUCB(random_state=0).choose(FULL[0], "f", IDS, eligible=eligible)
    assert decision.arms == ("a2", "a5")
    assert decision.arm in decision.arms


@settings(deadline=None, max_examples=30)
@given(st.lists(st.sets(st.integers(0, N_ARMS - 1), min_size=1), min_size=N_USERS, max_size=N_USERS))
def test_users_get_what_they_may_get(sets):
    policy = LinUCB(random_state=0)
    decisions = policy.choose_many(THIN, GROUPS, eligible=sets)
    assert all(arm in own for arm, own in zip(decisions.picked, sets, strict=True))
    assert [decision.number for decision in decisions] == list(range(N_USERS))
    total = policy.score(THIN, GROUPS).total
    for user, (arm, own) in enumerate(zip(decisions.picked, sets, strict=True)):
        assert total[user, arm] == pytest.approx(max(total[user, other] for other in own))


EMPTY = MASK.copy()
EMPTY[3] = False
KIND = (
    "eligible must have a collection of arm ids for each user, None for all, or be a boolean array of shape "
    "(n_users, n_arms), got a {}"
)


@pytest.mark.parametrize(
    ("eligible", "message"),
    [
        (EMPTY, "eligible must have at least one arm for every user, got none for user 3"),
        ([*SETS[:6], []], "eligible must have at least one arm for every user, got none for user 6"),
        ([*SETS[:6], ["a1", "b"]], "eligible must have arms that are on offer, got 'b' for user 6"),
        (SETS[:2], "eligible must have one entry per user, got 2 for 7 user(s)"),
        (
            MASK[:, :2],
            "eligible must be a boolean array of shape (7, 6), a row per user and a column per arm, got shape "
            "(7, 2)",
        ),
        ([*IDS, "a0"], "eligible must have a collection of arm ids for each user, got 'a0' for user 0"),
        ([3] * 7, "eligible must have a collection of arm ids for each user, got 3 for user 0"),
        (
            MASK.tolist(),
            "eligible of user 0: arm id must be a string or an integer, got False of type bool; write 'false' or "
            "0",
        ),
        ({"a1"}, KIND.format("set")),
        ({"a1": 1}, KIND.format("dict")),
        (pd.DataFrame(MASK, columns=IDS), KIND.format("DataFrame")),
        (3, KIND.format("int")),
    ],
)
def test_what_is_refused(eligible, message):
    policy = trained(LinUCB(random_state=0))
    before, ledger = policy.checksum(), policy._ledger.to_json()
    assert message_of(lambda: policy.choose_many(FULL, GROUPS, IDS, eligible=eligible)) == message
    assert message_of(lambda: policy.choose_many(FULL, GROUPS, IDS, eligible=eligible, k=1)) == message
    assert (policy.checksum(), policy._ledger.to_json()) == (before, ledger)


def test_slates_that_are_too_long():
    policy = trained(LinUCB(random_state=0))
    assert message_of(lambda: policy.choose_many(FULL, GROUPS, IDS, eligible=MASK, k=2)) == (
        "k must be at most the 1 arm(s) on offer, got 2; offer more, or ask for fewer (user 4)"
    )
