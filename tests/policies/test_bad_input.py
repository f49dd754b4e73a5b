"""Nothing but bad input: each is a ValueError that says what came and what to do, and changes nothing."""

import numpy as np
import pytest
from scipy import sparse

from fairbandits import (
    CounterfactualLinUCB,
    Decision,
    EpsilonGreedy,
    EqualRegretLinUCB,
    FairLinUCB,
    LinearPolicy,
    LinTS,
    LinUCB,
    MaxMinLinUCB,
    Model,
    NaiveLinUCB,
    PrimalDualLinUCB,
    Uniform,
    alpha_from_delta,
    alpha_schedule,
    fair_linucb_regret_bound,
)
from fairbandits.contexts import correlated_columns
from fairbandits.models import ArmBank, as_rows
from tests.helpers import contexts_for, teach

GOOD = contexts_for(np.random.default_rng(0))


def with_entry(value):
    contexts = GOOD.copy()
    contexts[2, 3] = value
    return contexts


def broken_csr():
    matrix = sparse.csr_array(GOOD)
    matrix.indices[0] = 99
    return matrix


def wild_csr():
    matrix = sparse.csr_array(GOOD)
    matrix.indptr[1] = 2 * 10**8
    return matrix


CONTEXTS = {
    "NaN": (with_entry(np.nan), "1 entry that is NaN, infinite or beyond"),
    "infinite": (with_entry(-np.inf), "NaN, infinite or beyond"),
    "beyond the algebra": (with_entry(1e200), "NaN, infinite or beyond 1e\\+50"),
    "several NaN": (np.full((2, 10), np.nan), "20 entries that are NaN"),
    "sparse NaN": (sparse.csr_array(with_entry(np.nan)), "NaN, infinite or beyond"),
    "sparse with columns outside": (broken_csr(), r"1 column number\(s\) outside 0..9"),
    "too narrow": (GOOD[:, :-1], "9 wide, but this policy has seen contexts 10 wide"),
    "too wide": (np.hstack([GOOD, GOOD]), "20 wide, but this policy has seen contexts 10 wide"),
    "sparse too wide": (sparse.csr_array(np.hstack([GOOD, GOOD])), "20 wide"),
    "no arms": (GOOD[:0], "no rows: offer at least one arm"),
    "no columns": (GOOD[:, :0], "no columns: give at least one feature"),
    "a vector": (GOOD[0], r"got 1 dimension\(s\)"),
    "three dimensions": (GOOD[None], r"got 3 dimension\(s\)"),
    "a sparse vector": (sparse.coo_array(GOOD[0]), r"got 1 dimension\(s\)"),
    "text": ([["a", "b"]], "must be a matrix of numbers"),
    "numbers as text": ([["1", "2"]], "its entries are of type"),
    "complex": (GOOD * 1j, "its entries are of type complex"),
    "sparse and complex": (sparse.csr_array(GOOD * 1j), "a sparse one of type complex"),
    "sparse with wild row starts": (wild_csr(), "row starts"),
    "ragged": ([[1.0, 2.0], [1.0]], "must be a matrix of numbers"),
    "nothing": (None, "one row per arm|matrix of numbers"),
}

ARMS = {
    "twice": (list("abcdea"), r"stand more than once: \['a'\]"),
    "too few": (list("abc"), r"got 3 arm id\(s\) for 6 row\(s\)"),
    "a fraction": ([0.5, *"bcdef"], "string or a whole number; got 0.5"),
    "a truth": ([True, *"bcdef"], "string or a whole number; got True"),
    "a string": ("abcdef", "must be a sequence of ids"),
    "a number": (6, "must be a sequence of ids"),
}

GROUPS = {
    "a fraction": (0.5, "a group is a string or a whole number"),
    "a list": (["a"], "a group is a string or a whole number"),
    "infinite": (float("inf"), "write None for a group that is not known"),
    "a mapping to a list": ({"sex": ["a"]}, "a group is a string or a whole number"),
}

REWARDS = {
    "NaN": (float("nan"), r"must lie in \[0, 1\]; got nan"),
    "above": (1.0001, "declare the range"),
    "below": (-0.1, "declare the range"),
    "infinite": (float("inf"), "must lie in"),
    "text": ("good", "must be a number; got 'good'"),
    "nothing": (None, "must be a number; got None"),
    "a list": ([0.5], "must be a number|must lie"),
}

