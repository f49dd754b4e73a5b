"""Custom worlds and policies in a comparison: as text, as classes, as objects, and as tables."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairbandits import LinUCB, Model, Uniform
from fairbandits.cli import main
from fairbandits.compare.comparison import compare
from fairbandits.compare.fairbench import fairbench
from fairbandits.compare.policy_specs import parse_policies
from fairbandits.compare.suite import LAST_FIFTH, SuiteWorld
from fairbandits.compare.world_specs import parse_worlds
from fairbandits.simulate import FixedWorld
from fairbandits.worlds import LinearWorld

DOCS = Path(__file__).parents[2] / "docs" / "how_to"

# Ten lines each, as docs/reference/fairbench.md has them.
WORLD = """
import numpy as np
from fairbandits.worlds import Visit

class Shops:
    def __init__(self, rounds=200, random_state=0):
        self.rounds, self.seed = rounds, random_state
    def __len__(self):
        return self.rounds
    def visits(self):
        rng = np.random.default_rng(self.seed)
        for _ in range(self.rounds):
            group, contexts = "old" if rng.random() < 0.3 else "young", rng.random((4, 3))
            yield Visit(contexts, group, contexts.mean(axis=1), contexts.mean(axis=1))
"""
POLICY = """
from fairbandits import Policy
from fairbandits.parameters import parameter

