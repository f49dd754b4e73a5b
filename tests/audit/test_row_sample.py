import numpy as np
import pandas as pd

from fairbandits.audit.row_sample import sample_rows
from fairbandits.logs import Log


def make(n=3_000, n_users=600):
    rng = np.random.default_rng(0)
    user = rng.integers(n_users, size=n)
    reward = rng.random(n)
    reward[::10] = np.nan
    return pd.DataFrame(
        {"user": user, "arm": 0, "reward": reward, "sex": np.array(["f", "m"])[user % 2], "age": user * 1.0}
    )


def open_log(frame):
    return Log.open(frame, user="user", groups=["sex"], given=["age"], arm="arm", reward="reward")


def test_a_short_log_is_kept_whole_without_missing_rewards():
    rows = sample_rows(open_log(make()), ["age"])
    assert rows.share == 1.0
    assert len(rows.keys) == make()["reward"].notna().sum()


def test_of_a_long_log_all_rows_of_some_users_are_kept():
    frame = make().dropna()
    rows = sample_rows(open_log(frame), ["age"], max_rows=1_000)
    users = np.unique(rows.factor("age"))
    assert 250 < len(rows.keys) <= 1_000
    assert abs(len(users) / 600 - rows.share) < 0.1
    assert len(rows.keys) == frame["age"].isin(users).sum()


def test_parts_have_the_sample_of_the_whole():
    frame = make().dropna()
    whole = sample_rows(open_log(frame), ["age"], max_rows=500)
    first, second = (sample_rows(open_log(part), ["age"], max_rows=500) for part in (frame[:900], frame[900:]))
    first.merge(second)
    assert first.share == whole.share
    assert np.array_equal(np.sort(first.keys), np.sort(whole.keys))
