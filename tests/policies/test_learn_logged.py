"""Learning from plain arrays, lists and frames: as if the decisions had been learned one by one."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from fairbandits import FairLinUCB, LinUCB, Model
from fairbandits.categorical import Categorical

N, D = 60, 4
RNG = np.random.default_rng(0)
X = RNG.random((N, D)) * (RNG.random((N, D)) < 0.7)
ARMS = RNG.choice(["a", "b", "c"], N)
REWARDS = RNG.random(N)
SEX = np.where(RNG.random(N) < 0.2, None, RNG.choice(["f", "m"], N))
BAND = RNG.integers(0, 3, N)
NAMES = [f"x{j}" for j in range(D)]
MODELS = ["disjoint", "shared", "hybrid", Model(link="logistic"), Model(discount=0.95)]


def message_of(call):
    with pytest.raises(ValueError, match=r".") as error:
        call()
    return str(error.value)


def theta(rows, rewards):
    """Ridge regression, from its definition."""
    return np.linalg.solve(np.eye(D) + rows.T @ rows, rows.T @ rewards)


def assert_learned(policy, attributes=("sex", "band")):
    """Compare with what the rewards say, computed without the library."""
    assert policy.rounds_learned == N
    for arm in "abc":
        own = np.char.equal(ARMS, arm)
        np.testing.assert_allclose(policy.coefficients(arm), theta(X[own], REWARDS[own]), atol=1e-9)
    columns = {"sex": SEX, "band": BAND, "group": SEX}
    assert set(policy.groups.attributes) == set(attributes)
    for name in attributes:
        for value in set(columns[name]) - {None}:
            own = columns[name] == value
            label = value if isinstance(value, str) else int(value)
            assert policy.groups.mean_of(name, label) == pytest.approx(REWARDS[own].mean())
            assert policy.groups.rounds_of(name, label) == own.sum()


CONTEXTS = {
    "array": X,
    "lists": X.tolist(),
    "sparse": sparse.csr_array(X),
    "pandas": pd.DataFrame(X, columns=NAMES),
    "polars": pl.DataFrame(X, schema=NAMES),
}
IDS = {
    "array": ARMS,
    "list": ARMS.tolist(),
    "pandas": pd.Series(ARMS),
    "categories": pd.Series(ARMS, dtype="category"),
    "polars": pl.Series(ARMS.tolist()),
    "Categorical": Categorical.from_values(ARMS, ["a", "b", "c"]),
}
SCORES = {
    "array": REWARDS,
    "list": REWARDS.tolist(),
    "pandas": pd.Series(REWARDS),
    "polars": pl.Series(REWARDS),
}
GROUPS = {
    "frame": pd.DataFrame({"sex": SEX, "band": BAND}),
    "polars": pl.DataFrame({"sex": SEX.tolist(), "band": BAND}),
    "mapping of arrays": {"sex": SEX, "band": BAND},
    "mapping of lists": {"sex": SEX.tolist(), "band": BAND.tolist()},
    "mapping of columns": {"sex": pd.Series(SEX), "band": pd.Series(BAND)},
    "mappings": [{"sex": sex, "band": int(band)} for sex, band in zip(SEX, BAND, strict=True)],
}


@pytest.mark.parametrize("contexts", CONTEXTS)
def test_contexts(contexts):
    policy = LinUCB()
    policy.learn_logged(CONTEXTS[contexts], ARMS, REWARDS, GROUPS["frame"])
    assert_learned(policy)
    names = policy.feature_names_in_
    assert (None if names is None else list(names)) == (NAMES if contexts in {"pandas", "polars"} else None)


@pytest.mark.parametrize("arms", IDS)
def test_arms(arms):
    policy = LinUCB()
    policy.learn_logged(X, IDS[arms], REWARDS, GROUPS["frame"])
    assert_learned(policy)


@pytest.mark.parametrize("rewards", SCORES)
def test_rewards(rewards):
    policy = LinUCB()
    policy.learn_logged(contexts=X, arms=ARMS, rewards=SCORES[rewards], groups=GROUPS["frame"])
    assert_learned(policy)


@pytest.mark.parametrize("groups", GROUPS)
def test_groups(groups):
    policy = LinUCB()
    policy.learn_logged(X, ARMS, REWARDS, GROUPS[groups])
    assert_learned(policy)


@pytest.mark.parametrize("groups", [SEX, SEX.tolist(), pd.Series(SEX), pl.Series(SEX.tolist())], ids=type)
def test_one_attribute_without_a_name(groups):
    policy = LinUCB()
    policy.learn_logged(X, ARMS, REWARDS, groups)
    assert_learned(policy, ["group"])


@pytest.mark.parametrize("groups", [None, [None] * N, {}, {"sex": [None] * N}], ids=str)
def test_unknown_groups(groups):
    policy = LinUCB()
    policy.learn_logged(X, ARMS, REWARDS, groups)
    assert_learned(policy, [])


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_as_if_learned_one_by_one(model):
    logged, lived = (FairLinUCB(model=model, random_state=0) for _ in range(2))
    logged.learn_logged(X, ARMS, REWARDS, GROUPS["frame"])
    for row, arm, reward, group in zip(X, ARMS, REWARDS, GROUPS["mappings"], strict=True):
        lived.learn(lived.choose(row[None], group, [arm]), reward)
    ours, theirs = (policy.score(X[None, :3], [{"sex": "f"}], list("abc")) for policy in (logged, lived))
    for part in ("mean", "width", "fairness"):
        np.testing.assert_allclose(getattr(ours, part), getattr(theirs, part), rtol=1e-9, atol=1e-9)
    assert logged.groups.attributes == lived.groups.attributes


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(1, N - 1), max_size=5), st.sampled_from(MODELS))
def test_parts_in_a_loop(cuts, model):
    whole, partial = (LinUCB(model=model, random_state=0) for _ in range(2))
    frame = CONTEXTS["pandas"]
    whole.learn_logged(frame, ARMS, REWARDS, GROUPS["frame"])
    edges = [0, *sorted(set(cuts)), N]
    for start, stop in itertools.pairwise(edges):
        rows = slice(start, stop)
        partial.learn_logged(frame[rows], pd.Series(ARMS)[rows], REWARDS[rows], GROUPS["frame"][rows])
    ours, theirs = (policy.score(X[None, :3], arms=list("abc")) for policy in (whole, partial))
    np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.width, theirs.width, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(whole.groups.means, partial.groups.means)
    assert whole.groups.attributes == partial.groups.attributes


def changed(values, row, value):
    values = list(values)
    values[row] = value
    return values


FRAME = CONTEXTS["pandas"]
OTHER_ORDER = pd.Series(REWARDS).sort_values()
RANGE = "; rescale it, or declare its range: reward_range=(lowest, highest)"
REFUSED = {
    "a reward too high": (
        {"rewards": changed(REWARDS, 7, 1.5)},
        f"reward must lie in [0, 1], got 1.5 in row 7{RANGE}",
    ),
    "no reward": (
        {"rewards": changed(REWARDS, 3, None)},
        "reward must lie in [0, 1], got nan in row 3; leave out decisions without a reward",
    ),
    "NaN": (
        {"rewards": changed(REWARDS, 3, np.nan)},
        "reward must lie in [0, 1], got nan in row 3; leave out decisions without a reward",
    ),
    "a frame of rewards": (
        {"rewards": pd.DataFrame({"reward": REWARDS})},
        "rewards must be numbers, one per decision, got a DataFrame that cannot be converted; pass a list, a "
        "one-dimensional array or one column of a data frame",
    ),
    "text": (
        {"rewards": ["good"] * N},
        "rewards must be numbers, one per decision, got a list that cannot be converted; pass a list, a "
        "one-dimensional array or one column of a data frame",
    ),
    "too few rewards": (
        {"rewards": REWARDS[:-1]},
        f"rewards must have one entry per context, got {N - 1} for {N} context(s)",
    ),
    "too few arms": ({"arms": ARMS[:-1]}, f"arms must have one entry per context, got {N - 1} for {N} context(s)"),
    "too few groups": (
        {"groups": SEX[:-1]},
        f"groups['group'] must have one entry per context, got {N - 1} for {N} context(s)",
    ),
    "too few of none": (
        {"groups": [None]},
        f"groups['group'] must have one entry per context, got 1 for {N} context(s)",
    ),
    "too few codes": (
        {"groups": {"sex": Categorical(np.zeros(3, np.int32), ["f"])}},
        f"groups['sex'] must have one entry per context, got 3 for {N} context(s)",
    ),
    "no arm": (
        {"arms": changed(ARMS.tolist(), 5, None)},
        "arms must have an id for every decision, got none in row 5; leave out the row",
    ),
    "an arm that is a fraction": (
        {"arms": changed(ARMS.tolist(), 5, 0.5)},
        "arms must have text or integers as values, got 0.5 of type float; bin numbers first",
    ),
    "one arm": ({"arms": "a"}, "arms must be a sequence of ids, one per decision, got a str"),
    "a frame of arms": ({"arms": FRAME}, "arms must be a sequence of ids, one per decision, got a DataFrame"),
    "a set of arms": ({"arms": {"a", "b"}}, "arms must be a sequence of ids, one per decision, got a set"),
    "one group": ({"groups": "f"}, "groups must be a list with one group per decision, got 'f'"),
    "one value of an attribute": (
        {"groups": {"sex": "f"}},
        "groups['sex'] must have one value per decision, got 'f'",
    ),
    "an attribute without a name": (
        {"groups": {1: SEX}},
        "attribute of a group must be a non-empty string, got 1",
    ),
    "groups that are fractions": (
        {"groups": {"band": REWARDS}},
        f"groups['band'] must have text or integers as values, got {REWARDS.item(0)!r} in row 0; bin "
        "numbers first",
    ),
    "another order": (
        {"rewards": OTHER_ORDER},
        "rewards must have the same index as contexts, got a different one; align them "
        "(rewards.loc[contexts.index]), or drop both indexes (reset_index(drop=True))",
    ),
    "contexts that are infinite": (
        {"contexts": X + np.inf},
        f"contexts must be finite and at most 1e+50 in absolute value, got {N * D} entries that are not; clean or "
        "impute them first",
    ),
}


@pytest.mark.parametrize("model", ["disjoint", Model(discount=0.95)], ids=str)
@pytest.mark.parametrize("case", REFUSED)
def test_everything_is_checked_before_anything_changes(case, model):
    changes, message = REFUSED[case]
    policy = LinUCB(model=model)
    policy.learn_logged(X[:5], ARMS[:5], REWARDS[:5], SEX[:5])
    before = policy.checksum()
    good = {"contexts": FRAME, "arms": ARMS, "rewards": REWARDS, "groups": SEX}
    assert message_of(lambda: policy.learn_logged(**good | changes)) == message
    assert policy.checksum() == before
    assert policy.feature_names_in_ is None


def test_codes_are_used_as_they_are():
    codes = IDS["Categorical"]
    from fairbandits.policies.logged_decisions import as_logged

    logged = as_logged(LinUCB(), X, codes, REWARDS, {"sex": codes})
    assert logged.arms is codes
    assert logged.groups["sex"] is codes
    assert logged.rewards is REWARDS
    assert logged.contexts is X
