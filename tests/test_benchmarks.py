"""The benchmarks work: what of them runs without another environment, at the smallest size."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

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


def measured(folder, what, module="in_tree", **options):
    request = {"module": module, "options": options, "what": what, "folder": str(folder)}
    return json.loads(run("measure.py", json.dumps({**request, "seconds": 0.01, "repeats": 2})))


@pytest.mark.parametrize(
    ("module", "options"),
    [("ours", {}), ("ours", {"model": "shared"}), ("in_tree", {"kind": "BatchedBlas"})],
)
def test_right_arms_are_found_to_be_right(folder, module, options):
    found = measured(folder, "check", module, **options)
    assert found["agreed"] == found["rounds"]


@pytest.mark.parametrize("what", ["w1", "w3"])
def test_a_contender_is_measured(folder, what):
    found = measured(folder, what, kind="BatchedBlas")
    assert len(found["rates"]) == 2
    assert min(found["rates"]) > 0
    assert found["peak_bytes"] > 2**20


def test_wrong_arms_are_found_to_be_wrong(folder):
    code = (
        "import json, measure, pathlib, peers.in_tree as in_tree, workloads\n"
        "right = in_tree.InTree.learn\n"
        "in_tree.InTree.learn = lambda self, arm, prepared, reward: right(self, arm, prepared, 1 - reward)\n"
        "request = {'module': 'in_tree', 'options': {'kind': 'BatchedBlas'}}\n"
        f"workload = workloads.Workload(pathlib.Path({str(folder)!r}) / 'w1.npz', 12)\n"
        "print(json.dumps(measure.check(request, workload)))"
    )
    found = json.loads(run("-c", code))
    assert found["agreed"] < found["rounds"]


def test_the_table_of_the_readme_is_that_of_the_results():
    assert run("report.py", "--table").strip() in (ROOT / "README.md").read_text()


def test_coverage_of_intervals_is_measured():
    told = run("ope_coverage.py", "--repeats", "2", "--rows", "300")
    assert told.count("| doubly robust |") == 3
    assert "2 logs of 300 rows (effective: all " in told


def test_the_table_of_the_audit_is_that_of_the_results():
    assert run("audit.py", "--table").strip() in (ROOT / "docs" / "audit.md").read_text()


def test_an_audit_is_measured(tmp_path):
    code = (
        "import pathlib, results, audit, sys; results.PATH = pathlib.Path(sys.argv[1])\n"
        "results.keep.__defaults__ = (results.PATH,); sys.argv = ['audit.py', '--rows', '20000', '--turns', '1']\n"
        "sys.exit(audit.main())"
    )
    run("-c", code, str(tmp_path / "results.json"))
    found = json.loads((tmp_path / "results.json").read_text())["audit"]
    assert list(found["seconds"]) == ["200", "2000", "20000"]
    assert 2**26 < found["peak_bytes"] < 2**30
