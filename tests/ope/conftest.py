"""Fixtures of the tests of off-policy evaluation."""

import pytest

from fairbandits import EpsilonGreedy
from fairbandits.logs import Log, fit
from fairbandits.ope import evaluate
from tests.ope.logs import make_log


@pytest.fixture(scope="module")
def frame():
    return make_log()


@pytest.fixture(scope="module")
def trained():
    """Return a policy that was trained on another log."""
    return fit(Log.open(make_log(seed=9)), EpsilonGreedy(epsilon=0.3, random_state=0)).policy


@pytest.fixture(scope="module")
def evaluation(frame, trained):
    return evaluate(frame, trained)
