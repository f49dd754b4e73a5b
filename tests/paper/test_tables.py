"""Published numbers, settings of the experiments, and entries of tables."""

import dataclasses

import numpy as np
import pytest

from fairbandits import FairLinUCB, LinUCB, NaiveLinUCB
from fairbandits.paper import tables, theory
from fairbandits.paper.experiments import (
    EXPERIMENTS,
    FAIR,
    LINUCB,
    TABLES,
    RunLength,
    as_experiments,
    settings_of,
)
from fairbandits.paper.published import PUBLISHED, is_known_deviation, published_row
from fairbandits.simulate import simulate_many

TINY = RunLength(train=30, test=20)


def test_the_experiments_are_exactly_the_published_rows():
    for name, rows in TABLES.items():
        paths = []
        for outer, inner in PUBLISHED[name].items():
            if outer == "arm_ratio":
                continue
            paths += [(outer,)] if "calibration" in inner else [(outer, row) for row in inner]
        assert sorted(paths) == sorted(rows)


def test_published_gaps_are_the_differences_of_published_means():
    for name, rows in TABLES.items():
        for path in rows:
            row = published_row(name, path)
            if "cmr_male" in row:
                assert abs(row["cmr_male"] - row["cmr_female"]) == pytest.approx(row["reward_gap"], abs=1e-9)


def test_rows_with_equal_settings_share_their_runs():
    assert [rows[path] for name, rows in TABLES.items() for path in rows].count(LINUCB) == 3
    settings = settings_of(EXPERIMENTS)
    assert settings.count(LINUCB) == settings.count(FAIR) == 1
    assert len(settings) == 16


def test_settings_are_those_of_the_paper():
    for setting in settings_of(EXPERIMENTS):
        run = setting.run(0, data="stand-in")
        assert run.policy_params["alpha"] == 0.5
        assert run.policy_params["ridge"] == 1.0
        assert (run.world_params["train"], run.world_params["test"]) == (3000, 2000)
        assert run.make_policy().model == "disjoint"
    assert FAIR.run(0).policy is FairLinUCB
    assert FAIR.run(0).policy_params["gamma"] == 3.0
    naive = TABLES["table_comparison"][("naive",)].run(0)
    assert naive.policy is NaiveLinUCB
    assert len(naive.policy_params["drop"]) == 8
    first = TABLES["figure_order"][("linucb", "males_first")].run(0)
    assert first.policy is LinUCB
    assert first.world_params["order"] == "males_first"
    assert (first.world_params["male_videos"], first.world_params["female_videos"]) == (70, 30)


def test_gamma_0_is_bitwise_identical_to_linucb(source):
    fair = dataclasses.replace(FAIR, gamma=0.0)
    one, other = simulate_many([setting.run(0, TINY, source) for setting in (LINUCB, fair)])
    assert one.to_bytes() == other.to_bytes()


def test_experiments_by_name():
    assert as_experiments([]) == EXPERIMENTS
    with pytest.raises(ValueError, match=r"experiments must be among table_comparison, .*, got 'table_9'"):
        as_experiments(["table_9"])


@pytest.mark.parametrize(
    ("values", "within"),
    [
        ([0.1, 0.1], True),
        ([0.1079, 0.1079], True),
        ([0.109, 0.109], False),
        ([0.10, 0.14], True),  # mean 0.12, sd 0.028
        ([0.13], False),
    ],
)
def test_within(values, within):
    entry = tables.as_entry(values, 0.1)
    assert entry.within is within
    assert entry.n == len(values)
    assert (entry.sd is None) == (len(values) == 1)


def test_unpublished_numbers_have_no_agreement():
    assert tables.as_entry([0.1, 0.2], None).within is None
    assert tables.agreement(tables.as_entry([0.1, 0.2], None), known_deviation=False) == ""


def test_agreement_with_the_paper():
    miss = tables.as_entry([0.2, 0.2], 0.1)
    assert tables.agreement(miss, known_deviation=False) == "NOT reproduced"
    assert tables.agreement(miss, known_deviation=True) == "known deviation"
    assert tables.agreement(tables.as_entry([0.1, 0.1], 0.1), known_deviation=True) == "reproduced"


def test_mean_rewards_deviate_where_the_loss_deviates():
    deviating = published_row("table_arm_ratio", ("fair_linucb_gamma_3", "7:3"))
    assert is_known_deviation(deviating, "utility_loss")
    assert is_known_deviation(deviating, "cmr_male")
    assert not is_known_deviation(deviating, "reward_gap")
    reproduced = published_row("table_arm_ratio", ("linucb", "7:3"))
    assert not is_known_deviation(reproduced, "cmr_male")


def test_entries_are_means_over_seeds(source):
    traces = {
        setting: simulate_many([setting.run(seed, TINY, source) for seed in range(3)])
        for setting in settings_of(["table_comparison"])
    }
    table = tables.as_table("table_comparison", traces)
    losses = [trace.metrics()["utility_loss"] for trace in traces[LINUCB]]
    entry = table[("linucb",)]["utility_loss"]
    assert entry.mean == pytest.approx(np.mean(losses))
    assert entry.sd == pytest.approx(np.std(losses, ddof=1))
    assert entry.published == 0.05
    assert table[("naive",)]["cmr_male"].published is None
    text = tables.to_csv("table_comparison", table, "which data")
    assert text.splitlines()[0] == "# which data"
    assert len(text.splitlines()) == 2 + 3 * len(tables.METRIC_TITLES)


def test_regret_stays_below_the_bound():
    traces = {gamma: simulate_many(runs) for gamma, runs in theory.runs(2, 300).items()}
    summaries = theory.summarise(traces)
    assert set(summaries) == set(theory.GAMMAS)
    for summary in summaries.values():
        assert summary.bound_holds
        assert 0 < summary.mean <= summary.largest < summary.bound
    assert summaries[3.0].bound == pytest.approx(2.5 * summaries[0.0].bound)
    assert theory.to_csv(summaries).startswith("# synthetic data: LinearWorld")


def test_a_violated_bound_is_reported(monkeypatch):
    monkeypatch.setattr(theory, "bound", lambda rounds, gamma: np.full(len(rounds), 0.5))
    traces = {gamma: simulate_many(runs) for gamma, runs in theory.runs(1, 50).items()}
    assert not any(summary.bound_holds for summary in theory.summarise(traces).values())
