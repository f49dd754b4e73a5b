"""Published numbers, settings, cells."""

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
    Size,
    as_experiments,
    settings_of,
)
from fairbandits.paper.published import PUBLISHED, is_far, published_row
from fairbandits.simulate import simulate_many

TINY = Size(train=30, test=20)


def test_every_published_row_is_run_and_no_other():
    for name, rows in TABLES.items():
        paths = []
        for outer, inner in PUBLISHED[name].items():
            if outer == "arm_ratio":
                continue
            paths += [(outer,)] if "calibration" in inner else [(outer, row) for row in inner]
        assert sorted(paths) == sorted(rows)


def test_the_paper_agrees_with_itself():
    for name, rows in TABLES.items():
        for path in rows:
            row = published_row(name, path)
            if "cmr_male" in row:
                assert abs(row["cmr_male"] - row["cmr_female"]) == pytest.approx(
                    row["reward_difference"], abs=1e-9
                )


def test_a_row_that_several_tables_have_is_run_once():
    assert [rows[path] for name, rows in TABLES.items() for path in rows].count(LINUCB) == 3
    settings = settings_of(EXPERIMENTS)
    assert settings.count(LINUCB) == settings.count(FAIR) == 1
    assert len(settings) == 16


def test_settings_are_those_of_the_paper():
    for setting in settings_of(EXPERIMENTS):
        run = setting.run(0, data="standin")
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


def test_gamma_0_is_linucb_to_the_bit(source):
    fair = dataclasses.replace(FAIR, gamma=0.0)
    one, other = simulate_many([setting.run(0, TINY, source) for setting in (LINUCB, fair)])
    assert one.to_bytes() == other.to_bytes()


def test_experiments_by_name():
    assert as_experiments([]) == EXPERIMENTS
    with pytest.raises(ValueError, match="there is no experiment 'table_9'; expected one of table_comparison"):
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
    cell = tables.as_cell(values, 0.1)
    assert cell.within is within
    assert cell.n == len(values)
    assert (cell.sd is None) == (len(values) == 1)


def test_what_was_not_published_is_not_compared():
    assert tables.as_cell([0.1, 0.2], None).within is None
    assert tables.verdict(tables.as_cell([0.1, 0.2], None), far=False) == ""


def test_verdicts():
    miss = tables.as_cell([0.2, 0.2], 0.1)
    assert tables.verdict(miss, far=False) == "NOT within"
    assert tables.verdict(miss, far=True) == "far, as known"
    assert tables.verdict(tables.as_cell([0.1, 0.1], 0.1), far=True) == "within"


def test_a_mean_reward_is_far_where_the_loss_is():
    far = published_row("table_arm_ratio", ("fair_linucb_gamma_3", "7:3"))
    assert is_far(far, "utility_loss")
    assert is_far(far, "cmr_male")
    assert not is_far(far, "reward_difference")
    near = published_row("table_arm_ratio", ("linucb", "7:3"))
    assert not is_far(near, "cmr_male")


def test_cells_are_the_mean_over_seeds(source):
    traces = {
        setting: simulate_many([setting.run(seed, TINY, source) for seed in range(3)])
        for setting in settings_of(["table_comparison"])
    }
    table = tables.as_table("table_comparison", traces)
    losses = [trace.metrics()["utility_loss"] for trace in traces[LINUCB]]
    cell = table[("linucb",)]["utility_loss"]
    assert cell.mean == pytest.approx(np.mean(losses))
    assert cell.sd == pytest.approx(np.std(losses, ddof=1))
    assert cell.published == 0.05
    assert table[("naive",)]["cmr_male"].published is None
    text = tables.to_csv("table_comparison", table, "which data")
    assert text.splitlines()[0] == "# which data"
    assert len(text.splitlines()) == 2 + 3 * len(tables.METRIC_TITLES)


def test_regret_keeps_below_the_bound():
    groups = theory.runs(2, 300)
    found = theory.sum_up({gamma: simulate_many(runs) for gamma, runs in groups.items()})
    assert set(found) == set(theory.GAMMAS)
    for line in found.values():
        assert line.kept
        assert 0 < line.mean <= line.largest < line.bound
    assert found[3.0].bound == pytest.approx(2.5 * found[0.0].bound)
    assert theory.to_csv(found).startswith("# synthetic data: LinearWorld")


def test_a_broken_bound_shows(monkeypatch):
    monkeypatch.setattr(theory, "bound", lambda rounds, gamma: np.full(len(rounds), 0.5))
    traces = {gamma: simulate_many(runs) for gamma, runs in theory.runs(1, 50).items()}
    assert not any(line.kept for line in theory.sum_up(traces).values())
