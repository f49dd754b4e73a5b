"""
Who pays for exploration?
=========================

While a bandit learns, users receive less than the best arm would give them. The mean regret of each group so far
shows which group pays: here, a minority that makes up 20% of the users.
"""

import matplotlib.pyplot as plt
import numpy as np

from fairbandits import EvenLinUCB, LinUCB
from fairbandits.simulate import simulate
from fairbandits.worlds import StudentsAndVideos

figure, both = plt.subplots(1, 2, sharey=True)
policies = [LinUCB(alpha=0.5, random_state=0), EvenLinUCB(model="disjoint", random_state=0)]
for axes, policy in zip(both, policies, strict=True):
    trace = simulate(policy, StudentsAndVideos(data="stand-in", male_share=0.2)).in_part("train")
    for group in ("female", "male"):
        rows = trace.group["group"] == group
        regret = np.cumsum((trace.best - trace.expected)[rows])
        axes.plot(np.flatnonzero(rows), regret / np.arange(1, rows.sum() + 1), label=group)
    axes.set(xlabel="round", title=type(policy).__name__, ylim=(0, 0.3))
both[0].set_ylabel("mean regret so far")
both[1].legend(title="students")
plt.show()
