"""The loop, the trace, and many runs at once."""

import importlib
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from fairbandits import FairLinUCB, LinTS, LinUCB, Uniform
from fairbandits.fairness import metrics
from fairbandits.simulate import Run, simulate, simulate_many
from fairbandits.simulate.trace import Trace, as_objects
from fairbandits.worlds import LinearWorld, StudentsAndVideos, Visit

SMALL = {"train": 60, "test": 40, "male_videos": 3, "female_videos": 7, "data": "standin"}
FLOATS = ("reward", "expected", "best", "worst", "probability")


def same(one, other):
    assert one.to_bytes() == other.to_bytes()
    for name in FLOATS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


class Scripted:
    """A world of given visits."""

    def __init__(self, visits):
        self._visits = visits

    def __len__(self):
        return len(self._visits)

    def visits(self):
        return iter(self._visits)


def one_arm(reward, group, part="test"):
    value = np.array([reward])
    return Visit(np.ones((1, 1)), group, value, value, ["only"], part)


def test_the_loop_is_choose_reward_learn():
    world = StudentsAndVideos(**SMALL, noise=0.05)
    trace = simulate(FairLinUCB(random_state=1), world)
    policy = FairLinUCB(random_state=1)
    before = None
    for number, visit in enumerate(world.visits()):
        if before == "train" and visit.part == "test":
            policy.groups.restart()
        before = visit.part
        decision = policy.choose(visit.contexts, visit.group, visit.arms)
        policy.learn(decision, visit.rewards[decision.index])
        assert trace.arm[number] == decision.arm
        assert trace.reward[number] == visit.rewards[decision.index]
        assert trace.expected[number] == visit.expected[decision.index]
        assert trace.best[number] == visit.expected.max()
        assert trace.worst[number] == visit.expected.min()
        assert trace.probability[number] == decision.probability
        assert trace.part[number] == visit.part
        assert trace.group["group"][number] == visit.group
    assert len(trace) == len(world)
    assert trace.data_source == world.data_source


def test_slates_are_measured_by_their_means_beside_the_best_slate():
    world = StudentsAndVideos(**SMALL, noise=0.05)
    trace = simulate(FairLinUCB(random_state=1), world, k=3)
    policy = FairLinUCB(random_state=1)
    before = None
    for number, visit in enumerate(world.visits()):
        if before == "train" and visit.part == "test":
            policy.groups.restart()
        before = visit.part
        slate = policy.choose(visit.contexts, visit.group, visit.arms, k=3)
        places = list(slate.indices)
        policy.learn(slate, visit.rewards[places])
        assert trace.arm[number] == slate.picked
        assert trace.reward[number] == pytest.approx(visit.rewards[places].mean())
        assert trace.expected[number] == pytest.approx(visit.expected[places].mean())
        assert trace.best[number] == pytest.approx(np.mean(sorted(visit.expected)[-3:]))
        assert trace.worst[number] == pytest.approx(np.mean(sorted(visit.expected)[:3]))
    found = trace.metrics()
    assert found["utility_loss"] == pytest.approx(np.mean((trace.best - trace.reward)[trace.part == "test"]))
    assert policy.groups.gap() == pytest.approx(found["reward_difference"])


def test_slates_in_runs_and_files(tmp_path):
    run = Run(LinUCB, LinearWorld, 0, world_params={"rounds": 30}, k=2)
    (trace,) = simulate_many([run], cache=tmp_path)
    (again,) = simulate_many([run], cache=tmp_path)
    same(trace, again)
    assert all(isinstance(arms, tuple) for arms in again.arm)
    (shown,) = {len(arms) for arms in trace.to_frame()["arm"]}
    assert shown == 2


def test_impossible_slates():
    with pytest.raises(ValueError, match="k=0 came; expected a whole number of at least 1"):
        simulate(LinUCB(), LinearWorld(), k=0)
    with pytest.raises(ValueError, match="k=6 arms were asked for, and 5 are on offer"):
        simulate(LinUCB(), LinearWorld(), k=6)


def test_a_slate_teaches_also_by_its_own_reward():
    world = LinearWorld(n_arms=8, rounds=600, noise=0.0)
    best, got = [], {LinUCB: [], Uniform: []}
    for kind, gains in got.items():
        policy = kind(random_state=0)
        for visit in world.visits():
            slate = policy.choose(visit.contexts, visit.group, k=3)
            gains.append(visit.rewards[list(slate.indices)].mean())
            policy.learn(slate, gains[-1])
            best.append(np.mean(sorted(visit.expected)[-3:]))
    loss = {kind: np.mean(best[:600]) - np.mean(gains) for kind, gains in got.items()}
    assert loss[LinUCB] < 0.5 * loss[Uniform]


