"""
Small groups
============

The smaller a group, the wider the interval for its mean. An audit compares the groups that are large enough,
and counts the users in the others. Here, the group of 8 users gets no interval.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fairbandits.audit import audit

rng = np.random.default_rng(0)
sizes = {"A": 4_000, "B": 1_000, "C": 250, "D": 60, "E": 8}
group = np.repeat(list(sizes), list(sizes.values()))
log = pd.DataFrame({"arm": "lesson", "reward": 1.0 * (rng.random(len(group)) < 0.5), "group": group})
log["user"] = np.arange(len(log))

comparison = audit(log, tolerance=0.05)["group"]
figure, axes = plt.subplots()
for place, result in enumerate(sorted(comparison.groups, key=lambda each: each.name)):
    axes.plot(place, result.mean, "o", color="C0" if result.is_large_enough else "grey")
    if result.is_large_enough:
        axes.vlines(place, result.low, result.high, linewidth=3, alpha=0.4)
axes.set_xticks(range(5), [f"{name}\n{size:,} users" for name, size in sizes.items()])
axes.set(ylabel="mean reward", title="Every group has the same true mean, 0.5")
plt.show()
