"""
The price of a small gap
========================

Where good videos for male students are scarce, a small gap has a price: the smaller the tolerance, the
lower the mean reward of female students.
"""

import matplotlib.pyplot as plt

from fairbandits import EvenLinUCB
from fairbandits.simulate import simulate
from fairbandits.worlds import StudentsAndVideos

world = StudentsAndVideos(data="stand-in", scarce="male")
tolerances = [0.02, 0.05, 0.1, 0.15, 0.2]
means = {"female": [], "male": []}
for tolerance in tolerances:
    policy = EvenLinUCB(tolerance=tolerance, model="shared", alpha=0.1, random_state=0)
    metrics = simulate(policy, world).metrics()
    for group, values in means.items():
        values.append(metrics[f"cmr_{group}"])
figure, axes = plt.subplots()
for (group, values), marker in zip(means.items(), "os", strict=True):
    axes.plot(tolerances, values, marker=marker, label=f"{group} students")
axes.set(xticks=tolerances, xlabel="tolerance", ylabel="mean reward", title="The tolerance limits levelling down")
axes.legend()
plt.show()