def test_the_group_means_restart_where_the_test_part_starts_and_the_arms_means_do_not():
    policy = LinUCB(random_state=0)
    simulate(policy, Scripted([one_arm(0.2, "a", "train"), one_arm(0.4, "a", "train"), one_arm(0.9, "a")]))
    assert policy.groups.summaries()[0].count == 1
    assert policy.groups.summaries()[0].mean == 0.9
    assert policy.groups.arm_means[0, 0] == pytest.approx(0.5)


def test_without_a_training_part_nothing_restarts():
    policy = LinUCB(random_state=0)
    simulate(policy, Scripted([one_arm(0.2, "a"), one_arm(0.4, "a")]))
    assert policy.groups.summaries()[0].count == 2


def test_rounds_ends_a_run_early():
    world = LinearWorld(rounds=50)
    same(simulate(LinUCB(random_state=0), world, 20), simulate(LinUCB(random_state=0), LinearWorld(rounds=20)))


@pytest.mark.parametrize("rounds", [0, -1, 51, 2.5, True])
def test_impossible_rounds(rounds):
    with pytest.raises(ValueError, match=r"rounds=.* came; expected (1 to 50|a whole number of at least 1)"):
        simulate(LinUCB(), LinearWorld(rounds=50), rounds)


def test_not_a_world():
    with pytest.raises(ValueError, match="a int came; expected a world"):
        simulate(LinUCB(), 3)


def test_a_world_that_ends_before_its_length():
    world = Scripted([one_arm(0.5, "a")])
    world.__class__ = type("Short", (Scripted,), {"__len__": lambda self: 2})
    with pytest.raises(ValueError, match="Short ended after 1 of 2 rounds; see check_world"):
        simulate(LinUCB(), world)


def test_progress_changes_nothing():
    same(
        simulate(LinUCB(random_state=0), LinearWorld(rounds=20), progress=True),
        simulate(LinUCB(random_state=0), LinearWorld(rounds=20)),
    )


def test_metrics_by_hand():
    visits = [one_arm(0.0, "a", "train"), one_arm(0.5, "a"), one_arm(0.7, "b"), one_arm(0.9, "b")]
    trace = simulate(LinUCB(random_state=0), Scripted([*visits, one_arm(1.0, None)]))
    found = trace.metrics()
    assert found == pytest.approx(
        {
            "utility_loss": 0.0,
            "reward_difference": 0.3,
            "worst_off_reward": 0.5,
            "cmr_a": 0.5,
            "cmr_b": 0.8,
            "regret_a": 0.0,
            "regret_b": 0.0,
        }
    )
    assert trace.metrics("train")["cmr_a"] == 0.0


def test_the_loss_is_of_the_reward_and_the_regret_of_its_mean():
    words = {"arm": as_objects([0]), "part": as_objects(["test"]), "group": {"group": as_objects(["a"])}}
    numbers = {"reward": 0.6, "expected": 0.7, "best": 0.8, "worst": 0.1, "probability": 1.0}
    trace = Trace(**{name: np.array([value]) for name, value in numbers.items()}, **words)
    found = trace.metrics()
    assert found["utility_loss"] == pytest.approx(0.2)
    assert found["regret_a"] == pytest.approx(0.1)


def test_metrics_of_two_attributes():
    trace = simulate(LinUCB(random_state=0), StudentsAndVideos(**SMALL, sensitive=("sex", "race")))
    found = trace.metrics()
    rounds = trace.in_part("test")
    by_sex = metrics.group_means(rounds.reward, rounds.group["sex"])
    assert found["cmr_sex_male"] == by_sex["male"]
    assert found["reward_difference_sex"] == pytest.approx(abs(by_sex["male"] - by_sex["female"]))
    both = (found["reward_difference_sex"], found["reward_difference_race"])
    assert found["reward_difference"] == max(both)


def test_running_means_end_at_the_metrics_and_start_anew_with_each_part():
    trace = simulate(LinUCB(random_state=0), StudentsAndVideos(**SMALL))
    for part in trace.parts:
        found = trace.metrics(part)
        for name, curve in trace.running_means(part).items():
            assert len(curve) == SMALL[part]
            assert curve[-1] == pytest.approx(found[f"cmr_{name}"])


