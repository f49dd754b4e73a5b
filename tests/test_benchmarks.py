"""The benchmarks that need no other environment, at the smallest size."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.benchmarks

ROOT = Path(__file__).parent.parent
BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workloads")
    run("-c", f"import prepare, pathlib; prepare.write_all(pathlib.Path({str(folder)!r}), 40, 20)")
    return folder


def run(*arguments):
    done = subprocess.run(
        [sys.executable, *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=BENCHMARKS,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(BENCHMARKS), str(ROOT / "src")])},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def measure(folder, what, module="in_tree", **options):
    request = {"module": module, "options": options, "what": what, "folder": str(folder)}
    return json.loads(run("measure.py", json.dumps({**request, "seconds": 0.01, "repeats": 2})))


@pytest.mark.parametrize(
    ("module", "options"),
    [("ours", {}), ("ours", {"model": "shared"}), ("in_tree", {"kind": "BatchedBlas"})],
)
def test_exact_contenders_agree_with_the_textbook(folder, module, options):
    result = measure(folder, "check", module, **options)
    assert result["agreed"] == result["rounds"]


@pytest.mark.parametrize("what", ["w1", "w3"])
def test_the_speed_of_a_contender_is_measured(folder, what):
    result = measure(folder, what, kind="BatchedBlas")
    assert len(result["rates"]) == 2
    assert min(result["rates"]) > 0
    assert result["peak_bytes"] > 2**20


def test_wrong_arms_are_detected(folder):
    code = (
        "import json, measure, pathlib, peers.in_tree as in_tree, workloads\n"
        "right = in_tree.InTree.learn\n"
        "in_tree.InTree.learn = lambda self, arm, prepared, reward: right(self, arm, prepared, 1 - reward)\n"
        "request = {'module': 'in_tree', 'options': {'kind': 'BatchedBlas'}}\n"
        f"workload = workloads.Workload(pathlib.Path({str(folder)!r}) / 'w1.npz', 12)\n"
        "print(json.dumps(measure.check(request, workload)))"
    )
    result = json.loads(run("-c", code))
    assert result["agreed"] < result["rounds"]


def test_the_table_of_the_documentation_shows_the_results():
    assert run("report.py", "--table").strip() in (ROOT / "docs" / "reference" / "benchmarks.md").read_text()


def test_the_coverage_of_intervals_is_measured():
    worlds = ("few successes or none", "an arm never shown")
    output = run("ope_coverage.py", "--logs", "2", "--peer-logs", "0", "--jobs", "1", "--worlds", *worlds)
    assert [output.count(f"| {world} | ") for world in worlds] == [4, 4]


def test_the_table_of_coverage_shows_the_results():
    assert run("ope_coverage.py", "--table").strip() in (ROOT / "docs" / "reference" / "coverage.md").read_text()


def test_low_coverage_and_wide_intervals_are_failures():
    code = (
        "from ope_coverage import failure\n"
        "figures = lambda covered, width: {'logs': 1000, 'silent': 0, 'covered': covered, 'width': width}\n"
        "for covered, width, other in ((920, 0.1, 950), (950, 0.3, 950), (950, 0.3, 900), (950, 0.1, 950)):\n"
        "    methods = {'headline': figures(covered, width), 'vw CR': figures(other, 0.2)}\n"
        "    print(repr(failure('benign', 'value', methods)))\n"
        "print(repr(failure('an arm never shown', 'value', {'headline': figures(985, 0.5)})))"
    )
    assert run("-c", code).split() == ["'LOW'", "'WIDE'", "''", "''", "'LOW'"]


def test_the_coverage_of_slates_is_measured():
    output = run("ope_slate_coverage.py", "--logs", "1", "--users", "20")
    assert output.count("| whole slate | headline |") == output.count("| reward interaction | SNIPS, t |") == 4
    assert output.count("| independent | headline |") == 2


def test_the_table_of_the_audit_shows_the_results():
    assert run("audit.py", "--table").strip() in (ROOT / "docs" / "reference" / "audit.md").read_text()


def test_an_audit_is_measured(tmp_path):
    code = (
        "import pathlib, results, audit, sys; results.PATH = pathlib.Path(sys.argv[1])\n"
        "results.save.__defaults__ = (results.PATH,); sys.argv = ['audit.py', '--rows', '20000', '--turns', '1']\n"
        "sys.exit(audit.main())"
    )
    run("-c", code, str(tmp_path / "results.json"))
    result = json.loads((tmp_path / "results.json").read_text())["audit"]
    assert list(result["seconds"]) == ["1000", "4000", "20000"]
    assert 2**26 < result["peak_bytes"] < 2**30


def test_the_guard_measures_a_checkout(folder):
    code = (
        "import guard, json, pathlib, sys\n"
        "variant = guard.Variant('working tree', guard.ROOT)\n"
        "print(json.dumps(guard.measure(variant, pathlib.Path(sys.argv[1]), guard.FIGURES, seconds=0.001)))"
    )
    rates = json.loads(run("-c", code, str(folder)))
    assert list(rates) == ["W1 round", "W1 choose", "W1 learn", "W2 round", "W3 users"]
    assert min(rates.values()) > 0


def test_the_guard_fails_only_if_an_interval_lies_below_the_limit():
    code = (
        "import guard\n"
        "slow = guard.SpeedRatio.of([100.0] * 9, [50.0, 55.0, 60.0] * 3)\n"
        "noisy = guard.SpeedRatio.of([100.0] * 9, [50.0, 80.0, 120.0] * 3)\n"
        "assert slow.low <= slow.ratio == 0.55 <= slow.high < 0.9\n"
        "assert noisy.ratio == 0.8 < 0.9 < noisy.high\n"
        "assert guard.exit_status({'W1': slow, 'W2': noisy}, 0.9) == 1\n"
        "assert guard.exit_status({'W2': noisy}, 0.9) == 0"
    )
    assert "slower: W1" in run("-c", code)


def test_the_first_contact_is_measured():
    readings = json.loads(run("first_contact.py", "shared", "catalogue"))
    assert list(readings) == ["import", "first decision", "all kernels"]
    assert readings["all kernels"][0] >= readings["first decision"][0] > 0


def test_the_coverage_of_tuned_policies_is_measured():
    printed = run("tuning_coverage.py", "--logs", "2", "--jobs", "1", "--worlds", "all arms are alike")
    assert [line.split(" | ")[1] for line in printed.splitlines()[2:]] == ["textbook", "held out"]


def test_certified_learning_is_measured():
    printed = run("certified_learning.py", "--logs", "2", "--rows", "2000", "--worlds", "scarce", "--jobs", "1")
    assert "scarce  2,000  2  0 (1)" in printed


def test_the_cost_of_looking_at_the_group_record_is_measured():
    output = run("cheap_looks.py", "--rounds", "3", "--repeats", "1")
    assert [line.split(" | ")[0] for line in output.splitlines()[2:4]] == ["| LinUCB", "| means and counts"]


def test_the_table_of_fairbench_marks_broken_promises():
    code = (
        "from fairbench_table import _promise\n"
        "for which, measured, limit in (('gap', 0.03, 0.02), ('reward', 0.03, 0.02), ('reward', 0.06, 0.02)):\n"
        "    print(_promise({'measured': measured, 'limit': limit}, which))"
    )
    assert run("-c", code).splitlines() == ["**0.030 (0.020)**", "0.030 (0.020)", "**0.060 (0.020)**"]


def test_the_rejected_variants_run(tmp_path):
    """As in the description of variants.py, with the smallest world."""
    names = ("AheadExplores", "EveryLead", "CeilingOnly", "PullOnly", "OwnClock", "OneClock")
    policies = ",".join(f"variants:{name}" for name in names)
    world = "fairbandits.worlds:LinearWorld(rounds=60)"
    run(
        "-m",
        "fairbandits",
        "compare",
        "--seeds",
        "1",
        "--out",
        str(tmp_path),
        "--worlds",
        world,
        "--policies",
        policies,
    )
    assert set(json.loads((tmp_path / "results.json").read_text())["worlds"][world]["policies"]) == {
        f"variants:{name}" for name in names
    }
