"""The package as it is installed: light to import, typed, and compiled once."""

import json
import os
import subprocess
import sys
from importlib import metadata, resources
from pathlib import Path

import pytest

import fairbandits
from fairbandits import jit


def in_a_new_process(code, **environment):
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env={**os.environ, **environment},
    )
    return json.loads(run.stdout)


def test_importing_loads_nothing_heavy():
    code = (
        "import sys, json, fairbandits\n"
        "heavy = 'sklearn pandas matplotlib typer rich joblib scipy.stats scipy.special pooch gymnasium'\n"
        "heavy += ' pyarrow narwhals polars dask distributed pydantic fastapi sqlalchemy uvicorn'\n"
        "print(json.dumps([name for name in heavy.split() if name in sys.modules]))"
    )
    assert in_a_new_process(code) == []


@pytest.mark.slow
def test_a_second_process_does_not_compile_again(tmp_path):
    code = """
import json
import numpy as np
from numba.core.dispatcher import Dispatcher
from fairbandits import FairLinUCB
from fairbandits.fairness import moments, penalty
from fairbandits.models.kernels import triangles
from fairbandits.models.kernels import ridge_learning
from fairbandits.models.kernels import disjoint_scoring
from fairbandits.models.kernels import split_rows
from fairbandits.policies import picker

policy = FairLinUCB(random_state=0)
for i in range(1_100):
    decision = policy.choose(np.eye(5)[[0, 1]], "ab"[i % 2])
    policy.learn(decision, 0.5)
hits = misses = 0
for module in (triangles, ridge_learning, disjoint_scoring, split_rows, moments, penalty, picker):
    for value in vars(module).values():
        if isinstance(value, Dispatcher):
            hits += sum(value.stats.cache_hits.values())
            misses += sum(value.stats.cache_misses.values())
print(json.dumps([hits, misses]))
"""
    _, compiled = in_a_new_process(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert compiled > 0
    loaded, compiled = in_a_new_process(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert loaded > 0
    assert compiled == 0


def test_the_public_names_are_there_and_documented():
    for name in fairbandits.__all__:
        assert getattr(fairbandits, name).__doc__, name
    # As Ruff sorts them: names in capitals, other classes, functions.
    order = sorted(fairbandits.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert order == fairbandits.__all__


def test_the_public_names_are_in_the_reference():
    pages = (Path(__file__).parent.parent / "docs" / "reference" / "api").glob("*.rst")
    reference = "".join(path.read_text() for path in pages)
    missing = [name for name in fairbandits.__all__ if f"fairbandits.{name}\n" not in reference]
    assert not missing


def test_the_package_says_that_it_is_typed():
    assert resources.files("fairbandits").joinpath("py.typed").is_file()


def test_the_oldest_numba_that_is_installed_has_been_tested():
    (needed,) = [line for line in metadata.requires("fairbandits") if line.startswith("numba")]
    assert needed == "numba>=" + ".".join(map(str, jit.TESTED[0]))


def test_the_core_needs_few_packages():
    needed = [line for line in metadata.requires("fairbandits") if "extra ==" not in line]
    names = {line.split(">")[0].split("=")[0].strip() for line in needed}
    assert names == {"numpy", "scipy", "numba", "llvmlite", "scikit-learn", "safetensors", "narwhals"}
