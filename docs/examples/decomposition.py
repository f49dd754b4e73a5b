"""
Why is there a gap?
===================

An audit splits a gap, arm by arm, into an exposure effect (groups are shown different arms) and a within-arm
effect (the same arm gives groups different rewards).
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from fairbandits.audit import audit

rng = np.random.default_rng(0)
sex = rng.choice(["female", "male"], 20_000)
p_new = np.where(sex == "male", 0.7, 0.4)  # men see the new course more often
arm = np.where(rng.random(20_000) < p_new, "new course", "old course")
rate = np.where(arm == "new course", 0.7, 0.4) + 0.05 * (sex == "male")
log = pd.DataFrame({"arm": arm, "reward": 1.0 * (rng.random(20_000) < rate), "sex": sex})

parts = audit(log)["sex"].analysis.decomposition
effects = pd.DataFrame(
    {arm.arm: [arm.exposure_effect, arm.within_arm_effect] for arm in parts.arms},
    index=["exposure effect", "within-arm effect"],
)
axes = effects.plot.barh(stacked=True)
axes.set(xlabel="contribution to the gap", title="Most of the gap comes from exposure")
plt.show()
