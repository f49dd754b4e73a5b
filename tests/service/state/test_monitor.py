"""The monitor: correct sums, bitwise identical after a restart, of bounded size."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairbandits.service.log.events import Decided, Entry, Rewarded
from fairbandits.service.state.decider import decide
from fairbandits.service.state.monitor import N_RECENT, Monitor
from tests.service.logs import START, decided, entries
from tests.service.small import USER, small_config, small_recommender

_ARRAYS = ("decided", "explored", "totals", "by_block", "by_arm")
_GROUPS = st.fixed_dictionaries(
    {}, optional={"gender": st.sampled_from(["female", "male"]), "region": st.sampled_from(["north", "south"])}
)
_ROUNDS = st.lists(
    st.fixed_dictionaries(
        {
            "groups": _GROUPS,
            "time": st.floats(START, START + 1e7),
            "explored": st.booleans(),
            "delay": st.floats(0, 1e6),
        }
    ).flatmap(
        lambda one: st.one_of(
            st.fixed_dictionaries(
                {"picked": st.just(("python",)), "reward": st.one_of(st.none(), st.floats(0, 1))}
            ),
            st.fixed_dictionaries(
                {
                    "picked": st.just(("python", "chess")),
                    "reward": st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=2, max_size=2).filter(
                        lambda rewards: any(each is not None for each in rewards)
                    ),
                }
            ),
        ).map(lambda rest: one | rest)
    ),
    max_size=30,
)


def fold(log, **changed):
    monitor = Monitor(small_config(**changed))
    for entry in log:
        monitor.apply(entry)
    return monitor


def state(monitor):
    arrays = {name: getattr(monitor, name).tobytes() for name in _ARRAYS}
    return arrays, monitor._header()


@settings(max_examples=50, deadline=None)
@given(_ROUNDS)
def test_sums_agree_with_the_log(rounds):
    monitor = fold(entries(rounds))
    assert monitor.decisions == len(rounds)
    for number, (attribute, group) in enumerate(monitor.groups):
        own = [one for one in rounds if one["groups"].get(attribute) == group]
        assert monitor.decided[number] == len(own)
        assert monitor.explored[number] == sum(one["explored"] for one in own)
        came = [one["reward"] for one in own if one["reward"] is not None]
        gains = [np.mean([r for r in each if r is not None]) if isinstance(each, list) else each for each in came]
        expected = [len(gains), sum(gains), sum(gain**2 for gain in gains)]
        assert monitor.totals[number] == pytest.approx(expected)
        # Blocks add up to everything; so do arms, but for squares: the mean of a slate is not that of its arms.
        assert monitor.by_block[:, number].sum(axis=0) == pytest.approx(expected)
        assert monitor.by_arm[:, number, :2].sum(axis=0) == pytest.approx(expected[:2])


@settings(max_examples=30, deadline=None)
@given(_ROUNDS, st.data())
def test_a_snapshot_and_the_rest_of_the_log_give_bitwise_identical_state(rounds, data):
    log = entries(rounds)
    at = data.draw(st.integers(0, len(log)))
    first, resumed = fold(log[:at]), Monitor(small_config())
    resumed.restore(first.snapshot()())
    for entry in log[at:]:
        resumed.apply(entry)
    assert state(resumed) == state(fold(log))


def test_a_frozen_monitor_does_not_change():
    log = entries([{"groups": {"gender": "female"}, "reward": 0.5, "time": START + i} for i in range(60)])
    monitor = fold(log[:100])
    taken, before = monitor.frozen(), state(monitor.frozen())
    for entry in log[100:]:
        monitor.apply(entry)
    assert state(taken) == before != state(monitor)


def test_its_size_does_not_depend_on_the_length_of_the_log():
    rounds = [
        {"groups": {"gender": "male"}, "picked": (f"arm{i % 7}",), "reward": 0.5, "time": START + 3600.0 * i}
        for i in range(5000)
    ]
    monitor = fold(entries(rounds))
    assert len(monitor.by_block) <= 120
    assert len(monitor.by_arm) < 2 * 7
    assert len(monitor.recent) == N_RECENT
    assert [*monitor.recent][-1] == f"{4999:032x}"
    assert monitor.totals[1, 0] == 5000


def test_a_snapshot_of_other_groups_is_refused():
    content = fold([]).snapshot()()
    with pytest.raises(ValueError, match="configured groups have changed"):
        Monitor(small_config(attributes={"gender": ["female", "male", "other"]})).restore(content)


def test_groups_that_were_removed_from_the_configuration_are_ignored():
    monitor = fold(entries([{"groups": {"gender": "other", "region": "north"}, "reward": 1.0}]))
    assert monitor.rewards == 1
    assert monitor.totals[:, 0].tolist() == [0, 0, 1, 0]


def test_a_reward_is_shown_with_its_recent_decision():
    made = decided(1, {"gender": "male"}, picked=("python", "chess"))
    monitor = fold([Entry(1, made), Entry(2, Rewarded(made.id, START, [0.25, 0.75]), made)])
    assert monitor.recent[made.id]["reward"] == 0.5


@pytest.mark.parametrize("k", [None, 1, 2])
def test_exploration_is_a_choice_that_would_differ_without_the_exploration_term(k):
    explored = []
    for policy in ("LinUCB(alpha=0.0)", "LinUCB(alpha=50.0)"):
        recommender = small_recommender(policy=policy)
        # Much is known about python, all of it good, and nothing about the other arms.
        for seq in range(4, 24, 2):
            made = decide(recommender, USER["features"], USER["groups"], arms=["python"])
            recommender.apply(Entry(seq, made))
            recommender.apply(Entry(seq + 1, Rewarded(made.id, made.time, 1.0), made))
        made = decide(recommender, USER["features"], USER["groups"], k=k)
        assert isinstance(made, Decided)
        explored.append(made.explored)
    assert explored == [False, True]
