"""One name, one quantity: the same trace has the same metrics in every output."""

import re

import numpy as np
import pytest

from fairbandits.cli.app import main
from fairbandits.compare.run_summary import summarise_trace
from fairbandits.compare.suite import SuiteWorld
from fairbandits.compare.summary import summarise_world
from fairbandits.fairness import metrics
from fairbandits.paper import tables
from fairbandits.paper.experiments import TABLES
from fairbandits.policies import FairLinUCB
from fairbandits.simulate import Run
from fairbandits.worlds import StudentsAndVideos

NOISY = {"train": 300, "test": 200, "male_videos": 3, "female_videos": 7, "noise": 0.2, "data": "stand-in"}
SHARED = ("utility_loss", "reward_gap", "worst_off_reward")


def run(**world):
    return Run(FairLinUCB, StudentsAndVideos, 0, {"gamma": 1.0}, {**NOISY, **world})


def compared(trace):
    """Return the metrics that a comparison computes from a trace."""
    summary = summarise_world(SuiteWorld(""), {"policy": [summarise_trace(trace)]}, tolerance=0.01)
    return {name: mean for name, (mean, _) in summary.policies["policy"].metrics.items()}


@pytest.fixture(scope="module")
def trace():
    return run().simulate()


def test_noise_makes_observed_rewards_differ(trace):
    values, part = trace.metrics(), trace.in_part("test")
    assert abs(values["reward_gap"] - values["observed_reward_gap"]) > 0.001
    assert abs(values["utility_loss"] - np.mean(part.best - part.reward)) > 0.001


def test_a_comparison_has_the_metrics_of_the_trace(trace):
    values, of_compare = trace.metrics(), compared(trace)
    assert {name: of_compare[name] for name in SHARED} == pytest.approx({name: values[name] for name in SHARED})
    for group in ("female", "male"):
        assert of_compare[f"regret_{group}"] == pytest.approx(values[f"regret_{group}"])
        assert of_compare[f"reward_{group}"] == pytest.approx(values[f"cmr_{group}"])


def test_a_comparison_leaves_out_the_same_small_groups():
    trace = run(sensitive=["sex", "race"]).simulate()
    rounds = metrics.group_rounds(trace.in_part("test").group["race"])
    assert len(metrics.assessed_groups(rounds)) < len(rounds)
    values, of_compare = trace.metrics(), compared(trace)
    assert {name: of_compare[name] for name in SHARED} == pytest.approx({name: values[name] for name in SHARED})


def test_the_papers_tables_have_the_metrics_of_the_trace(trace):
    rows = TABLES["table_gamma"]
    table = tables.as_table("table_gamma", {setting: [trace] for setting in rows.values()})
    values = trace.metrics()
    for path in rows:
        assert {metric: entry.mean for metric, entry in table[path].items()} == pytest.approx(
            {metric: values[metric] for metric in tables.METRIC_TITLES}
        )


def test_the_command_prints_the_metrics_of_the_trace(trace, tmp_path, capsys):
    world = [f"--with={name}={value}" for name, value in NOISY.items() if name != "data"]
    status = main(["simulate", "--set=gamma=1.0", *world, "--data=stand-in", f"--out={tmp_path}"])
    assert status == 0
    printed = dict(re.findall(r"(\w+)\W+[\d.]+\W+([\d.]+)", capsys.readouterr().out))
    expected = {name: f"{value:.4f}" for name, value in trace.metrics().items()}
    assert {name: printed[name] for name in expected} == expected
