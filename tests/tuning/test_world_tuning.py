"""Tuning in worlds."""

from functools import partial

import numpy as np
import pytest

from fairbandits import EvenLinUCB, FairLinUCB, LinUCB
from fairbandits.simulate import simulate
from fairbandits.tuning import tune
from fairbandits.worlds import LinearWorld

GRID = {"alpha": [0.1, 1.0], "model__kind": ["disjoint", "shared"]}


def world(seed, rounds=200):
    return LinearWorld(rounds=rounds, random_state=seed)


@pytest.fixture(scope="module")
def result():
    return tune(LinUCB(), GRID, world, seeds=4)


def test_the_figures_are_those_of_simulations(result):
    assert len(result.trials) == 4
    trial = result.trials[-1]
    traces = [
        simulate(LinUCB(random_state=2**32 + seed).set_params(**trial.params), world(seed)) for seed in range(4)
    ]
    losses = np.array([trace.metrics()["utility_loss"] for trace in traces])
    assert trial.figures["utility_loss"] == pytest.approx(losses.mean())
    assert trial.figures["utility_loss_error"] == pytest.approx(losses.std(ddof=1) / 2)
    gaps = [trace.metrics()["reward_gap"] for trace in traces]
    assert trial.reward_gap == pytest.approx(np.mean(gaps))


def test_the_lowest_loss_is_chosen(result):
    losses = [trial.figures["utility_loss"] for trial in result.trials]
    assert losses == sorted(losses)
    assert result.best_params == result.trials[0].params
    assert result.best_policy.rounds_learned == 0
    assert result.best_policy.alpha == result.best_params["alpha"]
    behind = [row["behind_best"] for row in result.table()]
    assert behind == pytest.approx(np.array(losses) - losses[0])
    assert (result.table()[0]["behind_best_error"], result.table()[1]["behind_best_error"] > 0) == (0.0, True)


def test_held_out_figures_come_from_new_worlds(result):
    again = tune(LinUCB(), [{name: [value] for name, value in result.best_params.items()}], Later(), seeds=4)
    assert result.held_out["utility_loss"] == pytest.approx(again.trials[0].figures["utility_loss"], abs=0.01)
    assert result.held_out["utility_loss"] != again.held_out["utility_loss"]
    assert "held out: utility_loss" in repr(result)


class Later:
    """The worlds that are used to confirm the choice."""

    def __call__(self, seed):
        return world(seed + 4)


def test_processes_and_forms_of_worlds_make_no_difference(result):
    parallel = tune(LinUCB(), GRID, partial(world, rounds=200), seeds=4, jobs=2)
    assert parallel.table() == result.table()
    worlds = [world(seed) for seed in range(4)]
    from_list = tune(LinUCB(), GRID, worlds, seeds=99)
    assert from_list.table() == result.table()
    assert from_list.held_out is None
    assert "no held-out estimates; the estimates of the trials are optimistic" in repr(from_list)


def test_a_class_and_a_single_world():
    by_class = tune(LinUCB(), {"alpha": [0.1]}, LinearWorld, seeds=2)
    assert by_class.held_out["utility_loss_error"] > 0
    single = tune(LinUCB(), {"alpha": [0.1, 0.2], "random_state": [7]}, world(0), seeds=2)
    assert single.trials[0].figures["utility_loss_error"] == 0.0
    assert np.isnan(tune(LinUCB(), {"alpha": [0.1]}, world(0), seeds=1).table()[0]["utility_loss_error"])


def test_the_gap_must_be_within_the_tolerance():
    grid = {"gamma": [0.0, 3.0, "auto"]}
    free = tune(FairLinUCB(alpha=0.1), grid, world, seeds=3)
    gaps = {trial.params["gamma"]: trial.reward_gap for trial in free.trials}
    fairest = min(gaps, key=gaps.get)
    bound = tune(FairLinUCB(alpha=0.1), grid, world, seeds=3, tolerance=gaps[fairest])
    assert bound.best_params == {"gamma": fairest}
    assert bound.is_within_tolerance
    assert [row["is_within_tolerance"] for row in bound.table()] == [True, False, False]
    assert [trial.reward_gap for trial in bound.trials] == sorted(gaps.values())
    strict = tune(EvenLinUCB(), {"alpha": [0.1, 0.5]}, world, seeds=2, tolerance=0.0)
    assert not strict.is_within_tolerance
    assert strict.trials[0].reward_gap == min(trial.reward_gap for trial in strict.trials)
    assert "no setting is within the tolerance 0; this one has the smallest gap" in repr(strict)


def test_another_objective():
    grid = {"alpha": [0.1, 0.5, 5.0]}
    most = tune(LinUCB(), grid, world, seeds=2, objective=lambda trace: trace.reward.mean())
    least = tune(LinUCB(), grid, world, seeds=2, objective=lambda trace: -trace.reward.mean())
    assert [trial.params for trial in most.trials] == [trial.params for trial in reversed(least.trials)]
    assert most.to_frame()["objective"].tolist() == [trial.objective for trial in most.trials]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"policy": "LinUCB"}, "policy must be a Policy, got 'LinUCB'"),
        ({"grid": {"beta": [1]}}, "beta is not a parameter of LinUCB"),
        ({"grid": {"alpha": [-1]}}, "alpha must be a number of at least 0"),
        ({"seeds": 0}, "seeds must be an integer of at least 1, got 0"),
        ({"tolerance": -1.0}, "tolerance must be a number of at least 0, got -1.0"),
        ({"jobs": 0}, "jobs must be an integer of at least 1, or -1"),
        (
            {"world_or_log": lambda seed: seed},
            "the function must return a world, with visits.. and a length, got 0",
        ),
        ({"evaluation": {"uniform": True}}, "table and evaluation must be None for worlds, got other values"),
        ({"objective": lambda trace: float("nan")}, "the objective must be a number for at least one setting"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    arguments = {"policy": LinUCB(), "grid": {"alpha": [0.1]}, "world_or_log": world, "seeds": 1} | change
    with pytest.raises(ValueError, match=message):
        tune(**arguments)


def test_without_pandas_the_error_says_so(result, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame needs pandas"):
        result.to_frame()
