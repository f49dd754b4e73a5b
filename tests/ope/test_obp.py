"""Estimates agree with those of Open Bandit Pipeline on its own synthetic data, overall and by group."""

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
    """Run obp in its own environment, which is created first if necessary (20 seconds)."""
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
        pytest.skip(f"the environment of obp cannot be created: {made.stderr.strip()}")
    folder = tmp_path_factory.mktemp("obp")
    python = made.stdout.splitlines()[-1]
    subprocess.run([python, str(HERE / "obp_reference.py"), str(folder)], check=True, timeout=300)
    with np.load(folder / "data.npz") as arrays:
        return dict(arrays), json.loads((folder / "estimates.json").read_text())


def terms(log):
    """Return our terms of the same estimators."""
    row, arm = np.arange(len(log["arm"])), log["arm"]
    probability, greedy = log["probabilities"][row, arm], log["probabilities"].argmax(axis=1) == arm
    weighted = probability, log["reward"], log["propensity"]
    robust = log["probabilities"], log["predictions"], arm, log["reward"], log["propensity"]
    return {
        "replay": estimators.replay(greedy, log["reward"]),
        "ips": estimators.ips(*weighted),
        "ips clipped": estimators.ips(*weighted, clip=CLIP),
        "snips": estimators.snips(*weighted),
        "direct method": estimators.direct_method(log["probabilities"], log["predictions"]),
        "doubly robust": estimators.doubly_robust(*robust),
        "doubly robust clipped": estimators.doubly_robust(*robust, clip=CLIP),
    }


def test_estimates_overall(obp):
    log, theirs = obp
    ours = terms(log)
    assert ours.keys() == theirs["overall"].keys()
    for name, each in ours.items():
        assert abs(each.value() - theirs["overall"][name]) < 1e-9, name
        assert abs(each.estimate().value - theirs["overall"][name]) < 1e-9, name


@pytest.mark.parametrize("group", [0, 1])
def test_estimates_by_group(obp, group):
    log, theirs = obp
    for name, each in terms(log).items():
        assert abs(each.select(log["group"] == group).value() - theirs[str(group)][name]) < 1e-9, name
        assert abs(each.by_group(log["group"])[group].value - theirs[str(group)][name]) < 1e-9, name


def test_gaps(obp):
    log, theirs = obp
    for name, each in terms(log).items():
        by_group = each.by_group(log["group"])
        expected = theirs["1"][name] - theirs["0"][name]
        assert abs(by_group[1].minus(by_group[0]).value - expected) < 1e-9, name
