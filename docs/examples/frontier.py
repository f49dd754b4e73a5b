"""
Reward and gap: the frontier
============================

``compare`` runs policies on the same seeds, and draws the frontier of an oracle that knows all rewards. For each
seed, no policy can lie below the frontier of that seed.
"""

from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt

from fairbandits.compare.comparison import compare
from fairbandits.worlds import StudentsAndVideos

world = StudentsAndVideos(data="stand-in", scarce="male", train=1_200, test=800)
policies = ["LinUCB", "FairLinUCB(gamma=3)", "EvenLinUCB(model=shared)", "MaxMinLinUCB", "LinTS(alpha=0.05)"]
with TemporaryDirectory() as folder:
    results = compare(folder, worlds={"scarce": world}, policies=policies, seeds=3, tolerance=0.02)
results.plot()
plt.show()
