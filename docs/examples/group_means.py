"""
Mean reward of each group
=========================

Every policy keeps a group record. Its plot shows the mean reward of each group with its interval, and the
gap.
"""

import matplotlib.pyplot as plt
import numpy as np

from fairbandits import FairLinUCB

rng = np.random.default_rng(0)
policy = FairLinUCB(gamma=1.0, random_state=0)
rates = {"under 30": 0.6, "30 to 49": 0.5, "50 and over": 0.4}
for _ in range(3_000):
    age = str(rng.choice(list(rates)))
    decision = policy.choose(np.eye(3), group={"age": age}, arms=["algebra", "biology", "chess"])
    policy.learn(decision, float(rng.random() < rates[age] + 0.1 * decision.index))
policy.groups.plot()
plt.show()
