"""Many runs: parallel, and cached."""

import importlib
import json
import linecache
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from fairbandits import FairLinUCB, LinUCB
from fairbandits.simulate import FixedWorld, Run, SummaryFormat, simulate_many, summarise_many
from fairbandits.simulate.digests import _OTHER_CODE
from fairbandits.worlds import LabelledWorld, LinearWorld, ModifiedWorld, StudentsAndVideos
from tests.simulate.scripted import SMALL, assert_identical

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


class CustomPolicy(LinUCB):
    """A policy from outside the package."""


def runs():
    return [
        Run(kind, StudentsAndVideos, seed, world_params=SMALL) for kind in (LinUCB, FairLinUCB) for seed in (0, 1)
    ]


def test_runs_with_slates_are_cached(tmp_path):
    run = Run(LinUCB, LinearWorld, 0, world_params={"rounds": 30}, k=2)
    (trace,) = simulate_many([run], cache=tmp_path)
    (again,) = simulate_many([run], cache=tmp_path)
    assert_identical(trace, again)
    assert all(isinstance(arms, tuple) for arms in again.arm)
    assert {len(arms) for arms in trace.to_frame()["arm"]} == {2}


def test_parallel_jobs_need_joblib(monkeypatch):
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(ImportError, match="jobs=2 needs joblib"):
        simulate_many([Run(LinUCB, LinearWorld, 0)], jobs=2)


def test_traces_are_bitwise_identical_for_any_number_of_jobs(tmp_path):
    one = simulate_many(runs(), cache=tmp_path)
    for first, second in zip(one, simulate_many(runs(), jobs=2), strict=True):
        assert_identical(first, second)


def test_the_seed_determines_policy_and_world():
    first, again, other = simulate_many([Run(FairLinUCB, LinearWorld, seed) for seed in (0, 0, 1)])
    assert_identical(first, again)
    assert first.reward.tolist() != other.reward.tolist()


def test_cached_runs_are_not_simulated_again(tmp_path, monkeypatch):
    first = simulate_many(runs(), cache=tmp_path)
    assert len(list(tmp_path.glob("*.npz"))) == 4
    monkeypatch.setattr("fairbandits.simulate.runs.simulate", None)
    for trace, again in zip(first, simulate_many(runs(), cache=tmp_path), strict=True):
        assert_identical(trace, again)


def test_the_cache_key_contains_everything_that_determines_a_run(monkeypatch):
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
    monkeypatch.setattr("fairbandits.simulate.runs.package_digest", lambda: "changed")
    keys.add(run.key("real"))
    assert len(keys) == 9
    # The folder of the same data is not part of the key.
    assert run.key("real") == Run(LinUCB, StudentsAndVideos, 0, {"alpha": 0.5}, SMALL | {"data": "x"}).key("real")


def test_the_cache_key_depends_on_this_layer_and_all_below():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    layers = [
        [name.strip().removeprefix("fairbandits.") for name in layer.split("|")]
        for layer in project["tool"]["importlinter"]["contracts"][0]["layers"]
    ]
    here = next(number for number, layer in enumerate(layers) if "simulate" in layer)
    assert {name for layer in layers[: here + 1] for name in layer} - {"simulate"} == _OTHER_CODE


def test_runs_without_a_cache_key_are_refused():
    with pytest.raises(ValueError, match="must be values that JSON can represent"):
        Run(LinUCB, LinearWorld, 0, {"alpha": object()}).key("")
    sourceless = type("Sourceless", (LinUCB,), {"__module__": "nowhere"})
    with pytest.raises(ValueError, match=r"the source of nowhere\.Sourceless cannot be read"):
        Run(sourceless, LinearWorld, 0).key("")


def test_runs_of_custom_policies_are_cached(tmp_path):
    (trace,) = simulate_many([Run(CustomPolicy, LinearWorld, 0, world_params={"rounds": 10})], cache=tmp_path)
    (again,) = simulate_many([Run(CustomPolicy, LinearWorld, 0, world_params={"rounds": 10})], cache=tmp_path)
    assert_identical(trace, again)


@pytest.mark.parametrize("jobs", [0, -2, 1.5, True])
def test_invalid_jobs_are_refused(jobs):
    with pytest.raises(ValueError, match=r"jobs must be an integer of at least 1, or -1 for one per core, got"):
        simulate_many([], jobs=jobs)


def test_importing_the_library_imports_no_heavy_dependency():
    heavy = ["pandas", "matplotlib", "typer", "rich", "joblib", "sklearn", "tqdm"]
    code = f"import sys, json, fairbandits; print(json.dumps([m for m in {heavy} if m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def test_the_cache_notices_changed_parameters_and_code_of_a_world(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    flat = flat_world(tmp_path, monkeypatch, 0.2)
    runs = [Run(LinUCB, flat, 0, world_params={"data": data}) for data in "ab"]
    assert [trace.reward[0] for trace in simulate_many(runs, cache=cache)] == [0.2, 0.8]
    changed = flat_world(tmp_path, monkeypatch, 0.9)
    assert simulate_many([Run(LinUCB, changed, 0)], cache=cache)[0].reward[0] == 0.9


def test_a_damaged_cache_file_is_replaced(tmp_path):
    run = Run(LinUCB, LinearWorld, seed=0, world_params={"rounds": 30})
    (intact,) = simulate_many([run], cache=tmp_path)
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for position in rng.integers(len(content), size=40):
        damaged = bytearray(content)
        damaged[position] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        (again,) = simulate_many([run], cache=tmp_path)
        assert np.array_equal(again.reward, intact.reward)
    path.write_bytes(content[:100])
    simulate_many([run], cache=tmp_path)
    assert path.read_bytes() == content


