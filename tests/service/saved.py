"""Saved recommenders, and services that start from them."""

import pandas as pd

from fairbandits import FairLinUCB, Recommender
from fairbandits.service.config import as_config

USERS = pd.DataFrame(
    {
        "age": [25.0, 61.0, None, 40.0],
        "city": ["Rome", "Oslo", "Rome", None],
        "since": pd.to_datetime(["2020-01-01", "2022-06-01", None, "2024-01-01"]),
        "speaks": ["en", "fr", "fr", "en"],
        "sex": ["female", "male", "female", "male"],
        "band": [1, 2, 2, 3],
    }
)
ITEMS = pd.DataFrame(
    {"genre": ["comedy", "drama", None], "hours": [1.0, 2.5, 9.0], "language": ["en", "fr", "en"]}, index=[7, 8, 9]
)
USER = {
    "features": {"age": 33, "city": "Oslo", "since": "2021-03-01", "speaks": "fr"},
    "groups": {"sex": "female", "band": 2},
}


def row_of(user):
    """A user of a request as a row of the library."""
    columns = [name for name in USERS.columns if name not in ("sex", "band")]
    groups = {"sex": None, "band": None} | user.get("groups", {})
    return dict.fromkeys(columns) | user.get("features", {}) | groups


def trained(policy=None, **how):
    """A recommender that has learned a few rewards; its items have numbers as ids."""
    recommender = Recommender(
        policy or FairLinUCB(gamma=1, random_state=0),
        USERS,
        ITEMS,
        groups=["sex", "band"],
        features=["age", "city", "since"],
        matches={"language": ("speaks", "language")},
        **how,
    )
    for number, row in enumerate(USERS.to_dict("records")):
        recommender.learn(recommender.choose(row), number / 4)
    return recommender


def saved_config(folder, recommender=None, **changed):
    """The configuration of a service that starts from a recommender, which is saved in a folder."""
    (recommender or trained()).save(folder / "policy.safetensors")
    return load_saved(folder, **changed)


def load_saved(folder, **changed):
    """The same, of a file that exists."""
    store = {"url": f"sqlite:///{folder}/log.db", **changed.pop("store", {})}
    return as_config({"recommender": "policy.safetensors", "store": store, **changed}, folder=folder)
