"""
The gap over time
=================

LinUCB leaves a gap between female and male students. The paper's Fair-LinUCB closes it, and so does EvenLinUCB.
"""

import matplotlib.pyplot as plt

from fairbandits import EvenLinUCB, FairLinUCB, LinUCB
from fairbandits.simulate import simulate
from fairbandits.worlds import StudentsAndVideos

policies = {
    "LinUCB": LinUCB(random_state=0),
    "Fair-LinUCB, gamma 3": FairLinUCB(gamma=3.0, random_state=0),
    "EvenLinUCB, tolerance 0.01": EvenLinUCB(tolerance=0.01, model="disjoint", random_state=0),
}
figure, axes = plt.subplots()
for name, policy in policies.items():
    means = simulate(policy, StudentsAndVideos(data="stand-in")).running_means("train")
    axes.plot(abs(means["female"] - means["male"])[50:], label=name)
axes.set(xlabel="training round", ylabel="gap in mean reward", title="Reward gap while learning")
axes.legend()
plt.show()
