"""
What would another policy have earned?
======================================

Off-policy evaluation estimates the mean reward of a policy from the log of another policy, overall and by
group, with confidence intervals.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fairbandits.ope import evaluate

rng = np.random.default_rng(0)
n = 20_000
sex = rng.choice(["female", "male"], n)
arm = rng.choice(["algebra", "biology"], n, p=[0.8, 0.2])
rate = np.where(arm == "biology", 0.7, np.where(sex == "male", 0.6, 0.4))
log = pd.DataFrame({"arm": arm, "reward": 1.0 * (rng.random(n) < rate), "sex": sex})
log["propensity"] = np.where(arm == "biology", 0.2, 0.8)

evaluate(log, ["LinUCB(alpha=0.1)", "Uniform"]).plot(attribute="sex")
plt.show()
