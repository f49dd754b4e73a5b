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
    LinTS,
    LinUCB,
    MaxMinLinUCB,
    Model,
    NaiveLinUCB,
    Policy,
    PrimalDualLinUCB,
    Uniform,
    alpha_from_delta,
    alpha_schedule,
    fair_linucb_regret_bound,
)
from fairbandits.contexts import correlated_columns
from fairbandits.models import DisjointModel, as_rows
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
    "NaN": (with_entry(np.nan), "got 1 entry that is not"),
    "infinite": (with_entry(-np.inf), "finite and at most"),
    "beyond the algebra": (with_entry(1e200), "finite and at most 1e\\+50"),
    "several NaN": (np.full((2, 10), np.nan), "got 20 entries that are not"),
    "sparse NaN": (sparse.csr_array(with_entry(np.nan)), "finite and at most"),
    "sparse with columns outside": (broken_csr(), r"column indices in 0..9, got 1 outside"),
    "too narrow": (GOOD[:, :-1], "must have 10 columns, like those the policy has learned, got 9"),
    "too wide": (np.hstack([GOOD, GOOD]), "must have 10 columns, like those the policy has learned, got 20"),
    "sparse too wide": (sparse.csr_array(np.hstack([GOOD, GOOD])), "must have 10 columns.*, got 20"),
    "no arms": (GOOD[:0], "at least one row, got none; offer at least one arm"),
    "at least one column, got none": (GOOD[:, :0], "at least one column, got none"),
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
    "twice": (list("abcdea"), r"\['a'\] more than once"),
    "too few": (list("abc"), r"one id per row of contexts, got 3 for 6"),
    "a fraction": ([0.5, *"bcdef"], "string or an integer, got 0.5"),
    "a truth": ([True, *"bcdef"], "string or an integer, got True"),
    "a string": ("abcdef", "must be a sequence of ids"),
    "a number": (6, "must be a sequence of ids"),
}

GROUPS = {
    "a fraction": (0.5, "group must be a string, an integer, or a mapping"),
    "a list": (["a"], "group must be a string, an integer, or a mapping"),
    "infinite": (float("inf"), "give None for an unknown group"),
    "a mapping to a list": ({"sex": ["a"]}, "group must be a string, an integer, or a mapping"),
}

REWARDS = {
    "NaN": (float("nan"), r"must lie in \[0, 1\], got nan"),
    "above": (1.0001, "declare its range"),
    "below": (-0.1, "declare its range"),
    "infinite": (float("inf"), "must lie in"),
    "text": ("good", "must be a number, got 'good'"),
    "nothing": (None, "must be a number, got None"),
    "a list": ([0.5], "must be a number|must lie"),
}

SOME = (
    FairLinUCB(random_state=0),
    FairLinUCB(model="shared", random_state=0),
    FairLinUCB(model="hybrid", random_state=0),
    FairLinUCB(model=Model(link="logistic"), random_state=0),
    FairLinUCB(model=Model(kind="shared", discount=0.9), random_state=0),
    Uniform(random_state=0),
)


@pytest.fixture(params=SOME, ids=repr)
def policy(request):
    fresh = type(request.param)(**request.param.get_params(deep=False))
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
        (sparse.csr_array(GOOD), None, "a sequence of matrices, one per user, got csr_array"),
        ([], None, "at least one user"),
        ([GOOD, GOOD[:3]], None, "contexts of all users must have the same shape"),
        (np.array([GOOD, GOOD]), ["male"], r"one group per user, None if unknown, got 1 for 2"),
        (np.array([GOOD, GOOD]), "mf", r"one group per user, got 'mf'"),
        (np.array([GOOD, GOOD]), {"sex": "m"}, "one group per user"),
        (np.zeros((2, 3, 0)), None, "at least one column, got none"),
        ([[[1.0, 2.0], [1.0]]], None, "must be a matrix of numbers"),
        ([GOOD, with_entry(np.nan)], None, "finite"),
    ],
)
def test_many_users(policy, contexts, groups, message):
    refused(policy, lambda: policy.choose_many(contexts, groups), message)
    refused(policy, lambda: policy.score(contexts, groups), message)


