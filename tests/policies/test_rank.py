"""The slates of many users as arrays: the same as one after the other, without deciding."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fairbandits import EpsilonGreedy, LinTS, LinUCB, Scores
from fairbandits.policies.lints import ThompsonPicker
from fairbandits.policies.min_probability import MinProbabilityPicker
from fairbandits.policies.picker import GREEDY, TIE
from tests.helpers import POLICIES, contexts_for, fresh, teach

PICKERS = [GREEDY, ThompsonPicker(0.5, True), ThompsonPicker(0.0, True), MinProbabilityPicker(GREEDY, 0.05)]
N_USERS = 9


def contexts_of_users(seed=1):
    rng = np.random.default_rng(seed)
    return np.array([contexts_for(rng) for _ in range(N_USERS)])


def scores_of(total):
    return Scores(total, total, total, total, total)


# Few levels, of which some differ by less than a tie and others by a little more, so that there are many ties.
LEVELS = st.sampled_from([0.0, 0.5, 0.5 + TIE / 2, 0.5 + 3 * TIE, 2.0, 2.0 + TIE, -3.0])


@pytest.mark.parametrize("picker", PICKERS)
@settings(deadline=None, max_examples=60, derandomize=True)
@given(data=st.data())
def test_slates_of_many_users_are_those_of_one_after_the_other(picker, data):
    shape = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 7)))
    total = data.draw(arrays(np.float64, shape, elements=LEVELS))
    k = data.draw(st.integers(1, shape[1]))
    keys = [()] * shape[0]
    one, many = np.random.default_rng(0), np.random.default_rng(0)
    scores = scores_of(total)
    expected = [picker.slate(scores.user(user), k, (), one) for user in range(shape[0])]
    indices, probability = picker.slates(scores, k, keys, many)
    assert indices.tolist() == [picked for picked, _ in expected]
    assert [None if np.isnan(p) else p for p in probability.tolist()] == [p for _, p in expected]
    assert one.bit_generator.state == many.bit_generator.state


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_scores_that_are_not_finite(wrong):
    total = np.array([[0.1, 0.2, 0.3], [0.1, wrong, 0.3]])
    with pytest.raises(ValueError, match="scores must be finite"):
        GREEDY.slates(scores_of(total), 2, [(), ()], np.random.default_rng(0))


@pytest.mark.parametrize("name", POLICIES)
def test_ranks_are_what_choose_many_picks(name):
    policy, _ = teach(fresh(POLICIES[name], random_state=0))
    contexts, groups = contexts_of_users(), ["male", "female", None] * 3
    state = policy._rng.bit_generator.state
    ranked = policy.rank(contexts, groups, k=3, random_state=np.random.default_rng(5))
    assert policy._rng.bit_generator.state == state
    policy.set_params(random_state=np.random.default_rng(5))
    slates = policy.choose_many(contexts, groups, k=3)
    assert [tuple(row) for row in ranked.indices.tolist()] == [slate.indices for slate in slates]
    assert [tuple(ranked.arms[i] for i in row) for row in ranked.indices.tolist()] == [s.picked for s in slates]
    scores = [slate.scores.total[list(slate.indices)] for slate in slates]
    np.testing.assert_array_equal(ranked.scores, scores)
    assert [None if np.isnan(p) else p for p in ranked.probability] == [slate.probability for slate in slates]


def test_the_policy_draws_itself_without_a_random_state():
    one, other = (teach(EpsilonGreedy(epsilon=1.0, random_state=0))[0] for _ in range(2))
    contexts = contexts_of_users()
    assert one.rank(contexts, k=4).indices.tolist() == [list(s.indices) for s in other.choose_many(contexts, k=4)]


def test_ranking_is_no_decision():
    policy, _ = teach(LinUCB(random_state=0))
    before = policy.choose(contexts_of_users()[0])
    policy.rank(contexts_of_users(), k=2)
    assert policy.choose(contexts_of_users()[0]).number == before.number + 1


def test_impossible_ranks():
    with pytest.raises(ValueError, match=r"k must be at most the 6 arm\(s\) on offer, got 7"):
        LinUCB().rank(contexts_of_users(), k=7)
    with pytest.raises(ValueError, match="random_state must be None, an integer or a NumPy generator, got 'x'"):
        LinTS().rank(contexts_of_users(), k=2, random_state="x")
