"""The fading shared model against sums computed from all rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits.models import FadingSharedModel, as_rows

RIDGE, WIDTH = 0.7, 4


class FadingByHand:
    """A = ridge part + weighted rows, all of which fade; the ridge is whole again when it has halved."""

    def __init__(self, discount):
        self.discount, self.faded = discount, 1.0
        self.A, self.b = RIDGE * np.eye(WIDTH), np.zeros(WIDTH)

    def learn(self, x, reward):
        self.A, self.b = self.discount * self.A + np.outer(x, x), self.discount * self.b + reward * x
        self.faded *= self.discount
        if self.faded <= 0.5:
            self.A += (1 - self.faded) * RIDGE * np.eye(WIDTH)
            self.faded = 1.0

    def score(self, x):
        return x @ np.linalg.solve(self.A, self.b), np.sqrt(x @ np.linalg.solve(self.A, x))


def taught(n, seed, discount=0.9, model=None):
    rng = np.random.default_rng(seed)
    model = model or FadingSharedModel(WIDTH, RIDGE, discount=discount)
    rows, rewards = rng.normal(size=(n, WIDTH)), rng.random(n)
    for x, reward in zip(rows, rewards, strict=True):
        model.learn(0, as_rows(x[None]).row(0, 0), reward)
    return model, rows, rewards


@given(st.integers(0, 300), st.integers(0, 1000), st.sampled_from([0.5, 0.9, 0.99]))
@settings(max_examples=30, deadline=None)
def test_it_is_the_regression_of_faded_rows(n, seed, discount):
    model, rows, rewards = taught(n, seed, discount)
    by_hand = FadingByHand(discount)
    for x, reward in zip(rows, rewards, strict=True):
        by_hand.learn(x, reward)
    x = np.random.default_rng(seed + 1).normal(size=WIDTH)
    mean, width = model.score(as_rows(x[None]), np.array([0]))
    expected = by_hand.score(x)
    assert mean.item() == pytest.approx(expected[0], rel=1e-9, abs=1e-9)
    assert width.item() == pytest.approx(expected[1], rel=1e-9)


@pytest.mark.parametrize(("here", "there"), [(0, 20), (15, 20), (20, 0), (3, 7)])
def test_merging_adds_what_both_remember(here, there):
    left, right = taught(here, 0)[0], taught(there, 1)[0]
    A = np.zeros((WIDTH, WIDTH))
    b = np.zeros(WIDTH)
    for model in (left, right):
        if model.n_slots:
            A += model.gram_of(0) / model.growth - RIDGE / model.growth * np.eye(WIDTH)
            b += model.moment[0] / model.growth
    left.merge(right, [])
    # What is left of the left ridge is restored, unless there was nothing to merge.
    ridge = RIDGE / left.growth if here and not there else RIDGE
    x = np.ones(WIDTH)
    mean, width = left.score(as_rows(x[None]), np.array([0]))
    assert mean.item() == pytest.approx(x @ np.linalg.solve(A + ridge * np.eye(WIDTH), b), rel=1e-9)
    assert width.item() == pytest.approx(np.sqrt(x @ np.linalg.solve(A + ridge * np.eye(WIDTH), x)), rel=1e-9)


def test_a_restored_model_goes_on_as_if_it_had_never_stopped():
    model = taught(23, 0)[0]
    restored = FadingSharedModel(WIDTH, RIDGE, discount=0.9)
    restored.restore(model.arrays())
    again = [taught(17, 1, model=each)[0].arrays() for each in (model, restored)]
    for name, array in again[0].items():
        np.testing.assert_array_equal(array, again[1][name])


def test_draws_have_the_spread_of_the_width():
    model = taught(25, 0)[0]
    assert model.growth > 1.2
    rows = as_rows(np.random.default_rng(5).normal(size=(1, WIDTH)))
    rng = np.random.default_rng(0)
    drawn = [model.sample(rows, np.array([0]), rng).item() for _ in range(4000)]
    assert np.std(drawn) == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("growth", [0.5, 2.0, np.nan])
def test_a_wrong_state_is_refused(growth):
    model = taught(5, 0)[0]
    with pytest.raises(ValueError, match=r"growth must be from 1 to 2, got"):
        model.restore(model.arrays() | {"growth": np.array([growth])})
