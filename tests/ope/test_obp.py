"""Our estimates are those of Open Bandit Pipeline, on its own synthetic data, overall and per group."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fairbandits.ope import estimators

HERE = Path(__file__).parent
BENCHMARKS = HERE.parent.parent / "benchmarks"
CLIP = 3.0


@pytest.fixture(scope="module")
def obp(tmp_path_factory):
    """Run obp in its own environment, which is made where there is none: 20 seconds, once."""
    code = (
        "import contenders, environments\n"
        "obp = next(one for one in contenders.CONTENDERS if one.name == 'obp')\n"
        "try:\n"
        "    print(environments.python_of(obp))\n"
        "except environments.NoEnvironmentError as error:\n"
        "    raise SystemExit(f'{error}')\n"
    )
    made = subprocess.run(
        [sys.executable, "-c", code], cwd=BENCHMARKS, capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"the environment of obp cannot be made here: {made.stderr.strip()}")
    folder = tmp_path_factory.mktemp("obp")
    python = made.stdout.splitlines()[-1]
    subprocess.run([python, str(HERE / "obp_side.py"), str(folder)], check=True, timeout=300)
    with np.load(folder / "data.npz") as arrays:
        return dict(arrays), json.loads((folder / "estimates.json").read_text())


def terms(log):
    """Put our terms of the same estimators together."""
    row, arm = np.arange(len(log["arm"])), log["arm"]
    chance, greedy = log["chances"][row, arm], log["chances"].argmax(axis=1) == arm
    weighed = chance, log["reward"], log["propensity"]
    robust = log["chances"], log["predicted"], arm, log["reward"], log["propensity"]
    return {
        "replay": estimators.replay(greedy, log["reward"]),
        "ips": estimators.ips(*weighed),
        "ips clipped": estimators.ips(*weighed, clip=CLIP),
        "snips": estimators.snips(*weighed),
        "direct": estimators.direct(log["chances"], log["predicted"]),
        "doubly robust": estimators.doubly_robust(*robust),
        "doubly robust clipped": estimators.doubly_robust(*robust, clip=CLIP),
    }


def test_the_estimates_are_those_of_obp(obp):
    log, theirs = obp
    ours = terms(log)
    assert ours.keys() == theirs["all"].keys()
    for name, found in ours.items():
        assert abs(found.value() - theirs["all"][name]) < 1e-9, name
        assert abs(found.estimate().value - theirs["all"][name]) < 1e-9, name


@pytest.mark.parametrize("group", [0, 1])
def test_those_of_a_group_are_obps_of_its_rows(obp, group):
    log, theirs = obp
    for name, found in terms(log).items():
        assert abs(found.where(log["group"] == group).value() - theirs[str(group)][name]) < 1e-9, name
        assert abs(found.by(log["group"])[group].value - theirs[str(group)][name]) < 1e-9, name


def test_the_difference_is_that_of_obps_two_runs(obp):
    log, theirs = obp
    for name, found in terms(log).items():
        each = found.by(log["group"])
        expected = theirs["1"][name] - theirs["0"][name]
        assert abs(each[1].minus(each[0]).value - expected) < 1e-9, name
