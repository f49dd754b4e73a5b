"""How kernels are compiled: cached until a source changes, with a notice, with or without vector instructions."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fairbandits
from fairbandits import jit
from tests.helpers import NOTICE

pytestmark = pytest.mark.slow

PACKAGE = Path(fairbandits.__file__).parent
ROOT = Path(__file__).parents[1]
SCORE = """
import numpy as np
from fairbandits.models import SharedModel, as_rows
rows = as_rows(np.eye(3))
print(SharedModel(3, 1.0).score(rows, np.zeros(3, np.int64))[1].sum())
"""


def run(source, cache, code=SCORE, **environment):
    """Run code with a copy of the package and a folder for its compiled kernels."""
    # Without bytecode, which Python would take for that of a changed file of the same size and time.
    own = {"PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
    env = os.environ | own | environment
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300, env=env
    )


def test_a_kernel_is_compiled_again_when_one_that_it_calls_has_changed(tmp_path):
    source, cache = tmp_path / "src", tmp_path / "cache"
    shutil.copytree(PACKAGE, source / "fairbandits", ignore=shutil.ignore_patterns("__pycache__"))
    assert run(source, cache).stdout == "3.0\n"
    compiled = {path: path.stat().st_mtime_ns for path in cache.rglob("*.nbc")}
    assert compiled
    run(source, cache)
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*.nbc")} == compiled, (
        "nothing is compiled twice"
    )

    # The helper is in another file than the kernel, and keeps its size and its time.
    helper = source / "fairbandits" / "models" / "kernels" / "triangles.py"
    times, text = helper.stat(), helper.read_text()
    changed = text.replace("math.sqrt(variance) if", "math.cosh(variance) if")
    assert changed != text
    assert len(changed) == len(text)
    helper.write_text(changed)
    os.utime(helper, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert run(source, cache).stdout != "3.0\n"


def test_a_long_compilation_is_announced_once(tmp_path):
    code = (
        "import numpy as np; from fairbandits import LinUCB; policy = LinUCB(random_state=0)\n"
        "for _ in range(30): policy.learn(policy.choose(np.eye(6)), 0.5)\n"
    )
    assert run(PACKAGE.parent, tmp_path, code).stderr == NOTICE
    assert run(PACKAGE.parent, tmp_path, code).stderr == ""


def test_the_notice_is_a_line_of_the_log(tmp_path):
    code = "import logging; logging.getLogger('fairbandits').setLevel('ERROR')\n" + SCORE
    assert run(PACKAGE.parent, tmp_path, code).stderr == ""


def test_ordinary_loops_pass_the_same_tests(tmp_path):
    env = os.environ | {"FAIRBANDITS_PLAIN_KERNELS": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    tests = ["tests/models/kernels/test_blocks.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400, env=env, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-2000:]


@pytest.mark.parametrize(
    ("version", "is_tested"),
    [("0.60.0", False), ("0.61.0", True), ("0.68.1", True), ("0.69.0", False), ("1.0", False)],
)
def test_what_relies_on_numba_s_inner_workings_is_used_with_tested_versions_alone(monkeypatch, version, is_tested):
    monkeypatch.setattr(jit.numba, "__version__", version)
    assert jit.is_tested() is is_tested
    assert jit.use_plain_loops() is not is_tested