def test_decisions(policy):
    other = teach(type(policy)(**policy.get_params(deep=False)))[0]
    foreign, own = other.choose(GOOD, "male"), policy.choose(GOOD, "male")
    refused(
        policy,
        lambda: policy.learn(foreign, 0.5),
        "must have been made by this policy, got decision .*; learn it with the policy that made it",
    )
    refused(policy, lambda: policy.learn("a3", 0.5), "must be a Decision or Slate that choose returned, got str")
    refused(policy, lambda: policy.learn_many([own, foreign], [0.5, 0.5]), "must have been made by this policy")
    refused(policy, lambda: policy.learn_many([own, own], [0.5, 0.5]), "decisions must be unique")
    refused(
        policy,
        lambda: policy.learn_many([own], [0.5, 0.5]),
        r"rewards must have one entry per decision, got 2 for 1 decision\(s\)",
    )
    refused(policy, lambda: policy.learn_many([own], 0.5), "decisions and rewards must be lists")
    refused(policy, lambda: policy.learn_many(own, [0.5]), "decisions and rewards must be lists")
    policy.learn(own, 0.5)
    refused(policy, lambda: policy.learn(own, 0.5), "has already been learned; pass again=True")
    refused(policy, lambda: policy.learn_many([own], [0.5]), "has already been learned; pass again=True")
    before = policy.checksum()
    policy.learn(own, 0.5, again=True)
    assert policy.checksum() != before


def test_forgetting_what_was_never_known(policy):
    refused(policy, lambda: policy.forget_arm(0.5), "string or an integer")
    known = len(policy.arms_learned)
    message = f"one of the {known} arms about which something has been learned, got 'x'; pass missing_ok=True"
    refused(policy, lambda: policy.forget_arm("x"), message)
    before = policy.checksum()
    policy.forget_arm("x", missing_ok=True)
    assert policy.checksum() == before
    gone = policy.arms_learned[0]
    policy.forget_arm(gone)
    refused(policy, lambda: policy.forget_arm(gone), f"one of the {known - 1} arms")


PARAMETERS = [
    (FairLinUCB, {"gamma": -1}, 'gamma must be a number of at least 0 or "auto", got -1'),
    (FairLinUCB, {"gamma": float("nan")}, "gamma must be a number"),
    (FairLinUCB, {"gamma": True}, 'gamma must be a number of at least 0 or "auto", got True'),
    (LinUCB, {"alpha": -0.1}, 'alpha must be a number of at least 0 or "theory", got -0.1'),
    (LinUCB, {"alpha": None}, "alpha must be a number"),
    (LinUCB, {"alpha": "thoery"}, 'or "theory", got .thoery'),
    (LinUCB, {"alpha": "theory"}, 'use model="shared"'),
    (LinUCB, {"alpha": "theory", "model": "shared", "delta": 1.0}, "delta must be a number above 0"),
    (LinUCB, {"alpha": "theory", "model": "shared", "theta_norm": -1}, "theta_norm must be a number"),
    (LinTS, {"alpha": -1}, "alpha must be a number of at least 0"),
    (LinUCB, {"ridge": 0}, "ridge must be a number above 1e-50, got 0"),
    (LinUCB, {"ridge": -1}, "ridge must be a number above 1e-50, got -1"),
    (LinUCB, {"ridge": True}, "ridge must be a number above 1e-50, got True"),
    (LinUCB, {"model": "joint"}, "a fairbandits.Model, or a class derived from RewardModel, got 'joint'"),
    (LinUCB, {"reward_range": (1, 0)}, "lower one first"),
    (LinUCB, {"reward_range": "ab"}, "a pair"),
    (LinUCB, {"reward_range": "01"}, "a pair"),
    (LinUCB, {"reward_range": (0, 1e200)}, "below 1e\\+50 in absolute value"),
    (LinUCB, {"alpha": 1e300}, "at most 1e\\+50"),
    (LinUCB, {"ridge": 1e-200}, "above 1e-50"),
    (LinUCB, {"random_state": "seed"}, "random_state must be None, an integer or a NumPy generator"),
    (LinUCB, {"random_state": -1}, "random_state must be"),
    (EpsilonGreedy, {"epsilon": 1.5}, "epsilon must be a number of at least 0 and at most 1, got 1.5"),
    (EpsilonGreedy, {"epsilon": -0.1}, "epsilon must be a number of at least 0"),
    (NaiveLinUCB, {"drop": ["sex"]}, r"pass columns=\[...\] to name them"),
    (
        NaiveLinUCB,
        {"drop": ["sex"], "columns": ["age"]},
        "drop must contain column names, got 'sex'; columns does not contain it",
    ),
    (NaiveLinUCB, {"drop": [-1]}, "or numbers from 0, got -1"),
    (NaiveLinUCB, {"drop": "sex"}, "must be a list of columns, got 'sex'"),
    (
        CounterfactualLinUCB,
        {"flip": ["sex"]},
        r"flip must contain column names, got 'sex'; pass columns=\[...\] to name them",
    ),
    (CounterfactualLinUCB, {"flip": "sex"}, "must be a list of columns, got 'sex'"),
    (CounterfactualLinUCB, {"swap": ["ab"]}, r"swap must have pairs of columns, such as \[\(0, 1\)\], got 'ab'"),
    (CounterfactualLinUCB, {"swap": [(0, 1, 2)]}, r"swap must have pairs of columns, .*, got \(0, 1, 2\)"),
    (CounterfactualLinUCB, {"swap": [0, 1]}, "swap must have pairs of columns, .*, got 0 in"),
    (
        CounterfactualLinUCB,
        {"swap": [(0, 1)], "flip": [1]},
        "swap and flip must have each column once, got column 1 twice",
    ),
    (CounterfactualLinUCB, {"tolerance": -1.0}, "tolerance must be a number of at least 0"),
    (PrimalDualLinUCB, {"tolerance": -1.0}, "tolerance must be a number of at least 0"),
    (PrimalDualLinUCB, {"step": -1.0}, "step must be a number of at least 0"),
    (PrimalDualLinUCB, {"highest_price": "any"}, "highest_price must be a number of at least 0"),
    (MaxMinLinUCB, {"step": -1.0}, "step must be a number of at least 0"),
    (EqualRegretLinUCB, {"step": None}, "step must be a number of at least 0"),
]