def test_a_changed_table_is_another_world(tmp_path):
    table = tmp_path / "people.csv"
    table.write_text("label,sex,age\n" + "yes,f,30\nno,m,40\n" * 5)
    params = {"table": str(table), "label": "label", "group": "sex"}
    run = Run(LinUCB, LabelledWorld, 0, world_params=params)
    before = run.key("people")
    assert run.key("people") == before
    table.write_text("label,sex,age\n" + "yes,m,30\nno,f,41\n" * 6)
    assert run.key("people") != before


def test_the_module_of_a_modified_world_counts(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "my_modified_world.py"
    file.write_text("from fairbandits.worlds import LinearWorld as Mine\n")
    params = {"world": {"my_modified_world:Mine": {"rounds": 5}}, "missing": {"a:b": 0.5}}
    run = Run(LinUCB, ModifiedWorld, 0, world_params=params)
    before = run.key(None)
    file.write_text("from fairbandits.worlds import LinearWorld as Mine  # changed\n")
    assert run.key(None) != before


def test_finished_runs_are_found_without_their_world(tmp_path, monkeypatch):
    runs = [Run(LinUCB, LinearWorld, seed, data_source="linear") for seed in range(2)]
    assert [run.find(LENGTHS, tmp_path) for run in runs] == [None, None]
    monkeypatch.setattr(LinearWorld, "data_source", "linear", raising=False)
    assert summarise_many(runs, LENGTHS, cache=tmp_path) == [1000, 1000]
    monkeypatch.setattr("fairbandits.simulate.runs.simulate", None)
    monkeypatch.setattr(Run, "make_world", None)
    assert summarise_many(runs, LENGTHS, cache=tmp_path) == [1000, 1000]
    assert Run(LinUCB, LinearWorld, 0).find(LENGTHS, tmp_path) is None  # its data is not known


def test_a_world_object_is_the_same_for_every_seed():
    fixed = FixedWorld(LinearWorld(rounds=20, random_state=5))
    first, second = (Run(LinUCB, fixed, seed).simulate() for seed in (0, 1))
    np.testing.assert_array_equal(first.best, second.best)
    assert fixed.__name__ == "LinearWorld"
    with pytest.raises(ValueError, match=r"world must be an object with the methods .*, got LinearWorld"):
        FixedWorld(LinearWorld)


def _length(trace):
    return len(trace)


LENGTHS = SummaryFormat(_length, lambda n: str(n).encode(), lambda path: int(path.read_bytes()))


def test_what_a_world_object_offers_counts():
    worlds = [LinearWorld(rounds=5) for _ in range(2)]
    worlds[1].policy_params = {"alpha": 0.9}
    first, second = (Run(LinUCB, FixedWorld(world), 0) for world in worlds)
    assert first.make_policy(worlds[0]).alpha != second.make_policy(worlds[1]).alpha
    assert first.world.digest == second.world.digest
    assert first.key(None) != second.key(None)


@pytest.mark.parametrize(
    "statement", ["import helped_level", "from helped_pack import helped_level", "from . import helped_level"]
)
def test_imported_modules_in_the_folder_of_a_class_count(tmp_path, monkeypatch, statement):
    folder = tmp_path / "helped_pack" if "." in statement else tmp_path
    (tmp_path / "helped_pack").mkdir()
    (tmp_path / "helped_pack" / "__init__.py").touch()
    helper = (tmp_path if statement.startswith("import") else tmp_path / "helped_pack") / "helped_level.py"
    helper.write_text("LEVEL = 1\n")
    (folder / "helped_world.py").write_text(
        f"{statement}\nfrom fairbandits.worlds import LinearWorld\nclass Mine(LinearWorld): ...\n"
    )
    (folder / "unrelated.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if "helped" in name]:
        monkeypatch.delitem(sys.modules, name)
    mine = importlib.import_module(f"{'helped_pack.' if '.' in statement else ''}helped_world").Mine
    before = Run(LinUCB, mine, 0).key(None)
    (folder / "unrelated.py").write_text("1")
    assert Run(LinUCB, mine, 0).key(None) == before
    helper.write_text("LEVEL = 22\n")
    assert Run(LinUCB, mine, 0).key(None) != before


def test_classes_of_a_notebook_are_cached(monkeypatch):
    keys = []
    for number in range(2):
        cell = f"class Mine(LinUCB):\n    level = {number}\n    def terms(self, predictions): ...\n"
        linecache.cache[f"<cell {number}>"] = (len(cell), None, cell.splitlines(True), f"<cell {number}>")
        names = {"LinUCB": LinUCB, "__name__": "nowhere"}
        exec(compile(cell, f"<cell {number}>", "exec"), names)  # noqa: S102 - as a notebook does
        run = Run(names["Mine"], LinearWorld, 0)
        keys.append(run.key(None))
        # Workers have the class, but not the cell.
        del linecache.cache[f"<cell {number}>"]
        assert run.key(None) == keys[-1]
    assert keys[0] != keys[1]


def test_the_data_source_must_be_the_same_for_every_seed(tmp_path):
    run = Run(LinUCB, StudentsAndVideos, 0, world_params=SMALL, data_source="other")
    with pytest.raises(
        ValueError, match=r"data_source must be the same for every seed, got .* after 'other'"
    ) as error:
        simulate_many([run], cache=tmp_path)
    assert "in the run of LinUCB() in StudentsAndVideos(" in error.value.__notes__[0]
    assert error.value.__notes__[0].endswith("with seed 0")
