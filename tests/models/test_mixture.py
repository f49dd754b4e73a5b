"""The mixture of models: its weights, its bound on squared errors, its state."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits import EvenLinUCB, LinTS, LinUCB, Model
from fairbandits.models import DisjointModel, HybridModel, MixtureModel, SharedModel, as_rows, mixture
from fairbandits.models.mixture import HANDICAP, MOST_SCALE, PRIOR_ROUNDS, RATE, TYPICAL_ERROR, WINDOW
from fairbandits.policies.policy import Policy
from tests.helpers import contexts_for, teach

WIDTH = 3


def one_row(x):
    return as_rows(np.asarray(x, float)[None])


def played(n=60, seed=0, n_arms=3):
    """Return a mixture that has learned, and the clipped predictions of its experts before each reward."""
    rng = np.random.default_rng(seed)
    model, predictions, rewards = MixtureModel(WIDTH, 1.0), [], []
    for _ in range(n):
        x, arm, reward = rng.random(WIDTH), int(rng.integers(n_arms)), float(rng.random())
        found = [expert.score(one_row(x), np.array([arm]))[0].item() for expert in model.experts.values()]
        predictions.append(np.clip(found, 0.0, 1.0))
        rewards.append(reward)
        model.learn(arm, one_row(x).row(0, 0), reward)
    return model, np.array(predictions), np.array(rewards)


def test_weights_are_exponential_in_the_discounted_squared_errors():
    model, predictions, rewards = played(200)
    ages = np.arange(len(rewards))[::-1]
    losses = ((1 - 1 / WINDOW) ** (ages + 1)) @ (predictions - rewards[:, None]) ** 2
    losses += (1 - 1 / WINDOW) ** len(rewards) * np.array([0.0, HANDICAP, 0.0, HANDICAP])
    weights = np.exp(-RATE * losses)
    np.testing.assert_allclose(list(model.weights().values()), weights / weights.sum(), rtol=1e-9)


def test_experts_are_the_models_themselves():
    rng = np.random.default_rng(0)
    model = MixtureModel(WIDTH, 0.5)
    alone = {
        "disjoint": DisjointModel(WIDTH, 0.5),
        "shared": SharedModel(WIDTH, 0.5),
        "hybrid": HybridModel(WIDTH, 0.5),
    }
    for _ in range(50):
        row, arm, reward = one_row(rng.random(WIDTH)).row(0, 0), int(rng.integers(2)), float(rng.random())
        for each in (model, *alone.values()):
            each.learn(arm, row, reward)
    rows, arms = one_row(rng.random(WIDTH)), np.array([1])
    for name, expert in alone.items():
        np.testing.assert_array_equal(expert.score(rows, arms), model.experts[name].score(rows, arms))


@given(
    st.lists(st.tuples(st.lists(st.floats(0, 1), min_size=4, max_size=4), st.floats(0, 1)), max_size=60),
    st.sampled_from([3.0, 20.0, 1000.0]),
)
@settings(max_examples=200, deadline=None)
def test_the_bound_on_squared_errors_holds_for_any_predictions_and_rewards(rounds, window):
    """The inequality of the docstring, for adversarial predictions instead of those of the models."""
    fade = 1 - 1 / window
    losses, of_mixture = np.array([0.0, HANDICAP, 0.0, HANDICAP]), 0.0
    for predictions, reward in rounds:
        weights = np.exp(-RATE * (losses - losses.min()))
        predicted = weights @ predictions / weights.sum()
        of_mixture = fade * (of_mixture + (predicted - reward) ** 2)
        losses = fade * (losses + (np.array(predictions) - reward) ** 2)
        assert of_mixture <= losses.min() + np.log(4) / RATE + 1e-9


def test_the_bound_holds_for_the_models_of_a_stream():
    model, predictions, rewards = played(300, seed=3)
    fade, of_mixture = 1 - 1 / WINDOW, 0.0
    losses = np.array([0.0, HANDICAP, 0.0, HANDICAP])
    for each, reward in zip(predictions, rewards, strict=True):
        weights = np.exp(-RATE * (losses - losses.min()))
        of_mixture = fade * (of_mixture + (weights @ each / weights.sum() - reward) ** 2)
        losses = fade * (losses + (each - reward) ** 2)
        assert of_mixture <= losses.min() + np.log(4) / RATE
    np.testing.assert_allclose(model.losses, losses, rtol=1e-9)


def test_widths_follow_the_measured_error_of_the_mixture():
    model, predictions, rewards = played(300, seed=3)
    fade, losses, own, n = 1 - 1 / WINDOW, np.array([0.0, HANDICAP, 0.0, HANDICAP]), 0.0, 0.0
    for each, reward in zip(predictions, rewards, strict=True):
        weights = np.exp(-RATE * (losses - losses.min()))
        own, n = fade * (own + (weights @ each / weights.sum() - reward) ** 2), fade * (n + 1.0)
        losses = fade * (losses + (each - reward) ** 2)
    np.testing.assert_allclose(model.own_loss, [own, n], rtol=1e-9)
    error = np.sqrt((own + PRIOR_ROUNDS * TYPICAL_ERROR**2) / (n + PRIOR_ROUNDS))
    assert model.scale() == pytest.approx(error / TYPICAL_ERROR)


@pytest.mark.parametrize(("noise", "scale"), [(0.0, 0.3), (0.5, MOST_SCALE)])
def test_widths_are_scaled_within_limits(noise, scale):
    rng, model = np.random.default_rng(0), MixtureModel(WIDTH, 1.0)
    assert model.scale() == 1.0
    for _ in range(4000):
        x = rng.random(WIDTH)
        model.learn(0, one_row(x).row(0, 0), float(x.mean() if not noise else rng.random() < 0.5))
    assert model.scale() == pytest.approx(scale, abs=0.02)


def test_predictions_are_weighted_means_and_linear():
    model, _, _ = played(100)
    rows = as_rows(np.random.default_rng(9).random((3, WIDTH)))
    arms = np.array([0, 1, -1])
    mean, width = model.score(rows, arms)
    each = np.array([expert.score(rows, arms) for expert in model.experts.values()])
    weights = np.array(list(model.weights().values()))
    # Those that have lost are left out.
    weights[weights < 0.01 * weights.max()] = 0.0
    expected = np.tensordot(weights / weights.sum(), each, 1) * np.array([1.0, model.scale()])[:, None, None]
    np.testing.assert_allclose([mean, width], expected, rtol=1e-9)
    for place, arm in enumerate(arms):
        assert model.coefficients(int(arm)) @ rows.toarray()[place] == pytest.approx(mean[0, place])


def test_an_expert_that_has_lost_is_not_asked_and_comes_back_when_it_predicts_better(monkeypatch):
    model = MixtureModel(WIDTH, 1.0)
    model.losses = np.array([50.0, 0.0, 50.0, 50.0])
    model._set_weights()
    rows, arms = one_row(np.ones(WIDTH)), np.array([0])
    asked = []
    for name, expert in model.experts.items():
        score = expert.score
        monkeypatch.setattr(expert, "score", lambda *a, name=name, score=score: asked.append(name) or score(*a))
    model.score(rows, arms)
    assert asked == ["shared"]
    model.losses = np.array([0.0, 50.0, 0.5, 50.0])
    model._set_weights()
    asked.clear()
    model.score(rows, arms)
    assert asked == ["disjoint", "hybrid"]


def test_the_fading_model_takes_over_when_rewards_change():
    rng = np.random.default_rng(0)
    model = MixtureModel(2, 1.0)
    for t in range(1500):
        x = rng.random(2)
        model.learn(0, one_row(x).row(0, 0), float(x[0] if t < 1000 else x[1]))
    weights = model.weights()
    assert max(weights, key=weights.get) == "fading"
    assert model.score(one_row([0.0, 1.0]), np.array([0]))[0].item() > 0.8


@pytest.mark.parametrize("kind", [LinUCB, EvenLinUCB, LinTS])
def test_a_saved_policy_goes_on_as_if_it_had_never_stopped(kind, tmp_path):
    policy, _ = teach(kind(model="auto"), 80)
    policy.save(tmp_path / "policy.safetensors")
    loaded = Policy.load(tmp_path / "policy.safetensors")
    assert loaded.checksum() == policy.checksum()
    teach(policy, 40, seed=5)
    teach(loaded, 40, seed=5)
    assert loaded.checksum() == policy.checksum()


def test_policies_merge():
    left, right = (teach(LinUCB(model="auto", random_state=0), seed=seed)[0] for seed in (1, 2))
    merged = left.merge(right)
    both = [policy.reward_model for policy in (left, right)]
    np.testing.assert_allclose(merged.reward_model.losses, (both[0].losses + both[1].losses) / 2)
    means = [model.own_loss[0] / model.own_loss[1] for model in both]
    n = sum((1 - 1 / WINDOW) ** age for age in range(1, 121))
    np.testing.assert_allclose(merged.reward_model.own_loss, [n * np.mean(means), n])
    nothing = left.merge(LinUCB(model="auto", random_state=0))
    np.testing.assert_array_equal(nothing.reward_model.losses, both[0].losses)
    np.testing.assert_array_equal(nothing.reward_model.own_loss, both[0].own_loss)
    assert merged.rounds_learned == 120
    rows = contexts_for(np.random.default_rng(4))
    assert np.isfinite(merged.score(rows[None]).mean).all()


def test_a_catalogue_too_large_for_the_hybrid_model_goes_without_it(monkeypatch):
    monkeypatch.setattr(mixture, "_MOST_HYBRID_BYTES", 5 * WIDTH * (WIDTH + 1) * 8)
    model, _, _ = played(100, n_arms=5)
    assert model.weights()["hybrid"] > 0.0
    model, _, _ = played(100, n_arms=6)
    assert model.weights()["hybrid"] == 0.0
    assert sum(model.weights().values()) == pytest.approx(1.0)
    restored = MixtureModel(WIDTH, 1.0)
    restored.restore(model.arrays())
    assert restored.weights() == model.weights()


@pytest.mark.parametrize("big_first", [True, False])
def test_a_hybrid_model_that_was_given_up_stays_empty_when_policies_merge(monkeypatch, big_first):
    monkeypatch.setattr(mixture, "_MOST_HYBRID_BYTES", 5 * WIDTH * (WIDTH + 1) * 8)
    big, _, _ = played(60, n_arms=8)
    small, _, _ = played(60, n_arms=2)
    assert small.weights()["hybrid"] > 0.0 == big.weights()["hybrid"]
    merged, other = (big, small) if big_first else (small, big)
    merged.merge(other, [(arm, arm) for arm in range(8 if other is big else 2)])
    assert merged.weights()["hybrid"] == 0.0
    empty = MixtureModel(WIDTH, 1.0).experts["hybrid"].arrays()
    hybrid = merged.experts["hybrid"].arrays()
    assert {name: array.shape for name, array in hybrid.items()} == {k: a.shape for k, a in empty.items()}
    assert other.experts["hybrid"].arrays()["arms.moment"].size == (0 if other is big else 2 * WIDTH)


def test_arms_that_are_too_many_only_together_go_without_the_hybrid_model(monkeypatch):
    monkeypatch.setattr(mixture, "_MOST_HYBRID_BYTES", 5 * WIDTH * (WIDTH + 1) * 8)
    left, right = (played(60, seed=seed, n_arms=4)[0] for seed in (1, 2))
    left.merge(right, [(arm + 4, arm) for arm in range(4)])
    assert left.weights()["hybrid"] == 0.0
    assert left.experts["hybrid"].arrays()["arms.moment"].size == 0
    assert sum(left.weights().values()) == pytest.approx(1.0)


def test_a_row_that_no_expert_can_learn_is_refused_and_changes_nothing():
    model, _, _ = played(20)
    before = {name: array.copy() for name, array in model.arrays().items()}
    with pytest.raises(ValueError, match="float64"):
        model.learn(0, one_row([1e30, 1e30, 1e30]).row(0, 0), 0.5)
    for name, array in model.arrays().items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize("losses", [[0.0] * 3, [-1.0, 0.0, 0.0, 0.0], [np.inf] * 4, [np.nan] * 4])
def test_a_wrong_state_is_refused(losses):
    model, _, _ = played(5)
    with pytest.raises(ValueError, match="losses must be 4 non-negative numbers, got"):
        model.restore(model.arrays() | {"losses": np.array(losses)})


@pytest.mark.parametrize("own_loss", [[0.0], [-1.0, 0.0], [0.0, np.inf], [np.nan, 1.0], [2.0, 1.0], [0.0, 1e300]])
def test_a_wrong_sum_of_its_own_errors_is_refused(own_loss):
    model, _, _ = played(5)
    with pytest.raises(
        ValueError, match="own_loss must be two numbers in ascending order, from 0 to below 1000, got"
    ):
        model.restore(model.arrays() | {"own_loss": np.array(own_loss)})


def test_forgotten_arms_are_new_again():
    policy, _ = teach(LinUCB(model="auto", random_state=0))
    policy.forget_arm(2)
    mixed = policy.reward_model
    assert not mixed.experts["disjoint"].coefficients(2).any()


@pytest.mark.parametrize("options", [{"discount": 0.9}, {"link": "logistic"}])
def test_auto_has_no_link_and_no_discount(options):
    with pytest.raises(ValueError, match="kind must be disjoint, shared or hybrid for a link or a discount"):
        Model(kind="auto", **options)
