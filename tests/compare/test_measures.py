"""Every measure against its definition, on small runs that can be computed by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbandits.compare.measures import (
    alpha_fair_welfare,
    exploration_burdens,
    gini,
    measure_run,
    nash_welfare,
    tolerance_violation,
)
from fairbandits.compare.oracle import gaps_on_same_users, pool, smallest_gap
from fairbandits.compare.run_summary import RUN_SUMMARIES, WINDOWS, RunSummary, summarise_trace
from fairbandits.compare.subgroups import SubgroupMeans, assessed_groups
from fairbandits.compare.suite import LAST_FIFTH, TEST_PART
from fairbandits.policies import LinUCB
from fairbandits.simulate import Run, simulate
from fairbandits.worlds import LinearWorld

FEMALE, MALE = ("group", "female"), ("group", "male")
GROUPS = ((FEMALE,), (MALE,))
shares = st.lists(st.integers(1, 100), min_size=1, max_size=8).map(lambda values: np.array(values) / 100)


def run_of(female, male, best=1.0, rounds=(30, 10)):
    """Return a run in which groups have these mean rewards in every window."""
    count = np.tile(np.array(rounds, float), (WINDOWS, 1))
    means = np.column_stack([np.broadcast_to(female, WINDOWS), np.broadcast_to(male, WINDOWS)])
    shown = {TEST_PART: np.array([60, 20]), LAST_FIFTH: np.array([40, 0])}
    return RunSummary("data", GROUPS, count, count * means, count * best, count * 0, shown, ("a", "b"))


def test_the_measures_of_a_run():
    found = measure_run(run_of(0.8, 0.4), TEST_PART, [FEMALE, MALE], [FEMALE, MALE], 0.01, n_arms=4)
    assert found == pytest.approx(
        {
            "utility_loss": 0.3,
            "reward_gap": 0.4,
            "late_gap": 0.4,
            "worst_off_reward": 0.4,
            "reward": 0.7,
            "reward_ratio": 0.5,
            "nash_welfare": np.sqrt(0.32),
            "alpha_fair_welfare": 2 / (1 / 0.8 + 1 / 0.4),
            "exposure_gini": 0.625,
            "arms_shown": 0.5,
            "violation": 1.0,
            "exploration_burden": np.nan,
            "reward_female": 0.8,
            "reward_male": 0.4,
            "regret_female": 0.2,
            "regret_male": 0.6,
        },
        nan_ok=True,
    )


def test_groups_with_the_name_of_a_measure_are_refused():
    gap = ("group", "gap")
    run = replace(run_of(0.8, 0.4), groups=((gap,), (MALE,)))
    with pytest.raises(ValueError, match="groups must not be named 'gap' or 'ratio', got 'gap'; rename the group"):
        measure_run(run, TEST_PART, [gap, MALE], [gap, MALE], 0.01, n_arms=4)


def test_groups_that_do_not_count_are_reported():
    found = measure_run(run_of(0.8, 0.4), TEST_PART, [FEMALE], [FEMALE, MALE], 0.01, n_arms=2)
    assert found["reward_gap"] == 0
    assert found["worst_off_reward"] == found["reward_female"] == pytest.approx(0.8)
    assert found["reward_male"] == pytest.approx(0.4)


def test_the_violation_is_the_share_of_the_run_above_the_tolerance():
    # The gap of the means so far is 1 / n after n windows.
    run = run_of(np.eye(WINDOWS)[0], 0.0)
    for tolerance, above in ((0.5, 1), (0.26, 3), (0.0, WINDOWS)):
        assert tolerance_violation(run, [FEMALE, MALE], tolerance) == pytest.approx(above / WINDOWS)


def test_the_exploration_burden_compares_the_cost_of_learning():
    learned = np.arange(WINDOWS) >= WINDOWS // 2
    run = run_of(np.where(learned, 0.9, 0.8), np.where(learned, 0.9, 0.5))
    # Learning cost females 0.1 and males 0.4, three quarters and one quarter of the users.
    average = 0.75 * 0.1 + 0.25 * 0.4
    assert exploration_burdens(run, [FEMALE, MALE]) == pytest.approx({FEMALE: 0.1 / average, MALE: 0.4 / average})
    assert exploration_burdens(run_of(0.9, 0.2), [FEMALE, MALE]) == {}


@given(shares)
def test_welfare_lies_between_the_lowest_reward_and_the_mean(means):
    lowest, harmonic, geometric = means.min(), alpha_fair_welfare(means), nash_welfare(means)
    assert lowest - 1e-12 <= harmonic <= geometric + 1e-12 <= means.mean() + 2e-12
    assert alpha_fair_welfare(means, 0.0) == pytest.approx(means.mean())


def test_welfare_is_zero_if_a_group_receives_nothing():
    assert nash_welfare(np.array([0.0, 1.0])) == alpha_fair_welfare(np.array([0.0, 1.0])) == 0


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8))
def test_gini_is_the_mean_difference_over_twice_the_mean(counts):
    values = np.array(counts)
    expected = np.abs(values[:, None] - values).mean() / (2 * values.mean()) if values.any() else 0.0
    assert gini(values[values > 0], len(values)) == pytest.approx(expected)


def test_the_summary_of_a_trace_has_its_parts():
    trace = simulate(LinUCB(random_state=0), LinearWorld(rounds=103))
    summary = summarise_trace(trace)
    for share, rounds in ((TEST_PART, 41), (LAST_FIFTH, 21)):
        part, last = summary.part(share), trace.last(rounds)
        assert part.count.sum() == rounds
        assert part.overall_mean(part.mean) == pytest.approx(last.expected.mean())
        assert part.overall_mean(part.best - part.worst) == pytest.approx((last.best - last.worst).mean())
        assert dict(zip(summary.arms, summary.shown[share].tolist(), strict=True)) == {
            arm: (last.arm == arm).sum() for arm in summary.arms
        }


def test_summaries_are_cached_in_place_of_traces(tmp_path):
    run = Run(LinUCB, LinearWorld, 0, world_params={"rounds": 100})
    first = run.summarise(RUN_SUMMARIES, tmp_path)
    (path,) = tmp_path.iterdir()
    modified = path.stat().st_mtime_ns
    again = run.summarise(RUN_SUMMARIES, tmp_path)
    assert path.stat().st_mtime_ns == modified
    assert again.to_bytes() == first.to_bytes()
    assert again.groups == first.groups
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"is not the summary of a run .*; delete it"):
        RunSummary.load(path)
    assert run.summarise(RUN_SUMMARIES, tmp_path).to_bytes() == first.to_bytes()


def means_of(counts, best, worst):
    return SubgroupMeans(GROUPS, np.array(counts, float), np.array(best), np.array(best), np.array(worst))


def test_groups_need_a_number_of_rounds_over_all_seeds():
    seeds = [means_of((390, 10), (0.9, 0.9), (0.0, 0.0))] * 20
    assert list(assessed_groups(seeds, 200)) == [FEMALE, MALE]
    assert list(assessed_groups(seeds, 201)) == [FEMALE]
    assert list(assessed_groups(seeds)) == [FEMALE, MALE]


def test_the_oracle_on_the_same_users_does_not_know_who_will_come():
    # Over both seeds the best arms are fair; in each seed they are not, because users differ.
    seeds = [means_of((50, 50), best, (0.0, 0.0)) for best in ((0.9, 0.8), (0.8, 0.9))]
    assert gaps_on_same_users(seeds, 0.01, [FEMALE, MALE]) == pytest.approx([0.1, 0.1])
    pooled = pool(seeds)
    assert pooled.best == pytest.approx([0.85, 0.85])
    assert pooled.count.sum() == 200


def test_the_oracle_on_the_same_users_where_no_policy_meets_the_tolerance():
    apart = [means_of((50, 50), (0.3, 0.9), (0.1, 0.5))]
    assert smallest_gap(apart[0], [FEMALE, MALE]) == pytest.approx(0.2)
    assert gaps_on_same_users(apart, 0.01, [FEMALE, MALE]) == pytest.approx([0.2], abs=1e-5)


def test_a_subgroup_that_is_missing_from_a_seed():
    one = SubgroupMeans(GROUPS[:1], np.array([9.0]), *(np.array([value]) for value in (0.5, 0.9, 0.0)))
    both = means_of((50, 50), (0.9, 0.7), (0.0, 0.0))
    assert len(gaps_on_same_users([one, both], 0.01, [FEMALE, MALE])) == 2