SOME = (
    FairLinUCB(random_state=0),
    FairLinUCB(model="shared", random_state=0),
    FairLinUCB(model="hybrid", random_state=0),
    FairLinUCB(model=Model(link="logistic"), random_state=0),
    FairLinUCB(model=Model("shared", discount=0.9), random_state=0),
    Uniform(random_state=0),
)


@pytest.fixture(params=SOME, ids=repr)
def policy(request):
    fresh = type(request.param)(**request.param.get_params())
    return teach(fresh)[0]


def refused(policy, call, message):
    before, ledger = policy.checksum(), policy._ledger.to_json()
    with pytest.raises(ValueError, match=message):
        call()
    assert policy.checksum() == before
    assert policy._ledger.to_json() == ledger


@pytest.mark.parametrize("case", CONTEXTS)
def test_contexts(policy, case):
    contexts, message = CONTEXTS[case]
    refused(policy, lambda: policy.choose(contexts, "male"), message)


@pytest.mark.parametrize("case", ARMS)
def test_arms(policy, case):
    arms, message = ARMS[case]
    refused(policy, lambda: policy.choose(GOOD, "male", arms=arms), message)
    refused(policy, lambda: policy.choose_many(GOOD[None], ["male"], arms=arms), message)


@pytest.mark.parametrize("case", GROUPS)
def test_groups(policy, case):
    group, message = GROUPS[case]
    refused(policy, lambda: policy.choose(GOOD, group), message)
    refused(policy, lambda: policy.score(GOOD[None], [group]), message)


@pytest.mark.parametrize("case", REWARDS)
def test_rewards(policy, case):
    reward, message = REWARDS[case]
    one, two = policy.choose(GOOD, "male"), policy.choose(GOOD, "female")
    refused(policy, lambda: policy.learn(one, reward), message)
    refused(policy, lambda: policy.learn_many([two, one], [0.5, reward]), message)


@pytest.mark.parametrize(
    ("contexts", "groups", "message"),
    [
        (GOOD, None, r"shape \(n_users, n_arms, n_features\) or a sequence"),
        (sparse.csr_array(GOOD), None, "a sequence of matrices, one per user; got csr_array"),
        ([], None, "at least one user"),
        ([GOOD, GOOD[:3]], None, "all users must have contexts of one shape"),
        (np.array([GOOD, GOOD]), ["male"], r"got 1 group\(s\) for 2 user\(s\)"),
        (np.array([GOOD, GOOD]), "mf", r"one group for each of 2 user\(s\), in a list; got 'mf'"),
        (np.array([GOOD, GOOD]), {"sex": "m"}, "one group for each of 2"),
        (np.zeros((2, 3, 0)), None, "no columns"),
        ([[[1.0, 2.0], [1.0]]], None, "must be a matrix of numbers"),
        ([GOOD, with_entry(np.nan)], None, "NaN"),
    ],
)
def test_many_users(policy, contexts, groups, message):
    refused(policy, lambda: policy.choose_many(contexts, groups), message)
    refused(policy, lambda: policy.score(contexts, groups), message)


def test_decisions(policy):
    other = teach(type(policy)(**policy.get_params()))[0]
    foreign, own = other.choose(GOOD, "male"), policy.choose(GOOD, "male")
    refused(policy, lambda: policy.learn(foreign, 0.5), "not known to this policy: another one made it")
    refused(policy, lambda: policy.learn("a3", 0.5), "takes the Decision or Slate that choose returned; got str")
    refused(policy, lambda: policy.learn_many([own, foreign], [0.5, 0.5]), "not known to this policy")
    refused(policy, lambda: policy.learn_many([own, own], [0.5, 0.5]), "stands more than once")
    refused(policy, lambda: policy.learn_many([own], [0.5, 0.5]), r"1 decision\(s\) and 2 reward\(s\)")
    refused(policy, lambda: policy.learn_many([own], 0.5), "a list of decisions and a list of rewards")
    refused(policy, lambda: policy.learn_many(own, [0.5]), "a list of decisions and a list of rewards")
    policy.learn(own, 0.5)
    refused(policy, lambda: policy.learn(own, 0.5), "learned before; pass again=True")
    refused(policy, lambda: policy.learn_many([own], [0.5]), "learned before; pass again=True")
    before = policy.checksum()
    policy.learn(own, 0.5, again=True)
    assert policy.checksum() != before


