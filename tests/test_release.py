"""What a release consists of: its version, its files, and the targets that check it."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from hatchling.builders.wheel import WheelBuilder

import fairbandits

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "fairbandits"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel, as `make dist` does; return the names of its files."""
    (path,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("dist")), versions=["standard"])
    return set(zipfile.ZipFile(path).namelist())


def test_the_wheel_has_every_file_of_the_package(wheel):
    files = {path.relative_to(PACKAGE.parent).as_posix() for path in PACKAGE.rglob("*") if path.is_file()}
    assert {name for name in files if "__pycache__" not in name} == {
        name for name in wheel if name.startswith("fairbandits/")
    }


@pytest.mark.parametrize(
    "name", ["py.typed", "audit/report/schema.json", "ope/report/schema.json", "service/page/static/index.html"]
)
def test_the_wheel_has_the_files_that_are_not_python(wheel, name):
    assert f"fairbandits/{name}" in wheel


def test_the_wheel_has_nothing_but_the_package(wheel):
    assert {name.split("/")[0] for name in wheel} == {"fairbandits", f"fairbandits-{PROJECT['version']}.dist-info"}


def test_the_version_comes_from_pyproject():
    assert fairbandits.__version__ == PROJECT["version"]
    naming = [path.name for path in PACKAGE.rglob("*.py") if f'"{PROJECT["version"]}"' in path.read_text()]
    assert not naming


def test_the_changelog_has_the_version():
    versions = re.findall(r"^## (\d+\.\d+\.\d+) \(", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert versions[0] == PROJECT["version"]


def targets_of_the_makefile():
    (names,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    return set(names.split())


def targets_of_the_workflow():
    for job in WORKFLOW["jobs"].values():
        for step in job["steps"]:
            for name in re.findall(r"^make (.+)$", step.get("run", ""), flags=re.MULTILINE):
                yield from job["strategy"]["matrix"]["target"] if name == "${{ matrix.target }}" else [name]


def test_the_workflow_only_calls_targets_of_the_makefile():
    runs = [step["run"] for job in WORKFLOW["jobs"].values() for step in job["steps"] if "run" in step]
    assert runs
    assert all(run.startswith("make ") for run in runs)
    assert set(targets_of_the_workflow()) <= targets_of_the_makefile()
    assert {"test", "docs", "dist"} <= set(targets_of_the_workflow())


def test_the_release_checklist_only_names_targets_of_the_makefile():
    checklist = (ROOT / "docs" / "about" / "release.md").read_text()
    assert set(re.findall(r"\bmake (\w+)(?=`|$)", checklist, flags=re.MULTILINE)) <= targets_of_the_makefile()


def test_the_workflow_runs_every_version_of_python_that_is_promised():
    promised = [each.split(" :: ")[2] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)]
    assert WORKFLOW["jobs"]["test"]["strategy"]["matrix"]["python"] == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"


def smoke_test(code):
    """Run a line after importing the smoke test."""
    return subprocess.run(
        [sys.executable, "-c", f"import smoke_test; {code}"],
        cwd=ROOT / "tools",
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_smoke_test_refuses_a_description_without_a_script():
    ended = smoke_test("smoke_test.first_script('no code')")
    assert (ended.returncode, ended.stderr) == (
        1,
        "the description has no Python script followed by its output\n",
    )


def test_the_smoke_test_refuses_other_output():
    ended = smoke_test("smoke_test.check('echo', ['echo', 'ours'], 'theirs\\n')")
    assert (ended.returncode, ended.stderr) == (1, "echo: expected\ntheirs\ngot\nours\n\n")
