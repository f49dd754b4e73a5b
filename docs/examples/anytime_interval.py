"""
An interval that you may monitor
================================

The interval for a gap is anytime-valid: you may check it after every reward, and act as soon as it excludes
zero. Here, the true gap is 0.1.
"""

import matplotlib.pyplot as plt
import numpy as np

from fairbandits import GroupRewards

rng = np.random.default_rng(3)
groups, looks = GroupRewards(), []
for round_number in range(1, 6_001):
    group = rng.choice(["female", "male"])
    groups.add(float(rng.random() < (0.6 if group == "male" else 0.5)), group)
    if round_number >= 100 and round_number % 50 == 0:
        gap = groups.gap()
        looks.append((round_number, float(gap), gap.low, gap.high))

rounds, value, low, high = np.transpose(looks)
figure, axes = plt.subplots()
axes.fill_between(rounds, low, high, alpha=0.25, label="95% anytime-valid interval")
axes.plot(rounds, value, label="gap")
axes.axhline(0.1, color="black", linestyle=":", label="true gap")
axes.axvline(rounds[np.argmax(low > 0)], color="grey", linewidth=1, label="first look that excludes 0")
axes.set(xlabel="rewards", ylabel="gap", ylim=(0, 0.5), title="Monitoring a gap with an anytime-valid interval")
axes.legend()
plt.show()