def test_forgetting_what_was_never_known(policy):
    refused(policy, lambda: policy.forget_arm(0.5), "string or a whole number")


PARAMETERS = [
    (FairLinUCB, {"gamma": -1}, "gamma must be a number not below 0, and at most 1e\\+50; got -1"),
    (FairLinUCB, {"gamma": float("nan")}, "gamma must be a number"),
    (FairLinUCB, {"gamma": True}, "gamma must be a number not below 0, and at most 1e\\+50; got True"),
    (LinUCB, {"alpha": -0.1}, "alpha must be a number not below 0, and at most 1e\\+50; got -0.1"),
    (LinUCB, {"alpha": None}, "alpha must be a number"),
    (LinUCB, {"alpha": "thoery"}, "or \"theory\"; got 'thoery'"),
    (LinUCB, {"alpha": "theory"}, 'Use model="shared"'),
    (LinUCB, {"alpha": "theory", "model": "shared", "delta": 1.0}, "delta is a probability"),
    (LinUCB, {"alpha": "theory", "model": "shared", "theta_norm": -1}, "theta_norm must be a number"),
    (LinTS, {"alpha": -1}, "alpha must be a number not below 0"),
    (LinUCB, {"ridge": 0}, "ridge must be a number above 1e-50, and at most 1e\\+50; got 0"),
    (LinUCB, {"ridge": -1}, "ridge must be a number above 1e-50, and at most 1e\\+50; got -1"),
    (LinUCB, {"ridge": True}, "ridge must be a number above 1e-50, and at most 1e\\+50; got True"),
    (LinUCB, {"model": "joint"}, "one of disjoint, shared, hybrid, or a fairbandits.Model; got 'joint'"),
    (LinUCB, {"reward_range": (1, 0)}, "lower one first"),
    (LinUCB, {"reward_range": "ab"}, "a pair"),
    (LinUCB, {"reward_range": "01"}, "a pair"),
    (LinUCB, {"reward_range": (0, 1e200)}, "below 1e\\+50 in size"),
    (LinUCB, {"alpha": 1e300}, "at most 1e\\+50"),
    (LinUCB, {"ridge": 1e-200}, "above 1e-50"),
    (LinUCB, {"random_state": "seed"}, "random_state must be None, a whole number or a numpy Generator"),
    (LinUCB, {"random_state": -1}, "random_state must be"),
    (EpsilonGreedy, {"epsilon": 1.5}, "epsilon is a probability, from 0 to 1; got 1.5"),
    (EpsilonGreedy, {"epsilon": -0.1}, "epsilon must be a number not below 0"),
    (NaiveLinUCB, {"drop": ["sex"]}, r"pass columns=\[...\] to name them"),
    (NaiveLinUCB, {"drop": ["sex"], "columns": ["age"]}, "not among columns; got 1 names"),
    (NaiveLinUCB, {"drop": [-1]}, "or numbers from 0; got -1"),
    (NaiveLinUCB, {"drop": "sex"}, "put a single name into a list"),
    (CounterfactualLinUCB, {"flip": ["sex"]}, r"flip names column 'sex'.*pass columns=\[...\] to name them"),
    (CounterfactualLinUCB, {"flip": "sex"}, "put a single name into a list"),
    (CounterfactualLinUCB, {"swap": ["ab"]}, r"swap takes pairs of columns, such as \[\(0, 1\)\]; got 'ab'"),
    (CounterfactualLinUCB, {"swap": [(0, 1, 2)]}, r"swap takes pairs of columns, .*; got \(0, 1, 2\)"),
    (CounterfactualLinUCB, {"swap": [0, 1]}, "swap takes pairs of columns, .*; got 0 in"),
    (CounterfactualLinUCB, {"swap": [(0, 1)], "flip": [1]}, "column 1 stands twice in swap and flip"),
    (CounterfactualLinUCB, {"tolerance": -1.0}, "tolerance must be a number not below 0"),
    (PrimalDualLinUCB, {"tolerance": -1.0}, "tolerance must be a number not below 0"),
    (PrimalDualLinUCB, {"step": -1.0}, "step must be a number not below 0"),
    (PrimalDualLinUCB, {"highest_price": "any"}, "highest_price must be a number not below 0"),
    (MaxMinLinUCB, {"step": -1.0}, "step must be a number not below 0"),
    (EqualRegretLinUCB, {"step": None}, "step must be a number not below 0"),
]


