"""
Estimators and the true value
=============================

A policy whose true value is known is evaluated on two hundred logs of 500 rows each. The direct method is
biased, because its reward model is wrong. IPS is unbiased but noisy; the doubly robust estimator is unbiased and
less noisy.
"""

import matplotlib.pyplot as plt
import numpy as np

from fairbandits.ope import estimators

rng = np.random.default_rng(0)
target = np.tile([0.1, 0.9], (500, 1))  # the policy to evaluate: mostly arm 1
model = np.tile([0.5, 0.6], (500, 1))  # a reward model that is wrong
found = {"direct method": [], "IPS": [], "SNIPS": [], "doubly robust": []}
for _ in range(200):
    arm = (rng.random(500) < 0.3).astype(int)
    propensity = np.where(arm == 1, 0.3, 0.7)
    reward = 1.0 * (rng.random(500) < np.where(arm == 1, 0.8, 0.4))
    weighted = target[0][arm], reward, propensity
    found["direct method"].append(estimators.direct_method(target, model).value())
    found["IPS"].append(estimators.ips(*weighted).value())
    found["SNIPS"].append(estimators.snips(*weighted).value())
    found["doubly robust"].append(estimators.doubly_robust(target, model, arm, reward, propensity).value())
figure, axes = plt.subplots()
for place, values in enumerate(found.values()):
    axes.plot(values, place + rng.uniform(-0.25, 0.25, 200), ".", alpha=0.4)
axes.set_yticks(range(4), list(found))
axes.axvline(0.1 * 0.4 + 0.9 * 0.8, linestyle=":", color="black")
axes.set(xlabel="estimated mean reward (dotted: true value)", title="200 estimates of the same value")
plt.show()
