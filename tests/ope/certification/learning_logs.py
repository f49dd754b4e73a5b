"""Logs with a known truth for the tests of certified learning."""

import numpy as np
import pandas as pd

from fairbandits.logs import Log, Roles

ARMS = ("algebra", "biology", "chess")
SEXES = ("female", "male")
# The mean reward of each arm by sex: biology is best for all; chess and algebra are good for male users only.
MEAN = np.array([[0.2, 0.7, 0.3], [0.5, 0.7, 0.6]])
ROLES = Roles("arm", "reward", ("sex",), "propensity", ("age",), user="user")


def learning_log(n=12_000, seed=0, mean=MEAN, probabilities=(1 / 3, 1 / 3, 1 / 3), **columns):
    """Draw a log of users with two visits each."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(n // 2), 2)
    sex = rng.integers(0, 2, n // 2)[user]
    arm = rng.choice(3, n, p=probabilities)
    frame = {
        "user": user,
        "sex": np.array(SEXES)[sex],
        "age": rng.random(n // 2)[user],
        "arm": np.array(ARMS)[arm],
        "reward": (rng.random(n) < np.asarray(mean)[sex, arm]).astype(float),
        "propensity": np.array(probabilities)[arm],
    }
    return pd.DataFrame(frame | columns)


def open_log(frame, **roles):
    """Open a log with the roles of these columns."""
    return Log.open(frame, Roles(**{**ROLES.__dict__, **roles}))
