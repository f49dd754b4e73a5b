"""
Exposure by arm
===============

Which arms are shown to whom? With LinUCB in the paper's world, here with twelve videos, students are mostly
shown videos by speakers of their own sex.
"""

import matplotlib.pyplot as plt
import pandas as pd

from fairbandits import LinUCB
from fairbandits.simulate import simulate
from fairbandits.worlds import StudentsAndVideos

world = StudentsAndVideos(data="stand-in", female_videos=7, male_videos=5)
trace = simulate(LinUCB(alpha=0.5, random_state=0), world)
frame = trace.in_part("train").to_frame().rename(columns={"group": "students"})
shares = pd.crosstab(frame["arm"], frame["students"], normalize="columns")
axes = shares.plot.bar(width=0.8, rot=0)
axes.set(ylabel="share of the group's decisions", title="Exposure by group and arm", ylim=(0, 0.3))
axes.set_xlabel("video (f: by a woman, m: by a man)")
plt.show()
