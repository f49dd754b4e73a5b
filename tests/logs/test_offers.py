"""Tables of arms, and the contexts made from them."""

import numpy as np
import pandas as pd

from fairbandits import Catalogue, FairLinUCB, LinUCB
from fairbandits.logs import Log, OfferBuilder, fit, read_arms
from tests.logs.helpers import error_of
from tests.logs.test_fitting import ARMS, assert_alike, encoded, make


def table(tmp_path, **changes):
    """Write a table of arms."""
    columns = {
        "arm": ARMS,
        "length": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        "topic": ["maths", "music", "maths", "art", "art", "music"],
        "match:sex": ["f", "m", None, "m", "f", "f"],
    }
    pd.DataFrame(columns | changes).to_csv(tmp_path / "arms.csv", index=False)
    return tmp_path / "arms.csv"


def test_contexts_from_a_catalogue(tmp_path):
    frame = make(400)
    log = Log.open(frame)
    arms = read_arms(table(tmp_path), log)
    assert arms.encoder.features == ("length", "topic=art", "topic=maths", "topic=music")
    result = fit(log, FairLinUCB(model="shared", random_state=0), table=arms)
    fitted = result.policy
    features = [
        [i / 5.0, t == "art", t == "maths", t == "music"]
        for i, t in enumerate(["maths", "music", "maths", "art", "art", "music"])
    ]
    catalogue = Catalogue(features, 5, ARMS, {"sex": ["f", "m", None, "m", "f", "f"]})
    by_catalogue = FairLinUCB(model="shared", random_state=0)
    offers = OfferBuilder(ARMS, 5, arms)
    for row, user in zip(frame.itertuples(), encoded(frame), strict=True):
        if np.isnan(row.reward):
            continue
        offer = catalogue.offer(user, {"sex": row.sex}, [row.arm])
        decision = by_catalogue.choose(offer, {"sex": row.sex, "race": row.race})
        np.testing.assert_array_equal(offer, offers.offer_arm(user, row.arm, {"sex": row.sex}))
        by_catalogue.learn(decision, row.reward)
    assert_alike(fitted, by_catalogue)
    assert result.recommender.encoder.matches == {"sex": ("sex", "match:sex")}
    assert result.recommender.feature_names[5:] == (
        "arm-length",
        "arm-topic=art",
        "arm-topic=maths",
        "arm-topic=music",
        "match-sex",
    )
    many = offers.offer_many([user, user], [{"sex": "f"}, {"sex": None}])
    np.testing.assert_array_equal(many.toarray()[:6], catalogue.offer(user, {"sex": "f"}).toarray())
    np.testing.assert_array_equal(many.toarray()[6:], catalogue.offer(user).toarray())


def test_invalid_tables(tmp_path):
    log = Log.open(make(50))
    path = table(tmp_path, arm=[*ARMS[:5], "other"])
    assert error_of(lambda: fit(log, LinUCB(), table=read_arms(path, log))) == (
        "dataframe: arms must be in the catalogue, got ['video 5']"
    )
    path = table(tmp_path, arm=[*ARMS[:5], ARMS[0]])
    assert "arm ids must be unique" in error_of(lambda: read_arms(path, log))
    path = table(tmp_path, arm=[*ARMS[:5], None])
    assert error_of(lambda: read_arms(path, log)) == f"{path}, row 6: arm id must not be empty"
    path = table(tmp_path, **{"match:age": [1] * 6})
    assert error_of(lambda: read_arms(path, log)) == (
        f"{path}: column 'match:age' must match a group column of the log (sex, race)"
    )
    assert "there is no column 'arm' with the arm ids" in error_of(
        lambda: read_arms(pd.DataFrame({"id": [1]}), log)
    )
    assert "has no rows" in error_of(lambda: read_arms(pd.DataFrame({"arm": []}), log))
