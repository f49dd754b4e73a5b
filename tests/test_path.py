"""The path of a decision: the files that ARCHITECTURE.md lists are those that a decision enters, in that order."""

import re
import sys
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

import fairbandits
from fairbandits import Catalogue, FairLinUCB

DOCUMENT = Path(__file__).parents[1] / "ARCHITECTURE.md"
PACKAGE = Path(fairbandits.__file__).parent
ORCHESTRATOR = "policies/policy.py"
MAX_FILES = 10


def listed(step):
    """The files and functions that the document lists for a step, in order."""
    text = DOCUMENT.read_text(encoding="utf-8")
    [section] = re.findall(rf"<!-- library path: {step} -->\n(.*?)<!-- end -->", text, flags=re.DOTALL)
    return re.findall(r"^\d+\. `([\w/]+\.py)` `([\w.]+)`", section, flags=re.MULTILINE)


def traced(call):
    """Call a function; return the files and functions of the package that were entered, in order."""
    entered = []

    def trace(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            entered.append((path.relative_to(PACKAGE).as_posix(), frame.f_code.co_qualname))

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        result = call()
    finally:
        sys.settrace(before)
    return entered, result


@pytest.fixture(scope="module")
def walked():
    """The steps of a decision by a policy that knows its arms."""
    videos = Catalogue(np.eye(4), n_user_features=3, matches={"sex": ["f", "m", "f", "m"]})
    policy, rng = FairLinUCB(random_state=0), np.random.default_rng(0)
    for i in range(60):
        offer = videos.offer(rng.random(3), {"sex": "fm"[i % 2]})
        policy.learn(policy.choose(offer, "fm"[i % 2]), 0.5)
    offer = videos.offer(rng.random(3), {"sex": "f"})
    choosing, decision = traced(lambda: policy.choose(offer, "f"))
    learning, _ = traced(lambda: policy.learn(decision, 0.5))
    return {"choose": choosing, "learn": learning}


@pytest.mark.parametrize("step", ["choose", "learn"])
def test_the_listed_files_are_entered_in_their_order(walked, step):
    files = [*dict.fromkeys(file for file, _ in walked[step])]
    assert [file for file, _ in listed(step)] == files
    assert set(listed(step)) <= set(walked[step])


@pytest.mark.parametrize("step", ["choose", "learn"])
def test_no_file_is_entered_twice_but_the_orchestrator(walked, step):
    visits = [file for file, _ in groupby(file for file, _ in walked[step]) if file != ORCHESTRATOR]
    assert len(visits) == len(set(visits))


def test_the_path_is_short(walked):
    assert len({file for step in walked.values() for file, _ in step}) <= MAX_FILES


def test_a_policy_is_composed_not_inherited():
    ours = [cls for cls in FairLinUCB.__mro__ if cls.__module__.startswith("fairbandits")]
    assert len(ours) <= 4
