"""
Do the propensities fit the log?
================================

If the propensities are correct, the sum of 1 / propensity over the rows in which an arm was chosen is
approximately the total number of rows. Here, the propensities of two arms have been swapped, and ``evaluate``
warns about the mismatch.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fairbandits.ope import evaluate

rng = np.random.default_rng(0)
shares = pd.Series({"algebra": 0.5, "biology": 0.25, "chess": 0.15, "drama": 0.1})
log = pd.DataFrame({"arm": rng.choice(shares.index, 10_000, p=shares), "reward": rng.random(10_000)})
log["propensity"] = log["arm"].map(shares)
swapped = log["arm"].replace({"chess": "drama", "drama": "chess"})
wrong = log.assign(propensity=swapped.map(shares))

sums = pd.DataFrame(
    {
        name: (1 / each["propensity"]).groupby(each["arm"]).sum()
        for name, each in {"correct": log, "swapped": wrong}.items()
    }
)
axes = sums.plot.bar(rot=0)
axes.axhline(len(log), linestyle=":", color="black")
axes.set(xlabel="", ylabel="sum of 1 / propensity", title="Correct propensities reach the number of rows (dotted)")
axes.legend(title="propensities", ncols=2, loc="upper left")
print(evaluate(wrong, ["Uniform"]).warnings[0])
plt.show()
