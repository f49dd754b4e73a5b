"""
A model that adapts to drift
============================

Halfway through the run, preferences reverse. With ``model="auto"``, all models learn side by side, and the
weight of each model depends on its prediction errors.
"""

import matplotlib.pyplot as plt
import pandas as pd

from fairbandits import LinUCB
from fairbandits.worlds import LinearWorld, ModifiedWorld

policy = LinUCB(model="auto", alpha=0.1, random_state=0)
weights = []
for visit in ModifiedWorld(LinearWorld(rounds=2_000, random_state=1), drift=0.5).visits():
    decision = policy.choose(visit.contexts, group=visit.group)
    policy.learn(decision, visit.rewards[decision.index])
    weights.append(policy.reward_model.weights())
axes = pd.DataFrame(weights).plot.area(alpha=0.8, linewidth=0)
axes.axvline(1_000, color="black", linestyle=":")
axes.set(
    xlabel="round", ylabel="weight", ylim=(0, 1), xlim=(0, 2_000), title="Weights of the four models under drift"
)
axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
plt.show()
