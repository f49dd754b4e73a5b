"""The formulae against the textbook, written out row by row; the sums; the intervals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fairbandits.ope import estimators
from fairbandits.ope.estimator_sums import EstimatorSums, Terms
from fairbandits.ope.value_estimate import ValueEstimate, unskewed


def a_log(n=60, n_arms=4, seed=0):
    """Give a small log as plain arrays."""
    rng = np.random.default_rng(seed)
    logging, chances = (rng.dirichlet(np.ones(n_arms), n) for _ in range(2))
    arm = np.array([rng.choice(n_arms, p=line) for line in logging])
    row = np.arange(n)
    return {
        "arm": arm,
        "reward": rng.random(n),
        "propensity": logging[row, arm],
        "chances": chances,
        "chance": chances[row, arm],
        "predicted": rng.random((n, n_arms)),
        "group": rng.integers(0, 2, n),
    }


def textbook(log, clip=math.inf):
    """Write the five sums out, one row after the other."""
    rows = range(len(log["arm"]))
    above = dict.fromkeys(("replay", "ips", "direct", "robust"), 0.0)
    matched = weight = 0.0
    for i in rows:
        a, r, p = log["arm"][i], log["reward"][i], log["propensity"][i]
        pi, q = log["chances"][i], log["predicted"][i]
        w = min(pi[a] / p, clip)
        model = sum(pi[k] * q[k] for k in range(len(pi)))
        above["replay"] += pi[a] * r
        above["ips"] += w * r
        above["direct"] += model
        above["robust"] += model + w * (r - q[a])
        matched += pi[a]
        weight += w
    n = len(rows)
    return {
        "replay": above["replay"] / matched,
        "ips": above["ips"] / n,
        "snips": above["ips"] / weight,
        "direct": above["direct"] / n,
        "robust": above["robust"] / n,
    }


def ours(log, clip=None):
    weighed = log["chance"], log["reward"], log["propensity"], clip
    return {
        "replay": estimators.replay(log["chance"], log["reward"]),
        "ips": estimators.ips(*weighed),
        "snips": estimators.snips(*weighed),
        "direct": estimators.direct(log["chances"], log["predicted"]),
        "robust": estimators.doubly_robust(
            log["chances"], log["predicted"], log["arm"], log["reward"], log["propensity"], clip
        ),
    }


@pytest.mark.parametrize("clip", [None, 1.5])
def test_the_formulae_are_the_textbooks(clip):
    log = a_log()
    expected = textbook(log, math.inf if clip is None else clip)
    for name, terms in ours(log, clip).items():
        assert terms.value() == pytest.approx(expected[name], rel=1e-12), name
        assert terms.estimate().value == pytest.approx(expected[name], rel=1e-12), name


def test_a_policy_that_does_what_the_log_did_earns_what_the_log_earned():
    log = a_log()
    weighed = log["propensity"], log["reward"], log["propensity"]
    for terms in (estimators.ips(*weighed), estimators.snips(*weighed)):
        estimate = terms.estimate()
        assert estimate.value == pytest.approx(log["reward"].mean())
        assert estimate.error == pytest.approx(log["reward"].std(ddof=1) / np.sqrt(len(log["reward"])), rel=1e-3)


def test_the_error_is_the_jackknifes():
    # Leave out one row after the other, and look how the ratio moves.
    for name, terms in ours(a_log(n=400)).items():
        n = len(terms.above)
        each = np.array([terms.where(np.arange(n) != i).value() for i in range(n)])
        jackknife = math.sqrt((n - 1) / n * ((each - each.mean()) ** 2).sum())
        assert terms.estimate().error == pytest.approx(jackknife, rel=2e-3), name


def test_the_skewness_is_that_of_the_influence():
    terms = ours(a_log(n=500))["ips"]
    x = terms.above
    expected = ((x - x.mean()) ** 3).sum() / ((x - x.mean()) ** 2).sum() ** 1.5
    assert terms.estimate().skew == pytest.approx(expected, rel=0.01)


def test_the_gain_over_the_log_is_paired():
    log = a_log(n=300)
    sums = EstimatorSums(1, origin=0.4)
    terms = estimators.ips(log["propensity"], log["reward"], log["propensity"])
    sums.add(terms, log["reward"], np.zeros((300, 1), int))
    gain = sums.gain()
    assert gain.value == pytest.approx(0.0, abs=1e-12)
    assert gain.error == pytest.approx(0.0, abs=1e-9)
    sums = EstimatorSums(1)
    terms = ours(log)["ips"]
    sums.add(terms, log["reward"], np.zeros((300, 1), int))
    apart = terms.above - log["reward"]
    assert sums.gain().value == pytest.approx(apart.mean())
    assert sums.gain().error == pytest.approx(apart.std(ddof=1) / math.sqrt(300), rel=1e-3)


@settings(max_examples=30, deadline=None)
@given(cuts=st.lists(st.integers(0, 60), max_size=4), origin=st.floats(-1.0, 1.0), seed=st.integers(0, 99))
def test_chunks_add_up(cuts, origin, seed):
    log = a_log(seed=seed)
    cells = np.column_stack([np.zeros(60, int), log["group"] + 1, np.full(60, -1)])
    for terms in ours(log).values():
        whole, parts = EstimatorSums(3), EstimatorSums(3, origin)
        whole.add(terms, log["reward"], cells)
        for rows in np.split(np.arange(60), sorted(cuts)):
            parts.add(terms.where(rows), log["reward"][rows], cells[rows])
        for cell in range(3):
            for one, two in (
                (whole.estimate(cell), parts.estimate(cell)),
                (whole.gain(cell), parts.gain(cell)),
            ):
                assert one.value == pytest.approx(two.value, abs=1e-12)
                assert one.error == pytest.approx(two.error, abs=1e-9)
                assert one.freedom == pytest.approx(two.freedom)
        assert parts.rows(1) + parts.rows(2) == 60


def test_the_effective_number_of_rows():
    sums = EstimatorSums(2)
    terms = Terms(np.ones(4), np.ones(4), np.array([1.0, 1.0, 0.0, 2.0]))
    sums.add(terms, np.ones(4), np.zeros((4, 1), int))
    assert sums.effective(0) == pytest.approx(16 / 6)
    assert sums.mean_weight(0) == 1.0
    assert sums.effective(1) == 0.0
    assert math.isnan(sums.mean_weight(1))
    assert sums.estimate(1) is None


def test_rewards_far_from_zero_keep_their_digits():
    rng = np.random.default_rng(0)
    reward = 1e6 + rng.random(1000)
    sums = EstimatorSums(1, origin=1e6)
    chance = np.full(1000, 0.5)
    sums.add(estimators.snips(chance, reward, chance), reward, np.zeros((1000, 1), int))
    assert sums.estimate().error == pytest.approx(reward.std(ddof=1) / math.sqrt(1000), rel=1e-3)


def test_rows_that_say_nothing():
    nobody = estimators.replay([0.0, 0.0, 0.0], [1.0, 0.0, 1.0])
    assert math.isnan(nobody.value())
    assert nobody.estimate() is None
    assert estimators.ips([1.0], [1.0], [0.5]).estimate() is None


# -- intervals -----------------------------------------------------------------------------------------


def test_without_skewness_it_is_students_interval():
    x = np.random.default_rng(3).normal(size=20)
    estimate = Terms(x, np.ones(20), np.ones(20)).estimate(0.9)
    plain = ValueEstimate(estimate.value, estimate.error, 0.0, estimate.freedom, 0.9)
    low, high = stats.t.interval(0.9, 19, x.mean(), x.std(ddof=1) / math.sqrt(20))
    assert plain.low == pytest.approx(low, rel=1e-9)
    assert plain.high == pytest.approx(high, rel=1e-9)


@given(skew=st.floats(-0.2, 0.2), quantile=st.floats(-2.5, 2.5))
def test_the_transformation_is_undone_to_second_order(skew, quantile):
    t = unskewed(quantile, skew)
    back = t + skew * (2 * t**2 + 1) / 6 + skew**2 * t**3 / 27
    assert abs(back - quantile) <= 2.0 * abs(skew) ** 3 * (1.0 + quantile**4) + 1e-12


@given(skew=st.floats(-9.0, 9.0), first=st.floats(-6.0, 6.0), second=st.floats(-6.0, 6.0))
def test_larger_quantiles_stay_larger_and_none_is_wild(skew, first, second):
    low, high = sorted((first, second))
    assert unskewed(low, skew) <= unskewed(high, skew)
    assert abs(unskewed(first, skew)) <= 2.0 * (abs(first) + abs(skew) / 6.0)


@given(skew=st.floats(-5.0, 5.0))
def test_the_ends_are_in_order(skew):
    estimate = ValueEstimate(0.5, 0.1, skew, 20.0)
    assert estimate.low < estimate.high


def test_a_difference_of_two():
    one, two = ValueEstimate(0.6, 0.03, 0.4, 40.0), ValueEstimate(0.5, 0.04, -0.2, 90.0)
    difference = one.minus(two)
    assert difference.skew == pytest.approx((0.4 * 0.03**3 + 0.2 * 0.04**3) / 0.05**3)
    assert difference.freedom == pytest.approx(0.05**4 / (0.03**4 / 40 + 0.04**4 / 90))
    assert difference.minus(difference).value == 0.0
    assert two.minus(one).low == pytest.approx(-difference.high)
    assert difference.excludes_zero == (difference.low > 0.0)
    nothing = ValueEstimate(0.5, 0.0, 0.0, 9.0)
    assert nothing.minus(nothing).low == nothing.minus(nothing).high == 0.0


def test_a_second_source_of_error():
    wider = ValueEstimate(0.5, 0.03, 1.0, 9.0).widened(0.04**2)
    assert wider.error == pytest.approx(0.05)
    assert wider.skew == pytest.approx(0.6**3)
    assert ValueEstimate(0.5, 0.0, 0.0, 9.0).widened(0.0).error == 0.0


# -- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: estimators.ips([0.5], [1.0], [0.0]), "propensity must lie above 0, and at most at 1; got 0.0"),
        (lambda: estimators.snips([0.5], [1.0], [1.5]), "propensity must lie above 0, and at most at 1; got 1.5"),
        (lambda: estimators.ips([1.5], [1.0], [0.5]), "chances are probabilities, from 0 to 1; got 1.5"),
        (lambda: estimators.ips([0.5], [math.nan], [0.5]), "reward must be finite; leave out the rows"),
        (lambda: estimators.ips([0.5], ["much"], [0.5]), "reward must be numbers, one for each row"),
        (lambda: estimators.ips([[0.5]], [1.0], [0.5]), r"chance must be numbers, .*; got 2 dimension\(s\)"),
        (lambda: estimators.ips([0.5], [1.0, 0.0], [0.5]), "every row has one of each; got 1 of chance, 2 of rew"),
        (lambda: estimators.replay([0.5], [1.0, 0.0]), "every row has one of each"),
        (lambda: estimators.ips([0.5], [1.0], [0.5], clip=0.0), "clip is the largest weight .* above 0; got 0.0"),
        (lambda: estimators.direct([[0.5, 0.5]], [[1.0]]), r"chances have shape \(1, 2\), predicted \(1, 1\)"),
        (
            lambda: estimators.doubly_robust([[0.5, 0.5]], [[1.0, 0.0]], [2], [1.0], [0.5]),
            "arm must be the column of the arm shown, a whole number from 0 to 1",
        ),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
