"""Settings from grids and distributions."""

import pytest
from scipy import stats

from fairbandits import LinUCB, Model
from fairbandits.tuning.settings import make_settings, with_params


def test_a_list_of_grids_is_tried_one_after_the_other():
    grid = [{"alpha": [0.1, 0.2]}, {"model__discount": [0.9]}]
    assert make_settings(grid, None, 0) == [{"alpha": 0.1}, {"alpha": 0.2}, {"model__discount": 0.9}]


def test_settings_are_drawn_from_distributions():
    grid = {"alpha": stats.loguniform(0.01, 1.0), "model__kind": ["shared", "disjoint"]}
    drawn = make_settings(grid, 5, 0)
    assert len(drawn) == 5
    assert make_settings(grid, 5, 0) == drawn != make_settings(grid, 5, 1)
    assert all(0.01 <= params["alpha"] <= 1.0 and type(params["alpha"]) is float for params in drawn)
    assert len(make_settings({"alpha": [1, 2, 3]}, 2, 0)) == 2
    assert len(make_settings({"alpha": [1, 2, 3]}, 20, 0)) == 3


def test_a_setting_makes_a_new_policy():
    policy = LinUCB(model=Model(kind="shared"), random_state=3)
    changed = with_params(policy, {"model__discount": 0.9})
    assert (changed.model, changed.random_state) == (Model(kind="shared", discount=0.9), 3)
    assert policy.model == Model(kind="shared")


@pytest.mark.parametrize(
    ("grid", "n_iter", "message"),
    [
        ("alpha", None, "grid must be a dict of lists or distributions, or a list of such dicts, got 'alpha'"),
        ([], None, "grid must be a dict of lists"),
        ({"alpha": 0.1}, None, "grid must have a list of values for each parameter, got"),
        ({"alpha": stats.uniform()}, None, "n_iter must be given for a grid with distributions, got None"),
        ({"alpha": [1]}, 0, "n_iter must be an integer of at least 1, got 0"),
    ],
)
def test_grids_that_do_not_fit(grid, n_iter, message):
    with pytest.raises(ValueError, match=message):
        make_settings(grid, n_iter, 0)
