"""Logs as Fairlearn's MetricFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairbandits.extras import install_hint
from fairbandits.logs.log import as_log
from fairbandits.logs.roles import Roles

if TYPE_CHECKING:
    from fairlearn.metrics import MetricFrame


def metric_frame(log: Any, roles: Roles | None = None, **named_roles: Any) -> MetricFrame:
    """Return a log as a `fairlearn.metrics.MetricFrame`; unlike for an audit, the log must fit into memory.

    The metrics are `rewards` (the number of rewards), `mean_reward`, and `missing` (the share of missing rewards).
    The groups of several attributes are their intersections. Users with an unknown attribute are left out.

    Parameters
    ----------
    log : Log, path or dataframe
        The log, or a source that `Log.open` accepts.
    roles : Roles, optional
        The roles of the columns; if omitted, they are guessed from the column names.
    **named_roles
        Individual roles: `arm="video", groups=["sex", "race"]`.

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame({"arm": list("aabb"), "reward": [1.0, 0.5, None, 0.2], "sex": list("fmfm")})
    >>> metric_frame(log).by_group["mean_reward"].to_dict()
    {'f': 1.0, 'm': 0.35}
    """
    try:
        import pandas as pd  # noqa: PLC0415 - an extra
        from fairlearn.metrics import MetricFrame  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError(f"metric_frame needs fairlearn; {install_hint('fairlearn')}") from None
    opened = as_log(log, roles, **named_roles)
    rewards, codes = [], []
    for chunk in opened.chunks(columns=opened.roles.groups):
        rewards.append(chunk.reward)
        codes.append(np.stack([column.codes for column in chunk.group.values()], axis=1))
        labels = {attribute: column.labels for attribute, column in chunk.group.items()}
    reward, coded = np.concatenate(rewards), np.concatenate(codes)
    known = (coded >= 0).all(axis=1)
    groups = {
        attribute: np.array(names, dtype=object)[column]
        for (attribute, names), column in zip(labels.items(), coded[known].T, strict=True)
    }
    return MetricFrame(
        metrics={"rewards": _rewards, "mean_reward": _mean_reward, "missing": _missing},
        y_true=reward[known],
        y_pred=reward[known],
        sensitive_features=pd.DataFrame(groups),
    )


def _rewards(reward: Any, _: Any) -> int:
    return int(np.count_nonzero(~np.isnan(reward)))


def _mean_reward(reward: Any, _: Any) -> float:
    known = np.asarray(reward)[~np.isnan(reward)]
    return float(np.mean(known)) if known.size else float("nan")


def _missing(reward: Any, _: Any) -> float:
    return float(np.mean(np.isnan(reward)))