@pytest.mark.parametrize(("kind", "params", "message"), PARAMETERS)
def test_parameters(kind, params, message):
    with pytest.raises(ValueError, match=message):
        kind(**params)
    policy = teach(kind())[0]
    refused(policy, lambda: policy.set_params(**params), f"{message}|cannot be changed after learning")


def test_parameters_that_are_not_there(policy):
    refused(policy, lambda: policy.set_params(beta=1), "beta is not a parameter of ")


@pytest.mark.parametrize(
    ("kind", "change"),
    [(LinUCB, {"ridge": 2.0}), (LinUCB, {"model": "shared"}), (Uniform, {"reward_range": (0, 2)}),
     (NaiveLinUCB, {"drop": [1]})],
)  # fmt: skip
def test_parameters_that_what_was_learned_depends_on(kind, change):
    policy = teach(kind())[0]
    refused(policy, lambda: policy.set_params(**change), "cannot be changed after learning, got .*; create a new")
    chosen = kind()
    chosen.choose(GOOD)
    chosen.set_params(**change)
    teach(chosen)
    assert getattr(kind().set_params(**change), next(iter(change))) == next(iter(change.values()))


def test_columns_to_drop_that_contexts_do_not_have():
    policy = NaiveLinUCB(drop=[12])
    refused(policy, lambda: policy.choose(GOOD), r"drop must have columns in 0\.\.9, got 12")
    policy = NaiveLinUCB(columns=["age", "sex"])
    refused(policy, lambda: policy.choose(GOOD), "one name per column of contexts, got 2 for 10")
    for many in (policy.choose_many, policy.score):
        refused(policy, lambda many=many: many(GOOD[None]), "one name per column of contexts, got 2 for 10")
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
        refused(policy, lambda arms=arms: policy.choose(GOOD[:2], arms=arms), "string or an integer")


def test_decisions_that_were_tampered_with():
    policy = teach(LinUCB(random_state=0))[0]
    decision = policy.choose(GOOD)
    plain = decision.to_dict()
    for change, words in (
        ({"columns": [10**9 + i for i in range(len(plain["columns"]))]}, r"row must be in 0..9, got \[1000000000"),
        ({"columns": [-1 - i for i in range(len(plain["columns"]))]}, r"a row must be in 0..9, got \[-1"),
        ({"width": 3}, "must be 10 wide.*, got 3"),
    ):
        forged = Decision.from_dict({**plain, **change})
        refused(policy, lambda forged=forged: policy.learn(forged, 0.5), words)
    for change in (
        {"columns": ["x"]},
        {"columns": []},
        {"arm": 0.5},
        {"scores": None},
        {"n_shared": 99},
        {"n_shared": -1},
        {"columns": [1] * len(plain["columns"])},
    ):
        with pytest.raises(ValueError, match=r"values must be those that Decision.to_dict returned"):
            Decision.from_dict({**plain, **change})
    with pytest.raises(ValueError, match=r"values must be those that Decision.to_dict returned"):
        Decision.from_dict({})
    refused(
        policy,
        lambda: policy.learn(Decision.from_dict({**plain, "number": -1}), 0.5),
        "must have been made by this policy",
    )


