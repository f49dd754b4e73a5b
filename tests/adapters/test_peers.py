"""Adapters against the peers themselves, each in an environment of its own; `make peers` runs these tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.peers

CHECKS = Path(__file__).parent / "peer_checks"
BENCHMARKS = CHECKS.parents[2] / "benchmarks"


def run_python(python, *arguments):
    folders = os.pathsep.join([str(BENCHMARKS), str(CHECKS.parent)])
    return subprocess.run(
        [python, "-W", "ignore", *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=BENCHMARKS,
        env={**os.environ, "PYTHONPATH": folders},
    )


@pytest.mark.parametrize("peer", ["obp", "mlflow"])
def test_checks_in_the_environment_of_the_peer(peer):
    code = f"import environments, peer_environments as each; print(environments.python_of(each.PEERS[{peer!r}]))"
    made = run_python(sys.executable, "-c", code)
    assert made.returncode == 0, made.stderr
    done = run_python(made.stdout.splitlines()[-1], str(CHECKS / f"{peer}_checks.py"))
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def test_the_problems_of_the_peers_are_run():
    done = run_python(sys.executable, "peer_problems.py", "--quick")
    assert done.returncode == 0, done.stderr
    for line in ("| obp | LinUCB", "| coba | LinUCBLearner", "| mabwiser | LinUCB", "| fairbandits | EvenLinUCB"):
        assert line in done.stdout
