"""Rules about the source code that no linter knows."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "fairbandits"
FILES = sorted(path for path in SOURCE.rglob("*.py") if "versions" not in path.parts)
# First words of docstrings that are imperative, and say nothing.
VAGUE = {"give", "say", "let", "tell", "do", "have", "hand", "take"}


@cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def named(path):
    return str(path.relative_to(SOURCE))


def decorators(function):
    calls = (each.func for each in function.decorator_list if isinstance(each, ast.Call))
    return {each.id for each in calls if isinstance(each, ast.Name)}


def test_arrays_of_models_are_not_indexed_by_position():
    """Fields of kernels' arguments have names; an index of 3 or more is one that nobody can remember."""
    wrong = [
        f"{named(path)}:{node.lineno}"
        for path in FILES
        if "models" in path.parts
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Subscript)
        for index in ast.walk(node.slice)
        if isinstance(index, ast.Constant) and type(index.value) is int and index.value >= 3
    ]
    assert wrong == []


def test_no_two_public_classes_share_a_name():
    places = defaultdict(list)
    for path in FILES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(named(path))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def docstrings(path):
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (text := ast.get_docstring(node)):
            yield node, text


def test_docstrings_begin_with_a_verb_that_says_something():
    vague = [
        f"{named(path)}:{node.lineno}: {text.splitlines()[0]}"
        for path in FILES
        for node, text in docstrings(path)
        if text.split()[0].lower() in VAGUE
    ]
    assert vague == []


def test_pre_commit_runs_the_commands_of_make_lint():
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), flags=re.MULTILINE).group(1)
    commands = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe.splitlines()]
    hooks = re.findall(r"entry: (.+)", (ROOT / ".pre-commit-config.yaml").read_text())
    assert hooks == commands
    assert len(hooks) == 4


def helpers():
    """The functions that only kernels may call, by the module that defines them."""
    return {
        (path, node.name)
        for path in FILES
        for node in tree_of(path).body
        if isinstance(node, ast.FunctionDef) and "helper" in decorators(node)
    }


def imported(path):
    """The names that a file imports from another file of the package, with that file."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("fairbandits."):
            origin = SOURCE.joinpath(*node.module.split(".")[1:]).with_suffix(".py")
            for alias in node.names:
                yield alias.asname or alias.name, (origin, alias.name)


@pytest.mark.parametrize("path", FILES, ids=named)
def test_python_calls_no_helper_of_kernels(path):
    """It would crash: helpers have no entry point for Python."""
    known = helpers()
    here = {name for origin, name in known if origin == path}
    here |= {name for name, place in imported(path) if place in known}
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef) and not decorators(node) & {"helper", "kernel"}:
            called = {
                each.func.id
                for each in ast.walk(node)
                if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
            }
            assert not called & here, f"{node.name} is not compiled, and calls {called & here}"


@pytest.mark.parametrize("path", FILES, ids=named)
def test_kernels_call_kernels_of_their_file_and_of_models_kernels_alone(path):
    """So that a cached kernel can tell by these files whether it is still valid (`fairbandits.jit`)."""
    compiled = {
        (origin, node.name)
        for origin in FILES
        for node in tree_of(origin).body
        if isinstance(node, ast.FunctionDef) and decorators(node) & {"helper", "kernel"}
    }
    elsewhere = {
        name
        for name, place in imported(path)
        if place in compiled and place[0].parent != SOURCE / "models" / "kernels"
    }
    for node in tree_of(path).body:
        if isinstance(node, ast.FunctionDef) and decorators(node) & {"helper", "kernel"}:
            called = {
                each.func.id
                for each in ast.walk(node)
                if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
            }
            assert not called & elsewhere