@pytest.mark.parametrize(("kind", "params", "message"), PARAMETERS)
def test_parameters(kind, params, message):
    with pytest.raises(ValueError, match=message):
        kind(**params)
    policy = teach(kind())[0]
    refused(policy, lambda: policy.set_params(**params), f"{message}|cannot change after learning")


def test_parameters_that_are_not_there(policy):
    refused(policy, lambda: policy.set_params(beta=1), "has no parameter 'beta'; it has ")


@pytest.mark.parametrize(
    ("kind", "change"),
    [(LinUCB, {"ridge": 2.0}), (LinUCB, {"model": "shared"}), (Uniform, {"reward_range": (0, 2)}),
     (NaiveLinUCB, {"drop": [1]})],
)  # fmt: skip
def test_parameters_that_what_was_learned_depends_on(kind, change):
    policy = teach(kind())[0]
    refused(policy, lambda: policy.set_params(**change), "cannot change after learning; make a new policy")
    chosen = kind()
    chosen.choose(GOOD)
    chosen.set_params(**change)
    teach(chosen)
    assert getattr(kind().set_params(**change), next(iter(change))) == next(iter(change.values()))


def test_columns_to_drop_that_contexts_do_not_have():
    policy = NaiveLinUCB(drop=[12])
    refused(policy, lambda: policy.choose(GOOD), r"drop names column 12, but contexts have columns 0\.\.9")
    policy = NaiveLinUCB(columns=["age", "sex"])
    refused(policy, lambda: policy.choose(GOOD), "columns names 2 columns, but contexts have 10")
    for many in (policy.choose_many, policy.score):
        refused(policy, lambda many=many: many(GOOD[None]), "columns names 2 columns, but contexts have 10")
    assert policy.choose(np.eye(2)).arm in (0, 1)


def test_a_row_that_float64_cannot_hold(policy):
    # A click that is so certain weighs so little that its row can be held.
    if isinstance(policy, Uniform) or getattr(policy.model, "link", "identity") == "logistic":
        return
    huge = np.zeros((1, 10))
    huge[0, :3] = 1.7e9, 1.7e9, 1.0
    for arms in (["new"], [0]):
        decision = policy.choose(huge, "male", arms=arms)
        refused(policy, lambda decision=decision: policy.learn(decision, 0.5), "scale the columns to about 1")
    teach(policy, seed=3)


def test_ids_that_are_equal_to_known_ones_but_no_ids(policy):
    policy.choose(GOOD[:2], arms=[1, 0])
    for arms in ([True, False], [1.0, 0.0]):
        refused(policy, lambda arms=arms: policy.choose(GOOD[:2], arms=arms), "string or a whole number")


def test_decisions_that_were_tampered_with():
    policy = teach(LinUCB(random_state=0))[0]
    decision = policy.choose(GOOD)
    plain = decision.to_dict()
    for change, words in (
        ({"columns": [10**9 + i for i in range(len(plain["columns"]))]}, "points outside of the 10 columns"),
        ({"columns": [-1 - i for i in range(len(plain["columns"]))]}, "points outside of the 10 columns"),
        ({"width": 3}, "is 3 wide; expected 10"),
    ):
        forged = Decision.from_dict({**plain, **change})
        refused(policy, lambda forged=forged: policy.learn(forged, 0.5), words)
    for change in (
        {"columns": ["x"]},
        {"columns": []},
        {"arm": 0.5},
        {"scores": None},
        {"n_common": 99},
        {"n_common": -1},
        {"columns": [1] * len(plain["columns"])},
    ):
        with pytest.raises(ValueError, match="not the values of a decision"):
            Decision.from_dict({**plain, **change})
    with pytest.raises(ValueError, match="not the values of a decision"):
        Decision.from_dict({})
    refused(
        policy, lambda: policy.learn(Decision.from_dict({**plain, "number": -1}), 0.5), "not known to this policy"
    )


def test_a_bank_that_is_called_wrongly():
    bank = ArmBank(3, 1.0)
    with pytest.raises(ValueError, match="do not fit these slots"):
        bank.score(as_rows(np.eye(3)), np.zeros(2, np.int64))
    with pytest.raises(ValueError, match="do not fit these slots"):
        bank.score(as_rows(np.eye(4)), np.zeros(4, np.int64))


