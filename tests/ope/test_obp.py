"""Estimates agree with those of Open Bandit Pipeline on its own synthetic data, overall and by group."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fairbandits.ope import estimators
from fairbandits.ope.slates import estimators as slate_estimators
from fairbandits.ope.slates.slate_log import SlateLog

HERE = Path(__file__).parent
BENCHMARKS = HERE.parent.parent / "benchmarks"
CLIP = 3.0

pytestmark = pytest.mark.slow  # creates an environment for obp


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
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
    return folder


@pytest.fixture(scope="module", params=["decisions", "slates"])
def compared(request, folder):
    """Return our terms and their groups, and the estimates of obp."""
    with np.load(folder / f"{request.param}.npz") as arrays:
        log = dict(arrays)
    ours, groups = (slate_terms if request.param == "slates" else decision_terms)(log)
    theirs = json.loads((folder / f"{request.param}.json").read_text())
    assert ours.keys() == theirs["overall"].keys()
    return ours, groups, theirs


def decision_terms(log):
    """Return our terms of the same estimators, and the group of each row."""
    row, arm = np.arange(len(log["arm"])), log["arm"]
    probability, greedy = log["probabilities"][row, arm], log["probabilities"].argmax(axis=1) == arm
    weighted = probability, log["reward"], log["propensity"]
    robust = log["probabilities"], log["predictions"], arm, log["reward"], log["propensity"]
    terms = {
        "replay": estimators.replay(greedy, log["reward"]),
        "ips": estimators.ips(*weighted),
        "ips clipped": estimators.ips(*weighted, clip=CLIP),
        "snips": estimators.snips(*weighted),
        "direct method": estimators.direct_method(log["probabilities"], log["predictions"]),
        "doubly robust": estimators.doubly_robust(*robust),
        "doubly robust clipped": estimators.doubly_robust(*robust, clip=CLIP),
    }
    return terms, log["group"]


def slate_terms(log):
    """Return our terms of the same estimators, with and without position weights, and the group of each slate."""
    order = np.random.default_rng(0).permutation(len(log["slate"]))
    log = {name: values[order] for name, values in log.items()}
    joint, marginal, prefix = (
        (log[f"probability_{form}"], log[f"propensity_{form}"]) for form in ("joint", "marginal", "prefix")
    )
    robust = log["probabilities"], log["predictions"], log["arm"], log["propensity_prefix"]
    terms = {}
    for suffix, position_weight in (("", None), (" weighted", 1.0 / np.log2([2.0, 3.0, 4.0]))):
        slates = SlateLog(log["slate"], log["position"], log["reward"], position_weight)
        terms |= {
            f"joint ips{suffix}": slate_estimators.standard_ips(slates, *joint),
            f"joint snips{suffix}": slate_estimators.standard_snips(slates, *joint),
            f"marginal ips{suffix}": slate_estimators.independent_ips(slates, *marginal),
            f"marginal snips{suffix}": slate_estimators.independent_snips(slates, *marginal),
            f"prefix ips{suffix}": slate_estimators.reward_interaction_ips(slates, *prefix),
            f"prefix snips{suffix}": slate_estimators.reward_interaction_snips(slates, *prefix),
            f"cascade doubly robust{suffix}": slate_estimators.cascade_doubly_robust(slates, *robust),
        }
    return terms, slates.per_slate("group", log["group"])


def test_estimates_overall(compared):
    ours, _, theirs = compared
    for name, each in ours.items():
        assert abs(each.value() - theirs["overall"][name]) < 1e-9, name
        assert abs(each.estimate().value - theirs["overall"][name]) < 1e-9, name


@pytest.mark.parametrize("group", [0, 1])
def test_estimates_by_group(compared, group):
    ours, groups, theirs = compared
    for name, each in ours.items():
        assert abs(each.select(groups == group).value() - theirs[str(group)][name]) < 1e-9, name
        assert abs(each.by_group(groups)[group].value - theirs[str(group)][name]) < 1e-9, name


def test_gaps(compared):
    ours, groups, theirs = compared
    for name, each in ours.items():
        by_group = each.by_group(groups)
        expected = theirs["1"][name] - theirs["0"][name]
        assert abs(by_group[1].minus(by_group[0]).value - expected) < 1e-9, name