def test_a_bank_that_is_called_wrongly():
    model = DisjointModel(3, 1.0)
    with pytest.raises(ValueError, match="rows must be 3 wide with an arm each"):
        model.score(as_rows(np.eye(3)), np.zeros(2, np.int64))
    with pytest.raises(ValueError, match="rows must be 3 wide with an arm each"):
        model.score(as_rows(np.eye(4)), np.zeros(4, np.int64))


def test_merging_what_does_not_belong_together(tmp_path):
    policy = teach(LinUCB())[0]
    refused(policy, lambda: policy.merge(Uniform()), "same class, got LinUCB and Uniform")
    refused(policy, lambda: policy.merge(LinUCB(alpha=0.7, ridge=2.0)), r"got different alpha, ridge")
    refused(policy, lambda: policy.merge(teach(LinUCB(), width=12)[0]), "same width to merge, got 10 and 12")
    refused(policy, lambda: policy.merge(policy), "would count twice")
    policy.save(tmp_path / "policy")
    refused(policy, lambda: policy.merge(LinUCB.load(tmp_path / "policy")), "would count twice")


def test_a_policy_that_has_seen_nothing():
    with pytest.raises(ValueError, match="must have seen contexts"):
        LinUCB().coefficients("a")


def test_a_policy_without_its_one_method():
    class Unfinished(Policy):
        pass

    with pytest.raises(NotImplementedError, match="Unfinished must define terms"):
        Unfinished().choose(GOOD)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ((np.nan, 0.0), "scores must be finite, got .*; check what the policy's terms return"),
        ((0.0, np.inf), "scores must be finite"),
        ((np.zeros(4), 0.0), r"Broken.terms must return two numbers or arrays of shape \(1, 6\)"),
        ((None, 0.0), "Broken.terms must return two numbers"),
    ],
)
def test_a_policy_whose_terms_are_wrong(terms, message):
    class Broken(Policy):
        def terms(self, seen):
            return terms

    with pytest.raises(ValueError, match=message):
        Broken().choose(GOOD)


def test_a_policy_that_does_not_declare_its_parameters():
    with pytest.raises(
        TypeError, match=r"Hidden must declare its parameters with parameter\(\.\.\.\), not in __init__"
    ):

        class Hidden(LinUCB):
            def __init__(self, **params):
                super().__init__(**params)


def test_parameters_are_keyword_only_and_known():
    with pytest.raises(TypeError, match="positional argument"):
        LinUCB(0.5)
    with pytest.raises(TypeError, match=r"LinUCB\(\) got an unexpected keyword argument 'gamma'"):
        LinUCB(gamma=1.0)


def test_parameters_are_checked_when_they_are_assigned():
    policy = FairLinUCB()
    with pytest.raises(ValueError, match="gamma must be a number of at least 0"):
        policy.gamma = -3
    assert policy.gamma == 3.0
    policy.gamma = 1.0
    assert policy.get_params()["gamma"] == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: alpha_from_delta(0.0), "delta must be a number above 0"),
        (lambda: alpha_from_delta(2.0), "delta must be a number above 0"),
        (lambda: alpha_schedule(0.0, 0, 1.0, 0.1, 1.0), "width must be a number above 0"),
        (lambda: alpha_schedule(0.0, 2, 1.0, 0.1, -1.0), "theta_norm must be a number of at least 0"),
        (
            lambda: fair_linucb_regret_bound(
                10, 2, gamma=1, ridge=1.0, delta=0.1, context_norm=2.0, theta_norm=1.0
            ),
            r"ridge must be at least max\(1, context_norm\*\*2\) = 4, got 1",
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
            "gamma must be a number of at least 0",
        ),
        (lambda: correlated_columns([[1.0]], ["a", "b"]), "one row for each of 2 groups"),
        (lambda: correlated_columns([[np.nan], [1.0]], ["a", "b"]), "clean or impute"),
        (lambda: correlated_columns([[0.0], [1.0]], ["a", "b"], threshold=2), "a number from 0 to 1, got 2"),
        (
            lambda: correlated_columns([[0.0], [1.0]], ["a", "b"], columns=["x", "y"]),
            "one name per column, got 2 for 1",
        ),
        (lambda: correlated_columns([[0.0], [1.0]], ["a", "a"]), "at least two values"),
    ],
)
def test_functions(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("draws", [0, 2.5, "many"])
def test_a_number_of_draws_that_is_none(draws):
    with pytest.raises(ValueError, match="draws must be a positive integer, got"):
        LinUCB().probabilities([GOOD], draws=draws)


def test_probabilities_of_scores_that_are_no_numbers():
    class Broken(Policy):
        def terms(self, seen):
            return np.nan, 0.0

    with pytest.raises(ValueError, match="scores must be finite"):
        Broken().probabilities([GOOD])