def test_merging_what_does_not_belong_together(tmp_path):
    policy = teach(LinUCB())[0]
    refused(policy, lambda: policy.merge(Uniform()), "cannot merge a LinUCB with a Uniform")
    refused(policy, lambda: policy.merge(LinUCB(alpha=0.7, ridge=2.0)), r"these differ: \['alpha', 'ridge'\]")
    refused(policy, lambda: policy.merge(teach(LinUCB(), width=12)[0]), "different width .* 10 and 12 features")
    refused(policy, lambda: policy.merge(policy), "would count twice")
    policy.save(tmp_path / "policy")
    refused(policy, lambda: policy.merge(LinUCB.load(tmp_path / "policy")), "would count twice")


def test_a_policy_that_has_seen_nothing():
    with pytest.raises(ValueError, match="has seen no contexts yet"):
        LinUCB().coefficients("a")


def test_a_policy_without_its_one_method():
    class Unfinished(LinearPolicy):
        pass

    with pytest.raises(NotImplementedError, match="Unfinished must define terms"):
        Unfinished().choose(GOOD)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ((np.nan, 0.0), "scores must be finite numbers; got .* Look at what the policy's terms return"),
        ((0.0, np.inf), "scores must be finite numbers"),
        ((np.zeros(4), 0.0), r"Broken.terms must return two numbers or arrays of shape \(1, 6\)"),
        ((None, 0.0), "Broken.terms must return two numbers"),
    ],
)
def test_a_policy_whose_terms_are_wrong(terms, message):
    class Broken(LinearPolicy):
        def terms(self, seen):
            return terms

    with pytest.raises(ValueError, match=message):
        Broken().choose(GOOD)


def test_a_policy_that_hides_its_parameters():
    class Hidden(LinUCB):
        def __init__(self, **params):
            super().__init__(**params)

    with pytest.raises(TypeError, match="must name its parameters"):
        Hidden().get_params()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: alpha_from_delta(0.0), "delta is a probability"),
        (lambda: alpha_from_delta(2.0), "delta is a probability"),
        (lambda: alpha_schedule(0.0, 0, 1.0, 0.1, 1.0), "width must be a number above 0"),
        (lambda: alpha_schedule(0.0, 2, 1.0, 0.1, -1.0), "theta_norm must be a number not below 0"),
        (
            lambda: fair_linucb_regret_bound(
                10, 2, gamma=1, ridge=1.0, delta=0.1, context_norm=2.0, theta_norm=1.0
            ),
            r"ridge >= max\(1, context_norm\*\*2\) = 4; got ridge=1",
        ),
        (
            lambda: fair_linucb_regret_bound(
                0, 2, gamma=1, ridge=1.0, delta=0.1, context_norm=1.0, theta_norm=1.0
            ),
            "rounds must be a number above 0",
        ),
        (
            lambda: fair_linucb_regret_bound(
                9, 2, gamma=-1, ridge=1.0, delta=0.1, context_norm=1.0, theta_norm=1.0
            ),
            "gamma must be a number not below 0",
        ),
        (lambda: correlated_columns([[1.0]], ["a", "b"]), "one row for each of the 2 groups"),
        (lambda: correlated_columns([[np.nan], [1.0]], ["a", "b"]), "clean or impute"),
        (lambda: correlated_columns([[0.0], [1.0]], ["a", "b"], threshold=2), "an absolute correlation"),
        (lambda: correlated_columns([[0.0], [1.0]], ["a", "b"], columns=["x", "y"]), "2 names for 1 columns"),
        (lambda: correlated_columns([[0.0], [1.0]], ["a", "a"]), "at least two groups"),
    ],
)
def test_functions(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("draws", [0, 2.5, "many"])
def test_a_number_of_draws_that_is_none(draws):
    with pytest.raises(ValueError, match="draws must be a whole number from 1; got"):
        LinUCB().probabilities([GOOD], draws=draws)


def test_probabilities_of_scores_that_are_no_numbers():
    class Broken(LinearPolicy):
        def terms(self, seen):
            return np.nan, 0.0

    with pytest.raises(ValueError, match="scores must be finite numbers"):
        Broken().probabilities([GOOD])
