"""The estimators for slates, compared with loops over slates and with sums over all possible slates."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits.ope import estimators
from fairbandits.ope.slates import estimators as slate_estimators
from fairbandits.ope.slates.slate_log import SlateLog

N_ARMS = 4
SEEDS = st.integers(0, 10_000)


def make_slates(n=40, lengths=(1, 2, 3), seed=0):
    """Return shuffled rows of slates; probabilities and propensities in all three forms."""
    rng = np.random.default_rng(seed)
    rows = {name: [] for name in ("slate", "position", "reward", "arm", "group", "probabilities", "predictions")}
    rows |= {f"{name} {form}": [] for name in ("pi", "p") for form in ("joint", "prefix", "marginal")}
    for slate in rng.permutation(10 * n)[:n]:
        length, group = rng.choice(lengths), rng.integers(2)
        probabilities, arms = rng.dirichlet(np.ones(N_ARMS), length), rng.integers(0, N_ARMS, length)
        prefix = {
            "pi": np.cumprod(probabilities[range(length), arms]),
            "p": np.cumprod(rng.uniform(0.2, 1, length)),
        }
        for position in range(length):
            row = {
                "slate": slate,
                "position": position,
                "reward": rng.normal(1.0),
                "arm": arms[position],
                "group": group,
                "probabilities": probabilities[position],
                "predictions": rng.normal(size=N_ARMS),
            }
            for name, products in prefix.items():
                forms = products[-1], products[position], rng.uniform(0.2, 1.0)
                row |= {f"{name} joint": forms[0], f"{name} prefix": forms[1], f"{name} marginal": forms[2]}
            for name, value in row.items():
                rows[name].append(value)
    order = rng.permutation(len(rows["slate"]))
    return {name: np.array(values)[order] for name, values in rows.items()}


def all_terms(rows, position_weight=None):
    log = SlateLog(rows["slate"], rows["position"], rows["reward"], position_weight)
    joint, prefix, marginal = ((rows[f"pi {form}"], rows[f"p {form}"]) for form in ("joint", "prefix", "marginal"))
    return {
        "standard_ips": slate_estimators.standard_ips(log, *joint),
        "standard_snips": slate_estimators.standard_snips(log, *joint),
        "independent_ips": slate_estimators.independent_ips(log, *marginal),
        "independent_snips": slate_estimators.independent_snips(log, *marginal),
        "reward_interaction_ips": slate_estimators.reward_interaction_ips(log, *prefix),
        "reward_interaction_snips": slate_estimators.reward_interaction_snips(log, *prefix),
        "cascade_doubly_robust": slate_estimators.cascade_doubly_robust(
            log, rows["probabilities"], rows["predictions"], rows["arm"], rows["p prefix"]
        ),
    }


def textbook(rows, position_weight=(1.0, 1.0, 1.0)):
    """Compute the seven estimates slate by slate."""
    found = dict.fromkeys(all_terms(rows), 0.0)
    numbers, slates = range(len(rows["slate"])), set(rows["slate"].tolist())
    standard_weight = 0.0
    by_position = {form: {} for form in ("marginal", "prefix")}
    for slate in slates:
        own = sorted((i for i in numbers if rows["slate"][i] == slate), key=lambda i: rows["position"][i])
        w = rows["pi joint"][own[0]] / rows["p joint"][own[0]]
        total = sum(position_weight[k] * rows["reward"][i] for k, i in enumerate(own))
        found["standard_ips"] += w * total / len(slates)
        found["standard_snips"] += w * total
        standard_weight += w
        before = 1.0
        for k, i in enumerate(own):
            reward, pi, q = (
                position_weight[k] * rows["reward"][i],
                rows["probabilities"][i],
                rows["predictions"][i],
            )
            for form, sums in by_position.items():
                w = rows[f"pi {form}"][i] / rows[f"p {form}"][i]
                name = "independent" if form == "marginal" else "reward_interaction"
                found[f"{name}_ips"] += w * reward / len(slates)
                sums.setdefault(k, []).append((w, w * reward))
            model = sum(pi[a] * q[a] for a in range(N_ARMS))
            found["cascade_doubly_robust"] += (w * (reward - q[rows["arm"][i]]) + before * model) / len(slates)
            before = w
    found["standard_snips"] /= standard_weight
    for form, name in (("marginal", "independent_snips"), ("prefix", "reward_interaction_snips")):
        for pairs in by_position[form].values():
            ratio = sum(product for _, product in pairs) / sum(w for w, _ in pairs)
            found[name] += len(pairs) / len(slates) * ratio
    return found


def picked(rows, is_picked):
    return {name: values[is_picked] for name, values in rows.items()}


@pytest.mark.parametrize("position_weight", [(1.0, 1.0, 1.0), (1.0, 0.6, 0.0)])
@pytest.mark.parametrize("lengths", [(3,), (1, 2, 3)])
def test_the_estimators_agree_with_loops_over_slates(lengths, position_weight):
    rows = make_slates(lengths=lengths)
    expected = textbook(rows, position_weight)
    for name, terms in all_terms(rows, position_weight).items():
        assert len(terms.numerator) == len(terms.weight) == 40
        assert terms.value() == pytest.approx(expected[name], rel=1e-12), name
        assert terms.estimate().value == pytest.approx(expected[name], rel=1e-12), name


def test_the_estimate_of_a_group_is_that_from_its_slates_alone():
    rows = make_slates()
    group = SlateLog(rows["slate"], rows["position"], rows["reward"]).per_slate("group", rows["group"])
    assert len(group) == 40
    expected = [textbook(picked(rows, rows["group"] == each)) for each in (0, 1)]
    for name, terms in all_terms(rows).items():
        by_group = terms.by_group(group)
        for each in (0, 1):
            assert by_group[each].value == pytest.approx(expected[each][name], rel=1e-12), name


def test_a_selection_by_indices_may_repeat_slates():
    rows = make_slates()
    for name, terms in all_terms(rows).items():
        once, twice = terms.select(np.arange(40) < 20), terms.select([*range(20), *range(20)])
        assert twice.value() == pytest.approx(once.value(), rel=1e-12), name
        assert len(twice.numerator) == 40


def test_the_standard_error_is_that_of_the_jackknife_over_slates():
    for name, terms in all_terms(make_slates(n=400)).items():
        each = np.array([terms.select(np.arange(400) != i).value() for i in range(400)])
        jackknife = math.sqrt(399 / 400 * ((each - each.mean()) ** 2).sum())
        assert terms.estimate().standard_error == pytest.approx(jackknife, rel=2e-2), name


# All six slates of two out of three arms; the rewards of their two positions.
SLATES = list(itertools.permutations(range(3), 2))
LOGGING, EVALUATED = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.2, 0.7])
REWARDS = {
    "whole slate": lambda a, b: (a + 2.0 * b, a * b + 0.5),
    "cascade": lambda a, b: (a + 0.2, a - 1.5 * b),
    "independent": lambda a, b: (a + 0.2, 1.0 / (1.0 + b)),
}
UNBIASED = {
    "standard_ips": {"whole slate", "cascade", "independent"},
    "reward_interaction_ips": {"cascade", "independent"},
    "cascade_doubly_robust": {"cascade", "independent"},
    "independent_ips": {"independent"},
}


def plackett_luce(preference, slate):
    """Return the probabilities of both arms of a slate, the second one given the first."""
    first, second = slate
    return preference[first], preference[second] / (1.0 - preference[first])


def marginal(preference, position, arm):
    return sum(math.prod(plackett_luce(preference, slate)) for slate in SLATES if slate[position] == arm)


@pytest.mark.parametrize("structure", REWARDS)
def test_estimators_are_unbiased_under_their_assumptions(structure):
    rows = {"slate": np.repeat(range(6), 2), "position": np.tile([0, 1], 6), "arm": np.ravel(SLATES)}
    rows["reward"] = np.ravel([REWARDS[structure](*slate) for slate in SLATES])
    for name, preference in (("pi", EVALUATED), ("p", LOGGING)):
        conditional = np.array([plackett_luce(preference, slate) for slate in SLATES])
        rows[f"{name} joint"] = np.repeat(conditional.prod(axis=1), 2)
        rows[f"{name} prefix"] = conditional.cumprod(axis=1).ravel()
        rows[f"{name} marginal"] = np.ravel([[marginal(preference, k, s[k]) for k in (0, 1)] for s in SLATES])
    rest = [np.where(np.arange(3) == first, 0.0, EVALUATED / (1.0 - EVALUATED[first])) for first, _ in SLATES]
    rows["probabilities"] = np.array([line for each in rest for line in (EVALUATED, each)])
    # The predictions may be arbitrary functions of the arms before.
    later = {first: np.random.default_rng(first).normal(size=3) for first in range(3)}
    rows["predictions"] = np.array([line for first, _ in SLATES for line in ([0.3, -1.0, 2.0], later[first])])
    truth = rows["pi joint"] @ rows["reward"]
    for name, terms in all_terms(rows).items():
        if name in UNBIASED:
            expected = rows["p joint"][::2] @ terms.numerator
            assert (expected == pytest.approx(truth, abs=1e-12)) == (structure in UNBIASED[name]), name


@settings(max_examples=50, deadline=None)
@given(seed=SEEDS)
def test_slates_with_one_position_are_single_decisions(seed):
    rows = make_slates(lengths=(1,), seed=seed)
    rows["pi marginal"], rows["p marginal"] = rows["pi joint"], rows["p joint"]
    weighted = rows["pi joint"], rows["reward"], rows["p joint"]
    single = {
        "ips": estimators.ips(*weighted).estimate(),
        "snips": estimators.snips(*weighted).estimate(),
        "robust": estimators.doubly_robust(
            rows["probabilities"], rows["predictions"], rows["arm"], rows["reward"], rows["p joint"]
        ).estimate(),
    }
    for name, terms in all_terms(rows).items():
        expected, estimate = single[name.rsplit("_", 1)[1]], terms.estimate()
        assert estimate.value == pytest.approx(expected.value, abs=1e-9), name
        assert estimate.standard_error == pytest.approx(expected.standard_error, abs=1e-9), name
        assert estimate.degrees_of_freedom == pytest.approx(expected.degrees_of_freedom), name


@settings(max_examples=50, deadline=None)
@given(seed=SEEDS)
def test_the_logging_policy_itself_has_the_logged_value(seed):
    rows = make_slates(seed=seed)
    for form in ("joint", "prefix", "marginal"):
        rows[f"p {form}"] = rows[f"pi {form}"]
    # Predictions that do not depend on the arm cancel.
    rows["predictions"] = rows["predictions"][:, :1].repeat(N_ARMS, axis=1)
    logged = rows["reward"].sum() / 40
    for name, terms in all_terms(rows).items():
        assert terms.value() == pytest.approx(logged, rel=1e-9), name


@settings(max_examples=50, deadline=None)
@given(seed=SEEDS)
def test_the_order_of_rows_does_not_matter(seed):
    rows = make_slates(seed=seed)
    order = np.random.default_rng(seed).permutation(len(rows["slate"]))
    shuffled = all_terms(picked(rows, order))
    for name, terms in all_terms(rows).items():
        assert terms.numerator == pytest.approx(shuffled[name].numerator, abs=1e-12), name


@settings(max_examples=50, deadline=None)
@given(seed=SEEDS, copies=st.integers(2, 4))
def test_rows_of_a_slate_are_not_independent(seed, copies):
    # The same reward at several positions is no more information than once.
    rows = make_slates(lengths=(1,), seed=seed)
    repeated = {name: values.repeat(copies, axis=0) for name, values in rows.items()}
    repeated["position"] = np.tile(np.arange(copies), 40)
    log, one = (SlateLog(each["slate"], each["position"], each["reward"]) for each in (repeated, rows))
    for estimator in (
        slate_estimators.standard_ips,
        slate_estimators.standard_snips,
        slate_estimators.independent_ips,
        slate_estimators.independent_snips,
        slate_estimators.reward_interaction_snips,
    ):
        many = estimator(log, repeated["pi joint"], repeated["p joint"]).estimate()
        once = estimator(one, rows["pi joint"], rows["p joint"]).estimate()
        assert many.value == pytest.approx(copies * once.value, abs=1e-9)
        assert many.standard_error == pytest.approx(copies * once.standard_error, abs=1e-9)
        assert many.degrees_of_freedom == pytest.approx(once.degrees_of_freedom)


def test_the_weights_of_slates_have_the_mean_of_those_of_rows():
    rows = make_slates(lengths=(2,))
    weight = all_terms(rows)["independent_snips"].weight
    assert weight.mean() == pytest.approx((rows["pi marginal"] / rows["p marginal"]).mean())


def test_a_position_without_weight_has_no_self_normalised_estimate():
    arrays = [1, 1, 2, 2], [0, 1, 0, 1], [1.0, 1.0, 0.0, 1.0]
    probability, propensity = [0.5, 0.0, 0.2, 0.0], [0.5, 0.5, 0.5, 0.5]
    terms = slate_estimators.independent_snips(SlateLog(*arrays), probability, propensity)
    assert math.isnan(terms.value())
    assert terms.estimate() is None
    without = slate_estimators.independent_snips(SlateLog(*arrays, [1.0, 0.0]), probability, propensity)
    assert without.value() == pytest.approx(0.5 / 0.7)


def test_a_log_without_slates():
    log = SlateLog([], [], [])
    for estimator in (slate_estimators.standard_ips, slate_estimators.independent_snips):
        assert math.isnan(estimator(log, [], []).value())


LOG = SlateLog([1, 1, 2], [0, 1, 0], [1.0, 0.0, 1.0])
HALVES = [0.5, 0.5, 0.5]
TWO_ARMS = [[0.5, 0.5]] * 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SlateLog(["a"], [0], [1.0]), "slate must be integers, one per row"),
        (lambda: SlateLog([1], [0.5], [1.0]), "position must be integers, one per row"),
        (lambda: SlateLog([1], [0], [math.nan]), "reward must be finite; leave out rows with missing values"),
        (
            lambda: SlateLog([1, 1], [0], [1.0]),
            "arrays must have one entry per row, got 2 of slate, 1 of position",
        ),
        (
            lambda: SlateLog([1, 1], [0, 1], [1.0]),
            "arrays must have one entry per row, got 2 of slate, 1 of reward",
        ),
        (
            lambda: SlateLog([5, 7, 7], [0, 2, 0], [1.0, 1.0, 1.0]),
            r"position must be 0, 1, 2, ... in each slate, without gaps or repetitions, got \[0, 2\] in slate 7; "
            "leave out whole slates, not single rows",
        ),
        (lambda: SlateLog([7, 7], [0, 0], [1.0, 1.0]), r"position must be .* got \[0, 0\] in slate 7"),
        (lambda: SlateLog([7, 7], [1, 2], [1.0, 1.0]), r"position must be .* got \[1, 2\] in slate 7"),
        (lambda: SlateLog([7, 7], [-1, 0], [1.0, 1.0]), r"position must be .* got \[-1, 0\] in slate 7"),
        (
            lambda: SlateLog([1, 1], [0, 1], [1.0, 0.0], position_weight=[1.0]),
            "position_weight must have a number for each of 2 positions, got 1",
        ),
        (
            lambda: SlateLog([1], [0], [1.0], position_weight=[-1.0]),
            "position_weight must be non-negative, got -1.0",
        ),
        (
            lambda: LOG.per_slate("group", ["f", "m", "m"]),
            "group must be the same in all rows of a slate, got f and then m in slate 1",
        ),
        (lambda: LOG.per_slate("group", ["f"]), "arrays must have one entry per row, got 3 of slate, 1 of group"),
        (
            lambda: slate_estimators.standard_ips(LOG, [0.5, 0.25, 0.5], HALVES),
            "probability must be that of the whole slate, the same at every position, "
            "got 0.5 and then 0.25 in slate 1",
        ),
        (
            lambda: slate_estimators.standard_snips(LOG, HALVES, [0.5, 0.25, 0.5]),
            "propensity must be that of the whole slate, the same at every position, "
            "got 0.5 and then 0.25 in slate 1",
        ),
        (
            lambda: slate_estimators.reward_interaction_ips(LOG, [0.25, 0.5, 1.0], HALVES),
            "probability must be that of all arms from position 0 to this one, which cannot increase, "
            "got 0.25 and then 0.5 in slate 1",
        ),
        (
            lambda: slate_estimators.cascade_doubly_robust(LOG, TWO_ARMS, TWO_ARMS, [0, 1, 0], [0.25, 0.5, 1.0]),
            "propensity must be that of all arms from position 0 to this one, which cannot increase",
        ),
        (
            lambda: slate_estimators.independent_ips(LOG, HALVES[1:], HALVES[1:]),
            "arrays must have one entry per row, got 3 of slate, 2 of probability",
        ),
        (
            lambda: slate_estimators.independent_ips(LOG, HALVES, [0.5, 0.5, 0.0]),
            "propensity must be above 0 and at most 1, got 0.0",
        ),
        (
            lambda: slate_estimators.cascade_doubly_robust(LOG, [[0.5, 0.4]] * 3, TWO_ARMS, [0, 1, 0], HALVES),
            "probabilities must add up to 1 in every row, got 0.9",
        ),
        (
            lambda: slate_estimators.cascade_doubly_robust(LOG, TWO_ARMS[1:], TWO_ARMS[1:], [0, 1, 0], HALVES),
            "arrays must have one entry per row, got 3 of slate, 2 of probabilities, 3 of arm",
        ),
    ],
)
def test_invalid_arrays(call, message):
    with pytest.raises(ValueError, match=message):
        call()
