"""A catalogue offers what a matrix of contexts would say, and policies do the same with either."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from fairbandits import Catalogue, FairLinUCB, LinUCB, Uniform
from fairbandits.models import DenseRows, SparseRows
from tests.helpers import ANY_WIDTH, POLICIES, fresh
from tests.textbook import Textbook

SEXES = ("female", "male", None)


def make(rng, n_arms=7, n_user=6, n_own=5, ways=1, ids=True):
    features = rng.random((n_arms, n_own)) * (rng.random((n_arms, n_own)) < 0.5)
    matches = {f"way{way}": [SEXES[i] for i in rng.integers(3, size=n_arms)] for way in range(ways)}
    return Catalogue(features, n_user, [f"a{i}" for i in range(n_arms)] if ids else None, matches), features


def user_of(rng, n_user=6):
    return rng.random(n_user) * (rng.random(n_user) < 0.5)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(0, 5), st.integers(0, 4), st.integers(0, 3))
def test_an_offer_is_the_matrix_that_the_words_say(seed, n_arms, n_user, n_own, ways):
    rng = np.random.default_rng(seed)
    if not n_user + n_own + ways:
        n_user = 1
    catalogue, features = make(rng, n_arms, n_user, n_own, ways)
    users = rng.random((3, n_user)).round(0) * rng.random((3, n_user))
    values = {f"way{way}": [SEXES[i] for i in rng.integers(3, size=3)] for way in range(ways)}
    matrices = []
    for user, x in enumerate(users):
        mine = {name: per_user[user] for name, per_user in values.items()}
        bits = [
            [float(mine[name] is not None and value == mine[name]) for value in of_arms]
            for name, of_arms in arm_values(catalogue, rng, seed, n_arms, n_user, n_own, ways).items()
        ]
        matrix = np.column_stack([np.tile(x, (n_arms, 1)), features, *bits])
        np.testing.assert_array_equal(np.asarray(catalogue.offer(x, mine)), matrix)
        matrices.append(matrix)
    many = catalogue.offer_many(sparse.csr_array(users), values)
    np.testing.assert_array_equal(many.toarray(), np.concatenate(matrices))
    assert many.shape == (3 * n_arms, catalogue.width)


def arm_values(catalogue, rng, seed, n_arms, n_user, n_own, ways):
    """Draw again what `make` drew for the arms."""
    again = np.random.default_rng(seed)
    again.random((n_arms, n_own))
    again.random((n_arms, n_own))
    return {f"way{way}": [SEXES[i] for i in again.integers(3, size=n_arms)] for way in range(ways)}


@pytest.mark.parametrize("model", ["disjoint", "shared"])
@pytest.mark.parametrize("gamma", [0.0, 3.0])
def test_from_a_catalogue_a_policy_is_the_textbook(model, gamma):
    rng = np.random.default_rng(3)
    catalogue, _ = make(rng, n_arms=9, ways=2)
    policy = FairLinUCB(alpha=0.7, gamma=gamma, model=model, random_state=1)
    textbook = Textbook(alpha=0.7, gamma=gamma, ridge=1.0, model=model, seed=1)
    for t in range(250):
        arms = list(catalogue.arms) if t % 3 else [f"a{i}" for i in rng.permutation(9)[:5]]
        matching = {"way0": SEXES[rng.integers(3)], "way1": SEXES[rng.integers(3)]}
        offer = catalogue.offer(user_of(rng), matching, None if t % 3 else arms)
        contexts, group = offer.toarray(), "+-"[rng.integers(2)]
        expected, scores = textbook.choose(contexts, arms)
        decision = policy.choose(offer, group)
        assert decision.arm == expected, f"round {t}"
        np.testing.assert_allclose(decision.scores.total, scores, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(decision.context, contexts[decision.index])
        reward = rng.random()
        policy.learn(decision, reward)
        textbook.learn(decision.arm, contexts[decision.index], reward, group)


@pytest.mark.parametrize("name", ANY_WIDTH)
def test_every_policy_takes_offers_as_it_takes_matrices(name):
    rng = np.random.default_rng(4)
    catalogue, _ = make(rng, n_own=3, ids=False)  # as wide as the maps of some models expect
    one, two = (fresh(POLICIES[name], random_state=5) for _ in range(2))
    for t in range(60):
        offer = catalogue.offer(user_of(rng), {"way0": SEXES[t % 3]})
        a, b = one.choose(offer, "fm"[t % 2]), two.choose(offer.toarray(), "fm"[t % 2])
        assert a.arm == b.arm
        np.testing.assert_allclose(a.scores.total, b.scores.total, rtol=1e-9, atol=1e-9)
        reward = rng.random()
        one.learn(a, reward)
        two.learn(b, reward)


def test_many_users_are_served_as_one_after_the_other():
    rng = np.random.default_rng(6)
    catalogue, _ = make(rng, n_arms=9)
    one, many = LinUCB(random_state=1), LinUCB(random_state=1)
    for policy in (one, many):
        again = np.random.default_rng(7)
        for _ in range(100):
            policy.learn(policy.choose(catalogue.offer(user_of(again), {"way0": "male"})), again.random())
    users = np.array([user_of(rng) for _ in range(150)])
    sexes = [SEXES[i] for i in rng.integers(3, size=150)]
    decisions = many.choose_many(catalogue.offer_many(users, {"way0": sexes}), sexes)
    apart = [one.choose(catalogue.offer(x, {"way0": sex}), sex) for x, sex in zip(users, sexes, strict=True)]
    assert decisions.picked == [d.arm for d in apart]
    assert decisions.probability == [d.probability for d in apart]
    assert [d.number for d in decisions] == [d.number for d in apart]
    for a, b in zip(decisions, apart, strict=True):
        np.testing.assert_allclose(a.scores.total, b.scores.total, rtol=1e-12)
        np.testing.assert_array_equal(a.context, b.context)
    assert [d.arm for d in decisions[-3:]] == decisions.picked[-3:]
    assert repr(decisions).startswith("<150 decisions of ")
    many.learn_many(decisions, [0.5] * 150)
    one.learn_many(apart, [0.5] * 150)
    np.testing.assert_allclose(many.reward_model.theta, one.reward_model.theta, rtol=1e-9, atol=1e-12)
    for slot in range(one.reward_model.n_slots):
        np.testing.assert_allclose(
            many.reward_model.gram_of(slot), one.reward_model.gram_of(slot), rtol=1e-12, atol=1e-12
        )


def test_a_decision_lives_on_without_its_offer():
    catalogue, _ = make(np.random.default_rng(1))
    policy = LinUCB(random_state=0)
    x = np.ones(6)
    decision = policy.choose(catalogue.offer(x))
    x[:] = np.nan
    assert np.isfinite(decision.context).all()
    policy.learn(decision, 0.5)


def test_a_catalogue_says_what_it_is():
    catalogue, _ = make(np.random.default_rng(1))
    assert len(catalogue) == 7
    assert repr(catalogue) == "<Catalogue of 7 arms with contexts 12 wide>"
    assert repr(catalogue.offer(np.ones(6))) == "<Offer of 7 arms, 12 features, to 1 user>"
    assert repr(catalogue.offer_many(np.ones((2000, 6)))) == "<Offer of 7 arms, 12 features, to 2,000 users>"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"features": [1.0, 2.0]}, "one row per arm, got 1 dimension"),
        ({"features": [["a"]]}, "features must be a matrix of numbers"),
        ({"features": np.empty((0, 3))}, "at least one arm"),
        ({"features": [[np.nan], [1.0]]}, "features must be finite and at most .*, got 1 entry that is not"),
        (
            {"features": sparse.csr_array([[np.inf]])},
            "features must be finite and at most .*, got 1 entry that is not",
        ),
        ({"n_user_features": -1}, "non-negative integer, got -1"),
        ({"n_user_features": 2.5}, "non-negative integer, got 2.5"),
        ({"features": np.empty((2, 0)), "n_user_features": 0, "matches": None}, "at least one column, got none"),
        ({"arms": ["a"]}, "one id per row of contexts, got 1 for 2"),
        ({"arms": ["a", "a"]}, "arm ids must be unique"),
        ({"matches": {"sex": ["male"]}}, "must have one value for each of 2 arm"),
        ({"matches": {"sex": "male"}}, "must have one value for each of 2 arm"),
    ],
)
def test_a_catalogue_that_makes_no_sense(arguments, words):
    good = {"features": [[1.0], [2.0]], "n_user_features": 3, "matches": {"sex": ["male", "female"]}}
    with pytest.raises(ValueError, match=words):
        Catalogue(**good | arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1.0, 2.0],), r"user must have 3 feature\(s\), got shape \(2,\)"),
        (([[1.0, 2.0, 3.0]],), "got shape"),
        ((["a", "b", "c"],), "user must be an array of numbers"),
        (([1.0, np.nan, np.inf],), "users must be finite and at most .*, got 2 entries that are not"),
        (([1.0, 2.0, 3.0], {"size": "large"}), r"matching must be a mapping with names from \['sex'\], got"),
        (([1.0, 2.0, 3.0], None, ["a", "z"]), r"in the catalogue, got \['z'\]"),
        (([1.0, 2.0, 3.0], None, []), "arms must have at least one arm, got none"),
        (([1.0, 2.0, 3.0], None, ["a", "a"]), "arm ids must be unique"),
    ],
)
def test_an_offer_that_makes_no_sense(arguments, words):
    catalogue = Catalogue([[1.0], [2.0]], 3, ["a", "b"], {"sex": ["male", "female"]})
    with pytest.raises(ValueError, match=words):
        catalogue.offer(*arguments)


def test_offers_to_many_that_make_no_sense():
    catalogue = Catalogue([[1.0], [2.0]], 3, matches={"sex": ["male", "female"]})
    for users in (np.ones(3), np.ones((2, 4)), np.ones((0, 3))):
        with pytest.raises(ValueError, match="one row per user, 3 wide"):
            catalogue.offer_many(users)
    with pytest.raises(ValueError, match="one value for each of 2 user"):
        catalogue.offer_many(np.ones((2, 3)), {"sex": ["male"]})


def test_values_to_match_come_in_the_order_of_users_whatever_their_labels():
    pd = pytest.importorskip("pandas")
    catalogue = Catalogue([[1.0], [1.0]], 1, matches={"sex": pd.Series(["f", "m"], index=[7, 3])})
    frame = pd.DataFrame({"x": [0.1, 0.2, 0.3], "sex": ["f", "m", "m"]}, index=[2, 1, 0])
    offer = catalogue.offer_many(frame[["x"]].to_numpy(), {"sex": frame["sex"]})
    assert offer.toarray()[:, -1].tolist() == [1, 0, 0, 1, 0, 1]


def test_what_is_not_known_matches_nobody():
    catalogue = Catalogue([[1.0], [1.0], [1.0]], 1, matches={"sex": ["f", np.nan, None]})
    for value in (np.nan, None, "other"):
        assert catalogue.offer([0.5], {"sex": value}).toarray()[:, -1].tolist() == [0, 0, 0]


def test_a_catalogue_that_was_interrupted_goes_on(monkeypatch):
    catalogue = Catalogue([[1.0], [1.0]], 1, matches={"sex": ["f", "m"]})

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(np, "unique", interrupt)
        with pytest.raises(KeyboardInterrupt):
            catalogue.offer([0.5], {"sex": "m"})
    assert catalogue.offer([0.5], {"sex": "m"}).toarray()[:, -1].tolist() == [0, 1]


def test_many_values_to_match_and_threads():
    n = 300
    catalogue = Catalogue(np.ones((n, 1)), 1, matches={"city": list(range(n))})
    with ThreadPoolExecutor(4) as pool:
        offers = list(pool.map(lambda city: catalogue.offer([1.0], {"city": city}), [*range(n)] * 2))
    for city, offer in zip([*range(n)] * 2, offers, strict=True):
        assert np.flatnonzero(offer.toarray()[:, -1]).tolist() == [city]


def test_users_with_many_features_are_served_as_from_a_matrix():
    rng = np.random.default_rng(8)
    catalogue, _ = make(rng, n_user=200)
    assert isinstance(catalogue.offer(np.ones(200)).rows, DenseRows)
    assert isinstance(catalogue.offer(np.eye(200)[0]).rows, SparseRows)
    one, two = LinUCB(random_state=5), LinUCB(random_state=5)
    for _ in range(30):
        offer = catalogue.offer(rng.random(200), {"way0": "male"})
        a, b = one.choose(offer), two.choose(offer.toarray(), arms=catalogue.arms)
        np.testing.assert_allclose(a.scores.total, b.scores.total, rtol=1e-9)
        one.learn(a, 0.5)
        two.learn(b, 0.5)


@pytest.mark.parametrize("change", ["indices", "indptr"])
def test_sparse_features_that_point_outside(change):
    features = sparse.csr_array(np.eye(3))
    getattr(features, change)[1] = 4000
    with pytest.raises(ValueError, match="rebuild the matrix"):
        Catalogue(features, 2)


def test_values_of_the_wrong_kind():
    for matches in (["f"], {"sex": None}, {"sex": [[1], [2]]}):
        with pytest.raises(ValueError, match="matches"):
            Catalogue([[1.0], [2.0]], 1, matches=matches)
    catalogue = Catalogue([[1.0], [2.0]], np.int64(1), matches={"sex": ["f", "m"]})
    for matching in (["f"], {"sex": ["f"]}, {1: "f", "x": "f"}):
        with pytest.raises(ValueError, match="match"):
            catalogue.offer([1.0], matching)
    with pytest.raises(ValueError, match="matching must be a mapping"):
        catalogue.offer_many([[1.0]], ["f"])
    with pytest.raises(ValueError, match="arms must be a sequence"):
        catalogue.offer([1.0], arms=3)


def test_offers_that_a_policy_refuses():
    catalogue = Catalogue([[1.0], [2.0]], 3)
    policy = Uniform(random_state=0)
    offer = catalogue.offer(np.ones(3))
    with pytest.raises(ValueError, match=r"arms must be those of the offer, got \['x', 'y'\]; pass eligible arms"):
        policy.choose(offer, arms=["x", "y"])
    with pytest.raises(ValueError, match=r"contexts must belong to one user, got those of 2; use choose_many"):
        policy.choose(catalogue.offer_many(np.ones((2, 3))))
    policy.learn(policy.choose(offer), 0.5)
    with pytest.raises(ValueError, match=r"contexts must have 4 columns, .*, got 5"):
        policy.choose(Catalogue([[1.0]], 4).offer(np.ones(4)))


@pytest.mark.parametrize("features", [np.eye(3), np.full((3, 2), 0.5)], ids=["sparse", "full"])
def test_contexts_of_many_decisions_at_once_are_those_of_each(features):
    catalogue = Catalogue(features, 2, ["a", "b", "c"], matches={"sex": ["f", "m", None]})
    users = np.array([[1.0, 0.0], [0.5, 2.0], [0.0, 3.0], [0.25, 1.0]])
    decisions = LinUCB(random_state=0).choose_many(catalogue.offer_many(users, {"sex": ["f", "m", "x", None]}))
    for decision, (columns, values, n_shared) in zip(decisions, decisions.contexts(), strict=True):
        ours, theirs, common = decision.row.entries()
        assert (columns, values, n_shared) == (ours.tolist(), theirs.tolist(), common)


def test_a_catalogue_can_be_sent_to_other_processes():
    catalogue = Catalogue([[1.0, 0.0], [0.0, 1.0]], n_user_features=1, matches={"sex": ["female", "male"]})
    copy = pickle.loads(pickle.dumps(catalogue))  # noqa: S301
    offers = [each.offer([0.5], {"sex": "male"}).toarray() for each in (catalogue, copy)]
    np.testing.assert_array_equal(*offers)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, "got True of type bool; write 'true' or 1"),
        (1.0, "got 1.0 of type float; write 1 or '1'"),
        (0.5, "got 0.5 of type float; bin numbers first"),
    ],
)
def test_values_that_only_seem_to_match(value, words):
    catalogue = Catalogue([[1.0], [2.0]], 1, matches={"size": [1, 2]})
    with pytest.raises(ValueError, match=rf"matching\['size'\] must be a string or an integer, {words}"):
        catalogue.offer([1.0], {"size": value})
    with pytest.raises(ValueError, match=rf"matching\['size'\] must have text or integers as values, {words}"):
        catalogue.offer_many([[1.0]], {"size": [value]})
    with pytest.raises(ValueError, match=rf"matches\['size'\] must have text or integers as values, {words}"):
        Catalogue([[1.0], [2.0]], 1, matches={"size": [value, 2]})


def test_columns_of_match_values():
    catalogue = Catalogue(
        [[1.0], [2.0]], 1, matches={"size": pd.Series([1, None]), "new": np.array([True, False])}
    )
    offer = catalogue.offer_many([[1.0], [1.0]], {"size": pl.Series([1, 2]), "new": ["true", None]})
    assert offer.toarray()[:, -2:].tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    assert catalogue.offer([1.0], {"size": np.int64(1), "new": float("nan")}).toarray()[:, -2:].tolist() == [
        [1.0, 0.0],
        [0.0, 0.0],
    ]
    with pytest.raises(ValueError, match=r"one value for each of 2 user\(s\), got"):
        catalogue.offer_many([[1.0], [1.0]], {"size": {1, 2}})


@pytest.mark.parametrize("n_users", [1, 3])
@pytest.mark.parametrize("n_user", [6, 200], ids=["sparse", "dense"])
def test_some_arms_of_an_offer_are_an_offer(n_users, n_user):
    rng = np.random.default_rng(0)
    catalogue, _ = make(rng, n_user=n_user)
    users = rng.random((n_users, n_user)) + 0.1
    matching = {"way0": ["female"] * n_users}
    offer = catalogue.offer_many(users, matching) if n_users > 1 else catalogue.offer(users[0], {"way0": "female"})
    assert isinstance(offer.rows, SparseRows if n_user == 6 else DenseRows)
    places = np.array([5, 0, 3])
    some = offer.select(places)
    assert some.arms == ("a5", "a0", "a3")
    whole = offer.toarray().reshape(n_users, 7, -1)
    np.testing.assert_array_equal(some.toarray(), whole[:, places].reshape(3 * n_users, -1))
    twice = some.select(np.array([2, 1]))
    np.testing.assert_array_equal(twice.toarray(), whole[:, [3, 0]].reshape(2 * n_users, -1))
