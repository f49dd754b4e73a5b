"""Reprs of results: one short line, whatever is in them."""

import dataclasses
import inspect

import pytest

import fairbandits.audit
import fairbandits.ope
import fairbandits.simulate
from fairbandits.audit import results as audit_results
from fairbandits.compare import comparison, summary
from fairbandits.ope import results as ope_results
from fairbandits.ope.slates import results as slate_results
from fairbandits.paper import reproduction
from tests.views.objects import shown

SCALARS = {"float", "int", "str", "bool", "float | None", "bool | None", "str | None", "Label", "GroupValue"}
PACKAGES = [fairbandits, fairbandits.audit, fairbandits.ope, fairbandits.simulate]
RESULT_MODULES = [audit_results, ope_results, slate_results, comparison, summary, reproduction]
# These are given, not returned, and small.
INPUTS = {"Device", "Run", "Predictions", "ProbabilityColumn", "ProbabilityColumns", "SlateProbabilities"}


def reachable(value, found):
    """Collect everything that a result contains, one object of each class."""
    if type(value) in found:
        return found
    if isinstance(value, tuple | list):
        for each in value[:3]:
            reachable(each, found)
    elif isinstance(value, dict):
        for each in list(value.values())[:3]:
            reachable(each, found)
    elif type(value).__module__.startswith("fairbandits"):
        found[type(value)] = value
        if dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                reachable(getattr(value, field.name), found)
    return found


def test_reprs_are_one_short_line():
    found = {}
    for each in shown().values():
        assert "\n" not in repr(each)
        assert len(repr(each)) < 300
        reachable(each, found)
    assert len(found) > 30
    texts = {kind.__name__: repr(each) for kind, each in found.items()}
    assert {name: text for name, text in texts.items() if len(text) >= 300 or "array(" in text} == {}


def result_classes():
    members = [getattr(package, name) for package in PACKAGES for name in package.__all__]
    for module in RESULT_MODULES:
        members += [each for each in vars(module).values() if getattr(each, "__module__", "") == module.__name__]
    classes = {each for each in members if inspect.isclass(each) and dataclasses.is_dataclass(each)}
    return sorted(classes, key=lambda each: each.__name__)


@pytest.mark.parametrize("cls", [each for each in result_classes() if each.__name__ not in INPUTS])
def test_only_results_of_scalars_show_all_their_fields(cls):
    is_generated = hasattr(cls.__repr__, "__wrapped__")
    fields = {str(field.type) for field in dataclasses.fields(cls)}
    assert not is_generated or fields <= SCALARS


def test_long_names_are_cut():
    groups = fairbandits.GroupRewards()
    for name in ("x" * 400, "y" * 400):
        groups.add(0.5, {"z" * 400: name})
    assert len(repr(groups.gap())) < 300
    assert len(repr(groups)) < 300