class Hopeful(Policy):
    bonus: float = parameter(default=0.3, doc="The weight of the uncertainty.")

    def terms(self, predictions):
        return self.bonus * predictions.width, 0.0
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Return a module with a custom world and a custom policy."""
    (tmp_path / "my_compared_things.py").write_text(WORLD + POLICY)
    monkeypatch.syspath_prepend(str(tmp_path))
    import my_compared_things

    return my_compared_things


def test_a_custom_world_and_a_custom_policy_on_the_command_line(mine, tmp_path, capsys):
    world, policy = "my_compared_things:Shops(rounds=100)", "my_compared_things:Hopeful(bonus=0.1)"
    out = tmp_path / "out"
    only = ["--worlds", world, "--policies", f"LinUCB,{policy}", "--seeds", "2", "--jobs", "1", "--out", str(out)]
    assert main(["compare", *only]) == 0
    assert f"{world}: " in capsys.readouterr().out
    content = json.loads((out / "results.json").read_text())
    found = content["worlds"][world]
    assert found["groups"].keys() == {"old", "young"}
    assert found["rounds_measured"] == 20
    assert found["oracle"]["frontier"]
    assert list(found["policies"]) == ["LinUCB", policy]
    assert len(found["policies"][policy]["per_seed"]["reward"]) == 2
    assert world in (out / "report.html").read_text()
    assert len(list((out / "figures").glob("world_*.png"))) == 1


def test_classes_and_objects_from_python(mine, tmp_path):
    worlds = {"each seed": mine.Shops, "the same": mine.Shops(100), "text": "LinearWorld(rounds=60)"}
    policies = [mine.Hopeful, mine.Hopeful(bonus=0.1), LinUCB(model=Model(kind="shared")), "Uniform"]
    results = compare(tmp_path, worlds=worlds, policies=policies, seeds=2)
    titles = ["Hopeful", "Hopeful(bonus=0.1)", "LinUCB(model=Model(kind='shared'))", "Uniform"]
    assert list(results.worlds) == list(worlds)
    assert all(list(summary.policies) == titles for summary in results.worlds.values())
    # A class has another world for every seed. An object is the same, so that this policy repeats itself.
    assert results.worlds["each seed"].policies["Uniform"].metrics["reward"][1] > 0
    assert len(set(results.worlds["the same"].policies["Hopeful"].values["reward"])) == 1
    assert len(set(results.worlds["each seed"].policies["Hopeful"].values["reward"])) == 2


def test_runs_in_a_world_object_are_cached(mine, tmp_path):
    only = {"policies": [Uniform, LinUCB], "seeds": 2}
    compare(tmp_path, worlds={"mine": mine.Shops(100)}, **only)
    cached = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").iterdir()}
    assert len(cached) == 4
    compare(tmp_path, worlds={"mine": mine.Shops(100)}, **only)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").iterdir()} == cached
    compare(tmp_path, worlds={"mine": mine.Shops(101)}, **only)
    assert len(list((tmp_path / "cache").iterdir())) == 8


@pytest.fixture
def ratings(tmp_path, monkeypatch):
    """Return the path of a table of ratings, which is in the working directory."""
    rng = np.random.default_rng(0)
    rows = [
        f"u{user},f{film},{(user * film) % 5 + 1},{'female' if user % 2 else 'male'}"
        for user in range(40)
        for film in rng.choice(12, 6, replace=False)
    ]
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "ratings.csv"
    path.write_text("user,film,stars,sex\n" + "\n".join(rows) + "\n")
    return path


COLUMNS = "user=user, item=film, reward=stars, group=sex, offered=4, rounds=100"


def test_a_table_as_a_world(ratings, tmp_path):
    world = f"RatingsWorld(ratings=ratings.csv, {COLUMNS})"
    only = ["--policies", "LinUCB,Uniform", "--seeds", "2", "--jobs", "2", "--out", "out"]
    assert main(["compare", "--worlds", world, *only]) == 0
    found = json.loads((tmp_path / "out" / "results.json").read_text())["worlds"][world]
    assert found["groups"].keys() == {"female", "male"}


def test_a_modified_table_by_its_absolute_path(ratings, tmp_path, capsys):
    changes = "delay=[0, 10], missing={'female': 0.3}, present=0.6"
    world = f"ModifiedWorld(world=RatingsWorld(ratings={ratings}, {COLUMNS}), {changes})"
    only = ["--policies", "LinUCB", "--seeds", "2", "--jobs", "1", "--out", "out"]
    assert main(["compare", "--worlds", world, *only]) == 0
    assert capsys.readouterr().out.startswith("ratings.csv: ")
    found = json.loads((tmp_path / "out" / "results.json").read_text())["worlds"][world]
    assert found["groups"].keys() == {"female", "male"}


def test_modified_worlds_in_the_documents(ratings, tmp_path):
    """The commands with a modified world run as they are written, with fewer rounds."""
    rows = [f"{age},{'female' if age % 2 else 'male'},{'high' if age > 40 else 'low'}" for age in range(20, 60)]
    (tmp_path / "patients.csv").write_text("age,sex,dose\n" + "\n".join(rows) + "\n")
    texts = [(DOCS / name).read_text() for name in ("compare.md", "worlds.md")]
    commands = [shlex.split(line) for text in texts for line in text.splitlines() if "compare --worlds" in line]
    worlds = {command[3] for command in commands if command[3].startswith("ModifiedWorld(")}
    assert len(worlds) == 2
    only = ["--quick", "--policies", "Uniform", "--seeds", "1", "--jobs", "1", "--out", "out"]
    assert main(["compare", *(part for world in worlds for part in ("--worlds", world)), *only]) == 0
    assert json.loads((tmp_path / "out" / "results.json").read_text())["worlds"].keys() == worlds


def test_a_column_may_have_the_name_of_a_file(ratings, tmp_path):
    for name in ("sex", "user"):
        (tmp_path / name).touch()
    params = parse_worlds([f"RatingsWorld(ratings=ratings.csv, {COLUMNS})"]).popitem()[1].world_params()
    assert (params["ratings"], params["group"], params["user"]) == (str(ratings), "sex", "user")
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "ratings").touch()
    nested = f"ModifiedWorld(world=RatingsWorld(ratings='tables/ratings', {COLUMNS}))"
    params = parse_worlds([nested]).popitem()[1].world_params()
    assert params["world"]["RatingsWorld"]["ratings"] == str(tmp_path / "tables" / "ratings")


def test_names_of_worlds():
    assert list(parse_worlds([LinearWorld, "3:7"])) == ["3:7", "LinearWorld"]
    suite = SuiteWorld("Mine.", world=LinearWorld, measured=LAST_FIFTH)
    assert parse_worlds({"a": suite, "b": "scarce"})["a"] is suite
    assert list(parse_worlds([])) == list(parse_worlds(["short"])) == list(parse_worlds({}))
    assert isinstance(parse_worlds([LinearWorld(rounds=5)])["LinearWorld"].world, FixedWorld)
    for wrong, message in [
        ("3:7", "worlds must be a list or a mapping of worlds, got '3:7'"),
        ([LinearWorld, LinearWorld(rounds=5)], "worlds must differ, got LinearWorld twice"),
        (["mars"], "worlds must be some of 3:7"),
        (["LinearWorld(rouns=5)"], "LinearWorld has no parameter 'rouns'"),
        ([dict], r"world must be a class with the methods __len__\(\) and visits\(\), got dict"),
        ([3], r"world must be an object with the methods __len__\(\) and visits\(\), got int"),
        (["collections:Counter"], "world must be a class with the methods"),
    ]:
        with pytest.raises(ValueError, match=message):
            parse_worlds(wrong)


def test_policies_must_be_policies():
    with pytest.raises(
        ValueError, match=r"policy must be text, a subclass of fairbandits\.Policy or one of its obj"
    ):
        parse_policies([dict])


def test_a_world_whose_true_rewards_are_unknown_is_refused(tmp_path):
    class Unknown(LinearWorld):
        def visits(self):
            for visit in super().visits():
                visit.expected[1:] = np.nan
                yield visit

    with pytest.raises(
        ValueError, match="worlds must know the true mean reward of every arm, which mine does not"
    ):
        compare(tmp_path, worlds={"mine": Unknown(rounds=5)}, policies=["Uniform"], seeds=1)


class UnknownLater(LinearWorld):
    """A world whose true mean rewards are unknown from the eleventh round on."""

    def visits(self):
        for number, visit in enumerate(super().visits()):
            if number >= 10:
                visit.expected[0] = np.nan
            yield visit


def test_true_rewards_that_are_unknown_in_later_rounds_are_refused(tmp_path):
    rule = "worlds of a comparison must know the true mean reward of every arm"
    where = r"one is not finite in round 11 of 60 \(synthetic data: UnknownLater"
    with pytest.raises(ValueError, match=f"{rule}; {where}"):
        compare(tmp_path, worlds=[UnknownLater(rounds=60)], policies=["Uniform"], seeds=1)


class RarelyGrouped(LinearWorld):
    """A world in which one visitor in ten has a known group."""

    def visits(self):
        rng = np.random.default_rng(self.random_state)
        for visit in super().visits():
            yield visit if rng.random() < 0.1 else replace(visit, group=None)


def test_seeds_without_any_group_that_counts(tmp_path):
    policies = ["LinUCB", "EvenLinUCB"]
    worlds = {"rare": SuiteWorld("Rare.", {"rounds": 100}, RarelyGrouped, LAST_FIFTH)}
    fairbench(tmp_path, worlds=worlds, policies=policies, seeds=8, quick=True)
    content = json.loads((tmp_path / "results.json").read_text())
    for title in policies:
        values = content["worlds"]["rare"]["policies"][title]["per_seed"]["worst_off_reward"]
        assert None in values
        assert any(value is not None for value in values)
    assert content["promises"]["worlds"]["rare"]["worst_off"] is not None


class WithoutGroups(LinearWorld):
    """A world whose visitors have no groups."""

    def visits(self):
        for visit in super().visits():
            yield replace(visit, group=None)


def test_a_world_without_groups(tmp_path):
    world = {"no groups": WithoutGroups(rounds=40), "groups": LinearWorld(rounds=40)}
    results = fairbench(tmp_path, worlds=world, policies=["LinUCB", "EvenLinUCB", "Uniform"], seeds=2, quick=True)
    metrics = results.worlds["no groups"].policies["LinUCB"].metrics
    assert metrics["reward_gap"] == (0.0, 0.0)
    assert "worst_off_reward" not in metrics
    content = json.loads((tmp_path / "results.json").read_text())
    assert content["worlds"]["no groups"]["groups"] == {}
    assert content["promises"]["worlds"]["no groups"]["worst_off"] is None
    assert content["outcomes"]["Uniform"]["worst_off_reward"]["unknown"] == ["no groups"]


def test_worlds_with_similar_names_have_figures_of_their_own(tmp_path):
    names = ["a b", "a_b", "a/b", "", "ranks", "x" * 80, "x" * 81]
    worlds = {name: LinearWorld(rounds=20, random_state=number) for number, name in enumerate(names)}
    compare(tmp_path, worlds=worlds, policies=["Uniform", "LinUCB"], seeds=1)
    assert len(list((tmp_path / "figures").glob("*.png"))) == len(names) + 1
    assert (tmp_path / "figures" / "world_a_b.png").is_file()


class Unreproducible(LinearWorld):
    """A world that goes on where it stopped."""

    def visits(self):
        rng = self.__dict__.setdefault("_shared", np.random.default_rng(0))
        for visit in super().visits():
            yield replace(visit, expected=rng.random(len(visit.expected)))


def test_a_world_that_is_not_reproducible_is_refused(tmp_path):
    message = (
        r"same visitors and rewards for every policy, got different ones for LinUCB with seed 0 .*check_world"
    )
    with pytest.raises(ValueError, match=message):
        compare(tmp_path, worlds=[Unreproducible(rounds=40)], policies=["Uniform", "LinUCB"], seeds=1)


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_worlds_of_a_few_rounds_measure_one(tmp_path, rounds):
    results = compare(tmp_path, worlds=[LinearWorld(rounds=rounds)], policies=["Uniform", "LinUCB"], seeds=2)
    assert results.worlds["LinearWorld"].rounds == 1


def test_the_number_of_seeds_in_which_a_measure_is_defined(tmp_path):
    worlds = {"rare": SuiteWorld("Rare.", {"rounds": 40}, RarelyGrouped, LAST_FIFTH)}
    results = compare(tmp_path, worlds=worlds, policies=["Uniform"], seeds=8)
    values = results.worlds["rare"].policies["Uniform"].values["worst_off_reward"]
    lines = [line.split(",") for line in (tmp_path / "compare.csv").read_text().splitlines()]
    counts = {line[2]: int(line[5]) for line in lines[2:]}
    assert counts["worst_off_reward"] == np.isfinite(values).sum() < counts["reward"] == 8


def test_a_world_outside_a_list_is_refused():
    for world in (LinearWorld(rounds=5), LinearWorld):
        with pytest.raises(ValueError, match="worlds must be a list or a mapping of worlds, got "):
            parse_worlds(world)
