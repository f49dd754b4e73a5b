"""
A custom policy
===============

A policy defines what exploration and fairness add to the predicted reward. This one adds a bonus for arms
that nobody has received yet.
"""

import matplotlib.pyplot as plt

from fairbandits import LinUCB, Policy, number, parameter
from fairbandits.simulate import simulate
from fairbandits.worlds import LinearWorld


class Optimistic(Policy):
    """Choose the arm with the highest predicted reward, but try every arm once."""

    bonus: float = parameter(default=1.0, check=number(at_least=0.0), doc="Bonus for new arms.")

    def terms(self, predictions):
        """Return the exploration term and the fairness term of the scores."""
        return self.bonus * (predictions.arms < 0), 0.0


figure, axes = plt.subplots()
for policy in (Optimistic(random_state=0), LinUCB(alpha=0.5, random_state=0)):
    trace = simulate(policy, LinearWorld(rounds=1_000, random_state=2))
    axes.plot((trace.best - trace.expected).cumsum(), label=type(policy).__name__)
axes.set(xlabel="round", ylabel="cumulative regret", title="A custom policy compared with LinUCB")
axes.legend()
plt.show()
