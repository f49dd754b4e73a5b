"""A log as Fairlearn's MetricFrame, for those who use it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fairbandits.logs.log import as_log
from fairbandits.logs.roles import Roles

if TYPE_CHECKING:
    from fairlearn.metrics import MetricFrame


def metric_frame(log: Any, roles: Roles | None = None, **named_roles: Any) -> MetricFrame:
    """Give a log as a `fairlearn.metrics.MetricFrame`; unlike an audit, it has to fit into memory.

    Its metrics are `rewards`, how many came, `mean_reward`, their mean, and `missing`, the share of those that
    never came. With several attributes its groups are their intersections. Decisions of users of whom a group is
    not known are left out.

    Parameters
    ----------
    log : Log, path or dataframe
        The log, or what `Log.open` takes.
    roles : Roles, optional
        Which column plays which role; what is left out is guessed from the names of columns.
    **named_roles
        Roles one by one: `arm="video", groups=["sex", "race"]`.

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
        raise ImportError("a MetricFrame needs fairlearn: pip install 'fairbandits[fairlearn]'") from None
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
    came = np.asarray(reward)[~np.isnan(reward)]
    return float(np.mean(came)) if came.size else float("nan")


def _missing(reward: Any, _: Any) -> float:
    return float(np.mean(np.isnan(reward)))