def test_what_a_trace_does_not_have():
    trace = simulate(LinUCB(random_state=0), LinearWorld(rounds=5))
    with pytest.raises(ValueError, match="part='train' came; this trace has 'test'"):
        trace.metrics("train")
    with pytest.raises(ValueError, match="attribute='race' came; this trace has group"):
        trace.running_means("test", "race")
    nobody = simulate(LinUCB(random_state=0), Scripted([one_arm(0.5, None)]))
    with pytest.raises(ValueError, match="nobody's group is known"):
        nobody.running_means("test")
    assert nobody.metrics()["reward_difference"] == 0.0


def test_to_frame():
    trace = simulate(LinUCB(random_state=0), StudentsAndVideos(**SMALL))
    frame = trace.to_frame()
    assert len(frame) == len(trace)
    means = frame[frame["part"] == "test"].groupby("group")["reward"].mean()
    assert means["male"] == pytest.approx(trace.metrics()["cmr_male"])


def test_to_frame_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame needs pandas"):
        simulate(LinUCB(random_state=0), LinearWorld(rounds=2)).to_frame()


def test_progress_without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError, match=r"progress bar needs tqdm: pip install 'fairbandits\[cli\]'"):
        simulate(LinUCB(random_state=0), LinearWorld(rounds=2), progress=True)


def test_jobs_without_joblib(monkeypatch):
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(ImportError, match="jobs=2 needs joblib"):
        simulate_many([Run(LinUCB, LinearWorld, 0)], jobs=2)


def test_a_trace_survives_its_file(tmp_path):
    mixed = Scripted([one_arm(0.5, 1), one_arm(0.6, "one"), one_arm(0.7, None)])
    for trace in (
        simulate(LinTS(model="shared", random_state=0), StudentsAndVideos(**SMALL, sensitive=["sex", "race"])),
        simulate(LinUCB(random_state=0), mixed),
    ):
        path = tmp_path / "trace.npz"
        path.write_bytes(trace.to_bytes())
        again = Trace.load(path)
        same(trace, again)
        assert again.data_source == trace.data_source
        for attribute, values in trace.group.items():
            assert again.group[attribute].tolist() == values.tolist()


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 cut off"])
def test_a_file_that_is_no_trace(tmp_path, content):
    path = tmp_path / "trace.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"trace\.npz: not the file of a trace .*; remove it"):
        Trace.load(path)


def runs():
    return [
        Run(kind, StudentsAndVideos, seed, world_params=SMALL) for kind in (LinUCB, FairLinUCB) for seed in (0, 1)
    ]


def test_two_jobs_give_the_bits_of_one(tmp_path):
    one = simulate_many(runs(), cache=tmp_path)
    for first, second in zip(one, simulate_many(runs(), jobs=2), strict=True):
        same(first, second)


def test_the_seed_decides_policy_and_world():
    first, again, other = simulate_many([Run(FairLinUCB, LinearWorld, seed) for seed in (0, 0, 1)])
    same(first, again)
    assert first.reward.tolist() != other.reward.tolist()


def test_what_was_computed_is_not_computed_again(tmp_path, monkeypatch):
    first = simulate_many(runs(), cache=tmp_path)
    assert len(list(tmp_path.glob("*.npz"))) == 4
    monkeypatch.setattr("fairbandits.simulate.runs.simulate", None)
    for trace, again in zip(first, simulate_many(runs(), cache=tmp_path), strict=True):
        same(trace, again)


def test_all_that_determines_a_run_is_in_its_key(monkeypatch):
    run = Run(LinUCB, StudentsAndVideos, 0, {"alpha": 0.5}, SMALL)
    others = [
        Run(FairLinUCB, StudentsAndVideos, 0, {"alpha": 0.5}, SMALL),
        Run(LinUCB, StudentsAndVideos, 1, {"alpha": 0.5}, SMALL),
        Run(LinUCB, StudentsAndVideos, 0, {"alpha": 0.6}, SMALL),
        Run(LinUCB, StudentsAndVideos, 0, {"alpha": 0.5}, SMALL | {"test": 41}),
        Run(LinUCB, LinearWorld, 0, {"alpha": 0.5}),
        Run(LinUCB, StudentsAndVideos, 0, {"alpha": 0.5}, SMALL, k=2),
    ]
    keys = {run.key("real"), run.key("stand-in"), *(other.key("real") for other in others)}
    monkeypatch.setattr("fairbandits.simulate.runs._package_source", lambda: "changed")
    keys.add(run.key("real"))
    assert len(keys) == 9
    # Where the same data lies makes no difference.
    assert run.key("real") == Run(LinUCB, StudentsAndVideos, 0, {"alpha": 0.5}, SMALL | {"data": "x"}).key("real")


