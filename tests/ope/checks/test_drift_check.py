"""Whether a policy's value changes within a log."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_ind

from fairbandits.ope import evaluate
from fairbandits.ope.checks.drift_check import find_drift
from tests.ope.logs import make_log


def table(earlier, later):
    """Return one row per unit."""
    rows, terms = np.ones(len(earlier) + len(later)), np.concatenate([earlier, later])
    is_later = np.arange(len(rows)) >= len(earlier)
    return np.column_stack([rows, terms, rows * is_later, terms * is_later])


def test_the_test_is_that_of_welch():
    rng = np.random.default_rng(0)
    earlier, later = rng.random(2_000), rng.random(1_000) + 0.03
    found = find_drift(table(earlier, later))
    assert (found.earlier, found.later) == (pytest.approx(earlier.mean()), pytest.approx(later.mean()))
    assert found.p_value == pytest.approx(ttest_ind(earlier, later, equal_var=False).pvalue, rel=0.02)


def test_there_is_nothing_to_compare():
    rng = np.random.default_rng(1)
    assert find_drift(np.zeros((0, 4))) is None
    assert find_drift(table(rng.random(500), np.empty(0))) is None
    # A few terms determine everything.
    assert find_drift(table(np.append(np.zeros(500), [90.0, 80.0]), np.zeros(500))) is None


def test_a_log_that_drifts(trained):
    halves = make_log(6_000), make_log(6_000, seed=1)
    still = evaluate(halves[0], trained)
    assert not any("changes within the log" in warning for warning in still.warnings)
    drifting = pd.concat([halves[0], halves[1].assign(reward=1.0 - halves[1]["reward"])])
    warnings = [
        w for w in evaluate(drifting, trained).warnings if "the value changes within the log, from 0." in w
    ]
    assert len(warnings) == 1


def test_one_user_dominates_the_log(frame, trained):
    users = np.where(np.arange(len(frame)) % 4 == 0, 0, np.arange(len(frame)))
    found = [w for w in evaluate(frame.assign(user=users), trained).warnings if "One user accounts for 25%" in w]
    assert len(found) == 1
