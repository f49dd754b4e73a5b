"""A saved recommender, and its tables as files."""

import numpy as np
from sklearn.base import clone

from fairbandits import EpsilonGreedy, EvenLinUCB, LinTS, Recommender
from fairbandits.worlds import SampleTables

N_USERS, N_ITEMS = 230, 30
#: Users per block: the last block is smaller.
SMALL_BLOCK = 50

POLICIES = {
    "greedy": EvenLinUCB(model="hybrid", tolerance=0.02, random_state=3),
    "exploring": EpsilonGreedy(epsilon=0.3, random_state=3),
    "sampling": LinTS(random_state=3),
}


def make_recommender(tables, policy="greedy", **options):
    """Return a recommender with several attributes that has learned something."""
    options = {"groups": ["sex", "age_band"], "matches": ["language"], **options}
    recommender = Recommender(clone(POLICIES[policy]), tables.users, tables.items, **options)
    rng = np.random.default_rng(0)
    for row in rng.integers(N_USERS, size=150).tolist():
        user = tables.users.iloc[row]
        decision = recommender.choose(user)
        recommender.learn(decision, tables.reward(user, decision.arm))
    return recommender


def write_files(folder):
    """Write the tables, which have missing values, and a policy of each kind; return the tables."""
    tables = SampleTables(N_USERS, N_ITEMS)
    # Row groups that do not end where blocks do.
    tables.users.to_parquet(folder / "users.parquet", row_group_size=70)
    tables.items.to_parquet(folder / "items.parquet")
    for policy in POLICIES:
        make_recommender(tables, policy).save(folder / f"{policy}.safetensors")
    return tables
