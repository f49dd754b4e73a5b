"""
Delayed rewards
===============

Rewards may arrive hundreds of rounds after their decisions. Learning is then slower, but nothing else changes.
The curves are means over five seeds.
"""

import matplotlib.pyplot as plt
import numpy as np

from fairbandits import LinUCB
from fairbandits.simulate import simulate
from fairbandits.worlds import ModifiedWorld, StudentsAndVideos

figure, axes = plt.subplots()
for delay in (0, 200, 600):
    regrets = []
    for seed in range(5):
        students = StudentsAndVideos(data="stand-in", train=1_400, test=100, random_state=seed)
        world = ModifiedWorld(students, delay=delay)
        trace = simulate(LinUCB(alpha=0.1, model="shared", random_state=seed), world)
        regrets.append((trace.best - trace.expected).cumsum())
    axes.plot(np.mean(regrets, axis=0), label=f"after {delay} rounds")
axes.set(xlabel="round", ylabel="cumulative regret", title="Regret with delayed rewards")
axes.legend(title="rewards arrive")
plt.show()
