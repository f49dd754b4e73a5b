"""
When did the gap open?
======================

An audit divides a log into time windows. Here, the gap opens on day 60. The audit calls the last window "now".
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fairbandits.audit import audit

rng = np.random.default_rng(0)
n = 30_000
user, day = rng.integers(3_000, size=n), rng.integers(100, size=n)
sex = np.where(user % 2, "male", "female")
rate = 0.5 + np.where(day < 60, 0.0, 0.08) * np.where(sex == "male", 1, -1)
log = pd.DataFrame(
    {
        "arm": rng.choice(["algebra", "biology"], n),
        "reward": 1.0 * (rng.random(n) < rate),
        "sex": sex,
        "user": user,
        "time": np.datetime64("2026-01-01") + day.astype("timedelta64[D]"),
    }
)
audit(log, tolerance=0.05).plot(over_time=True)
plt.show()