def test_runs_that_cannot_be_kept():
    with pytest.raises(ValueError, match="must be plain values"):
        Run(LinUCB, LinearWorld, 0, {"alpha": object()}).key("")
    homeless = type("Homeless", (LinUCB,), {"__module__": "nowhere"})
    with pytest.raises(ValueError, match=r"the source of nowhere\.Homeless cannot be read"):
        Run(homeless, LinearWorld, 0).key("")


class Own(LinUCB):
    """A policy from outside the package."""


def test_own_policies_are_kept_by_their_source(tmp_path):
    (trace,) = simulate_many([Run(Own, LinearWorld, 0, world_params={"rounds": 10})], cache=tmp_path)
    (again,) = simulate_many([Run(Own, LinearWorld, 0, world_params={"rounds": 10})], cache=tmp_path)
    same(trace, again)


@pytest.mark.parametrize("jobs", [0, -2, 1.5, True])
def test_impossible_jobs(jobs):
    with pytest.raises(ValueError, match=r"jobs=.* came; expected a whole number of at least 1, or -1"):
        simulate_many([], jobs=jobs)


def test_metrics_where_no_group_came():
    nobody = np.array([None, None], dtype=object)
    assert metrics.group_means(np.ones(2), nobody) == {}
    assert metrics.reward_difference(np.ones(2), nobody) == 0.0
    assert np.isnan(metrics.worst_off_reward(np.ones(2), nobody))
    assert np.isnan(metrics.cumulative_mean(np.ones(2), np.zeros(2, bool))).all()


def test_the_library_imports_nothing_heavy():
    heavy = ["pandas", "matplotlib", "typer", "rich", "joblib", "sklearn", "tqdm"]
    code = f"import sys, json, fairbandits; print(json.dumps([m for m in {heavy} if m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


WORLD = """
import numpy as np
from fairbandits.worlds import Visit

LEVEL = {level}

class Flat:
    def __init__(self, data="a", random_state=None):
        self.reward = LEVEL if data == "a" else 0.8

    def __len__(self):
        return 5

    def visits(self):
        rewards = np.full(2, self.reward)
        for _ in range(5):
            yield Visit(np.eye(2), "g", rewards, rewards)
"""


def flat_world(folder, monkeypatch, level):
    (folder / "flat_world.py").write_text(WORLD.format(level=level))
    monkeypatch.syspath_prepend(folder)
    sys.modules.pop("flat_world", None)
    importlib.invalidate_caches()
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    return importlib.import_module("flat_world").Flat


def test_kept_runs_know_all_that_they_depend_on(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    flat = flat_world(tmp_path, monkeypatch, 0.2)
    runs = [Run(LinUCB, flat, 0, world_params={"data": data}) for data in "ab"]
    assert [trace.reward[0] for trace in simulate_many(runs, cache=cache)] == [0.2, 0.8]
    changed = flat_world(tmp_path, monkeypatch, 0.9)
    assert simulate_many([Run(LinUCB, changed, 0)], cache=cache)[0].reward[0] == 0.9


def test_a_kept_run_that_was_damaged_is_computed_again(tmp_path):
    run = Run(LinUCB, LinearWorld, seed=0, world_params={"rounds": 30})
    (whole,) = simulate_many([run], cache=tmp_path)
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(len(content), size=40):
        damaged = bytearray(content)
        damaged[place] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        (again,) = simulate_many([run], cache=tmp_path)
        assert np.array_equal(again.reward, whole.reward)
    path.write_bytes(content[:100])
    simulate_many([run], cache=tmp_path)
    assert path.read_bytes() == content


def test_an_attribute_of_which_nobody_is_known_says_nothing():
    reward = np.array([0.5, 0.7])
    words = as_objects(["x", "x"]), as_objects(["test", "test"])
    for attributes in (["sex", "race"], ["race", "sex"]):
        values = {"sex": as_objects([None, None]), "race": as_objects(["a", "b"])}
        groups = {name: values[name] for name in attributes}
        trace = Trace(reward, reward, reward, reward, reward, *words, groups)
        assert trace.metrics()["worst_off_reward"] == 0.5
