"""The estimators, compared with a computation row by row."""

import math

import numpy as np
import pytest

from fairbandits.ope import estimators


def make_log(n=60, n_arms=4, seed=0):
    """Return a small log as plain arrays."""
    rng = np.random.default_rng(seed)
    logging, probabilities = (rng.dirichlet(np.ones(n_arms), n) for _ in range(2))
    arm = np.array([rng.choice(n_arms, p=line) for line in logging])
    row = np.arange(n)
    return {
        "arm": arm,
        "reward": rng.random(n),
        "propensity": logging[row, arm],
        "probabilities": probabilities,
        "probability": probabilities[row, arm],
        "predictions": rng.random((n, n_arms)),
        "group": rng.integers(0, 2, n),
    }


def textbook(log, clip=math.inf):
    """Compute the five estimates row by row."""
    rows = range(len(log["arm"]))
    numerator = dict.fromkeys(("replay", "ips", "direct", "robust"), 0.0)
    matched = weight = 0.0
    for i in rows:
        a, r, p = log["arm"][i], log["reward"][i], log["propensity"][i]
        pi, q = log["probabilities"][i], log["predictions"][i]
        w = min(pi[a] / p, clip)
        model = sum(pi[k] * q[k] for k in range(len(pi)))
        numerator["replay"] += pi[a] * r
        numerator["ips"] += w * r
        numerator["direct"] += model
        numerator["robust"] += model + w * (r - q[a])
        matched += pi[a]
        weight += w
    n = len(rows)
    return {
        "replay": numerator["replay"] / matched,
        "ips": numerator["ips"] / n,
        "snips": numerator["ips"] / weight,
        "direct": numerator["direct"] / n,
        "robust": numerator["robust"] / n,
    }


def all_terms(log, clip=None):
    weighted = log["probability"], log["reward"], log["propensity"], clip
    return {
        "replay": estimators.replay(log["probability"], log["reward"]),
        "ips": estimators.ips(*weighted),
        "snips": estimators.snips(*weighted),
        "direct": estimators.direct_method(log["probabilities"], log["predictions"]),
        "robust": estimators.doubly_robust(
            log["probabilities"], log["predictions"], log["arm"], log["reward"], log["propensity"], clip
        ),
    }


@pytest.mark.parametrize("clip", [None, 1.5])
def test_the_estimators_agree_with_a_computation_row_by_row(clip):
    log = make_log()
    expected = textbook(log, math.inf if clip is None else clip)
    for name, terms in all_terms(log, clip).items():
        assert terms.value() == pytest.approx(expected[name], rel=1e-12), name
        assert terms.estimate().value == pytest.approx(expected[name], rel=1e-12), name


def test_the_logging_policy_itself_has_the_logged_value():
    log = make_log()
    weighted = log["propensity"], log["reward"], log["propensity"]
    for terms in (estimators.ips(*weighted), estimators.snips(*weighted)):
        estimate = terms.estimate()
        assert estimate.value == pytest.approx(log["reward"].mean())
        assert estimate.standard_error == pytest.approx(
            log["reward"].std(ddof=1) / np.sqrt(len(log["reward"])), rel=1e-3
        )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: estimators.ips([0.5], [1.0], [0.0]), "propensity must be above 0 and at most 1, got 0.0"),
        (lambda: estimators.snips([0.5], [1.0], [1.5]), "propensity must be above 0 and at most 1, got 1.5"),
        (lambda: estimators.ips([1.5], [1.0], [0.5]), "probability must be between 0 and 1, got 1.5"),
        (
            lambda: estimators.ips([0.5], [math.nan], [0.5]),
            "reward must be finite; leave out rows with missing values",
        ),
        (lambda: estimators.ips([0.5], ["much"], [0.5]), "reward must be numbers, one number per row"),
        (lambda: estimators.ips([[0.5]], [1.0], [0.5]), r"probability must be numbers, .*, got 2 dimension\(s\)"),
        (
            lambda: estimators.ips([0.5], [1.0, 0.0], [0.5]),
            "arrays must have one entry per row, got 1 of probability, 2 of rew",
        ),
        (lambda: estimators.replay([0.5], [1.0, 0.0]), "arrays must have one entry per row"),
        (lambda: estimators.ips([0.5], [1.0], [0.5], clip=0.0), "clip must be above 0, got 0.0"),
        (
            lambda: estimators.direct_method([[0.5, 0.5]], [[1.0]]),
            r"predictions must have the shape .*, got \(1, 1\)",
        ),
        (
            lambda: estimators.doubly_robust([[0.5, 0.5]], [[1.0, 0.0]], [2], [1.0], [0.5]),
            "arm must be the column of the chosen arm, an integer from 0 to 1",
        ),
    ],
)
def test_invalid_arrays(call, message):
    with pytest.raises(ValueError, match=message):
        call()
