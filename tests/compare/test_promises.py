"""The promises of the default policy, on results written by hand."""

import copy
import json
import subprocess
import sys
from pathlib import Path

import pytest

from fairbandits.compare.paired import compare_pair
from fairbandits.compare.promises import check_promises

ROOT = Path(__file__).parents[2]


def policy(gap, worst_off, reward):
    """Return the results of a policy with two seeds, which differ by 0.002."""
    values = {"reward_gap": gap, "worst_off_reward": worst_off, "reward": reward}
    measures = {name: {"mean": mean} for name, mean in values.items()}
    return {
        **measures,
        "pooled_gap": {"value": gap, "se": 0.001},
        "per_seed": {name: [mean - 0.001, mean + 0.001] for name, mean in values.items()},
    }


GOOD = {
    "settings": {"default": "EvenLinUCB", "tolerance": 0.01},
    "worlds": {
        "mine": {
            "is_identifiable": True,
            "oracle": {"smallest_gap": 0.02},
            "policies": {
                "LinUCB": policy(0.1, 0.7, 0.8),
                "FairLinUCB(gamma=3)": policy(0.02, 0.72, 0.75),
                "EvenLinUCB": policy(0.02, 0.75, 0.77),
            },
        }
    },
}


def broken(**changes):
    """Return the results with another policy in the place of the default one, or another value of the oracle."""
    results = copy.deepcopy(GOOD)
    world = results["worlds"]["mine"]
    world["policies"] |= changes.pop("policies", {})
    world["oracle"] |= changes
    return results


def test_nothing_is_promised_where_what_counts_cannot_be_learned():
    results = broken(policies={"EvenLinUCB": policy(0.3, 0.1, 0.2)})
    assert not check_promises(results).kept
    results["worlds"]["mine"]["is_identifiable"] = False
    assert check_promises(results).worlds == {}


def test_all_promises_are_kept():
    verdict = check_promises(GOOD)
    assert verdict.kept
    assert verdict.worlds["mine"].kept
    # LinUCB has a higher reward, but is less fair.
    assert verdict.worlds["mine"].reward.note == "EvenLinUCB"
    assert verdict.worlds["mine"].worst_off.note == "FairLinUCB(gamma=3)"
    assert verdict.summary() == {
        "gap": (1, 1),
        "worst-off group": (1, 1),
        "reward within 0.02": (1, 1),
        "reward within 0.05": (1, 1),
    }


@pytest.mark.parametrize(
    ("ours", "promise"),
    [
        (policy(0.028, 0.75, 0.77), "gap"),
        (policy(0.02, 0.713, 0.77), "worst-off group"),
        (policy(0.1, 0.75, 0.775), "reward within 0.02"),
        (policy(0.1, 0.75, 0.74), "reward within 0.05"),
    ],
)
def test_each_promise_can_be_broken(ours, promise):
    verdict = check_promises(broken(policies={"EvenLinUCB": ours}, smallest_gap=0.02))
    kept, needed = verdict.summary()[promise]
    assert kept < needed
    assert not verdict.kept


def test_the_limits_contain_two_standard_errors():
    # A constant difference between two policies has no standard error.
    limits = check_promises(GOOD).worlds["mine"]
    assert limits.gap.limit == pytest.approx(0.02 + 0.005 + 0.002)
    assert limits.worst_off.limit == pytest.approx(0.005)
    tolerance = check_promises(broken(smallest_gap=0.0)).worlds["mine"].gap
    assert tolerance.limit == pytest.approx(0.01 + 0.005 + 0.002)


def test_seeds_in_which_no_group_counts_are_left_out_in_pairs():
    results = copy.deepcopy(GOOD)
    policies = results["worlds"]["mine"]["policies"]
    ours, theirs = (policies[title]["per_seed"]["worst_off_reward"] for title in ("EvenLinUCB", "LinUCB"))
    ours += [None, 0.1, None]
    theirs += [0.9, None, None]
    policies["FairLinUCB(gamma=3)"]["per_seed"]["worst_off_reward"] = [None] * 5
    promise = check_promises(results).worlds["mine"].worst_off
    assert (promise.note, promise.kept) == ("LinUCB", True)
    assert promise.measured == pytest.approx(-0.05)
    policies["LinUCB"]["per_seed"]["worst_off_reward"] = [None] * 5
    assert check_promises(results).worlds["mine"].worst_off is None


def test_twenty_of_twenty_four_worlds_suffice_for_the_narrower_limit():
    good = GOOD["worlds"]["mine"]
    poorer = broken(policies={"LinUCB": policy(0.02, 0.7, 0.8)})["worlds"]["mine"]  # 0.03 more, and as fair
    results = GOOD | {"worlds": {str(n): poorer if n < 4 else good for n in range(24)}}
    assert check_promises(results).kept
    results["worlds"]["5"] = poorer
    assert check_promises(results).summary()["reward within 0.02"] == (19, 20)


def test_without_the_default_policy_there_are_no_promises():
    with pytest.raises(ValueError, match="results must contain the default policy"):
        check_promises(GOOD | {"settings": {"default": None, "tolerance": 0.01}})


def test_without_a_reference_the_worst_off_group_is_not_judged():
    results = copy.deepcopy(GOOD)
    for title in ("LinUCB", "FairLinUCB(gamma=3)"):
        del results["worlds"]["mine"]["policies"][title]
    assert check_promises(results).worlds["mine"].worst_off is None


@pytest.mark.parametrize(("results", "status"), [(GOOD, 0), (broken(smallest_gap=0.001), 1)])
def test_the_script_returns_the_verdict(results, status, tmp_path):
    (tmp_path / "results.json").write_text(json.dumps(results))
    script = [sys.executable, ROOT / "benchmarks" / "fairbench_check.py", tmp_path / "results.json"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert ("BROKEN" in done.stdout) == bool(status)


def test_paired_comparisons():
    assert compare_pair([0.5], [0.4], "reward").outcome == "unknown"
    assert compare_pair([0.5, 0.5, 0.6], [0.5, 0.6, 0.5], "reward").outcome == "tie"
    assert compare_pair([0.5, 0.5], [0.5, 0.5], "reward").outcome == "tie"
    undefined = float("nan")
    assert compare_pair([0.5, 0.5, undefined], [0.4, 0.4, 0.9], "reward").difference == pytest.approx(0.1)
