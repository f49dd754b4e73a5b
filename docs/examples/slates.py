"""
Slates
======

``k=3`` chooses three arms in order. The longer the slate, the more the policy learns in each round.
Regret is relative to the best slate of the same length.
"""

import matplotlib.pyplot as plt

from fairbandits import EvenLinUCB
from fairbandits.simulate import simulate
from fairbandits.worlds import StudentsAndVideos

figure, axes = plt.subplots()
for k in (1, 3, 10):
    policy = EvenLinUCB(model="disjoint", random_state=0)
    world = StudentsAndVideos(data="stand-in", train=1_500, test=100)
    trace = simulate(policy, world, k=k).in_part("train")
    loss = (trace.best - trace.expected).cumsum()
    axes.plot(loss / range(1, len(trace) + 1), label=f"slates of {k}")
axes.set(xlabel="round", ylabel="mean regret so far", title="Longer slates learn faster")
axes.legend()
plt.show()
